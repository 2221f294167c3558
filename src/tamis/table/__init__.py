"""Tables as people have them: mixed columns and missing values made fit for rankers, and checks of the data."""

from tamis.table._table_selector import TableSelector

__all__ = ["TableSelector"]
