"""Sparsity terms against their peers in one run: linear programs, lassos and paths, FSV and the zero norm, grafting.

The same problem for all, and the objectives they end at: a contestant that stops early has a larger one. Peers get
columns that are standardized already, ours do that themselves; compilation of a peer is not counted. Then recursive
elimination on tall tables against scikit-learn's, at equal tolerance (``rfe_tall``).
"""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import linprog
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso as ScikitLasso
from sklearn.linear_model import lars_path

from bench.process import timed
from bench.speed import rfe_tall
from bench.table import Targets, note, show
from tamis import FSV, L1SVM, Grafting, Lasso, LogisticLasso, ZeroNorm
from tamis.datasets import load, names


def best_of(call: Callable[[], Any], repeats: int = 3) -> tuple[float, Any]:
    return min((timed(call) for _ in range(repeats)), key=lambda run: run[0])


def plain_program(X: np.ndarray, y: np.ndarray, cost: float) -> float:
    """Objective of the l1 support vector machine as one linear program, solved whole."""
    n, d = X.shape
    signed = X * y[:, None]
    A = sparse.hstack([-signed, signed, -y[:, None], y[:, None], -sparse.eye_array(n)], format="csc")
    costs = np.concatenate([np.ones(2 * d), [0.0, 0.0], np.full(n, cost)])
    return float(linprog(costs, A_ub=A, b_ub=-np.ones(n), method="highs").fun)


def programs(quick: bool, targets: Targets) -> dict[str, Any]:
    """The hinge with an l1 penalty at C = 1."""
    rng = np.random.default_rng(0)
    n, d = (100, 2000) if quick else (100, 20_000)
    X = rng.standard_normal((n, d))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    y = np.where(X[:, :10].sum(axis=1) + rng.standard_normal(n) > 0, 1.0, -1.0)
    seconds, found = best_of(lambda: L1SVM(C=1.0, order="magnitude").fit(X, y))
    peer_seconds, objective = timed(lambda: plain_program(X, y, 1.0))
    ours = n * found.certificate_["objective"]
    difference = abs(ours - objective) / objective
    show(
        f"l1 support vector machine, {n} x {d}, C = 1",
        ("contestant", "seconds", "objective"),
        [("L1SVM", f"{seconds:.3f}", f"{ours:.10f}"), ("plain program", f"{peer_seconds:.2f}", f"{objective:.10f}")],
    )
    targets.add("L1SVM: same objective", f"{difference:.1e}", "< 1e-8", difference < 1e-8)
    if not quick:
        ratio = peer_seconds / seconds
        targets.add("L1SVM over the plain program", f"{ratio:.0f} x", ">= 15 x", ratio >= 15)
        targets.add("L1SVM, 100 x 20 000", f"{seconds:.2f} s", "< .5 s", seconds < 0.5)
    return {"ours": seconds, "plain": peer_seconds, "difference": difference}


def squared_objective(Z: np.ndarray, y: np.ndarray, coef: np.ndarray, alpha: float) -> float:
    return float(0.5 * np.mean((y - Z @ coef) ** 2) + alpha * np.abs(coef).sum())


def lassos(quick: bool, targets: Targets) -> dict[str, Any]:
    """One penalty, a hundredth of the largest, and a path of a hundred down to it."""
    rng = np.random.default_rng(0)
    n, d = (200, 3000) if quick else (500, 20_000)
    X = rng.standard_normal((n, d))
    y = X[:, :20] @ rng.standard_normal(20) + 2.0 * rng.standard_normal(n)
    y = (y - y.mean()) / y.std()
    Z = np.asfortranarray((X - X.mean(axis=0)) / X.std(axis=0))
    largest = float(np.abs(Z.T @ y).max()) / n
    alphas = largest * np.geomspace(1.0, 0.01, 100)
    alpha = float(alphas[-1])
    single: dict[str, Callable[[], Any]] = {
        "Lasso (tamis)": lambda: Lasso(alpha=alpha, order="magnitude").fit(X, y).coef_ * X.std(axis=0),
        "scikit-learn": lambda: ScikitLasso(alpha=alpha, tol=1e-6, max_iter=10_000).fit(Z, y).coef_,
    }
    whole: dict[str, Callable[[], Any]] = {
        "Lasso (tamis)": lambda: [fit.features.size for fit in paths_of(X, y, alphas)],
        "LARS (scikit-learn)": lambda: lars_path(Z, y, method="lasso", alpha_min=alpha)[0].size,
    }
    add_peers(single, whole, Z, y, alpha, alphas)
    rows, seconds = [], {}
    for name, call in single.items():
        seconds[name], coef = best_of(call, 1 if name == "scikit-learn" else 3)
        rows.append((name, f"{seconds[name]:.3f}", f"{squared_objective(Z, y, np.ravel(coef), alpha):.10f}"))
    show(f"Lasso, {n} x {d}, a hundredth of the largest penalty", ("contestant", "seconds", "objective"), rows)
    path_seconds = {name: best_of(call, 1)[0] for name, call in whole.items()}
    show(
        f"Lasso path, {n} x {d}, 100 penalties down to there",
        ("contestant", "seconds"),
        [(name, f"{value:.2f}") for name, value in path_seconds.items()],
    )
    for what, times in (("Lasso", seconds), ("Lasso path", path_seconds)):
        best = min((value for name, value in times.items() if "tamis" not in name), default=np.inf)
        ratio = times["Lasso (tamis)"] / best
        targets.add(f"{what}: to the best peer", f"{ratio:.2f} x", "<= 1.2 x", ratio <= 1.2)
    return {"single": seconds, "path": path_seconds}


def paths_of(X: np.ndarray, y: np.ndarray, alphas: np.ndarray) -> Any:
    """Models at given penalties, through the parts that ``Lasso`` is made of."""
    from tamis.base import ColumnCandidates

    ranker, candidates = Lasso(), ColumnCandidates(X)
    problem = ranker._pose(candidates, y)
    return ranker._make_paths(problem, candidates, problem.scale).follow(alphas / problem.unit)


def add_peers(single: dict, whole: dict, Z: np.ndarray, y: np.ndarray, alpha: float, alphas: np.ndarray) -> None:
    """celer and skglm where they are installed, once called on a small table: one of them compiles itself."""
    small = np.asfortranarray(Z[:50, :50])
    try:
        from celer import celer_path

        celer_path(small, y[:50], "lasso", n_alphas=5)
        single["celer"] = lambda: celer_path(Z, y, "lasso", alphas=np.array([alpha]), tol=1e-6)[1][:, 0]
        whole["celer"] = lambda: celer_path(Z, y, "lasso", alphas=alphas, tol=1e-6)
    except ImportError:
        note("celer is not installed")
    try:
        from skglm import Lasso as SkglmLasso

        SkglmLasso(alpha=0.5, fit_intercept=False).fit(small, y[:50])
        single["skglm"] = lambda: SkglmLasso(alpha=alpha, fit_intercept=False, tol=1e-6).fit(Z, y).coef_
        whole["skglm"] = lambda: SkglmLasso(alpha=alpha, fit_intercept=False, tol=1e-6).path(Z, y, alphas=alphas)
    except ImportError:
        note("skglm is not installed")


def genes(targets: Targets) -> dict[str, Any]:
    """FSV, the zero norm and logistic lassos on leukemia."""
    if "allaml" not in names():
        note("leukemia is missing: set TAMIS_DATA to the folder of the data sets")
        return {}
    data = load("allaml")
    contestants = {
        "FSV, C = 1": FSV(C=1.0),
        "FSV, C = 1, stopped at 20": FSV(C=1.0, stop=20),
        "ZeroNorm": ZeroNorm(),
        "ZeroNorm, stopped at 20": ZeroNorm(stop=20),
        "LogisticLasso, penalty by cross-validation": LogisticLasso(),
        "L1SVM, cost by cross-validation": L1SVM(),
    }
    rows, seconds = [], {}
    for name, ranker in contestants.items():
        seconds[name], found = best_of(lambda ranker=ranker: ranker.fit(data.X, data.y))
        rows.append((name, f"{seconds[name]:.3f}", found.n_features_))
    n, d = data.X.shape
    show(f"Leukemia, {n} x {d}", ("contestant", "seconds", "kept"), rows)
    for name in ("FSV, C = 1", "ZeroNorm"):
        targets.add(f"{name}, leukemia", f"{seconds[name]:.2f} s", "< .5 s", seconds[name] < 0.5)
    return seconds


def grafting(targets: Targets) -> dict[str, Any]:
    """Logistic loss, 3000 x 500, down to a hundredth of the largest penalty."""
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 500))
    y = (X[:, :20] @ rng.standard_normal(20) + 2.0 * rng.standard_normal(3000) > 0).astype(int)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    largest = float(np.abs(Z.T @ (y - y.mean())).max()) / len(y)
    alpha = 0.01 * largest
    peer = LogisticRegression(l1_ratio=1.0, C=1.0 / (len(y) * alpha), solver="liblinear", tol=1e-6)
    seconds, found = best_of(lambda: Grafting(alpha=alpha).fit(X, y), 1)
    lasso_seconds, lasso = best_of(lambda: LogisticLasso(alpha=alpha, order="magnitude").fit(X, y))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        peer_seconds, _ = best_of(lambda: peer.fit(Z, y), 1)
    show(
        "l1 logistic regression, 3000 x 500, a hundredth of the largest penalty",
        ("contestant", "seconds", "objective"),
        [
            ("Grafting", f"{seconds:.2f}", f"{found.certificate_['objective']:.10f}"),
            ("LogisticLasso", f"{lasso_seconds:.2f}", f"{lasso.certificate_['objective']:.10f}"),
            ("liblinear (intercept penalized)", f"{peer_seconds:.2f}", ""),
        ],
    )
    targets.add("Grafting, 3000 x 500", f"{seconds:.2f} s", "< 1 s", seconds < 1)
    return {"grafting": seconds, "logistic_lasso": lasso_seconds, "liblinear": peer_seconds}


def eliminations(quick: bool, targets: Targets) -> list[dict[str, Any]]:
    """Recursive elimination on tall tables, with every learner, at equal tolerance."""
    rows = list(rfe_tall.grid(quick=quick))
    heads = ("learner", "n", "D", "step", "ours", "scikit-learn", "ratio", "same order", "ours at 1e-10", "residual")
    cells = [[f"{row[h]:.2g}" if isinstance(row[h], float) and h != "step" else row[h] for h in heads] for row in rows]
    show("Recursive elimination at scikit-learn's tolerance, seconds of one processor", heads, cells)
    for learner in rfe_tall.LEARNERS:
        worst = min((row for row in rows if row["learner"] == learner), key=lambda row: row["ratio"])
        where = f"{worst['n']} x {worst['D']}, step {worst['step']}"
        ratio = worst["ratio"]
        targets.add(f"RFE, {learner}: over scikit-learn's, at worst", f"{ratio:.2f} x ({where})", ">= 1 x", ratio >= 1)
    unlike = sum(row["same order"].startswith("NO") or not row["converged"] for row in rows)
    targets.add("RFE: orders that differ, or not converged", f"{unlike} of {len(rows)}", "0", unlike == 0)
    return rows


def run(*, quick: bool = False) -> dict[str, Any]:
    targets = Targets()
    found = {
        "programs": programs(quick, targets),
        "lassos": lassos(quick, targets),
        "genes": genes(targets),
        "grafting": {} if quick else grafting(targets),
        "eliminations": [] if quick else eliminations(quick, targets),
    }
    return {"bench": "sparse-speed", **found, "reached": targets.show()}
