"""What the three variants of AGNOS share: tables of any kind in, a ranking out."""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from tamis._sklearn import Interval, StrOptions
from tamis.base import Candidates, ColumnCandidates, Ranker, Ranking, StopDecision, StoppingRule, arranged, track
from tamis.base._row_sample import draw_rows_of_blocks
from tamis.base._validation import check_classes
from tamis.engine import DaskBlocks, RowBlocks, as_known_array, is_dask, take_finite_rows
from tamis.kernels.arrays.tolerances import ROUNDING
from tamis.kernels.neighbors.search import nearest_neighbors
from tamis.kernels.neighbors.two_nn import fit_two_nn
from tamis.rank._checkpoint import Checkpoint, check_place
from tamis.rank._row_sample import note_sample
from tamis.rank.neural._standardized_rows import (
    StandardizedRows,
    merge_chunks,
    read_rows,
    rows_per_batch,
    standardize_rows,
)
from tamis.rank.neural._torch import choose_device, limit_threads, load_torch, recorded

_SEEN = 2000  # rows that the dimension, and the stopping rule of a dask array, are found on
_NARROWEST = 20  # units of a bottleneck that may be wider than the dimension
# and narrower: the 2-NN dimension of real tables, and of a few hundred latent variables, is below this; it is above
# where columns share nothing, which no bottleneck holds
_WIDEST = 128
# Bytes of the memory of a table in blocks for every entry of the rows that are held: these stand there twice while
# blocks are joined, and their components, of which there may be as many, four times while they are turned
_BYTES_PER_ENTRY = 64
_FEWEST_ROWS = 256  # that are held, whatever the memory
# behind "auto"
_DEFAULTS = {
    "elimination": {"alpha": 0.02, "learning_rate": 0.05, "max_iter": 350},
    "thesis": {"alpha": 1.0, "learning_rate": 1e-3, "max_iter": 3000},
}


class AgnosRanker(Ranker):
    """Base of the variants, which say by ``_score`` what makes a feature important."""

    supervised: ClassVar[bool] = False
    one_shot: ClassVar[bool] = False
    provides: ClassVar[frozenset[str]] = Ranker.provides | {"dask", "row_blocks", "sparse"}
    natural_stop: ClassVar[tuple[str, Mapping[str, Any]]] = ("fit-plateau", {})
    _score: ClassVar[str]

    _parameter_constraints: ClassVar[dict] = {
        **Ranker._parameter_constraints,
        "mode": [StrOptions(set(_DEFAULTS))],
        "n_components": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "alpha": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
        "hidden_units": [tuple, list],
        "learning_rate": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "max_iter": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "batch_size": [StrOptions({"auto"}), Interval(Integral, 2, None, closed="left")],
        "device": [str],
        "checkpoint": [str, os.PathLike, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        stop: Any = "auto",
        keep: Any = None,
        exclude: Any = None,
        min_features: int | None = None,
        mode: str = "elimination",
        n_components: int | str = "auto",
        alpha: float | str = "auto",
        hidden_units: tuple[int, ...] = (),
        learning_rate: float | str = "auto",
        max_iter: int | str = "auto",
        batch_size: int | str = "auto",
        device: str = "auto",
        checkpoint: str | os.PathLike | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(stop=stop, keep=keep, exclude=exclude, min_features=min_features)
        self.mode = mode
        self.n_components = n_components
        self.alpha = alpha
        self.hidden_units = hidden_units
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.device = device
        self.checkpoint = checkpoint
        self.random_state = random_state

    def _rank(self, candidates: Candidates, y: np.ndarray | None, rng: np.random.RandomState) -> Ranking:
        X = candidates.table
        torch, device = self._check_settings()
        from tamis.rank.neural._batch_loader import BatchLoader

        rows = standardize_rows(X, candidates.column_name)
        if not rows.columns.size:
            raise ValueError("every column of X is constant: there is nothing to rank")
        self.n_components_ = self._width(rows)
        checkpoint = Checkpoint(
            self.checkpoint,
            self._fingerprint(rows),
            dump=torch.save,
            load=partial(torch.load, weights_only=True, map_location="cpu"),
        )
        seed, saved = checkpoint.resume(
            int(rng.randint(np.iinfo(np.int32).max)), is_free=not isinstance(self.random_state, Integral)
        )
        generator = torch.Generator("cpu").manual_seed(seed)
        train = self._rank_as_thesis if self.mode == "thesis" else self._rank_by_elimination
        with recorded(torch), limit_threads(torch, X.shape[0] * X.shape[1]):
            loader = BatchLoader(rows, device, None if self.batch_size == "auto" else int(self.batch_size), seed)
            watch = partial(self._watch, total=self._setting("max_iter"))
            ranking = train(loader, (generator, checkpoint, saved, watch))
        checkpoint.discard()
        return ranking

    def _watch(self, steps: Any, total: int) -> Any:
        # with a checkpoint Ctrl-C leaves the state on disk, from which the same call goes on
        return track(self, steps, task_name="train", total=total, interruptible=self.checkpoint is None)

    def _rank_by_elimination(self, loader: Any, run: tuple[Any, ...]) -> Ranking:
        from tamis.rank.neural._elimination import Plan, eliminate_features

        plan = Plan(
            self._score,
            self.n_components_,
            tuple(self.hidden_units),
            self._setting("alpha"),
            self._setting("learning_rate"),
            self._setting("max_iter"),
        )
        found = eliminate_features(loader, plan, *run)
        order = loader.rows.columns[found.eliminated[::-1]]
        scores = np.full(loader.rows.table.shape[1], np.nan)
        scores[order] = np.nan_to_num(found.scores[::-1])
        return self._finish(Ranking(order, scores), found.losses, found.n_in_use)

    def _rank_as_thesis(self, loader: Any, run: tuple[Any, ...]) -> Ranking:
        from tamis.rank.neural._thesis import ThesisPlan, train_as_thesis

        plan = ThesisPlan(
            self._score,
            self.n_components_,
            self._setting("alpha"),
            self._setting("learning_rate"),
            self._setting("max_iter"),
        )
        found, losses = train_as_thesis(loader, plan, *run)
        scores = np.full(loader.rows.table.shape[1], np.nan)
        scores[loader.rows.columns] = found.cpu().numpy()
        ranking = Ranking.from_scores(scores, rounding=ROUNDING.float32)  # the network is in single precision
        return self._finish(ranking, losses, [loader.rows.columns.size] * len(losses))

    def _finish(self, ranking: Ranking, losses: list[float], n_in_use: list[int]) -> Ranking:
        self.history_ = {"loss": np.array(losses), "n_features": np.array(n_in_use)}
        self.n_iter_ = len(losses)
        problem = self._problem(ranking, losses)
        if problem:
            warnings.warn(f"{type(self).__name__} {problem}", ConvergenceWarning, stacklevel=2)
        certificate = {"converged": problem is None, "n_iter": len(losses), "loss": losses[-1]}
        return Ranking(ranking.order, ranking.scores, certificate=certificate)

    def _problem(self, ranking: Ranking, losses: list[float]) -> str | None:
        """What went wrong in training, if anything did."""
        rise = losses[-1] - losses[0]  # of what a decoder in closed form loses, at most one
        if not np.isfinite(losses).all() or rise > max(1.0, losses[0]):
            return f"diverged from a loss of {losses[0]:g} to {losses[-1]:g}: lower learning_rate"
        if not ranking.scores[ranking.order[0]] > 0:
            return f"leaves no feature of any importance: lower alpha={self._setting('alpha'):g}"
        return None

    def _setting(self, name: str) -> Any:
        """A parameter of the training; "auto" stands for what the mode was tried with."""
        given = self.get_params(deep=False)[name]
        return _DEFAULTS[self.mode][name] if given == "auto" else given

    def _width(self, rows: StandardizedRows) -> int:
        """Units of the bottleneck; the 2-NN dimension is measured on standardized columns."""
        most = max(1, min(rows.shape[0] - 1, rows.shape[1]))
        if self.n_components != "auto":
            return min(int(self.n_components), most)
        seen = rows.read(slice(0, None, -(-rows.shape[0] // _SEEN)))
        self.dimension_ = fit_two_nn(nearest_neighbors(seen, 2)[1]) if len(seen) > 2 else 1.0
        if self.mode == "thesis":
            return int(min(max(np.ceil(self.dimension_), 1), most))
        return int(min(max(np.ceil(self.dimension_), _NARROWEST), _WIDEST, most))

    def _check_settings(self) -> tuple[Any, Any]:
        """The torch module and the device, once nothing is wrong with the parameters."""
        self._check_layers()
        torch = load_torch(type(self).__name__)
        device = choose_device(torch, self.device)
        check_place(self.checkpoint)
        return torch, device

    def _check_layers(self) -> None:
        if any(not isinstance(units, Integral) or units < 1 for units in self.hidden_units):
            raise ValueError(f"hidden_units={self.hidden_units!r} must hold the size of each layer, at least 1")
        if self.hidden_units and self.mode == "thesis":
            raise ValueError("mode='thesis' has one hidden layer: leave hidden_units empty, or use another mode")

    def _fingerprint(self, rows: StandardizedRows) -> dict[str, Any]:
        """What a run depends on besides its seed."""
        measured = hashlib.sha256(rows.mean.tobytes() + rows.spread.tobytes()).hexdigest()
        unlike = ("stop", "checkpoint", "device", "random_state")
        parameters = {name: repr(value) for name, value in self.get_params().items() if name not in unlike}
        return {"method": type(self).__name__, "X": f"{rows.table.shape} {measured}", **parameters}

    def _validate(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, np.ndarray | None, np.ndarray | None]:
        if not is_dask(X) and not isinstance(X, DaskBlocks):
            return super()._validate(X, y, sample_weight)
        table = self._open_dask(X)
        return table, None if y is None else check_classes(y, table), None

    def _select(self, candidates: Candidates, y: np.ndarray | None, rule: StoppingRule) -> tuple[Ranking, StopDecision]:
        """Rank all rows; of a dask array, which is never held as a whole, the rule sees some, spread over it.

        Of a table that is read in blocks both see the rows that memory holds, so that it is read once: training looks
        at rows hundreds of times, and neighboring rows of a file need not tell of the others.
        """
        X = candidates.table
        if isinstance(X, RowBlocks):
            self._check_settings()  # before all rows are read
            rng = check_random_state(0 if self.random_state is None else self.random_state)
            rows = draw_rows_of_blocks(len(X), _rows_in_memory(X), rng)
            held = _on_table(candidates, take_finite_rows(X, rows))
            ranking, decision = super()._select(held, None if y is None else y[rows], rule)
            told = note_sample(rows.size, len(X), "as many as the memory holds")
            return replace(ranking, notes=(*ranking.notes, *told)), decision
        if not is_dask(X):
            return super()._select(candidates, y, rule)
        ranking = arranged(self._rank(candidates, None, self._rng()), candidates)
        some = slice(0, None, -(-X.shape[0] // _SEEN))
        seen = _on_table(candidates, read_rows(X, some))
        return ranking, self._decide(rule, ranking, seen, None if y is None else y[some])

    def _store(self, candidates: Candidates, ranking: Ranking, decision: StopDecision) -> None:
        X = candidates.table
        if is_dask(X):
            candidates = ColumnCandidates(np.empty((0, X.shape[1]), dtype=X.dtype))
        super()._store(candidates, ranking, decision)

    def _open_dask(self, X: Any) -> Any:
        """The collection as an array whose chunks are known, one over all columns."""
        X, names = (X.array, X.column_names) if isinstance(X, DaskBlocks) else as_known_array(X)
        if names is not None:
            self.feature_names_in_ = np.asarray(names, dtype=object)
        if X.dtype.itemsize > 8 or not X.dtype.isnative:  # what torch does not know
            X = X.astype(float)
        self.n_features_in_ = X.shape[1]
        return merge_chunks(X, rows_per_batch(X.shape[1]) if self.batch_size == "auto" else int(self.batch_size))


def _rows_in_memory(table: RowBlocks) -> int:
    """Rows of a table in blocks that its memory allows to hold while a network is trained on them."""
    return max(_FEWEST_ROWS, table.memory // (_BYTES_PER_ENTRY * table.shape[1]))


def _on_table(candidates: Candidates, table: np.ndarray) -> ColumnCandidates:
    """The same candidates on some of the rows."""
    seen = ColumnCandidates(table, column_names=candidates.column_names)
    seen.keep, seen.excluded = candidates.keep, candidates.excluded
    return seen
