"""Errors of the least-squares models along a path: explained share, leave-one-out error, shape of the residuals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from tamis.engine import CompressedColumns, RowErrors, shape_of
from tamis.kernels.arrays.columns import Array, Columns, to_numpy
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
    for batch in _accepted_together(directions):
        residuals, leverages = _along(columns, residual, leverage, batch)
        residual, leverage = residuals[:, -1, :], leverages[:, -1]
        # the leave-one-out error of a row is residual / (1 - leverage), infinite where only the row predicts itself
        factor = 1 - leverages
        residual2 = xp.sum(residuals**2, axis=2)
        is_full = factor <= FULL_LEVERAGE
        left_out = residual2 / xp.where(is_full, xp.ones_like(factor), factor) ** 2
        n_full = xp.sum(xp.astype(is_full, residual2.dtype), axis=0)
        numbers = xp.stack([xp.sum(residual2, axis=0), xp.sum(left_out, axis=0), n_full])
        if with_shape:
            moments = standard_moments(xp.reshape(residuals, (residuals.shape[0], -1)), weights)
            numbers = xp.concat([numbers, moments], axis=1)
        found = to_numpy(numbers)  # all at once: an accelerator is waited for once
        shapes = found[:, len(batch) :].reshape(3, len(batch), -1)
        for place, step in enumerate(batch):
            before = {} if shape is None else {"residual_shape": shape}
            left, press, n_full = found[:, place].tolist()
            yield step, {"r2": 1.0 - left / total2, "press": np.inf if n_full else press / columns.total} | before
            if with_shape:
                shape = shape_from(shapes[:, place])


def _accepted_together(
    directions: Iterable[Direction | GroupDirection | Idle],
) -> Iterator[list[Direction | GroupDirection | Idle]]:
    """Steps in turn, with those that a search has accepted at the same time, whose errors cost no further search."""
    steps = iter(directions)
    for step in steps:
        yield [step, *islice(steps, step.n_following if isinstance(step, Direction) else 0)]


def _along(
    columns: Columns, residual: Array, leverage: Array, batch: Sequence[Direction | GroupDirection | Idle]
) -> tuple[Array, Array]:
    """Residuals of the targets and leverages of the rows after each step, with the steps along the second axis."""
    xp = columns.xp
    added = [each for step in batch for each in directions_of(step)]
    if not added:
        return residual[:, None, :], leverage[:, None]
    Q = xp.stack([columns.as_array(each.q) if isinstance(each, ColumnDirection) else each.q for each in added], axis=1)
    explained = xp.cumulative_sum(Q[:, :, None] * (Q.T @ residual)[None, :, :], axis=1)
    residuals, leverages = residual[:, None, :] - explained, leverage[:, None] + xp.cumulative_sum(Q * Q, axis=1)
    # a group, which adds several directions, is a batch of its own
    return residuals[:, -len(batch) :, :], leverages[:, -len(batch) :]


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
