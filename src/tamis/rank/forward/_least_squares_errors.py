"""Errors of the least-squares models along a path: explained share, leave-one-out error, shape of the residuals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from tamis.engine import CompressedColumns, RowErrors, shape_of
from tamis.kernels.arrays.columns import Columns, to_numpy
from tamis.kernels.arrays.shapes import MomentWeights, shape_from, standard_moments
from tamis.kernels.arrays.tolerances import FULL_LEVERAGE
from tamis.kernels.solvers.group_search import ColumnDirection, GroupDirection
from tamis.kernels.solvers.orthogonal_search import Direction

_FIRST_BATCH, _LARGEST_BATCH = 16, 64  # steps whose errors one pass over the rows tells


@dataclass(frozen=True)
class Idle:
    """A candidate that stays, though it adds nothing to those before it."""

    feature: int
    n_candidates: int = 1
    n_targets: int = 1
    cos2: float = 0.0
    orthogonality_loss: float = 0.0
    directions: tuple[()] = ()

    @property
    def redundant(self) -> np.ndarray:
        """None."""
        return np.empty(0, dtype=np.int64)


def directions_of(step: Direction | GroupDirection | Idle) -> Sequence[Direction | ColumnDirection]:
    """Those that a step adds, one for each column that it takes."""
    return [step] if isinstance(step, Direction) else step.directions


def errors_in_rows(
    columns: Columns,
    values: np.ndarray,
    directions: Iterable[Direction | GroupDirection | Idle],
    *,
    fit_intercept: bool,
    with_shape: bool,
) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Each step with the errors of the model after it, from directions in the rows of the table.

    ``residual_shape``, where it is asked for, is the skewness and the kurtosis of the target before the step.
    """
    xp = columns.xp
    residual = columns.center_rows(columns.as_array(values))
    leverage = columns.sqrt_weight**2 / columns.total if fit_intercept else 0 * columns.sqrt_weight
    total2 = float(xp.sum(residual**2))
    weights = MomentWeights.of(columns.sqrt_weight)
    shape = shape_from(to_numpy(standard_moments(residual, weights))) if with_shape else None
    for step in directions:
        before = {} if shape is None else {"residual_shape": shape}
        for each in directions_of(step):
            q = columns.as_array(each.q) if isinstance(each, ColumnDirection) else each.q
            residual = residual - q[:, None] * (q @ residual)[None, :]
            leverage = leverage + q**2
        # the leave-one-out error of a row is residual / (1 - leverage), infinite where only the row predicts itself
        factor = 1 - leverage
        residual2 = xp.sum(residual**2, axis=1)
        is_full = factor <= FULL_LEVERAGE
        left_out = residual2 / xp.where(is_full, xp.ones_like(factor), factor) ** 2
        n_full = xp.sum(xp.astype(is_full, residual2.dtype))
        # all numbers at once: an accelerator is waited for once
        numbers = xp.stack([xp.sum(residual2), xp.sum(left_out), n_full])
        if with_shape:
            numbers = xp.concat([numbers, xp.reshape(standard_moments(residual, weights), (-1,))])
        left, press, n_full, *moments = to_numpy(numbers).tolist()
        if with_shape:
            shape = shape_from(np.reshape(moments, (3, -1)))
        yield step, {"r2": 1.0 - left / total2, "press": np.inf if n_full else press / columns.total} | before


def errors_of_tall(
    columns: CompressedColumns,
    values: np.ndarray,
    directions: Iterable[Direction | GroupDirection | Idle],
    n_top: int | None,
    *,
    with_shape: bool,
) -> Iterator[tuple[Any, dict[str, Any]]]:
    """The same from compressed directions: what only rows tell comes from one pass for a batch of steps.

    ``residual_shape``, where it is asked for, is the skewness and the kurtosis of the target before the step.
    """
    rows = RowErrors(
        columns.rows(), columns.mean, values, columns.sample_weight, fit_intercept=bool(columns.n_projected)
    )
    residual = columns.targets
    total2 = float(np.sum(residual**2))
    press = None
    size = _FIRST_BATCH if n_top is None else min(max(n_top, 1), _LARGEST_BATCH)
    remaining = iter(directions)
    n_done = 0
    while batch := list(islice(remaining, size)):
        n_done += len(batch)
        size = min(n_done, _LARGEST_BATCH)
        added = [each for step in batch for each in directions_of(step)]
        shape = shape_of(rows.moments)
        if added:
            projections = np.array([each.projection for each in added])
            loadings = [each.loading for each in added]
            found = rows.add([each.feature for each in added], loadings, projections, with_shape=with_shape)
        n_seen = 0
        for step in batch:
            before = shape
            for each in directions_of(step):
                residual = residual - np.outer(each.q, each.projection)
                press, shape = float(found.press[n_seen]), shape_of(found.moments[n_seen])
                n_seen += 1
            error = {
                "r2": 1.0 - float(np.sum(residual**2)) / total2,
                "press": (rows.null_press if press is None else press) / columns.total,
            }
            yield step, error | ({"residual_shape": before} if with_shape else {})
