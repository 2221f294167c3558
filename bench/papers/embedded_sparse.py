"""Lal et al. (2006), Sec. 4: sparsity terms on the sets of Gadat & Younes (2007): leukemia, spam, faces, the challenge.

Every method selects k features on the training rows; a linear machine with its C from cross-validation on them judges.
Where sets of different k are not nested, each is selected by itself.
"""

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from bench.papers.ofw_images import edge_features
from bench.table import Targets, note, show
from tamis import FSV, L1SVM, RFE, ElasticNet, FisherScore, Lasso, LogisticLasso, PotentialSVM, ZeroNorm
from tamis.datasets import load, names

Maker = Callable[[int], Any]
COSTS = (0.001, 0.01, 0.1, 1.0, 10.0)
METHODS: dict[str, Maker] = {
    "Fisher": lambda k: FisherScore(stop=k),
    "RFE": lambda k: RFE(stop=k, step=0.05),
    "L1SVM": lambda k: L1SVM(stop=k),
    "L1SVM, squared hinge": lambda k: L1SVM(stop=k, loss="squared_hinge"),
    "LogisticLasso": lambda k: LogisticLasso(stop=k),
    "LogisticLasso, by magnitude": lambda k: LogisticLasso(stop=k, alpha=1e-3, order="magnitude"),
    "Lasso": lambda k: Lasso(stop=k, task="classification"),
    "ElasticNet": lambda k: ElasticNet(stop=k),
    "PotentialSVM, C = .1": lambda k: PotentialSVM(stop=k, C=0.1),
    "FSV, path": lambda k: FSV(stop=k, n_alphas=30),
    "FSV, C = 1, stopped at k": lambda k: FSV(stop=k, C=1.0),
    "ZeroNorm, stopped at k": lambda k: ZeroNorm(stop=k),
    "ZeroNorm, squared loss, stopped at k": lambda k: ZeroNorm(stop=k, loss="squared"),
    "ZeroNorm, run to the end": lambda k: ZeroNorm(),
}
FOR_MANY_ROWS = (
    "Fisher",
    "RFE",
    "L1SVM, squared hinge",
    "LogisticLasso",
    "LogisticLasso, by magnitude",
    "ZeroNorm, stopped at k",
)
PAPER_SPAM = 4.47  # L0-SVM with 20 words, Weston et al. 2003
CHALLENGE = {"nips_arcene": 380, "nips_dexter": 280, "nips_dorothea": 100, "nips_madelon": 16}


def select(make: Maker, k: int, X: Any, y: np.ndarray) -> tuple[np.ndarray, float]:
    """The k columns that a method selects, or the fewer that it ranks; and the seconds it took."""
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        ranker = make(k).fit(X, y)
    return ranker.order_[: min(k, max(ranker.n_features_, 1))], time.perf_counter() - start


def predict(X: Any, y: np.ndarray, X_test: Any, columns: np.ndarray, *, balanced: bool = False) -> np.ndarray:
    """Labels of the test rows by a linear machine on the given columns."""
    machine = LinearSVC(dual="auto", tol=1e-3, max_iter=5000, class_weight="balanced" if balanced else None)
    X, X_test = (each.toarray() if sparse.issparse(each) else each for each in (X[:, columns], X_test[:, columns]))
    steps = make_pipeline(StandardScaler(), machine)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        search = GridSearchCV(steps, {"linearsvc__C": list(COSTS)}, cv=folds).fit(X, y)
        return search.predict(X_test)


def error(make: Maker, k: int, X: Any, y: np.ndarray, X_test: Any, y_test: np.ndarray) -> tuple[float, float, int]:
    """Percentage of wrong test rows, seconds, and features."""
    columns, seconds = select(make, k, X, y)
    return 100.0 * float(np.mean(predict(X, y, X_test, columns) != y_test)), seconds, columns.size


def balanced_error(y: np.ndarray, predicted: np.ndarray) -> float:
    return 100.0 * float(np.mean([np.mean(predicted[y == label] != label) for label in np.unique(y)]))


# --- leukemia ---------------------------------------------------------------------------------------------------------


def nested_leukemia(
    methods: Mapping[str, Maker], sizes: Sequence[int], n_repeats: int
) -> tuple[list[tuple[str, ...]], dict[str, float]]:
    """Error in percent of every method and number of genes: nested 10-fold cross-validation, repeated."""
    data = load("allaml")
    X, y = data.X, data.y
    folds = [
        fold for seed in range(n_repeats) for fold in StratifiedKFold(10, shuffle=True, random_state=seed).split(X, y)
    ]
    rows, found = [], {}
    for name, make in methods.items():
        cells, seconds = [], 0.0
        for k in sizes:
            each = Parallel(n_jobs=-1)(
                delayed(error)(make, k, X[train], y[train], X[test], y[test]) for train, test in folds
            )
            weights = np.array([test.size for _, test in folds])
            found[f"{name}, {k}"] = mean = float(np.average([one[0] for one in each], weights=weights))
            seconds = max(seconds, float(np.mean([one[1] for one in each])))
            cells.append(f"{mean:.1f}")
        rows.append((name, *cells, f"{seconds:.2f}"))
    return rows, found


def leukemia(quick: bool, targets: Targets) -> dict[str, Any]:
    """All methods at 5 and 20 genes."""
    sizes, n_repeats = (5, 20), 1 if quick else 5
    rows, found = nested_leukemia(METHODS, sizes, n_repeats)
    show(
        f"Leukemia: error in percent, nested 10-fold, {n_repeats} repetition(s)",
        ("method", *[f"{k} genes" for k in sizes], "seconds"),
        rows,
    )
    note(
        "One patient in 72 is 1.4 points; a standard error is two. Prototype of ZeroNorm, one pass: 2.8 at both.\n"
        "At 5 genes it is not reproduced: not by five of the genes left at 20, nor by other costs or machines."
    )
    for k in sizes:
        reached = found[f"ZeroNorm, stopped at k, {k}"]
        targets.add(f"leukemia, ZeroNorm stopped at {k} genes", f"{reached:.1f} %", "<= 4.2 %", reached <= 4.2)
    return found


# --- spam -------------------------------------------------------------------------------------------------------------


def spam(quick: bool, targets: Targets) -> dict[str, Any]:
    """Twenty of 54 words, logarithms: the split of The elements of statistical learning, and the paper's size."""
    data = load("spambase")
    X, y, is_test = np.log(data.X[:, :-3] + 0.1), data.y, data.esl_test
    n_splits = 2 if quick else 10
    splits = [train_test_split(np.arange(y.size), test_size=0.25, stratify=y, random_state=s) for s in range(n_splits)]
    official = (np.flatnonzero(~is_test), np.flatnonzero(is_test))
    rows, found = [], {}
    for name in METHODS:
        each = Parallel(n_jobs=-1)(
            delayed(error)(METHODS[name], 20, X[train], y[train], X[test], y[test])
            for train, test in [official, *splits]
        )
        esl, mean = each[0][0], float(np.mean([one[0] for one in each[1:]]))
        found[name] = {"esl": esl, "splits": mean, "words": each[0][2]}
        rows.append((name, f"{esl:.2f}", f"{mean:.2f}", each[0][2], f"{each[0][1]:.2f}"))
    words = np.arange(X.shape[1])
    judged = [100.0 * np.mean(predict(X[a], y[a], X[b], words) != y[b]) for a, b in [official, *splits]]
    rows.append(("all words", f"{judged[0]:.2f}", f"{np.mean(judged[1:]):.2f}", words.size, ""))
    rows.append(("paper: L0-SVM", "", f"{PAPER_SPAM:.2f}", 20, ""))
    show(
        f"Spam, 20 words: error in percent, split of ESL and mean of {n_splits} splits with 75 % to learn from",
        ("method", "ESL", "splits", "words", "seconds"),
        rows,
    )
    note(
        "The paper's 4.47 % is not reproduced: all words have more, and twenty can hardly have less. One figure "
        "on one split\nhas a standard error of .65 points, a mean of splits about .2."
    )
    reached = found["ZeroNorm, stopped at k"]
    targets.add("spam, ZeroNorm with 20 words, ESL", f"{reached['esl']:.2f} %", "<= 7.0 %", reached["esl"] <= 7.0)
    if not quick:
        targets.add(
            "spam, the same, mean of splits", f"{reached['splits']:.2f} %", "<= 6.2 %", reached["splits"] <= 6.2
        )
    return found


# --- faces and the challenge ------------------------------------------------------------------------------------------


def faces(quick: bool) -> dict[str, Any]:
    """Official split, edge detectors; plain and balanced error."""
    X, y, X_test, y_test = edge_features("faces")
    if quick:
        X, y, X_test, y_test = X[::10, ::3], y[::10], X_test[::10, ::3], y_test[::10]
    rows, found = [], {}
    for name in FOR_MANY_ROWS:
        cells = []
        for k in (20,) if quick else (20, 100):
            columns, seconds = select(METHODS[name], k, X, y)
            predicted = predict(X, y, X_test, columns)
            plain, balanced = 100.0 * float(np.mean(predicted != y_test)), balanced_error(y_test, predicted)
            found[f"{name}, {k}"] = [plain, balanced]
            cells += [f"{plain:.2f} / {balanced:.1f}", f"{seconds:.1f}"]
        rows.append((name, *cells))
    heads = ["20", "seconds"] if quick else ["20", "seconds", "100", "seconds"]
    show("Faces: error and balanced error in percent, by number of edge detectors", ("method", *heads), rows)
    return found


def challenge(quick: bool) -> dict[str, Any]:
    """Balanced error on the validation sets of the NIPS 2003 challenge."""
    chosen = {"nips_madelon": 16} if quick else CHALLENGE
    found: dict[str, dict[str, float]] = {}
    rows = []
    for name in FOR_MANY_ROWS:
        cells = []
        for table, k in chosen.items():
            data = load(table)
            X, X_valid = ((each.tocsc() if sparse.issparse(each) else each) for each in (data.X, data.X_valid))
            columns, seconds = select(METHODS[name], k, X.astype(float), data.y)
            predicted = predict(X.astype(float), data.y, X_valid.astype(float), columns, balanced=True)
            found.setdefault(name, {})[table] = each = balanced_error(data.y_valid, predicted)
            cells.append(f"{each:.1f} ({columns.size}, {seconds:.1f} s)")
        rows.append((name, *cells))
    heads = [f"{table.removeprefix('nips_').upper()}, {k}" for table, k in chosen.items()]
    show("Challenge: balanced error in percent on the validation set (features, seconds)", ("method", *heads), rows)
    note("Linear machines judge. MADELON is no linear problem: whoever selects by linear weights fails there.")
    return found


def sparse_rows(quick: bool, targets: Targets) -> dict[str, Any]:
    """All tables whose data are there."""
    parts: Sequence[tuple[str, set[str], Callable[[], dict[str, Any]]]] = (
        ("leukemia", {"allaml"}, lambda: leukemia(quick, targets)),
        ("spam", {"spambase"}, lambda: spam(quick, targets)),
        ("faces", {"cbcl_faces"}, lambda: faces(quick)),
        ("challenge", set(CHALLENGE), lambda: challenge(quick)),
    )
    found = {}
    for name, needed, run in parts:
        missing = needed - set(names())
        if missing:
            note(f"data sets missing, set TAMIS_DATA to their folder: {', '.join(sorted(missing))}")
            continue
        found[name] = run()
    return found
