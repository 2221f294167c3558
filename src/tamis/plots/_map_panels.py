"""How feature maps are drawn: as pictures, frequency bands, points or named bars."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tamis.dictionary import Parameter
from tamis.plots._edge_map import arrange_panels
from tamis.plots._path import _pyplot

if TYPE_CHECKING:
    from tamis.plots._dictionary import DictionaryDisplay

_MOST_LABELS = 30  # bands that are labeled
_LONGEST_NAME, _LONGEST_TITLE, _LONGEST_CLASS = 60, 26, 24  # letters
_PICTURES_PER_ROW = 6
_LETTERS_PER_INCH = 12
_TALLEST = 12.0  # inches
_NOTHING = "no feature map was selected:\nraise C above C_min_"


def write_nothing(ax: Any) -> np.ndarray:
    """Say on all axes that there is nothing to draw."""
    axes = _ravel(ax) if ax is not None else arrange_panels(None, 1, (5.0, 2.4), wide=True)
    for panel in axes:
        panel.set_axis_off()
    axes[0].text(0.5, 0.5, _NOTHING, ha="center", va="center", transform=axes[0].transAxes)
    return axes


def draw_pictures(maps: DictionaryDisplay, ax: Any) -> np.ndarray:
    """A gray picture per map, framed in the color of its class."""
    size = maps.drawn.size
    n_rows = -(-size // _PICTURES_PER_ROW)
    n_columns = -(-size // n_rows)
    if ax is None:
        shape = (max(1.9 * n_columns, 2.4), 2.35 * n_rows)
        _, grid = _pyplot().subplots(n_rows, n_columns, figsize=shape, layout="constrained", squeeze=False)
        axes = grid.ravel()
    else:
        axes = _ravel(ax)
    if axes.size < size:
        raise ValueError(f"ax holds {axes.size} axes and there are {size} pictures; give more, or lower n_maps")
    for panel in axes[size:]:
        panel.set_axis_off()
    for panel, j in zip(axes, maps.drawn, strict=False):
        largest = np.abs(maps.atoms[j]).max() or 1.0
        panel.imshow(maps.atoms[j], cmap="gray", vmin=-largest, vmax=largest)
        panel.set(xticks=[], yticks=[])
        panel.spines[:].set(color=maps.color_of(j), linewidth=2.5)
        k = maps.class_of(j)
        speaks = ("against " if maps.is_against(j) else "for ") if maps.is_signed else ""
        side = "" if k is None else f" {speaks}{maps.classes[k]}"
        spelled = [spell_value(p, value) for p, value in zip(maps.space[:2], maps.parameters[j], strict=False)]
        title = [shorten(f"{maps.importances[j]:.2g}{side}", _LONGEST_TITLE), ", ".join(spelled)]
        panel.set_title("\n".join(title), fontsize="small")
    return axes[:size]


def draw_bands(maps: DictionaryDisplay, ax: Any) -> np.ndarray:
    """A bar per band, and below which frequencies matter."""
    size = maps.drawn.size
    if ax is None:
        height = float(np.clip(0.22 * size, 1.2, 6.0))
        rows = {"height_ratios": [height, 1.8], "sharex": True}
        _, axes = _pyplot().subplots(2, 1, figsize=(7.2, height + 2.6), layout="constrained", **rows)
    else:
        axes = arrange_panels(ax, 2, (0.0, 0.0), wide=False)
    spans = _find_spans(maps)[maps.drawn]
    for place, j in enumerate(maps.drawn):
        low, high = spans[place]
        thick = max(0.9 * maps.share[j], 0.08)
        face = "none" if maps.is_against(j) else maps.color_of(j)
        axes[0].barh(place, high - low, thick, low, facecolor=face, edgecolor=maps.color_of(j), linewidth=1)
    axes[0].set_ylim(size - 0.4, -0.6)
    labels = [f"{low:.1f} to {high:.1f} Hz" for low, high in spans] if size <= _MOST_LABELS else []
    axes[0].set_yticks(range(len(labels)), labels, fontsize="small")
    axes[0].tick_params(left=False)
    axes[0].set_ylabel("bands, heaviest on top" if size > 5 else "bands")
    frequencies, gains = maps.atoms
    total = maps.importances @ gains
    axes[1].fill_between(frequencies, total, color="0.85", linewidth=0)
    axes[1].plot(frequencies, total, color="0.2")
    for k, shares in enumerate(maps.shares()):
        axes[1].plot(frequencies, shares @ gains, color=f"C{k % 10}")
    axes[1].set_ylim(bottom=0)
    axes[1].set(xlabel="frequency (Hz)", ylabel="summed\nimportance")
    ends = min(frequencies.min(), spans.min()), max(frequencies.max(), spans.max())
    for panel in axes:
        panel.set_xlim(*ends)
        panel.grid(axis="x", color="0.9")
        panel.set_axisbelow(True)
    _finish(maps, axes, ax)
    return axes


def _find_spans(maps: DictionaryDisplay) -> np.ndarray:
    """Both edges of every band: its parameters, or else where the gain is half of its largest."""
    names = [parameter.name for parameter in maps.space]
    if {"low", "high"} <= set(names):
        return maps.parameters[:, [names.index("low"), names.index("high")]]
    frequencies, gains = maps.atoms
    heard = gains >= 0.5 * gains.max(axis=1, keepdims=True)
    return np.stack([frequencies[heard.argmax(axis=1)], frequencies[::-1][heard[:, ::-1].argmax(axis=1)]], axis=1)


def draw_points(maps: DictionaryDisplay, ax: Any) -> np.ndarray:
    """A point per map at its parameters, or at its only one and its importance."""
    axes = arrange_panels(ax, 1, (6.4, 4.4), wide=True)
    panel, drawn = axes[0], maps.drawn
    share = maps.share[drawn]
    x = maps.parameters[drawn, 0]
    y = maps.parameters[drawn, 1] if len(maps.space) > 1 else maps.importances[drawn]
    colors = np.array([maps.color_of(j) for j in drawn], dtype=object)
    is_hollow = np.array([maps.is_against(j) for j in drawn])
    for some, fill in ((~is_hollow, {"alpha": 0.75}), (is_hollow, {"facecolors": "none", "linewidths": 1.5})):
        if some.any():
            edges = colors[some].tolist()
            panel.scatter(
                x[some], y[some], s=15 + 285 * share[some], **{"facecolors": edges, "edgecolors": edges, **fill}
            )
    _set_axis(panel, "x", maps.space[0])
    if len(maps.space) > 1:
        _set_axis(panel, "y", maps.space[1])
    else:
        panel.vlines(x, 0, y, colors=colors.tolist(), linewidth=1)
        panel.set(ylabel="importance", ylim=(0, 1.1 * y.max() or 1.0))
    if maps.is_plane():
        around = np.linspace(0, 2 * np.pi, 100)
        radii = maps.parameters[drawn, 2:] * maps.dictionary.scale_
        for at, (right, up) in enumerate(radii):  # fainter for lighter maps, which are many
            circle = x[at] + right * np.cos(around), y[at] + up * np.sin(around)
            panel.plot(*circle, color=colors[at], linewidth=0.5 + 1.5 * share[at], alpha=0.15 + 0.6 * share[at])
    _finish(maps, axes, ax)
    return axes


def draw_names(maps: DictionaryDisplay, ax: Any) -> np.ndarray:
    """A bar per map and class, to the left of zero for negative weights."""
    n_targets, size = len(maps.weights), maps.drawn.size
    labels = [shorten(maps.names[j], _LONGEST_NAME) for j in maps.drawn]
    width, height = 4.8 + 0.075 * max(map(len, labels)), size * max(0.28, 0.13 * n_targets) + 1.2
    axes = arrange_panels(ax, 1, (width, min(max(height, 2.0), _TALLEST)), wide=True)
    place, thick = np.arange(size), 0.8 / n_targets
    for k, row in enumerate(maps.weights[:, maps.drawn]):
        colors = [maps.color_of(j) for j in maps.drawn] if n_targets == 1 else f"C{k % 10}"
        axes[0].barh(place + (k - 0.5 * (n_targets - 1)) * thick, row, thick, color=colors)
    if n_targets > 1:
        axes[0].hlines(place[1:] - 0.5, 0, 1, colors="0.9", linewidth=1, transform=axes[0].get_yaxis_transform())
    axes[0].set_yticks(place, labels, fontsize="small")
    axes[0].tick_params(left=False)
    axes[0].set_ylim(size - 0.4, -0.6)
    axes[0].axvline(0, color="0.3", linewidth=0.8)
    axes[0].set_xlabel("weight" if maps.is_signed else "norm of the weights")
    _finish(maps, axes, ax)
    return axes


def _finish(maps: DictionaryDisplay, axes: np.ndarray, ax: Any) -> None:
    """Less ink, and what colors and sizes mean, above a figure of our own."""
    marks, labels = [], []
    for panel in axes:
        panel.spines[["top", "right"]].set_visible(False)
    if len(maps.weights) > 1 or maps.is_signed:
        marks = [axes[0].scatter([], [], marker="s", color=f"C{k % 10}") for k in range(len(maps.classes))]
        labels = [shorten(label if len(maps.weights) > 1 else f"for {label}", _LONGEST_CLASS) for label in maps.classes]
    if maps.kind != "names" and any(map(maps.is_against, maps.drawn)):
        marks.append(axes[0].scatter([], [], marker="s", facecolors="none", edgecolors="0.3"))
        labels.append("hollow: against")
    if maps.kind == "points" and len(maps.space) > 1:
        marks.append(axes[0].scatter([], [], color="0.75", s=60))
        labels.append("area: importance")
    if not marks:
        return
    if ax is None:
        figure = axes[0].figure
        fitting = int(figure.get_figwidth() * _LETTERS_PER_INCH / (max(map(len, labels)) + 6))
        place = {"loc": "outside upper center", "ncols": max(1, min(fitting, len(labels))), "handletextpad": 0.3}
        figure.legend(marks, labels, frameon=False, **place)
    else:
        axes[0].legend(marks, labels, frameon=False)


def spell_value(parameter: Parameter, value: float) -> str:
    """A value for people: angles in degrees, frequencies in space as periods."""
    if parameter.unit == "rad":
        return f"{np.degrees(value):.0f}°"
    if parameter.unit.startswith("/") and value > 0:
        return f"period {1 / value:.2g} {parameter.unit[1:]}"
    return f"{parameter.name} {value:.3g} {parameter.unit}".rstrip()


def shorten(text: Any, longest: int) -> str:
    """The text, or its beginning."""
    text = str(text)
    return text if len(text) <= longest else text[: longest - 1].rstrip() + "…"


def _ravel(ax: Any) -> np.ndarray:
    return np.ravel(np.asarray(ax, dtype=object))


def _set_axis(panel: Any, which: str, parameter: Parameter) -> None:
    """Range, scale and name of a parameter."""
    low, high = parameter.low, parameter.high
    label = f"{parameter.name} ({parameter.unit})" if parameter.unit else parameter.name
    if parameter.scale == "log" and high > low:
        beyond = (high / low) ** 0.05
        panel.set(**{f"{which}scale": "log", f"{which}lim": (low / beyond, high * beyond)})
        spell_log_ticks(panel.xaxis if which == "x" else panel.yaxis, low / beyond, high * beyond)
    else:
        beyond = 0.05 * (high - low) or 0.5
        panel.set(**{f"{which}lim": (low - beyond, high + beyond)})
    panel.set(**{f"{which}label": label})


def spell_log_ticks(axis: Any, low: float, high: float) -> None:
    """Ticks at 1, 2 and 5 times powers of ten, or at these alone over many of them, without exponents."""
    powers = np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
    ticks = np.outer(10.0**powers, [1, 2, 5] if powers.size <= 4 else [1]).ravel()
    ticks = ticks[(ticks >= low) & (ticks <= high)]
    axis.set_ticks(ticks, [f"{tick:g}" for tick in ticks])
    axis.set_ticks([], minor=True)
