"""What a machine selected from an infinite set of features, as pictures, bands, points or bars."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tamis._sklearn import check_feature_names_in
from tamis.dictionary import RBF, FiniteDictionary, Parameter, Pool
from tamis.dictionary._band_pass import Bands
from tamis.plots._map_panels import draw_bands, draw_names, draw_pictures, draw_points, write_nothing

_MOST = {"pictures": 12, "names": 20}  # maps drawn when no number is given; bands and points are all drawn
_DRAW = {"pictures": draw_pictures, "bands": draw_bands, "points": draw_points, "names": draw_names}
_NEUTRAL = "0.4"  # maps of several columns speak for no class in particular


class DictionaryDisplay:
    """The feature maps that an InfiniteSVM selected, drawn as what they are.

    Maps that are pictures (:class:`~tamis.dictionary.Gabor`) are shown, the heaviest first, black and white for
    opposite signs. Frequency bands are bars from their lower to their upper edge, thicker for heavier ones, above the
    sum of all gains, each times its importance: which frequencies matter. Maps of one or two parameters are points in
    the space of these, of an area that grows with importance (:class:`~tamis.dictionary.RBF` on two columns are
    centers, and circles of one width). All others are bars by name. Colors are classes: that for which a map speaks,
    where it has one column, and that which it matters to most with more than two classes, hollow where it speaks
    against that class. Make it with :meth:`from_estimator`.

    Parameters
    ----------
    dictionary : fitted Dictionary or FiniteDictionary
        Its method ``atoms``, if there is one, gives for parameters either pictures, of shape (n, height, width), or
        frequencies in Hz and gains, of shape (n, n_frequencies).
    parameters : array of shape (n_selected, n_parameters)
        Of the maps; indices in a finite dictionary.
    weights : array of shape (n_targets, n_selected, n_columns)
        One target for two classes, where positive weights speak for the second, and one per class otherwise.
    names : sequence of str
        Of the maps.
    classes : sequence
    n_maps : int, default=None
        How many of the heaviest maps to draw. None draws 12 pictures, 20 names, or all bands and points.

    Attributes
    ----------
    kind : {"pictures", "bands", "points", "names"}
    importances : ndarray of shape (n_selected,)
        Norm of the weights of each map; ``share`` is the same relative to the largest.
    drawn : ndarray of int
        The maps drawn, the heaviest first.
    axes_ : ndarray of matplotlib axes
        Those that were drawn on.
    figure_ : matplotlib figure
        Set by :meth:`plot`.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import InfiniteSVM
    >>> from tamis.dictionary import RBF
    >>> from tamis.plots import DictionaryDisplay
    >>> X = np.random.RandomState(0).uniform(-2, 2, size=(100, 2))
    >>> y = np.where(np.linalg.norm(X - [1, 0], axis=1) < 0.8, "inside", "outside")
    >>> svm = InfiniteSVM(RBF(), random_state=0).fit(X, y)
    >>> display = DictionaryDisplay.from_estimator(svm)
    >>> display.kind, display.frame()["class"][0]
    ('points', 'inside')
    """

    def __init__(
        self,
        dictionary: Any,
        parameters: Any,
        weights: Any,
        names: Sequence[str],
        classes: Sequence[Any],
        *,
        n_maps: int | None = None,
    ) -> None:
        if n_maps is not None and (not isinstance(n_maps, Integral) or n_maps < 1):
            raise ValueError(f"n_maps={n_maps!r} must be a number of maps to draw, 1 or more, or None")
        self.dictionary, self.names, self.classes = dictionary, list(names), list(classes)
        self.parameters, weights = np.asarray(parameters), np.asarray(weights, dtype=float)
        n_targets, size = 1 if len(self.classes) == 2 else len(self.classes), len(self.names)
        if weights.ndim != 3 or weights.shape[:2] != (n_targets, size) or len(self.parameters) != size:
            raise ValueError(
                f"weights of shape {weights.shape} and {len(self.parameters)} parameters do not fit {size} names and "
                f"{len(self.classes)} classes: give weights of shape ({n_targets}, {size}, n_columns)"
            )
        self.is_signed = weights.shape[2] == 1
        self.weights = weights[:, :, 0] if self.is_signed else np.linalg.norm(weights, axis=2)
        self.importances = np.linalg.norm(self.weights, axis=0)
        self.share = self.importances / (self.importances.max(initial=0.0) or 1.0)
        self.space = _space_of(dictionary)
        self.kind, self.atoms = self._look_at_maps()
        most = _MOST.get(self.kind) if n_maps is None else n_maps
        self.drawn = np.argsort(-self.importances, kind="stable")[:most]

    @classmethod
    def from_estimator(cls, svm: Any, *, n_maps: int | None = None, ax: Any = None) -> DictionaryDisplay:
        """Draw what a machine selected.

        Parameters
        ----------
        svm : fitted InfiniteSVM
        n_maps : int, default=None
            How many of the heaviest maps to draw. None draws 12 pictures, 20 names, or all bands and points.
        ax : matplotlib axes, default=None
            Where to draw: one per picture, two for bands, one otherwise; None makes a new figure.

        Returns
        -------
        DictionaryDisplay
        """
        check_is_fitted(svm)
        if not hasattr(svm, "dictionary_") or not hasattr(svm, "params_"):
            raise ValueError(f"{type(svm).__name__} has no params_ of maps; give a fitted InfiniteSVM")
        dictionary, n_maps_found = svm.dictionary_, svm.importances_.size
        weights = svm.coef_.reshape(len(svm.coef_), n_maps_found, dictionary.n_columns)
        parameters = np.column_stack(list(svm.params_.values()))
        if isinstance(dictionary, Pool):
            parameters = dictionary.parameters_[parameters[:, 0]]
            dictionary = dictionary.dictionary_
        names = _name_maps(dictionary, parameters, svm)
        return cls(dictionary, parameters, weights, names, svm.classes_.tolist(), n_maps=n_maps).plot(ax=ax)

    def frame(self) -> dict[str, list[Any]]:
        """The figure's data as columns, a row per map, ready for any data frame library.

        Columns are ``name``, the parameters, ``importance``, the weights (for several columns, their norm), ``class``
        (None where a map speaks for no class in particular) and whether the map is ``drawn``.
        """
        heads = ["weight"] if len(self.weights) == 1 else [f"weight {label}" for label in self.classes]
        fixed: dict[str, list[Any]] = {
            "importance": self.importances.tolist(),
            **{head: row.tolist() for head, row in zip(heads, self.weights, strict=True)},
            "class": [None if k is None else self.classes[k] for k in map(self.class_of, range(len(self.names)))],
            "drawn": np.isin(np.arange(len(self.names)), self.drawn).tolist(),
        }
        columns: dict[str, list[Any]] = {"name": list(self.names)}
        for parameter, values in zip(self.space, self.parameters.T, strict=True):
            taken = parameter.name in columns or parameter.name in fixed
            columns[f"parameter {parameter.name}" if taken else parameter.name] = values.tolist()
        return {**columns, **fixed}

    def plot(self, *, ax: Any = None) -> DictionaryDisplay:
        """Draw on ``ax``, one per picture, two for bands and one otherwise, or on a new figure."""
        axes = _DRAW[self.kind](self, ax) if self.drawn.size else write_nothing(ax)
        self.axes_, self.figure_ = axes, axes[0].figure
        return self

    def _look_at_maps(self) -> tuple[str, Any]:
        """How to draw the maps, and their pictures or gains."""
        if isinstance(self.dictionary, FiniteDictionary):
            return "names", None
        if len(self.names) and hasattr(self.dictionary, "atoms"):
            atoms = self.dictionary.atoms(self.parameters)
            if isinstance(atoms, tuple) and len(atoms) == 2 and np.shape(atoms[1]) == (len(self.names), len(atoms[0])):
                return "bands", (np.asarray(atoms[0]), np.asarray(atoms[1]))
            if not isinstance(atoms, tuple) and np.ndim(atoms) == 3 and len(atoms) == len(self.names):
                return "pictures", np.asarray(atoms)
            raise ValueError(
                f"{type(self.dictionary).__name__}.atoms gave neither pictures, of shape ({len(self.names)}, height, "
                f"width), nor frequencies and gains, of shape ({len(self.names)}, n_frequencies)"
            )
        return ("points" if len(self.space) <= 2 or self.is_plane() else "names"), None

    def is_plane(self) -> bool:
        """Whether maps are circles in a plane."""
        return (
            isinstance(self.dictionary, RBF) and len(self.space) == 3 and bool(np.all(self.dictionary.scale_ < np.inf))
        )

    def class_of(self, j: int) -> int | None:
        """The class that a map speaks for, or against, most."""
        if len(self.weights) > 1:
            return int(np.abs(self.weights[:, j]).argmax())
        return int(self.weights[0, j] > 0) if self.is_signed else None

    def is_against(self, j: int) -> bool:
        """Whether a map speaks against its class; of two classes, speaking against one is speaking for the other."""
        return len(self.weights) > 1 and bool(self.weights[self.class_of(j), j] < 0)

    def color_of(self, j: int) -> str:
        """The color of the class of a map."""
        k = self.class_of(j)
        return _NEUTRAL if k is None else f"C{k % 10}"

    def shares(self) -> list[np.ndarray]:
        """Importance of every map for each class; nothing if it cannot be told."""
        if len(self.weights) > 1:
            return list(np.abs(self.weights))
        return [np.maximum(sign * self.weights[0], 0) for sign in (-1, 1)] if self.is_signed else []


def _space_of(dictionary: Any) -> tuple[Parameter, ...]:
    return (Parameter("index", 0, np.inf),) if isinstance(dictionary, FiniteDictionary) else tuple(dictionary.space())


def _name_maps(dictionary: Any, parameters: np.ndarray, svm: Any) -> list[str]:
    """One name per map: the first words that the names of its columns have in common."""
    if not len(parameters):
        return []
    if isinstance(dictionary, Bands):
        return dictionary._band_names(parameters)
    width = dictionary.n_columns
    if isinstance(dictionary, FiniteDictionary):
        indices = (parameters * width + np.arange(width)).ravel()
        names = dictionary.names(indices, check_feature_names_in(svm, None))
    else:
        names = dictionary.names(parameters, getattr(svm, "feature_names_in_", None))
    blocks = np.reshape(names, (-1, width)).astype(str).tolist()
    return [_share_words(block) if width > 1 else block[0] for block in blocks]


def _share_words(names: list[str]) -> str:
    words = zip(*(name.split(" ") for name in names), strict=False)
    return " ".join(each[0] for each in takewhile(lambda each: len(set(each)) == 1, words)) or names[0]
