"""Stoppiglia et al. (2003): every figure of the random probe, the published rule beside the calibrated one.

Figures in the column "paper" are the paper's; those in "prototype" were measured beforehand with throw-away code.
"""

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np
from joblib import Parallel, delayed
from scipy.optimize import least_squares
from scipy.special import expit
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import Lasso, LogisticRegression
from sklearn.svm import LinearSVC

from bench.table import Targets, show
from tamis import CorrelationScore, GramSchmidt
from tamis.base import Candidates, Ranker, Ranking
from tamis.datasets import make_linear, make_separable, make_xor
from tamis.dictionary import Monomials
from tamis.stop import MonteCarloProbe, Probe

RISKS = (0.01, 0.05, 0.10)


def standard_error(rate: float, n: int) -> float:
    return float(np.sqrt(rate * (1 - rate) / n))


def repeated(function: Callable[..., Any], n: int, *arguments: Any) -> np.ndarray:
    """Call ``function(seed, *arguments)`` for n seeds, on all cores."""
    return np.array(Parallel(n_jobs=-1)(delayed(function)(seed, *arguments) for seed in range(n)))


# --- calibration of the analytic probe ------------------------------------------------------------------------------


def first_step(rule: Probe, X: np.ndarray, y: np.ndarray) -> float:
    """What the rule holds against the risk for the first feature."""
    return float(GramSchmidt(stop=rule, task="regression").fit(X, y).stop_.curve[0])


def null_draw(seed: int, n_candidates: int) -> tuple[float, float]:
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((100, n_candidates)), rng.standard_normal(100)
    published = Probe(0.5, correction="none", null="gaussian", n_beyond=0)
    return first_step(published, X, y), first_step(Probe(0.5, n_beyond=0), X, y)


def null_calibration(n_draws: int, targets: Targets) -> dict[str, Any]:
    """Chance of keeping at least one feature when none matters."""
    prototype = {
        1: ".010 / .049 / .096",
        10: ".009 / .052 / .101",
        100: ".011 / .048 / .097",
        1000: ".012 / .056 / .106",
    }
    rows, figures = [], {}
    for n_candidates in (1, 10, 100, 1000):
        chances = repeated(null_draw, n_draws, n_candidates)
        published, calibrated = ([float(np.mean(column <= r)) for r in RISKS] for column in chances.T)
        rows.append((n_candidates, _three(published), _three(calibrated), prototype[n_candidates]))
        figures[str(n_candidates)] = {"published": published, "calibrated": calibrated}
        for risk, rate in zip(RISKS, calibrated, strict=True):
            slack = 3 * standard_error(risk, n_draws)
            targets.add(
                f"calibrated probe, Q = {n_candidates}, risk {risk}",
                f"{rate:.3f}",
                f"{risk} +- {slack:.3f}",
                abs(rate - risk) <= slack,
            )
    show(
        f"Chance of keeping noise, N = 100, r = .01 / .05 / .10 ({n_draws} draws)",
        ("candidates", "published probe", "calibrated probe", "prototype"),
        rows,
    )
    return figures


def _three(rates: list[float]) -> str:
    return " / ".join(f"{rate:.3f}" for rate in rates)


def heavy_draw(seed: int, design: str, null: str) -> bool:
    rng = np.random.default_rng(seed)
    if design == "lognormal":
        X, y = np.exp(1.5 * rng.standard_normal((50, 500))), np.exp(1.5 * rng.standard_normal(50))
    elif design == "rare binary":
        X, y = (rng.uniform(size=(50, 500)) < 0.04).astype(float), np.exp(1.5 * rng.standard_normal(50))
    else:
        X, y = rng.standard_normal((50, 500)), rng.standard_normal(50)
    return GramSchmidt(stop=Probe(0.05, null=null, n_beyond=0), task="regression").fit(X, y).stop_.n_features > 0


def heavy_tails(n_draws: int, targets: Targets) -> dict[str, Any]:
    """Where the Gaussian law does not hold."""
    rows, figures = [], {}
    for design in ("normal", "lognormal", "rare binary"):
        rate = {
            null: float(repeated(heavy_draw, n_draws, design, null).mean())
            for null in ("gaussian", "permutation", "auto")
        }
        rows.append((design, *(f"{rate[null]:.3f}" for null in rate)))
        figures[design] = rate
        slack = 3 * standard_error(0.05, n_draws)
        for null in ("permutation", "auto"):
            targets.add(
                f"{null} null, {design}", f"{rate[null]:.3f}", f"<= .05 + {slack:.3f}", rate[null] <= 0.05 + slack
            )
    show(
        f"Chance of keeping noise at risk .05, N = 50, Q = 500, X and y of that law ({n_draws} draws)",
        ("design", "gaussian law", "permutation", "auto (default)"),
        rows,
    )
    return figures


# --- the paper's experiments ----------------------------------------------------------------------------------------


def linear_draw(seed: int) -> list[bool]:
    X, y = make_linear(random_state=seed)
    rules = (Probe(0.10, correction="none", null="gaussian"), Probe(0.10, null="gaussian"))
    kept = [GramSchmidt(stop=rule, fit_intercept=intercept).fit(X, y) for intercept in (False, True) for rule in rules]
    return [selector.get_support(indices=True).tolist() == [0, 1, 2, 3, 4] for selector in kept]


def linear_process(n_draws: int) -> dict[str, Any]:
    rates = repeated(linear_draw, n_draws).mean(axis=0)
    labels = ("published, no intercept", "calibrated, no intercept", "published, intercept", "calibrated, intercept")
    prototype = ("40-42 %", "23-27 %", "40-42 %", "23-27 %")
    show(
        f"s3.1, N = 15: exactly the 5 true of 10 features at risk .10 ({n_draws} draws; the paper shows one)",
        ("rule", "share", "prototype"),
        [(label, f"{100 * rate:.1f} %", p) for label, rate, p in zip(labels, rates, prototype, strict=True)],
    )
    return dict(zip(labels, rates.tolist(), strict=True))


def separator_error(X: np.ndarray, y: np.ndarray) -> float:
    """Training error of a sigmoid unit fitted by least squares with Levenberg-Marquardt, as in the paper."""
    start = LogisticRegression(C=1e6).fit(X, y)
    Z = np.column_stack([X, np.ones(len(X))])
    fitted = least_squares(lambda w: expit(Z @ w) - y, np.append(start.coef_, start.intercept_), method="lm")
    return float(np.mean((Z @ fitted.x > 0) != y))


def separable_draw(seed: int, n_samples: int) -> tuple[int, float, float]:
    X, y = make_separable(n_samples, random_state=seed)
    top = GramSchmidt(stop=2).fit(X, y).order_[:2]
    return int(np.isin([0, 1], top).sum()), separator_error(X[:, top], y), separator_error(X[:, [0, 1]], y)


def synthetic_classification(n_draws: int, targets: Targets) -> dict[str, Any]:
    """s6.1.1: two true features among 240."""
    rows, figures = [], {}
    for n_samples, paper_one, paper_both in ((800, "100", "74"), (100, "-", "37")):
        found, error, true_error = repeated(separable_draw, n_draws, n_samples).T
        one, both = 100 * np.mean(found >= 1), 100 * np.mean(found == 2)
        figures[str(n_samples)] = {"one": one, "both": both, "error": error.mean(), "true_error": true_error.mean()}
        errors = f"{100 * error.mean():.1f} % ({100 * true_error.mean():.1f} %)"
        paper_error = "10.4 % (10.1 %)" if n_samples == 800 else "-"
        rows.append((n_samples, f"{one:.0f} / {both:.0f}", f"{paper_one} / {paper_both}", errors, paper_error))
        targets.add(
            f"s6.1.1, N = {n_samples}: both true in the top 2",
            f"{both:.0f} %",
            f">= {paper_both} %",
            both >= float(paper_both),
        )
        if n_samples == 800:
            targets.add("s6.1.1, N = 800: one true in the top 2", f"{one:.0f} %", ">= 96 % (paper 100)", one >= 96)
            targets.add(
                "s6.1.1, N = 800: training error", f"{100 * error.mean():.2f} %", "<= 10.6 %", error.mean() <= 0.106
            )
    show(
        f"s6.1.1: true features among the two ranked first, per 100 databases ({n_draws} drawn)",
        ("N", "one / both", "paper", "training error (true features)", "paper"),
        rows,
    )
    return figures


def xor_draw(seed: int, interaction_only: bool) -> list[bool]:
    X, y = make_xor(random_state=seed)
    dictionary = Monomials(2, min_degree=2 if interaction_only else 1, interaction_only=interaction_only)
    rules = (Probe(0.01, correction="none", null="gaussian"), Probe(0.01))
    kept = [GramSchmidt(stop=rule, dictionary=dictionary).fit(X, y).get_feature_names_out().tolist() for rule in rules]
    return [names == ["x0*x1"] for names in kept]


def xor(n_draws: int, targets: Targets) -> dict[str, Any]:
    """s6.1.2: the product of two variables among 50 others."""
    rows, figures = [], {}
    for label, only in (("1326 cross-products (the paper's)", True), ("all 1430 monomials", False)):
        published, calibrated = repeated(xor_draw, n_draws, only).mean(axis=0)
        rows.append((label, f"{100 * published:.0f} %", f"{100 * calibrated:.0f} %", "yes", "0 / 99 %"))
        figures[label] = {"published": published, "calibrated": calibrated}
        targets.add(f"s6.1.2, {label}: exactly x1 x2", f"{100 * calibrated:.0f} %", ">= 97 %", calibrated >= 0.97)
    show(
        f"s6.1.2 XOR, N = 100: exactly the product x1 x2 at risk .01 ({n_draws} draws)",
        ("candidates", "published rule", "calibrated", "paper", "prototype"),
        rows,
    )
    return figures


# --- the Monte-Carlo probe over five families of rankers ------------------------------------------------------------


class ModelWeights(Ranker):
    """Scores from a fitted scikit-learn model: a ranker in ten lines."""

    two_classes: ClassVar[bool] = False

    def __init__(self, model: Any = None, *, stop: Any = "auto", random_state: Any = None) -> None:
        self.model = model
        self.stop = stop
        self.random_state = random_state

    def _rank(self, candidates: Candidates, y: Any, rng: np.random.RandomState) -> Ranking:
        X = candidates.table
        Z = (X - X.mean(axis=0)) / X.std(axis=0)
        if "random_state" in self.model.get_params():
            self.model.set_params(random_state=rng.randint(2**31 - 1))
        fitted = self.model.fit(Z, y)
        weights = fitted.feature_importances_ if hasattr(fitted, "feature_importances_") else np.abs(fitted.coef_)
        return Ranking.from_scores(np.ravel(weights))


def rankers() -> dict[str, tuple[Ranker, bool]]:
    """Five families; True where the target is two classes."""
    return {
        "correlation (univariate)": (CorrelationScore(task="regression"), False),
        "Gram-Schmidt (greedy, by rank)": (GramSchmidt(task="regression", max_features=20), False),
        "linear SVM weights (embedded)": (ModelWeights(LinearSVC(C=0.01, max_iter=5000)), True),
        "lasso (sparse)": (ModelWeights(Lasso(alpha=0.15)), False),
        "random forest (ensemble)": (
            ModelWeights(RandomForestRegressor(20, max_features=0.2, min_samples_leaf=5)),
            False,
        ),
    }


def make_design(design: str, seed: int) -> tuple[np.ndarray, np.ndarray, int]:
    """n = 100, D = 200; the first features are relevant, and independent of the others."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((100, 200))
    if design == "heavy-tailed":
        X = rng.standard_t(3, size=X.shape)
    n_true = 0 if design == "null" else 5
    noise = rng.standard_t(3, size=100) if design == "heavy-tailed" else rng.standard_normal(100)
    y = X[:, :n_true].sum(axis=1) + noise
    return X, (y - y.mean()) / y.std(), n_true


def probe_draw(seed: int, name: str, design: str) -> tuple[bool, float]:
    """Whether any irrelevant feature is kept, and the share of relevant ones that are."""
    ranker, classes = rankers()[name]
    X, y, n_true = make_design(design, seed)
    ranker.set_params(stop=MonteCarloProbe(risk=0.10, n_draws=99, probes="permuted", random_state=seed))
    support = ranker.fit(X, (y > np.median(y)).astype(int) if classes else y).get_support()
    return bool(support[n_true:].any()), float(support[:n_true].mean()) if n_true else 0.0


REPETITIONS = {"correlation": 400, "Gram-Schmidt": 100, "linear SVM": 100, "lasso": 300, "random forest": 40}


def designs_and_repetitions(quick: bool) -> Iterator[tuple[str, str, int]]:
    for name in rankers():
        repetitions = REPETITIONS[name.split(" (")[0].removesuffix(" weights")]
        for design in ("null", "independent", "heavy-tailed"):
            yield name, design, repetitions // 20 if quick else repetitions


def monte_carlo(quick: bool, targets: Targets) -> list[dict[str, Any]]:
    """Chance of keeping any irrelevant feature, nominal .10."""
    rows, figures = [], []
    for name, design, n in designs_and_repetitions(quick):
        wrong, power = repeated(probe_draw, n, name, design).mean(axis=0)
        limit = 0.10 + 3 * standard_error(0.10, n)
        rows.append((name, design, n, f"{wrong:.3f}", f"{limit:.3f}", "-" if design == "null" else f"{power:.2f}"))
        figures.append({"ranker": name, "design": design, "repetitions": n, "rate": wrong, "power": power})
        targets.add(f"Monte-Carlo probe, {name}, {design}", f"{wrong:.3f}", f"<= {limit:.3f}", wrong <= limit)
    show(
        "Monte-Carlo probe at risk .10, n = 100, D = 200, 99 draws: chance of keeping any irrelevant feature",
        ("ranker", "design", "repetitions", "rate", "risk + 3 s.e.", "true features found"),
        rows,
    )
    return figures


def run(*, quick: bool = False) -> dict[str, Any]:
    targets = Targets()
    figures = {
        "bench": "probe",
        "null_calibration": null_calibration(300 if quick else 4000, targets),
        "heavy_tails": heavy_tails(100 if quick else 600, targets),
        "linear_process": linear_process(200 if quick else 2000),
        "synthetic_classification": synthetic_classification(50 if quick else 300, targets),
        "xor": xor(30 if quick else 200, targets),
        "monte_carlo": monte_carlo(quick, targets),
    }
    figures["reached"] = targets.show()
    return figures
