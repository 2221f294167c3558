"""Bad arrays: every method is fitted to tables, targets and weights that no one should have to expect.

Each attack spoils a small table in one to three ways. What came of it is right if the method refuses in one line of its
own words, or gives what it promises: an order without repetition, scores that are numbers, as many features as it says.
Where the spoiled table holds what a plain one holds (another layout, another container, a mask for NaN), the answer
must be that on the plain one, too.
"""

from __future__ import annotations

import decimal
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import torch
from scipy import sparse
from scipy.linalg import LinAlgWarning
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning

import tamis
from tamis.base import NothingKeptWarning, Ranker
from tamis.testing.checks import seeded
from tamis.testing.instances import ARGUMENTS
from tests.adversary.isolation import Attack

LONGEST_MESSAGE = 700  # characters
HARMLESS = (
    ConvergenceWarning,
    NothingKeptWarning,
    DataConversionWarning,
    LinAlgWarning,
)  # and UserWarning itself, which tamis words itself
OWN_WORDS = (
    "/tamis/",
    "/sklearn/utils/",
    "/sklearn/linear_model/_glm/",
)  # the last: a user's model; modules whose errors are written for people


@dataclass
class Case:
    """A table, a target and weights, on their way to be spoiled. ``plain_X`` holds the same as ``X``, None: unknown."""

    X: Any
    y: Any
    sample_weight: Any = None
    plain_X: Any = None
    stop: Any = "as it is"
    done: list[str] = field(default_factory=list)


def make_case(rng: np.random.Generator, method: type[Ranker]) -> Case:
    """A small table of quarters, which narrow types hold exactly, and a target that its first columns explain."""
    n_rows, n_columns = int(rng.integers(4, 40)), int(rng.integers(1, 11))
    X = np.round(4 * rng.normal(size=(n_rows, n_columns))).clip(-100, 100) / 4
    signal = X[:, 0] + X[:, -1] + 0.5 * rng.normal(size=n_rows)
    is_quantity = "regression" in method.tasks and ("classification" not in method.tasks or rng.random() < 0.5)
    n_classes = int(rng.integers(2, 4))
    y = signal if is_quantity else np.digitize(signal, np.quantile(signal, np.arange(1, n_classes) / n_classes))
    return Case(X, y)


# ways to spoil a table of floats, in place or by a copy: the result is an array of floats again


def _some(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.permutation(n)[: int(rng.integers(n)) + 1] if n else np.arange(0)


def scale_all(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    return np.ldexp(X, int(rng.integers(-1074, 1015)))


def scale_columns(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    return np.ldexp(X, rng.integers(-1074, 1015, size=X.shape[1]))


def scale_columns_mildly(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    return np.ldexp(X, rng.integers(-40, 40, size=X.shape[1]))


def offset(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    return X + 10.0 ** rng.integers(0, 300, size=X.shape[1])


def holes(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    value = rng.choice([np.nan, np.inf, -np.inf], p=[0.8, 0.1, 0.1])
    shape = [X.shape, (X.shape[0], 1), (1, X.shape[1])][int(rng.integers(3))]
    return np.where(rng.random(shape) < rng.choice([0.05, 0.3, 0.9]), value, X)


def constants(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    X[:, _some(rng, X.shape[1])] = rng.choice([0.0, -0.0, 1.0, 0.1, 1e300, 5e-324])
    return X


def copies(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    X[:, _some(rng, X.shape[1])] = X[:, :1] * rng.choice([1.0, -1.0, 2.0, 1 / 3])
    return X


def one_far_cell(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    if X.size:
        X[rng.integers(X.shape[0]), rng.integers(X.shape[1])] = rng.choice([1e300, -1e154, 1e38, 1e20])
    return X


def same_rows(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    return X[rng.integers(int(rng.integers(1, 4)), size=X.shape[0]) % max(len(X), 1)]


def near_constants(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    return 1.0 + X * 2.0 ** rng.integers(-60, -30)


def mostly_zero(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    return np.where(rng.random(X.shape) < 0.9, 0.0, X)


def few_rows(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    return X[: int(rng.integers(0, 4))]


def no_columns(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    return X[:, :0]


VALUES: tuple[Callable[[np.random.Generator, np.ndarray], np.ndarray], ...] = (
    scale_all,
    scale_columns,
    scale_columns_mildly,
    offset,
    holes,
    constants,
    copies,
    one_far_cell,
    same_rows,
    near_constants,
    mostly_zero,
    few_rows,
    no_columns,
)

# containers and layouts of the same values


def fortran(rng: np.random.Generator, X: np.ndarray) -> Any:
    return np.asfortranarray(X)


def strided(rng: np.random.Generator, X: np.ndarray) -> Any:
    wide = np.full((2 * X.shape[0], 3 * X.shape[1]), 7.0)
    wide[::2, ::3] = X
    return wide[::2, ::3]


def reversed_strides(rng: np.random.Generator, X: np.ndarray) -> Any:
    return np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1]


def read_only(rng: np.random.Generator, X: np.ndarray) -> Any:
    X.setflags(write=False)
    return X


def unaligned(rng: np.random.Generator, X: np.ndarray) -> Any:
    buffer = np.zeros(X.nbytes + 1, dtype=np.uint8)
    view = buffer[1:].view(X.dtype).reshape(X.shape)
    view[...] = X
    return view


def big_endian(rng: np.random.Generator, X: np.ndarray) -> Any:
    return X.astype(">f8")


def long_double(rng: np.random.Generator, X: np.ndarray) -> Any:
    return X.astype(np.longdouble)


def lists(rng: np.random.Generator, X: np.ndarray) -> Any:
    return X.tolist()


def tuples(rng: np.random.Generator, X: np.ndarray) -> Any:
    return tuple(tuple(row) for row in X.tolist())


def objects(rng: np.random.Generator, X: np.ndarray) -> Any:
    return X.astype(object)


def fractions(rng: np.random.Generator, X: np.ndarray) -> Any:
    make = [Fraction, decimal.Decimal, np.float64][int(rng.integers(3))]
    return np.array([[make(value) if np.isfinite(value) else value for value in row] for row in X.tolist()], object)


def masked(rng: np.random.Generator, X: np.ndarray) -> Any:
    hidden = ~np.isfinite(X)
    return np.ma.array(np.where(hidden, 99.0, X), mask=hidden if rng.random() < 0.7 or hidden.any() else np.ma.nomask)


def pandas_frame(rng: np.random.Generator, X: np.ndarray) -> Any:
    names = [f"x{j}" for j in range(X.shape[1])]
    frame = pd.DataFrame(X, columns=names, index=rng.permutation(X.shape[0]))
    dtype = ["float64", "Float64", "object", "float64[pyarrow]"][int(rng.integers(4))]
    return frame.astype(dtype)


def polars_frame(rng: np.random.Generator, X: np.ndarray) -> Any:
    return pl.DataFrame({f"x{j}": X[:, j] for j in range(X.shape[1])})


def arrow_table(rng: np.random.Generator, X: np.ndarray) -> Any:
    return pa.table({f"x{j}": X[:, j] for j in range(X.shape[1])})


def memory_map(rng: np.random.Generator, X: np.ndarray) -> Any:
    np.save("map.npy", X)
    return np.load("map.npy", mmap_mode="r")


def sparse_oddity(rng: np.random.Generator, X: np.ndarray) -> Any:
    """Explicit zeros, entries that are to be added up, indices in any order, other formats."""
    table = sparse.coo_array(X)
    rows, columns = table.coords
    is_halved = abs(table.data) > 1e-300  # a half of the smallest number is zero
    half, other = np.where(is_halved, table.data / 2, table.data), np.where(is_halved, table.data / 2, 0)
    zeros = rng.integers(0, max(X.shape[0], 1), size=3), rng.integers(0, max(X.shape[1], 1), size=3)
    if X.size:
        rows, columns = np.r_[rows, rows, zeros[0]], np.r_[columns, columns, zeros[1]]
        half = np.r_[half, other, np.zeros(3)]
    mixed = rng.permutation(half.size)
    table = sparse.coo_array((half[mixed], (rows[mixed], columns[mixed])), shape=X.shape)
    name = rng.choice(["csr", "csc", "coo", "bsr", "dia", "lil", "dok"])
    if name in ("csr", "csc") and half.size:
        return _with_repeated_entries(table, name)
    return table.asformat(name) if rng.random() < 0.7 else sparse.coo_matrix(table).asformat(name)


def _with_repeated_entries(table: sparse.coo_array, name: str) -> Any:
    """A compressed table whose repeated entries have not been added up, nor its indices sorted."""
    major, minor = table.coords if name == "csr" else table.coords[::-1]
    order = np.argsort(major, kind="stable")
    starts = np.searchsorted(major[order], np.arange(table.shape[name == "csc"] + 1))
    kind = sparse.csr_array if name == "csr" else sparse.csc_array
    return kind((table.data[order], minor[order], starts), shape=table.shape)


SAME: tuple[Callable[[np.random.Generator, np.ndarray], Any], ...] = (
    fortran,
    strided,
    reversed_strides,
    read_only,
    unaligned,
    big_endian,
    long_double,
    lists,
    tuples,
    objects,
    fractions,
    masked,
    pandas_frame,
    polars_frame,
    arrow_table,
    memory_map,
    sparse_oddity,
)

# other types and shapes: nothing is known of the answer


def narrow(rng: np.random.Generator, X: np.ndarray) -> Any:
    with np.errstate(all="ignore"):
        name = rng.choice(["f2", "f4", "i1", "i2", "i4", "i8", "u1", "u8", "?", "c8", "c16", "S8", "U8"])
        with warnings.catch_warnings(action="ignore"):
            return X.astype(name)


def extreme_integers(rng: np.random.Generator, X: np.ndarray) -> Any:
    dtype = np.dtype(rng.choice(["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]))
    limits = np.iinfo(dtype)
    return rng.choice(np.array([limits.min, limits.max, 0, 1], dtype=dtype), size=X.shape)


def dates(rng: np.random.Generator, X: np.ndarray) -> Any:
    kind = rng.choice(["M8[ns]", "m8[s]", "M8[D]"])
    return np.nan_to_num(X, posinf=0, neginf=0).clip(-1e15, 1e15).astype(np.int64).astype(kind)


def structured(rng: np.random.Generator, X: np.ndarray) -> Any:
    return np.array([tuple(row) for row in X.tolist()], dtype=[(f"f{j}", "f8") for j in range(X.shape[1])])


def other_shape(rng: np.random.Generator, X: np.ndarray) -> Any:
    first = X[0, 0] if X.size else 0.0
    return [X[0] if len(X) else X.ravel(), X[:, :, None], np.array(first), first, X[None], X.ravel()][rng.integers(6)]


def ragged(rng: np.random.Generator, X: np.ndarray) -> Any:
    return [row[: 1 + i % 3] for i, row in enumerate(X.tolist())]


def no_table(rng: np.random.Generator, X: np.ndarray) -> Any:
    nothing = [None, "table.csv", {}, [], {"x0": [1.0]}, 3, iter(X.tolist()), object(), b"\0", range(5), np.random]
    return nothing[rng.integers(len(nothing))]


def tensors(rng: np.random.Generator, X: np.ndarray) -> Any:
    tensor = torch.tensor(X)
    given = [
        tensor,
        tensor.to(torch.bfloat16),
        tensor.to(torch.float16),
        tensor.to_sparse(),
        tensor.to(torch.int64),
        tensor.clone().requires_grad_(),
        tensor.to(torch.complex64),
        tensor.T.contiguous().T,
        tensor.to("meta"),
    ]
    return given[rng.integers(len(given))]


def odd_names(rng: np.random.Generator, X: np.ndarray) -> Any:
    pool = ["a", "a", "", "\x1b[31m", "b\nc", 1, 1.5, None, ("t", 1), "é", "x" * 500, "=1+1", "[bold]", True]
    frame = pd.DataFrame(X)
    frame.columns = pd.Index([pool[i] for i in rng.integers(len(pool), size=X.shape[1])], tupleize_cols=False)
    return frame


def odd_columns(rng: np.random.Generator, X: np.ndarray) -> Any:
    n_rows = X.shape[0]
    odd = [
        pd.Series(["a", "b"] * n_rows)[:n_rows].astype("category"),
        pd.Series([None, "text"] * n_rows, dtype=object)[:n_rows],
        pd.Series(pd.date_range("2020", periods=n_rows, tz="UTC")),
        pd.Series([True, None] * n_rows, dtype="boolean")[:n_rows],
        pd.Series([[1, 2]] * n_rows, dtype=object),
        pd.Series([decimal.Decimal("1.5"), 2, 3.0] * n_rows, dtype=object)[:n_rows],
        pd.Series([2**70] * n_rows, dtype=object),
        pd.Series([1j] * n_rows),
        pd.Series(pd.arrays.SparseArray([0.0] * n_rows)),
        pd.Series(pd.period_range("2020", periods=n_rows, freq="D")),
        pd.Series([pd.Interval(0, 1)] * n_rows),
    ]
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    return frame.assign(odd=odd[rng.integers(len(odd))].to_numpy(dtype=None))


def odd_polars(rng: np.random.Generator, X: np.ndarray) -> Any:
    frame = pl.DataFrame({f"x{j}": X[:, j] for j in range(X.shape[1])})
    n_rows = X.shape[0]
    odd = [
        pl.Series("odd", [None] * n_rows),
        pl.Series("odd", ["a"] * n_rows, dtype=pl.Categorical),
        pl.Series("odd", [[1.0]] * n_rows, dtype=pl.List(pl.Float64)),
        pl.Series("odd", [{"a": 1}] * n_rows, dtype=pl.Struct({"a": pl.Int64})),
        pl.Series("odd", [b"x"] * n_rows, dtype=pl.Binary),
        pl.Series("odd", [decimal.Decimal("1.25")] * n_rows, dtype=pl.Decimal(10, 2)),
        pl.Series("odd", [object()] * n_rows, dtype=pl.Object),
    ]
    frame = frame.with_columns(odd[rng.integers(len(odd))]) if frame.width else frame
    return [frame, frame.lazy(), frame.to_series(0) if frame.width else frame][rng.integers(3)]


def broken_sparse(rng: np.random.Generator, X: np.ndarray) -> Any:
    """Indices that point outside, or claims that do not hold."""
    table = sparse.csr_array(X)
    if table.nnz:
        where = rng.integers(table.nnz)
        table.indices[where] = rng.choice([-1, X.shape[1], 2**30])
    return table


OTHER: tuple[Callable[[np.random.Generator, np.ndarray], Any], ...] = (
    narrow,
    extreme_integers,
    dates,
    structured,
    other_shape,
    ragged,
    no_table,
    tensors,
    odd_names,
    odd_columns,
    odd_polars,
    broken_sparse,
)


# targets, weights and rules


def spoil_target(rng: np.random.Generator, y: np.ndarray) -> tuple[str, Any]:
    n = len(y)
    holed, far, words = y.astype(float), y.astype(float), np.array([f"class {v:.0f}" for v in y], dtype=object)
    if n:
        holed[rng.integers(n)] = rng.choice([np.nan, np.inf, -np.inf])
        far[rng.integers(n)] = rng.choice([1e300, 1e-300])
    mixed = np.array([1, "a", None, 2.5, True, b"x"] * n, dtype=object)[:n]
    ways = {
        "constant": np.ones(n),
        "one of a class": np.arange(n) == 0,
        "all different": np.arange(n),
        "texts": words,
        "texts with None": np.where(np.arange(n) == 1, None, words),
        "mixed": mixed,
        "bytes": np.array([b"a", b"b"] * n)[:n],
        "booleans": y > np.median(y) if n else y,
        "complex": y + 1j,
        "hole": holed,
        "far": far,
        "tiny": y * 1e-310,
        "huge": y * 1e306,
        "column": y.reshape(-1, 1),
        "several": np.column_stack([y, y[::-1], np.ones(n)]),
        "longer": np.r_[y, y],
        "empty": y[:0],
        "none": None,
        "text": "y",
        "masked": np.ma.array(y, mask=np.arange(n) % 3 == 0),
        "dates": np.arange(n).astype("M8[D]"),
        "objects": y.astype(object),
        "categories": pd.Series(pd.Categorical(words.astype(str), categories=["unused", *set(words)])),
        "nullable": pd.Series(y).astype("Float64").where(pd.Series(np.arange(n)) != 1),
        "polars": pl.Series(y),
        "tensor": torch.tensor(y),
        "sparse": sparse.csr_array(np.atleast_2d(y).T),
        "large integers": [2**63 + int(i) for i in range(n)],
        "lists": [[v] for v in y.tolist()],
        "nested": [[v, [v]] for v in y.tolist()],
        "half": y.astype(np.float16),
        "counts": rng.poisson(3, size=n),
        "unbalanced": (np.arange(n) < 2).astype(int),
    }
    name = str(rng.choice(list(ways)))
    return name, ways[name]


def spoil_weights(rng: np.random.Generator, n: int) -> tuple[str, Any]:
    ways = {
        "ones": np.ones(n),
        "zeros": np.zeros(n),
        "one row": (np.arange(n) == 0).astype(float),
        "negative": rng.normal(size=n),
        "NaN": np.where(np.arange(n) == 1, np.nan, 1.0),
        "huge": np.where(np.arange(n) == 0, 1e200, 1.0),
        "tiny": np.full(n, 1e-310),
        "short": np.ones(max(n - 1, 0)),
        "integers": rng.integers(0, 4, size=n),
        "booleans": rng.random(n) < 0.5,
        "texts": ["1"] * n,
        "column": np.ones((n, 1)),
        "one number": 1.0,
        "fractions": rng.random(n),
    }
    name = str(rng.choice(list(ways)))
    return name, ways[name]


STOPS: tuple[Any, ...] = (
    1,
    2,
    None,
    0.5,
    0,
    -1,
    10**6,
    float("nan"),
    float("inf"),
    1.0,
    "nonsense",
    "auto",
    True,
    "cross-validation",
    "monte-carlo-probe",
    "fit-plateau",
    "intrinsic-dimension",
    "probe",
    [],
)


def spoil(rng: np.random.Generator, case: Case) -> None:
    """Values first, then what holds them, then the target, the weights or the rule."""
    n_rows = case.X.shape[0]
    for change in rng.choice(len(VALUES), size=int(rng.choice([0, 1, 2], p=[0.35, 0.5, 0.15])), replace=False):
        with np.errstate(all="ignore"):
            case.X = VALUES[change](rng, case.X)
        case.done.append(VALUES[change].__name__)
    if case.X.shape[0] < n_rows and rng.random() < 0.9:
        case.y = case.y[: case.X.shape[0]]
    kind, n_rows = rng.random(), case.X.shape[0]
    if kind < 0.4:
        change = SAME[rng.integers(len(SAME))]
        plain = sparse.csr_array(case.X) if change is sparse_oddity else case.X.copy()
        case.plain_X, case.X = plain, change(rng, case.X)
        case.done.append(change.__name__)
    elif kind < 0.65:
        change = OTHER[rng.integers(len(OTHER))]
        case.X = change(rng, case.X)
        case.done.append(change.__name__)
    if rng.random() < 0.3:
        name, case.y = spoil_target(rng, case.y)
        case.done.append(f"y {name}")
    if rng.random() < 0.15:
        name, case.sample_weight = spoil_weights(rng, n_rows)
        case.done.append(f"weights {name}")
    if rng.random() < 0.15:
        case.stop = STOPS[rng.integers(len(STOPS))]
        case.done.append(f"stop={case.stop!r}")


# what must be right


def what_is_wrong_with_error(error: Exception) -> str:
    """ "" for an error that is written for people: of the right type, raised knowingly, in one line."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    text = str(error)
    if not isinstance(error, ValueError | TypeError) or isinstance(error, np.linalg.LinAlgError | UnicodeError):
        return f"{type(error).__name__} at {last.filename}:{last.lineno}: {text[:300]}"
    if not any(part in last.filename for part in OWN_WORDS):
        return f"{type(error).__name__} in words of {last.filename}:{last.lineno}: {text[:300]}"
    if not text or "\n" in text.strip() or len(text) > LONGEST_MESSAGE:
        return f"{type(error).__name__} of {len(text.splitlines())} lines, {len(text)} characters: {text[:300]}"
    return ""


def what_is_wrong_with_warnings(caught: list[warnings.WarningMessage]) -> str:
    """ "" where only tamis spoke."""
    for each in caught:
        if each.category is not UserWarning and not issubclass(each.category, HARMLESS):
            return f"{each.category.__name__} at {each.filename}:{each.lineno}: {str(each.message)[:200]}"
    return ""


def what_is_wrong_with_selection(found: Ranker, n_columns: int | None) -> str:
    """ "" where the fitted attributes are finite, agree with each other, and rank every feature at most once."""
    order, scores, support = found.order_, found.scores_, found.support_
    n = support.size
    if n_columns is not None and n != n_columns:
        return f"{n} features of {n_columns} columns"
    if np.unique(order).size != order.size or (order.size and not 0 <= order.min() <= order.max() < n):
        return f"order_ is {order.tolist()}"
    unscored = np.isnan(scores[order]) if scores.shape == (n,) else np.ones(1, dtype=bool)
    if np.any(unscored[:-1] > unscored[1:]) or (scores.shape != (n,)):  # features that never entered come last
        return f"scores of ranked features are {scores[order].tolist()}"
    if support.sum() != found.n_features_ or not np.array_equal(
        np.sort(order[: found.n_features_]), support.nonzero()[0]
    ):
        return f"{found.n_features_} features, support {support.nonzero()[0].tolist()}, order {order.tolist()}"
    if not found.stop_.reason or "nan" in found.stop_.reason.lower().split():
        return f"reason: {found.stop_.reason!r}"
    return ""


def _fit(method: Ranker, case: Case, X: Any) -> tuple[Ranker | None, str]:
    """The fitted method, or None where it refused; and what was wrong."""
    given = {} if case.sample_weight is None else {"sample_weight": case.sample_weight}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = seeded(method).fit(X, case.y, **given)
        except Exception as error:
            return None, what_is_wrong_with_error(error) or what_is_wrong_with_warnings(caught)
    return found, what_is_wrong_with_warnings(caught)


def _shape(X: Any) -> int | None:
    shape = getattr(X, "shape", None)
    return int(shape[1]) if isinstance(shape, tuple) and len(shape) == 2 else None


def attack_method(name: str, arguments: dict[str, Any], case: Case) -> str:
    """Fit, and say what is wrong with what came of it."""
    method = getattr(tamis, name)(**arguments)
    if case.stop != "as it is":
        method.set_params(stop=case.stop)
    found, wrong = _fit(method, case, case.X)
    if wrong:
        return wrong
    if found is not None:
        wrong = what_is_wrong_with_selection(found, _shape(case.X)) or _what_is_wrong_with_columns(found, case.X)
    return wrong or _what_differs(method, case, found)


def _what_is_wrong_with_columns(found: Ranker, X: Any) -> str:
    """ "" where the kept columns can be taken from the table that was fitted."""
    with warnings.catch_warnings(action="ignore"):
        try:
            kept = found.transform(X)
        except Exception as error:
            return f"transform: {what_is_wrong_with_error(error) or error}"
    return "" if _shape(kept) == found.n_features_ else f"transform gives {_shape(kept)} of {found.n_features_} columns"


def _what_differs(method: Ranker, case: Case, found: Ranker | None) -> str:
    """ "" where a plain table of the same values has the same answer, as far as rounding allows."""
    if case.plain_X is None:
        return ""
    plain, wrong = _fit(method, case, case.plain_X)
    if wrong:
        return f"plain table: {wrong}"
    if found is None or plain is None:
        is_same = (found is None) == (plain is None)
        return "" if is_same else f"refused: {found is None}, on a plain table: {plain is None}"
    ours, theirs = found.scores_[found.order_], plain.scores_[plain.order_]
    if found.order_.tolist() == plain.order_.tolist() and found.n_features_ == plain.n_features_:
        return ""
    is_tie = ours.shape == theirs.shape and np.allclose(ours, theirs, rtol=1e-6)
    return "" if is_tie else f"order {found.order_} and scores {ours}, on a plain table {plain.order_} and {theirs}"


def make_attack(rng: np.random.Generator, index: int) -> Attack:
    """A method, each in its turn, a table, and what is done to it."""
    name = sorted(ARGUMENTS)[index % len(ARGUMENTS)]
    arguments = ARGUMENTS[name][rng.integers(len(ARGUMENTS[name]))]
    method = getattr(tamis, name)
    state = rng.bit_generator.state

    def act(folder: Path) -> str:
        del folder
        own = np.random.default_rng()
        own.bit_generator.state = state
        case = make_case(own, method)
        spoil(own, case)
        wrong = attack_method(name, arguments, case)
        return wrong and f"{', '.join(case.done)}: {wrong}"

    shown = ", ".join(f"{key}={value!r}" for key, value in arguments.items())
    return Attack("arrays", name, f"{name}({shown})", act)
