"""Where in the images the selected edge detectors are."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tamis.dictionary import Edges
from tamis.dictionary._edge_detection import STEPS
from tamis.kernels.arrays.columns import to_numpy
from tamis.plots._path import _pyplot

_TITLES = {0: "horizontal —", 45: "diagonal ╱", 90: "vertical |", 135: "diagonal ╲"}  # noqa: RUF001
_PANEL = 2.6  # inches
_MOST_SEGMENTS = 50  # drawn over a background when no number is given


class EdgeMapDisplay:
    """Weight of the edge detectors of each orientation, place by place (Gadat and Younes 2007, Figures 15 and 23).

    A panel per orientation, in which a darker pixel weighs more: the sum over vagueness and polarity of the detectors
    there. One more panel, if asked for, draws the heaviest detectors as short lines, wider for larger weights, over a
    background such as the mean image. Make it with :meth:`from_weights` or :meth:`from_estimator`.

    Parameters
    ----------
    edges : fitted Edges
    weights : array of shape (n_detectors,)
        Not negative, of the detectors.
    n_edges : int, default=None
        How many detectors to draw as lines; None draws 50 if there is a background, and none otherwise.
    background : array of shape (height, width), default=None
        Image under the lines.

    Attributes
    ----------
    maps_ : dict of int to ndarray of shape (height, width)
        What the panel of each orientation shows; NaN where there is no detector.
    axes_ : ndarray of matplotlib axes
    figure_ : matplotlib figure
        Set by :meth:`plot`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from tamis.dictionary import Edges
    >>> from tamis.plots import EdgeMapDisplay
    >>> edges = Edges(orientations=(0, 90)).fit(load_digits().images)
    >>> display = EdgeMapDisplay(edges, edges.frequency_, n_edges=3)
    >>> sorted(display.maps_), sum(display.frame()["drawn"])
    ([0, 90], 3)
    """

    def __init__(
        self, edges: Edges, weights: np.ndarray, *, n_edges: int | None = None, background: np.ndarray | None = None
    ) -> None:
        self.edges = edges
        self.weights = _check_weights(weights, edges)
        self.background = None if background is None else _check_background(background, edges)
        if n_edges is None:
            n_edges = 0 if background is None else _MOST_SEGMENTS
        if n_edges < 0 or n_edges != int(n_edges):
            raise ValueError(f"n_edges={n_edges} must be a number of detectors to draw, or None")
        heaviest = np.argsort(-self.weights, kind="stable")[:n_edges]
        self.drawn = heaviest[self.weights[heaviest] > 0]
        self.has_lines = n_edges > 0
        self.maps_ = {int(o): self._sum_places(o) for o in dict.fromkeys(edges.orientation_.tolist())}

    @classmethod
    def from_weights(
        cls,
        edges: Edges,
        weights: Any,
        *,
        n_edges: int | None = None,
        background: Any = None,
        ax: Any = None,
    ) -> EdgeMapDisplay:
        """Draw weights of edge detectors.

        Parameters
        ----------
        edges : fitted Edges
        weights : array of shape (n_detectors,)
            Not negative, such as ``OFW.probability_``.
        n_edges : int, default=None
            How many detectors to draw as lines; None draws 50 if there is a background, and none otherwise.
        background : array of shape (height, width), default=None
            Image under the lines.
        ax : array of matplotlib axes, default=None
            Where to draw, one per panel; None makes a new figure.

        Returns
        -------
        EdgeMapDisplay
        """
        return cls(edges, weights, n_edges=n_edges, background=background).plot(ax=ax)

    @classmethod
    def from_estimator(
        cls,
        edges: Edges,
        ranker: Any,
        *,
        n_edges: int | None = None,
        background: Any = None,
        ax: Any = None,
    ) -> EdgeMapDisplay:
        """Draw what a ranker thinks of edge detectors: its ``probability_``, or else its ``scores_``.

        Negative and missing scores weigh nothing, and an infinite one weighs what the largest finite one does.

        Parameters
        ----------
        edges : fitted Edges
        ranker : ranker fitted on what ``edges`` gave
        n_edges, background, ax
            As for :meth:`from_weights`.

        Returns
        -------
        EdgeMapDisplay
        """
        check_is_fitted(ranker)
        if "probability" in ranker.provides and len(ranker.probability_) == len(ranker.scores_):  # not one over groups
            weights = ranker.probability_
        else:
            scores = np.asarray(to_numpy(ranker.scores_), dtype=float)
            largest = np.max(scores, where=np.isfinite(scores), initial=0.0) or 1.0
            weights = np.clip(np.nan_to_num(scores, nan=0.0, posinf=largest, neginf=0.0), 0.0, None)
        return cls.from_weights(edges, to_numpy(weights), n_edges=n_edges, background=background, ax=ax)

    def frame(self) -> dict[str, list[Any]]:
        """The figure's data as columns, a row per detector, ready for any data frame library."""
        edges, drawn = self.edges, np.zeros(self.weights.size, dtype=bool)
        drawn[self.drawn] = True
        columns = {
            "detector": edges.get_feature_names_out(),
            "orientation": edges.orientation_,
            "polarity": edges.polarity_,
            "vagueness": edges.vagueness_,
            "row": edges.row_,
            "column": edges.column_,
            "weight": self.weights,
            "drawn": drawn,
        }
        return {name: values.tolist() for name, values in columns.items()}

    def plot(self, *, ax: Any = None) -> EdgeMapDisplay:
        """Draw on ``ax``, which holds as many axes as there are panels, or on a new figure."""
        axes = arrange_panels(ax, len(self.maps_) + self.has_lines, (_PANEL, _PANEL + 0.3), wide=True)
        highest = max(np.nanmax(values) for values in self.maps_.values()) or 1.0
        for panel, (orientation, values) in zip(axes, self.maps_.items(), strict=False):
            image = panel.imshow(values, cmap="gray_r", vmin=0.0, vmax=highest)
            panel.set_facecolor("#dfe7f1")  # no detector: neither light nor heavy
            panel.set_title(_TITLES[orientation], fontsize="medium")
        if self.has_lines:
            self._draw_lines(axes[-1])
        for panel in axes:
            panel.set_xticks([])
            panel.set_yticks([])
        self.axes_, self.figure_ = axes, axes[0].figure
        maps = list(axes[: len(self.maps_)])
        self.figure_.colorbar(image, ax=maps, location="left", label="weight", shrink=0.8, aspect=15, pad=0.02)
        return self

    def _sum_places(self, orientation: int) -> np.ndarray:
        """Sum of the weights at each place, NaN where the orientation has no detector."""
        edges, shape = self.edges, self.edges.image_shape_
        here = edges.orientation_ == orientation
        place = np.ravel_multi_index((edges.row_[here], edges.column_[here]), shape)
        total = np.full(shape[0] * shape[1], np.nan)
        total[place] = 0.0
        np.add.at(total, place, self.weights[here])
        return total.reshape(shape)

    def _draw_lines(self, panel: Any) -> None:
        """The heaviest detectors, each between its two pixels and along the edge, the heaviest on top."""
        height, width = self.edges.image_shape_
        if self.background is None:
            panel.set_xlim(-0.5, width - 0.5)
            panel.set_ylim(height - 0.5, -0.5)
            panel.set_aspect("equal")
        else:
            panel.imshow(self.background, cmap="gray")
        for j in self.drawn[::-1]:
            across = np.array(STEPS[int(self.edges.orientation_[j])])
            middle = np.array([self.edges.row_[j], self.edges.column_[j]]) + across / 2
            along = np.array([-across[1], across[0]]) / np.linalg.norm(across)
            (r0, c0), (r1, c1) = middle - 0.6 * along, middle + 0.6 * along
            share = self.weights[j] / self.weights.max()
            panel.plot([c0, c1], [r0, r1], color="tab:red", linewidth=0.8 + 2.4 * share, solid_capstyle="round")
        panel.set_title(f"{self.drawn.size} heaviest", fontsize="medium")


def arrange_panels(ax: Any, n_panels: int, size: tuple[float, float], *, wide: bool) -> np.ndarray:
    """Axes for some panels, side by side or one above the other: those given, if there are enough, or new ones."""
    if ax is not None:
        axes = np.ravel(np.asarray(ax, dtype=object))
        if axes.size != n_panels:
            raise ValueError(f"ax holds {axes.size} axes and there are {n_panels} panels; give one for each")
        return axes
    columns, rows = (n_panels, 1) if wide else (1, n_panels)
    _, axes = _pyplot().subplots(
        rows,
        columns,
        figsize=(size[0] * columns, size[1] * rows),
        layout="constrained",
        squeeze=False,
        sharex="none" if wide else "col",
    )
    return axes.ravel()


def _check_weights(weights: Any, edges: Edges) -> np.ndarray:
    check_is_fitted(edges)
    values = np.asarray(weights, dtype=float)
    if values.shape != edges.row_.shape:
        raise ValueError(f"there are {edges.row_.size} edge detectors, and weights of shape {values.shape}")
    if not np.all(np.isfinite(values)) or np.any(values < 0):
        raise ValueError("weights must be finite and not negative; clip them first, or use from_estimator")
    return values


def _check_background(background: Any, edges: Edges) -> np.ndarray:
    values = np.asarray(background, dtype=float)
    if values.size != edges.n_features_in_:
        raise ValueError(f"background of shape {values.shape} is no image of {edges.image_shape_} pixels")
    return values.reshape(edges.image_shape_)
