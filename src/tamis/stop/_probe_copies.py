"""Probes: copies of the candidates that have no part in the target."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, cholesky, eigh

from tamis._sklearn import safe_indexing
from tamis.base import ROWS, Candidates
from tamis.kernels.arrays.copies import place_columns
from tamis.kernels.arrays.missing import has_missing
from tamis.kernels.arrays.scaling import standardize_with_units
from tamis.stop._knockoffs import (
    KnockoffLaw,
    estimate_correlation,
    far_from_gaussian,
    match_margins,
    moment_mismatch,
)

MOST_COLUMNS = 2000  # of which a matrix of correlations is held and inverted
_SAME = 1e-10  # what the correlation of two copies of a column lacks of one, at most
_SYMMETRY = 1e-8  # largest difference of two entries of a covariance that should be equal, relative to the largest


class ProbeCopies(ABC):
    """What features are ranked among, drawn anew in every draw.

    Attributes
    ----------
    words : str
        What people call the copies.
    keeps_correlations : bool
        Whether a copy is correlated with the other features as its feature is. An irrelevant feature beside a relevant
        one then looks like its copy, so that the hypotheses tested are conditional on all other features.
    """

    words: ClassVar[str]
    keeps_correlations: ClassVar[bool] = True

    @abstractmethod
    def draw(self, table: Any, rng: np.random.RandomState) -> Any:
        """A table of copies; the columns of a group, and those of related features, are drawn together."""

    def certificate(self) -> Mapping[str, Any]:
        """How well the copies are what they should be."""
        return {}


@dataclass(frozen=True)
class PermutedRows(ProbeCopies):
    """Features with their rows permuted together; given kept features, only what these do not explain is permuted."""

    words: ClassVar[str] = "permuted copies"
    keeps_correlations: ClassVar[bool] = False
    kept: np.ndarray

    def draw(self, table: Any, rng: np.random.RandomState) -> Any:
        """All columns with the same permutation of the rows."""
        rows = rng.permutation(table.shape[0])
        if self.kept.size == 0:
            return safe_indexing(table, rows)
        basis = np.linalg.qr(np.column_stack([np.ones(len(table)), table[:, self.kept]]))[0]
        explained = basis @ (basis.T @ table)
        return (explained + (table - explained)[rows]).astype(table.dtype)


@dataclass(frozen=True)
class GaussianTable:
    """Distinct columns that vary, standardized, in an order that their values decide on, and their correlation.

    Attributes
    ----------
    Z : ndarray of shape (n_samples, n_distinct)
    mean, scale, sign : ndarray of shape (n_varying,)
        Of all columns that vary; the sign tells a copy from its negative.
    varying : ndarray of int
    place : ndarray of int of shape (n_varying,)
        The distinct column that each of them is, or is a copy of.
    codes : ndarray of int of shape (n_distinct,)
        Candidate of every distinct column, numbered from 0.
    R : ndarray of shape (n_distinct, n_distinct)
    estimate : str
        Where the correlation comes from.
    """

    Z: np.ndarray
    mean: np.ndarray
    scale: np.ndarray
    sign: np.ndarray
    varying: np.ndarray
    place: np.ndarray
    codes: np.ndarray
    R: np.ndarray
    estimate: str

    @classmethod
    def of(cls, candidates: Candidates, covariance: Any) -> GaussianTable:
        """The correlation of the columns: given by their covariance, else estimated from the rows."""
        X, weight = np.asarray(candidates.table, dtype=float), candidates.sample_weight
        units = standardize_with_units(X, weight)
        varying = np.flatnonzero(units.varies)
        Z, mean, scale = units.table[:, varying], units.mean[varying], units.scale[varying]
        if covariance is None:
            distinct, place = _place_copies(Z)
        else:
            names = [candidates.column_name(j) for j in range(X.shape[1])]
            given = read_covariance(covariance, names)[np.ix_(varying, varying)]
            distinct = place = np.arange(varying.size)
            deviation = np.sqrt(np.diag(given))
            Z, scale = Z * (scale / deviation), deviation
        sign = np.where(np.einsum("ij,ij->j", Z, Z[:, distinct][:, place]) < 0, -1.0, 1.0)
        Z = Z[:, distinct]
        candidate = np.array([candidates.candidate_of(j) for j in varying[distinct].tolist()], dtype=np.int64)
        codes = np.unique(candidate, return_inverse=True)[1]
        if covariance is None:
            share = np.ones(len(X)) if weight is None else weight / weight.mean()
            R, estimate = estimate_correlation(Z * np.sqrt(share)[:, None])
        else:
            R, estimate = given / np.outer(scale, scale), "given"
        return cls(Z, mean, scale, sign, varying, place, codes, R, estimate)

    def put_back(self, copies: np.ndarray, table: np.ndarray) -> np.ndarray:
        """A table with copies of the distinct columns in the place of all that vary, in their units."""
        found = np.array(table)
        found[:, self.varying] = self.mean + self.scale * self.sign * copies[:, self.place]
        return found


def _place_copies(Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Columns that are no copy of another, in other units or of another sign, and for every column its place there."""
    order, place = place_columns(Z)
    is_same = np.abs(np.corrcoef(Z[:, order].T)).reshape(order.size, -1) > 1.0 - _SAME
    first = is_same.argmax(axis=0)
    kept = np.flatnonzero(first == np.arange(order.size))
    return order[kept], np.searchsorted(kept, first)[place]


class Knockoffs(ProbeCopies):
    """Gaussian knockoffs, of the law of least reconstructability, beside the features as they are.

    Where a column is far from Gaussian, the knockoff has its values, in the order of the Gaussian one: beside a rare
    binary column a Gaussian knockoff would be no copy that anything could be compared with.
    """

    words: ClassVar[str] = "knockoffs"

    def __init__(self, candidates: Candidates, covariance: Any, rng: np.random.RandomState) -> None:
        self.columns = GaussianTable.of(candidates, covariance)
        self.law = KnockoffLaw.of(self.columns.R, self.columns.codes)
        Z = self.columns.Z
        self.expected = Z @ self.law.prediction
        self.matched = np.flatnonzero(far_from_gaussian(Z)) if covariance is None else np.empty(0, dtype=int)
        self.margins = np.sort(Z[:, self.matched], axis=0)
        self._mismatch = moment_mismatch(Z, self._draw_standardized(rng), self.columns.codes)

    def draw(self, table: Any, rng: np.random.RandomState) -> Any:
        """Knockoffs in the units and the precision of the table."""
        return self.columns.put_back(self._draw_standardized(rng), table)

    def _draw_standardized(self, rng: np.random.RandomState) -> np.ndarray:
        knockoffs = self.law.draw(self.expected, rng)
        knockoffs[:, self.matched] = match_margins(knockoffs[:, self.matched], self.margins)
        return knockoffs

    def certificate(self) -> Mapping[str, Any]:
        """How well second moments match, how much of its feature a knockoff holds, and how many are not Gaussian."""
        mismatch, by_chance = self._mismatch
        return {
            "covariance": self.columns.estimate,
            "moment_mismatch": mismatch,
            "moment_mismatch_by_chance": by_chance,
            "mean_correlation_with_knockoff": float(1.0 - np.mean(np.diag(self.law.S))),
            "n_matched_margins": self.matched.size,
        }


class PermutedResiduals(ProbeCopies):
    r"""What all other candidates tell of a candidate, plus the rest of it, with permuted rows.

    With the precision matrix :math:`\Omega` of the standardized columns, the rest of candidate g is
    :math:`Z \Omega_{\cdot g} \Omega_{gg}^{-1}`.
    """

    words: ClassVar[str] = "copies whose residuals are permuted"

    def __init__(self, candidates: Candidates, covariance: Any) -> None:
        self.columns = GaussianTable.of(candidates, covariance)
        Z, R, codes = self.columns.Z, self.columns.R, self.columns.codes
        precision = cho_solve(cho_factor(R), np.eye(len(R)))
        self.residual = Z @ precision
        for group in range(codes.max(initial=-1) + 1):
            members = np.flatnonzero(codes == group)
            inside = precision[np.ix_(members, members)]
            self.residual[:, members] = np.linalg.solve(inside, self.residual[:, members].T).T

    def draw(self, table: Any, rng: np.random.RandomState) -> Any:
        """The residuals of all candidates with the same permutation of the rows."""
        residual = self.residual
        return self.columns.put_back(self.columns.Z - residual + residual[rng.permutation(len(residual))], table)

    def certificate(self) -> Mapping[str, Any]:
        """Where the correlation comes from."""
        return {"covariance": self.columns.estimate}


def read_covariance(covariance: Any, names: list[str]) -> np.ndarray:
    """A covariance matrix of the columns of X, or an error that says what is wrong with it."""
    try:
        given = np.asarray(covariance, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"covariance must be a table of numbers: {error}") from error
    if given.shape != (len(names), len(names)):
        raise ValueError(
            f"covariance has the shape {given.shape}, but X has {len(names)} columns: give one row for each"
        )
    labels = list(getattr(covariance, "columns", names))
    if labels != names and all(isinstance(label, str) for label in labels):
        raise ValueError(
            f"covariance is a data frame of the columns {', '.join(labels[:3])}, ..., and X has "
            f"{', '.join(names[:3])}, ...: give it in the order of X, or as an array"
        )
    if not np.isfinite(given).all():
        raise ValueError("covariance holds values that are not finite; give that of the columns of X")
    if np.abs(given - given.T).max(initial=0.0) > _SYMMETRY * np.abs(given).max(initial=0.0):
        raise ValueError("covariance is not symmetric; give that of the columns of X")
    try:
        cholesky(given)
    except LinAlgError:
        smallest = float(eigh(given, eigvals_only=True, subset_by_index=[0, 0])[0])
        raise ValueError(
            f"covariance is not positive definite (its least eigenvalue is {smallest:.3g}): leave out columns that "
            "others determine"
        ) from None
    return (given + given.T) / 2.0


def why_no_model_of_columns(candidates: Candidates) -> str:
    """Why the columns cannot be modeled given each other, in words; empty where they can."""
    X = candidates.table
    if ROWS not in candidates.provides:
        return "rows are read in blocks"
    if not isinstance(X, np.ndarray):
        return "X is not a dense table in memory"
    if has_missing(X):
        return "X has missing values"
    if X.shape[1] > MOST_COLUMNS:
        return f"X has more than {MOST_COLUMNS} columns"
    if candidates.is_discrete.any():
        column = candidates.column_name(int(np.flatnonzero(candidates.is_discrete)[0]))
        return f"column '{column}' holds labels"
    return ""
