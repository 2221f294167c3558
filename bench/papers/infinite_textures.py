"""Figure 1 of Flamary et al. (2011): two textures, Gabor filters from a grid or from an infinite set."""

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from bench.papers.infinite_plots import Panel, draw
from bench.process import timed
from bench.table import Targets, note, show
from tamis import InfiniteSVM
from tamis.datasets import load
from tamis.dictionary import Gabor, Pool

SIZE, N_TRAIN, N_TEST = 16, 200, 1000  # pixels per side; patches per texture
ROUNDS = (10, 40, 100)
FIRST_SEED = 100  # ranges of parameters were chosen with others, and on other halves of the images
# The paper gives no ranges. These leave much between the three values that a grid of 81 has of each parameter.
PAPER = {"pooling": "absolute", "n_locations": 3, "frequency": (0.02, 0.45), "width": (3.0, 6.0)}
MODULUS: dict[str, Any] = {"pooling": "modulus", "n_locations": 5}
FINER: dict[str, Any] = {"pooling": "modulus", "n_locations": 7}


@dataclass
class Arm:
    """One way to have features, and what it gave."""

    name: str
    gabor: dict[str, Any]
    n_candidates: int
    kind: str = "infinite"  # or "grid" or "pool"
    refine: bool = False
    max_rounds: int = 100
    C: float = 0.0
    accuracy: list[np.ndarray] = field(default_factory=list)  # after every round, per draw
    active: list[np.ndarray] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    evaluations: list[int] = field(default_factory=list)
    objective: list[float] = field(default_factory=list)
    residual: list[float] = field(default_factory=list)

    def machine(self, C: Any, seed: int, n_candidates: int | None = None) -> InfiniteSVM:
        dictionary: Any = Gabor(**self.gabor)
        if self.kind != "infinite":
            method = "grid" if self.kind == "grid" else "random"
            dictionary = Pool(dictionary, n_candidates or self.n_candidates, method=method, random_state=seed)
        return InfiniteSVM(
            dictionary,
            C=C,
            n_candidates=self.n_candidates,
            refine=self.refine,
            max_rounds=self.max_rounds,
            random_state=seed,
        )

    def after(self, n_rounds: int) -> float:
        return float(np.mean([curve[min(n_rounds, curve.size) - 1] for curve in self.accuracy]))

    def row(self) -> list[str]:
        final = [curve[-1] for curve in self.accuracy]
        return [
            self.name,
            f"{self.C:.3g}",
            " / ".join(f"{self.after(n):.3f}" for n in ROUNDS),
            f"{np.std(final) / np.sqrt(len(final)):.3f}",
            f"{np.mean([curve[-1] for curve in self.active]):.0f}",
            f"{np.mean(self.evaluations):.0f}",
            f"{np.mean(self.objective):.2f}",
            f"{np.mean(self.seconds):.2f} s",
        ]


def cut_patches(image: np.ndarray, n: int, rng: np.random.RandomState) -> np.ndarray:
    top, left = rng.randint(image.shape[0] - SIZE + 1, size=n), rng.randint(image.shape[1] - SIZE + 1, size=n)
    return np.stack([image[r : r + SIZE, c : c + SIZE] for r, c in zip(top, left, strict=True)]).astype(float)


def draw_patches(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Training patches from the left halves of both images, test patches from the right ones."""
    textures, rng = load("brodatz"), np.random.RandomState(seed)
    halves = [np.split(textures[name], 2, axis=1) for name in ("D29", "D92")]
    train = np.concatenate([cut_patches(left, N_TRAIN, rng) for left, _ in halves])
    test = np.concatenate([cut_patches(right, N_TEST, rng) for _, right in halves])
    return train, np.repeat([0, 1], N_TRAIN), test, np.repeat([0, 1], N_TEST)


def measure(arm: Arm, seeds: range, like: Arm | None = None) -> None:
    """Fit on every draw; a pool has as many features as ``like`` has looked at."""
    images, labels, _, _ = draw_patches(seeds[0])
    sizes = None if like is None else like.evaluations
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # 100 rounds are what the figure shows
        arm.C = arm.machine("cv", seeds[0], None if sizes is None else sizes[0]).fit(images, labels).C_
        for number, seed in enumerate(seeds):
            images, labels, more, truth = draw_patches(seed)
            machine = arm.machine(arm.C, seed, None if sizes is None else sizes[number])
            seconds, svm = timed(lambda machine=machine, images=images, labels=labels: machine.fit(images, labels))
            arm.accuracy.append(np.array([np.mean(said == truth) for said in svm.staged_predict(more)]))
            arm.active.append(np.array([step.n_active for step in svm.history_]))
            arm.seconds.append(seconds)
            arm.evaluations.append(svm.history_[-1].n_evaluations if arm.kind == "infinite" else len_pool(svm))
            arm.objective.append(svm.certificate_["objective"])
            arm.residual.append(svm.certificate_["kkt_residual"])


def len_pool(svm: InfiniteSVM) -> int:
    return svm.dictionary_.n_candidates(SIZE * SIZE)


def run(targets: Targets, *, quick: bool) -> dict[str, Any]:
    seeds = range(FIRST_SEED, FIRST_SEED + (2 if quick else 10))
    grid = Arm("grid of 81", PAPER, 81, "grid")
    infinite = Arm("infinite, 81 a round", PAPER, 81)
    refined = Arm("infinite, 81 a round, refined", PAPER, 81, refine=True)
    pool = Arm("random pool, as many evaluations", PAPER, 81, "pool")
    fine = Arm("grid of 1296", PAPER, 1296, "grid")
    many = Arm("infinite, 1296 a round", PAPER, 1296, max_rounds=60)
    fine_modulus = Arm("grid of 1296, modulus, 25 locations", MODULUS, 1296, "grid")
    modulus = Arm("infinite, 81, refined, modulus, 25", MODULUS, 81, refine=True)
    finer = Arm("infinite, 81, refined, modulus, 49", FINER, 81, refine=True)
    arms = [grid, infinite, refined, pool, fine, many, fine_modulus, modulus, finer]
    if quick:
        arms = [arm for arm in arms if arm not in (many, finer)]
    for arm in arms:
        measure(arm, seeds, refined if arm is pool else None)
    head = ("features", "C", "accuracy after 10 / 40 / 100", "s.e.", "active", "evaluated", "objective", "fit")
    show(f"Brodatz D29 against D92, {len(seeds)} draws, C by cross-validation", head, [arm.row() for arm in arms])
    gain = refined.after(100) - grid.after(100)
    targets.add("infinite - grid at 81", f"{gain:+.3f}", ">= +.07", gain >= 0.07)
    plain = infinite.after(100) - grid.after(100)
    targets.add("the same without refinement", f"{plain:+.3f}", ">= +.07", plain >= 0.07)
    targets.add(
        "infinite 81 refined, paper's pooling", f"{refined.after(100):.3f}", ">= .79", refined.after(100) >= 0.79
    )
    targets.add("infinite 81 refined, modulus, 25", f"{modulus.after(100):.3f}", ">= .85", modulus.after(100) >= 0.85)
    targets.add("stretch of it", f"{modulus.after(100):.3f}", ">= .87", modulus.after(100) >= 0.87)
    largest = max(max(arm.residual) for arm in arms)
    targets.add("KKT of Eq. (3), all fits", f"{largest:.1e}", "<= 1e-6", largest <= 1e-6)
    note(
        "At equal evaluations a random pool that is held in memory is as accurate: what the infinite set buys is "
        f"memory ({np.mean([c.max() for c in refined.active]):.0f} columns, not {np.mean(pool.evaluations):.0f}); of "
        f"the features, {refined.row()[4]} are kept, not {pool.row()[4]}, each at the C that cross-validation chose."
    )
    sensitivity = show_ranges(seeds[: 1 if quick else 5])
    where = draw(
        "infinite_figure1",
        "Brodatz D29 against D92",
        [
            Panel("81 features", [grid, infinite, refined, pool]),
            Panel("1296 features", [fine] if quick else [fine, many]),
        ],
    )
    if where:
        print(f"  figure 1: {where}")
    return {
        "accuracy": {arm.name: arm.after(100) for arm in arms},
        "active": {arm.name: float(np.mean([c[-1] for c in arm.active])) for arm in arms},
        "gain": gain,
        "ranges": sensitivity,
    }


def show_ranges(seeds: range) -> dict[str, float]:
    """How much of the gain is the choice of ranges and of what the features are indifferent to."""
    settings = {
        "ranges above": PAPER,
        "wider: width 1 to 4, frequency to .5": PAPER | {"width": (1.0, 4.0), "frequency": (0.05, 0.5)},
        "these, brightness counts (raw patches)": PAPER
        | {"width": (1.0, 4.0), "frequency": (0.05, 0.5), "invariant_to": None},
    }
    rows, gains = [], {}
    for name, gabor in settings.items():
        both = [Arm("", gabor, 81, "grid"), Arm("", gabor, 81, refine=True)]
        for arm in both:
            measure(arm, seeds)
        gains[name] = both[1].after(100) - both[0].after(100)
        rows.append([name, *(f"{arm.after(100):.3f}" for arm in both), f"{gains[name]:+.3f}"])
    head = ("paper's pooling", "grid of 81", "infinite, refined", "gain")
    show(f"What the gain owes to the ranges, {len(seeds)} draws", head, rows)
    return gains
