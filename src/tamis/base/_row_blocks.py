"""Tables that are read in blocks of rows: what comes in, what is refused, and how far a pass is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from tamis.base._new_rows import check_same_names
from tamis.base._progress import track
from tamis.base._validation import check_one_target, check_targets, describe_non_finite, known_names
from tamis.engine import DaskBlocks, FileBlocks, FileTable, NonFiniteError, RowBlocks, is_dask

if TYPE_CHECKING:
    from tamis.base._ranker import Ranker

# Methods that provide "row_blocks", for the error of the others.
TAKE_ROW_BLOCKS = (
    "AgnosG",
    "AgnosS",
    "AgnosW",
    "CorrelationScore",
    "ElasticNet",
    "FeatureMedoids",
    "FisherScore",
    "ForwardLeastSquares",
    "GramSchmidt",
    "GreedyReconstruction",
    "GroupLasso",
    "Lasso",
    "MaxVariance",
    "PCALeverage",
    "PivotedQR",
    "RFE",
    "SparseGroupLasso",
)


def is_in_blocks(X: Any) -> bool:
    """Whether a table is read in blocks of rows: a collection of dask, or one of :mod:`tamis.engine`."""
    return isinstance(X, RowBlocks | FileTable) or is_dask(X)


def check_takes_blocks(ranker: Ranker) -> None:
    """Refuse methods that need all rows in memory, and name those that do not."""
    if "row_blocks" not in ranker.provides:
        raise ValueError(
            f"{type(ranker).__name__} needs all rows in memory, and X is read in blocks: give X as an array, or use a "
            f"method that reads blocks: {', '.join(TAKE_ROW_BLOCKS)}"
        )


def open_blocks(ranker: Ranker, X: Any) -> RowBlocks:
    """The table as blocks of rows, whose columns the ranker knows by name."""
    check_takes_blocks(ranker)
    if isinstance(X, FileTable):
        blocks: RowBlocks = X.blocks()
    else:
        blocks = X if isinstance(X, RowBlocks) else DaskBlocks(X)
    if blocks.shape[0] < 2 or blocks.shape[1] < 1:
        raise ValueError(f"X has {blocks.shape[0]} rows and {blocks.shape[1]} columns: at least 2 and 1 are needed")
    if blocks.column_names is not None:
        ranker.feature_names_in_ = np.asarray(blocks.column_names, dtype=object)
    ranker.n_features_in_ = blocks.shape[1]
    return blocks


def gather_target(ranker: Ranker, y: Any, blocks: RowBlocks) -> np.ndarray | None:
    """The target in memory, one entry per row; the table stays where it is."""
    if y is None:
        if ranker.supervised:
            raise ValueError(f"{type(ranker).__name__} requires y to be passed, but the target y is None")
        return None
    values = y.compute() if is_dask(y) else y
    if not ranker._takes_several_targets():
        check_one_target(ranker, values)
    return check_targets(values, blocks)


@contextmanager
def watched(ranker: Ranker, blocks: RowBlocks) -> Iterator[None]:
    """Report to the callbacks of a ranker how far passes over the rows are, and name columns that are refused."""

    def watch(parts: Iterable[Any], total: int | None, purpose: str) -> Iterator[Any]:
        waiting = iter(parts)
        # the total is an estimate where files end, or hold groups of rows, before a block is full
        yield from track(ranker, islice(waiting, total), task_name=purpose, total=total, interruptible=False)
        yield from waiting  # sums over some of the rows are of no use: what ends a fit does so between two passes

    before, blocks.watch = blocks.watch, watch
    try:
        yield
    except NonFiniteError as error:
        cure = _cure_of_missing(ranker, blocks)
        raise ValueError(describe_non_finite(ranker, error.n_missing, error.n_infinite, cure)) from error
    finally:
        blocks.watch = before


def _cure_of_missing(ranker: Ranker, blocks: RowBlocks) -> str:
    """What to do about missing values of a table that is read in blocks, in words."""
    if isinstance(blocks, DaskBlocks):
        return ": X.fillna(X.mean()) of a data frame; or read the files in blocks, which fills and marks them"
    if isinstance(blocks, FileBlocks):
        name = type(ranker).__name__
        return f": TableSelector({name}()).fit(files.select(columns), y), which also marks where they were"
    return ""


def take_file_columns(ranker: Any, X: FileTable, mask: np.ndarray) -> FileTable:
    """Some columns of a table of files, which stays one."""
    known = known_names(ranker)
    if known is None:
        raise ValueError(f"{type(ranker).__name__} was fitted to columns without names: give an array of these columns")
    check_same_names(list(X.column_names), [str(name) for name in known])
    return X.select([name for name, is_kept in zip(X.column_names, mask, strict=True) if is_kept])


def take_dask_columns(ranker: Any, X: Any, mask: np.ndarray) -> Any:
    """Some columns of a dask collection, which stays one."""
    if X.shape[1] != mask.size:
        raise ValueError(f"X has {X.shape[1]} features, but {type(ranker).__name__} is expecting {mask.size} features")
    if not hasattr(X, "to_dask_array"):
        return X[:, np.flatnonzero(mask)]
    known = known_names(ranker)
    if known is not None:
        check_same_names([str(name) for name in X.columns], [str(name) for name in known])
    return X[X.columns[mask].tolist()]
