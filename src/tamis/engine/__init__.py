"""Where the rows are, and sums over blocks of them."""

from tamis.engine._arrow_types import to_numpy
from tamis.engine._block_columns import BlockColumns
from tamis.engine._class_moments import class_moments_of_blocks
from tamis.engine._compressed import CompressedColumns, compress_parts, compress_rows, is_tall, join_parts
from tamis.engine._dask_blocks import DaskBlocks, as_known_array, is_dask
from tamis.engine._file_blocks import FileBlocks, FileTable, TextLayout, parse_text, read_ahead
from tamis.engine._finite import NonFiniteError, take_finite_rows
from tamis.engine._permuted_targets import LinearModel, permuted_products
from tamis.engine._products import ProductSums, sum_products
from tamis.engine._row_blocks import MEMORY, ArrayBlocks, BlankedBlocks, LocalBlocks, RowBlocks
from tamis.engine._row_errors import RowErrors, shape_of

__all__ = [
    "MEMORY",
    "ArrayBlocks",
    "BlankedBlocks",
    "BlockColumns",
    "CompressedColumns",
    "DaskBlocks",
    "FileBlocks",
    "FileTable",
    "LinearModel",
    "LocalBlocks",
    "NonFiniteError",
    "ProductSums",
    "RowBlocks",
    "RowErrors",
    "TextLayout",
    "as_known_array",
    "class_moments_of_blocks",
    "compress_parts",
    "compress_rows",
    "is_dask",
    "is_tall",
    "join_parts",
    "parse_text",
    "permuted_products",
    "read_ahead",
    "shape_of",
    "sum_products",
    "take_finite_rows",
    "to_numpy",
]
