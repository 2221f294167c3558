"""Tables as people have them: mixed columns and missing values made fit for rankers, and checks of the data."""

from tamis.table._check_table import check_table
from tamis.table._findings import Finding, Findings
from tamis.table._table_selector import TableSelector

__all__ = ["Finding", "Findings", "TableSelector", "check_table"]
