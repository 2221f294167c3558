"""What the supervised networks share: inputs, targets, training, and the elimination of inputs."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, replace
from itertools import count, pairwise
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from tamis._sklearn import Interval, StrOptions
from tamis.base import (
    BackwardRanker,
    Candidates,
    Elimination,
    Ranking,
    Step,
    WeightedRanker,
    interruption,
    track,
)
from tamis.kernels.arrays.columns import to_numpy
from tamis.kernels.arrays.copies import order_by_values
from tamis.kernels.arrays.scaling import center_each_column, rescale_columns, rescale_safely
from tamis.kernels.arrays.targets import encode_classes, encode_target, infer_task
from tamis.rank._row_sample import SampledRanker
from tamis.rank.neural._torch import choose_device, limit_training_threads, load_torch, seeded_generator

if TYPE_CHECKING:
    from tamis.rank.neural._network import Perceptron, Target, Training

_WIDE = 2  # columns per row beyond which networks are trained in the space of the rows


@dataclass(frozen=True)
class Inputs:
    """The distinct columns of a table that vary, in an order and with signs that depend on their values alone.

    A network trained on them does not depend on where the columns stood, and copies share one input.

    Attributes
    ----------
    table : ndarray of shape (n_samples, n_inputs)
        Centered, of unit variance if asked; column after column in memory.
    first : ndarray of shape (n_inputs,)
        The first column of the table that each stands for.
    input_of : ndarray of shape (n_features,)
        Input that each column is, up to sign; -1 for constant columns.
    """

    table: np.ndarray
    first: np.ndarray
    input_of: np.ndarray

    def share(self, values: np.ndarray) -> np.ndarray:
        """One value per input as one per column; NaN for constant ones."""
        return np.where(self.input_of < 0, np.nan, np.append(values, np.nan)[self.input_of])

    def copies(self) -> np.ndarray:
        """Columns that repeat an earlier one."""
        columns = np.arange(self.input_of.size)
        return columns[(self.input_of >= 0) & (np.append(self.first, -1)[self.input_of] != columns)]


def distinct_inputs(X: np.ndarray, *, standardize: bool, sample_weight: np.ndarray | None = None) -> Inputs:
    """Center the columns, scale them if asked, and leave out constant columns and copies."""
    table = rescale_columns(X) if standardize else rescale_safely(np.asarray(X, dtype=float))
    centered = center_each_column(table, sample_weight)
    varies = np.flatnonzero(centered.norm)
    Z = centered.rows if varies.size == X.shape[1] else centered.rows[varies]
    if standardize:
        total = len(X) if sample_weight is None else float(sample_weight.sum())
        Z *= (total**0.5 / centered.norm[varies])[:, None]
    order, sign, repeats = order_by_values(Z)
    is_new = np.ones(order.size, dtype=bool)
    is_new[repeats] = False
    input_of = np.full(X.shape[1], -1)
    input_of[varies[order]] = np.cumsum(is_new) - 1
    first = order[is_new]
    Z *= sign[:, None]
    return Inputs(Z[first].T, varies[first], input_of)


@dataclass(frozen=True)
class Task:
    """Inputs and target of a network as tensors, and where random numbers come from; weights of the rows, if any."""

    inputs: Inputs
    Z: Any
    target: Target
    generator: Any
    sample_weight: np.ndarray | None = None

    def take_rows(self, rows: np.ndarray) -> Task:
        """Some of the samples."""
        import torch

        places = torch.from_numpy(rows).to(self.Z.device)
        part = self.target.rows(places)
        weight = None if self.sample_weight is None else self.sample_weight[rows]
        target = replace(part, share=part.share / part.share.sum())
        return replace(self, Z=self.Z[places], target=target, sample_weight=weight)

    def without_table(self) -> Task:
        """The same without inputs, for who holds those that are needed: the others take no memory then."""
        n_rows = len(self.Z)
        inputs = replace(self.inputs, table=np.empty((n_rows, 0)))
        return replace(self, inputs=inputs, Z=self.Z.new_empty((n_rows, 0)))

    def with_inputs(self, Z: Any) -> Task:
        """The same target, from other inputs."""
        return replace(self, Z=Z)


class NetworkRanker(SampledRanker, WeightedRanker):
    """Base of methods that train a perceptron to predict the target; its loss is a mean over weighted rows."""

    stop: Any
    hidden_units: tuple[int, ...]
    alpha: float
    max_iter: int
    tol: float
    task: str
    standardize: bool
    device: str
    random_state: Any

    _parameter_constraints: ClassVar[dict] = {
        **WeightedRanker._parameter_constraints,
        **SampledRanker._parameter_constraints,
        "hidden_units": [tuple, list],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "task": [StrOptions({"auto", "regression", "classification"})],
        "standardize": ["boolean"],
        "device": [str],
        "random_state": ["random_state"],
    }

    def _trains_network(self) -> bool:
        """Whether it is a network that is trained, and not an estimator that was given."""
        return True

    def _samples_rows(self) -> bool:
        return self._trains_network()

    def _rank_top(
        self, candidates: Candidates, y: np.ndarray | None, rng: np.random.RandomState, n_top: int | None
    ) -> Ranking:
        if not self._trains_network():
            return super()._rank_top(candidates, y, rng, n_top)
        n_rows, n_columns = candidates.table.shape
        n_rows = min(n_rows, n_rows if self.max_samples is None else self.max_samples)
        n_weights = sum(m * q for m, q in pairwise((n_columns, *self._hidden_sizes(), 1)))
        with limit_training_threads(load_torch(type(self).__name__), n_rows, n_weights):
            return super()._rank_top(candidates, y, rng, n_top)

    def _hidden_sizes(self) -> tuple[int, ...]:
        if not all(isinstance(n, Integral) and n >= 1 for n in self.hidden_units):
            raise ValueError(f"hidden_units={self.hidden_units!r}: give the number of units of every layer, 1 or more")
        return tuple(map(int, self.hidden_units))

    def _task(
        self, X: np.ndarray, y: np.ndarray | None, rng: np.random.RandomState, sample_weight: np.ndarray | None = None
    ) -> Task:
        """Inputs and target on the device where the network is to be trained."""
        torch = load_torch(type(self).__name__)
        from tamis.rank.neural._network import Target, row_shares

        device = choose_device(torch, self.device)
        inputs = distinct_inputs(to_numpy(X), standardize=self.standardize, sample_weight=sample_weight)
        if not inputs.first.size:
            raise ValueError("every column of X is constant, up to rounding: there is nothing to rank")
        values, is_class = encode_outputs(np.asarray(y), self.task, sample_weight)
        Z = torch.from_numpy(inputs.table).to(device)
        target = Target(torch.from_numpy(values).to(device), is_class, row_shares(Z, sample_weight))
        return Task(inputs, Z, target, seeded_generator(torch, rng), sample_weight)

    def _start(self, task: Task, *, one_to_one: bool = False) -> Perceptron:
        """A network with random weights."""
        from tamis.rank.neural._network import Perceptron

        sizes = (task.Z.shape[1], *self._hidden_sizes(), task.target.values.shape[1])
        return Perceptron.initialize(
            sizes, task.Z, task.generator, one_to_one=one_to_one, sample_weight=task.sample_weight
        )

    def _decayed(self, network: Perceptron, task: Task, *, after: int = 0) -> Callable[[], tuple[Any, Any]]:
        r"""Loss plus :math:`\frac{\alpha}{2} \|W\|^2` over the weights beyond the first ``after``, without biases."""
        decay = self.alpha * network.is_weight()
        decay[:after] = 0.0

        def objective() -> tuple[Any, Any]:
            loss, gradient = network.loss_and_gradient(task.Z, task.target)
            decay_gradient = decay * network.theta
            return loss + 0.5 * decay_gradient.dot(network.theta), gradient + decay_gradient

        return objective

    def _train_from_start(self, network: Perceptron, task: Task) -> Training:
        """Minimize loss and weight decay from random weights; factors of inputs, if any, stay at one."""
        if task.Z.shape[1] > _WIDE * len(task.Z):
            return self._train_in_row_space(network, task)
        if network.factors is None:
            return self._train(network, task)
        free = np.ones(network.theta.numel(), dtype=bool)
        free[-network.factors.numel() :] = False
        return self._train(network, task, free)

    def _train_in_row_space(self, network: Perceptron, task: Task) -> Training:
        """The same, with a pass over the products of rows in place of one over the table."""
        from tamis.rank.neural._row_space import RowSpace

        space = RowSpace.of(task.Z)
        reduced = space.reduce(network)
        training = self._train(reduced, task.with_inputs(space.coordinates))
        space.restore(network, reduced)
        return training

    def _train(self, network: Perceptron, task: Task, free: np.ndarray | None = None) -> Training:
        """Minimize loss and weight decay."""
        from tamis.rank.neural._network import train

        # inputs that were eliminated, or rows in the space that they span, leave less to do than the table would
        with limit_training_threads(load_torch(type(self).__name__), len(task.Z), network.theta.numel()):
            return train(
                network,
                self._decayed(network, task),
                max_iter=self.max_iter,
                tol=self.tol,
                ticks=self._epochs(),
                free=free,
            )

    def _epochs(self) -> Generator[int, None, None]:
        """Reports progress to callbacks as it is asked for the next number; trainings end long before max_iter."""
        return track(self, count(1), task_name="epoch", nested=True)

    def _certify(self, trainings: list[Training]) -> dict[str, Any]:
        """How the trainings went; a warning if one of them was cut short."""
        short = sum(not training.converged for training in trainings)
        if short and not interruption(self):
            which = "its training" if len(trainings) == 1 else f"{short} of {len(trainings)} trainings"
            warnings.warn(
                f"{type(self).__name__} ended {which} before the objective settled; raise max_iter={self.max_iter} "
                f"or tol={self.tol:g}",
                ConvergenceWarning,
                stacklevel=2,
            )
        self.n_iter_ = sum(training.n_iter for training in trainings)
        return {"converged": short == 0, "n_iter": self.n_iter_, "objective": trainings[0].objective}


class NetworkElimination(Elimination):
    """Inputs of a trained network, each worth the rise of the loss when it is set to its mean.

    Parameters
    ----------
    network : Perceptron
        Trained on the inputs ``places``.
    task : Task
        With all inputs.
    places : ndarray
        Inputs of the task that the network has.
    trainings : list of Training
        So far; those to come are added.
    train : callable
        Trains a network on a task from where it is.
    """

    reports_training: ClassVar[bool] = True

    def __init__(
        self,
        network: Perceptron,
        task: Task,
        places: np.ndarray,
        trainings: list[Training],
        train: Callable[..., Training],
    ) -> None:
        self.network = network
        self.task = task.without_table()
        self.places = places
        self.trainings = trainings
        self._train = train
        self._Z = task.Z if places.size == task.Z.shape[1] else task.Z[:, places]
        self._is_trained = True

    @property
    def remaining(self) -> np.ndarray:  # type: ignore[override]
        """Columns of the table that the inputs stand for."""
        return self.task.inputs.first[self.places]

    def _loss(self) -> float:
        return self.task.target.loss(self.network(self._Z)).item()

    def criteria(self) -> np.ndarray:
        """By how much the loss rises without each input."""
        from tamis.rank.neural._network import losses_without

        return losses_without(self.network, self._Z, self.task.target) - self._loss()

    def remove(self, leaving: np.ndarray) -> None:
        """Take these inputs out of the network."""
        stay = np.flatnonzero(~np.isin(self.remaining, leaving))
        self.places, self.network = self.places[stay], self.network.keep_inputs(stay)
        self._Z = self._Z[:, stay]  # those of before are no longer held
        self._is_trained = False

    def train(self) -> bool:
        """Train from the weights as they are."""
        if not self._is_trained:
            self.trainings.append(self._train(self.network, self.task.with_inputs(self._Z)))
            self._is_trained = True
        return True

    def info(self) -> Mapping[str, Any]:
        """Loss on the inputs that remain, and how many these are."""
        return {"loss": self._loss(), "n_inputs": self.places.size}


def add_copies(path: list[Step], inputs: Inputs) -> list[Step]:
    """The path, and after it the copies of columns on it: leaving them out costs nothing."""
    ranked = {step.feature for step in path}
    original = {int(copy): int(inputs.first[inputs.input_of[copy]]) for copy in inputs.copies()}
    return path + [Step(copy, 0.0, {"copy_of": of}) for copy, of in original.items() if of in ranked]


class EliminationRanker(BackwardRanker, NetworkRanker):
    """Base of methods that eliminate inputs of a network, train it again, and so on to the last."""

    _parameter_constraints: ClassVar[dict] = {
        **NetworkRanker._parameter_constraints,
        **BackwardRanker._parameter_constraints,
    }

    def _conclude(self, elimination: Elimination, path: list[Step], n_candidates: int) -> Ranking:
        """Inputs as columns; those that never had a weight are not ranked and score zero, constant ones nothing."""
        assert isinstance(elimination, NetworkElimination)
        inputs = elimination.task.inputs
        ranking = Ranking.from_path(add_copies(path, inputs), n_candidates, self._certify(elimination.trainings))
        ranking.scores[np.isnan(ranking.scores) & (inputs.input_of >= 0)] = 0.0
        return ranking


def encode_outputs(y: np.ndarray, task: str, sample_weight: np.ndarray | None = None) -> tuple[np.ndarray, bool]:
    """Indicators of the classes, or a standardized quantity, one row per sample; whether they are classes."""
    task = infer_task(y) if task == "auto" else task
    if task == "classification":
        classes, codes = encode_classes(y)
        return (codes[:, None] == np.arange(classes.size)).astype(float), True
    values = encode_target(y, task).values
    values = values / np.abs(values).max()
    values = values - np.average(values[:, 0], weights=sample_weight)
    deviation = np.average(np.square(values[:, 0]), weights=sample_weight) ** 0.5
    return values / max(deviation, np.finfo(float).tiny), False
