"""Where the rows are, and sums over blocks of them."""

from tamis.engine._compressed import CompressedColumns, compress_parts, compress_rows, is_tall, join_parts
from tamis.engine._products import ProductSums, sum_products
from tamis.engine._row_errors import RowErrors, shape_of

__all__ = [
    "CompressedColumns",
    "ProductSums",
    "RowErrors",
    "compress_parts",
    "compress_rows",
    "is_tall",
    "join_parts",
    "shape_of",
    "sum_products",
]
