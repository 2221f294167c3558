"""Features that stay or go together: whole EEG channels, and categorical variables encoded one-hot.

Two log powers per channel, from the covariances of trials of imagined movements of the left or the right hand: against
the recording's reference, and against the mean of the neighboring channels. Ranked and trained on the first session,
tested on the second. The latter of the two features reads neighbors that may have been removed: so the kept electrodes
are also judged all by themselves, by the logarithm of their own covariances.

These features were settled on after seven kinds (powers against one to three references, rows of correlations or of
log covariances), five of them with three values of C, had been looked at on both sessions: no blind test. They differ
by less than subjects do (69 to 76 % with eight channels); in 11 of those 15 settings C3, C4, CP3 and CP4 were all among
the eight best, before that became a target. C has since been left to cross-validation on the first session.
"""

from collections import Counter
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

from bench.papers.embedded_curves import tune
from bench.table import Targets, note, show
from tamis import RFE
from tamis.datasets import load, names
from tamis.stop import CrossValidation

N_KEPT = 8
COSTS = (0.001, 0.01, 0.1, 1.0)
MOTOR = ("C3", "C4", "CP3", "CP4")
COLUMNS = {"5": -3, "3": -2, "1": -1, "z": 0, "2": 1, "4": 2, "6": 3}
ROWS = {"F": 2, "FC": 1, "C": 0, "CP": -1, "P": -2, "PO": -3}
MACHINE = SVC(kernel="linear")


def neighbors_of(channels: list[str]) -> np.ndarray:
    """Which channels are next to each other in a row or column of the cap."""
    places = np.array([(COLUMNS[channel[-1]], ROWS[channel[:-1]]) for channel in channels])
    return np.abs(places[:, None] - places[None]).sum(axis=-1) == 1


def log_powers(covariances: np.ndarray, channels: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Two features per channel, and the channel of each."""
    near = neighbors_of(channels)
    local = np.eye(len(channels)) - near / near.sum(axis=1, keepdims=True)
    powers = [np.einsum("ci,nij,cj->nc", filters, covariances, filters) for filters in (np.eye(len(channels)), local)]
    return np.log(np.concatenate(powers, axis=1)), np.tile(channels, 2)


def log_covariances(covariances: np.ndarray) -> np.ndarray:
    """Upper triangles of the matrix logarithms, off-diagonal entries times the root of two."""
    values, vectors = np.linalg.eigh(covariances)
    logarithms = (vectors * np.log(values)[:, None]) @ vectors.transpose(0, 2, 1)
    i, j = np.triu_indices(covariances.shape[-1])
    return logarithms[:, i, j] * np.where(i == j, 1.0, np.sqrt(2.0))


def accuracy(X: np.ndarray, y: np.ndarray, train: np.ndarray) -> float:
    """On the second session, in percent."""
    return 100.0 * tune(MACHINE, COSTS, X[train], y[train])[0].score(X[~train], y[~train])


def judge_subject(
    covariances: np.ndarray, y: np.ndarray, train: np.ndarray, channels: list[str], n_draws: int
) -> dict[str, Any]:
    """What one subject keeps, and how well that tells hands apart."""
    X, groups = log_powers(covariances, channels)
    cost = tune(MACHINE, COSTS, X[train], y[train])[1]
    rule = CrossValidation(
        make_pipeline(StandardScaler(), SVC(kernel="linear", C=cost)),
        cv=StratifiedKFold(10, shuffle=True, random_state=0),
        rule="one-se",
    )
    ranker = RFE(groups=groups, C=cost, stop=N_KEPT).fit(X[train], y[train])
    by_rule = RFE(groups=groups, C=cost, stop=rule).fit(X[train], y[train])
    kept = [str(channel) for channel in ranker.group_order_[:N_KEPT]]

    def alone(chosen: list[int]) -> float:
        return accuracy(log_covariances(covariances[:, chosen][:, :, chosen]), y, train)

    rng = np.random.default_rng(0)
    by_chance = [alone(sorted(rng.permutation(len(channels))[:N_KEPT].tolist())) for _ in range(n_draws)]
    return {
        "kept": kept,
        "order": [str(channel) for channel in ranker.group_order_],
        "is_split": splits_groups(ranker, groups) or splits_groups(by_rule, groups),
        "n_chosen": len(set(groups[by_rule.get_support()])),
        "features": {
            "kept": accuracy(ranker.transform(X), y, train),
            "chosen": accuracy(by_rule.transform(X), y, train),
            "all": accuracy(X, y, train),
        },
        "alone": {
            "kept": alone([channels.index(channel) for channel in kept]),
            "random": float(np.mean(by_chance)),
            "all": alone(list(range(len(channels)))),
        },
    }


def splits_groups(ranker: Any, groups: np.ndarray) -> bool:
    """Whether some group is neither kept as a whole nor removed as a whole."""
    support = ranker.get_support()
    return any(np.unique(support[groups == label]).size > 1 for label in np.unique(groups))


def channel_rows(quick: bool, targets: Targets) -> dict[str, Any]:
    """Print what every subject keeps and the mean ranking; note the targets."""
    if "bci2a_leftright_cov" not in names():
        note("data set missing, set TAMIS_DATA to its folder: bci2a_leftright_cov")
        return {}
    data = load("bci2a_leftright_cov")
    channels = [str(channel) for channel in data.channel_names]
    train = data.session == 0
    subjects = range(3 if quick else len(data.cov))
    found = [judge_subject(data.cov[s], data.y[s], train, channels, 2 if quick else 10) for s in subjects]
    measured = [
        (*(each["features"][key] for key in ("kept", "chosen", "all")), *each["alone"].values()) for each in found
    ]
    rows = [
        (s + 1, " ".join(each["kept"]), f"{row[0]:.0f}", f"{row[1]:.0f} ({each['n_chosen']})", *_whole(row[2:]))
        for s, each, row in zip(subjects, found, measured, strict=True)
    ]
    mean = np.mean(measured, axis=0)
    rows.append(("mean", "", *(f"{value:.1f}" for value in mean)))
    show(
        f"EEG, left against right hand: accuracy in percent on the second session, group RFE on the first. {N_KEPT} of "
        f"{len(channels)} channels, best first",
        (
            "subject",
            "kept",
            f"{N_KEPT} channels",
            "by CV (number)",
            "all",
            f"{N_KEPT} electrodes alone",
            f"{N_KEPT} at random",
            "all alone",
        ),
        rows,
    )
    note(
        "Up to 'all': log powers of channels; then log covariances of electrodes alone. 144 test trials a subject: a\n"
        "figure has a standard error of 2 to 4 points, a mean over nine subjects one of about 1.2."
    )
    leads = [each["alone"]["kept"] - each["alone"]["random"] for each in found]
    note(
        f"Kept electrodes alone lead those at random by {np.mean(leads):.1f} points, with a standard error over "
        f"subjects of {np.std(leads, ddof=1) / len(leads) ** 0.5:.1f}."
    )
    places = {channel: np.mean([each["order"].index(channel) + 1 for each in found]) for channel in channels}
    best = sorted(channels, key=lambda channel: places[channel])
    times = Counter(channel for each in found for channel in each["kept"])
    show(
        "Mean place over subjects (of 22; 11.5 by chance), and how many subjects keep the channel",
        ("", *best[:12]),
        [
            ("place", *(f"{places[channel]:.1f}" for channel in best[:12])),
            ("kept by", *(str(times[channel]) for channel in best[:12])),
        ],
    )
    n_motor = len(set(MOTOR) & set(best[:N_KEPT]))
    targets.add(f"EEG, {', '.join(MOTOR)} among the {N_KEPT} best", f"{n_motor} of 4", "4 of 4", n_motor == 4)
    targets.add(
        f"EEG, {N_KEPT} electrodes alone, against as many at random",
        f"{mean[3]:.1f} %",
        f"> {mean[4]:.1f} %",
        bool(mean[3] > mean[4]),
    )
    is_split = any(each["is_split"] for each in found)
    targets.add("EEG, no channel is split", "split" if is_split else "none", "none", not is_split)
    return {
        "kept": {str(s + 1): each["kept"] for s, each in zip(subjects, found, strict=True)},
        "chosen by CV": [each["n_chosen"] for each in found],
        "accuracy": {
            key: round(float(value), 1)
            for key, value in zip(
                ("kept", "by CV", "all", "kept alone", "random alone", "all alone"), mean, strict=True
            )
        },
        "mean place": {channel: round(float(places[channel]), 2) for channel in best},
    }


def _whole(values: Any) -> list[str]:
    return [f"{value:.0f}" for value in values]


# --- categories ------------------------------------------------------------------------------------------------------


def make_categories(n_rows: int = 400, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two categorical variables encoded one-hot and four quantities, their groups, and classes.

    Of "city" (five levels) two levels matter, in opposite ways; "day" (seven levels) does not. Of the quantities
    "age" and "income" matter, "height" and "noise" do not.
    """
    rng = np.random.default_rng(seed)
    levels = np.column_stack([rng.integers(0, 5, n_rows), rng.integers(0, 7, n_rows)])
    quantities = rng.standard_normal((n_rows, 4))
    encoder = OneHotEncoder(sparse_output=False).fit(levels)
    X = np.column_stack([encoder.transform(levels), quantities])
    sizes = [len(each) for each in encoder.categories_]
    groups = np.array(["city"] * sizes[0] + ["day"] * sizes[1] + ["age", "income", "height", "noise"])
    output = 2.0 * (levels[:, 0] == 1) - 2.0 * (levels[:, 0] == 3) + quantities[:, 0] + 0.7 * quantities[:, 1]
    return X, (output + 0.5 * rng.standard_normal(n_rows) > 0).astype(int), groups


def category_rows(targets: Targets) -> dict[str, Any]:
    """Print what is kept with and without groups."""
    X, y, groups = make_categories()
    n_groups = np.unique(groups).size
    rows, kept, is_split = [], {}, False
    for k in range(1, n_groups + 1):
        whole = RFE(groups=groups, stop=k).fit(X, y)
        columns = RFE(stop=k).fit(X, y)
        kept[k] = [str(label) for label in whole.group_order_[:k]]
        is_split |= splits_groups(whole, groups)
        single = Counter(groups[columns.order_[:k]].tolist())
        parts = ", ".join(f"{n} of {(groups == label).sum()} {label}" for label, n in single.items())
        rows.append((k, " ".join(kept[k]), int(whole.get_support().sum()), parts))
    show(
        "Categories encoded one-hot: city (5 columns) and day (7), and four quantities; city, age and income matter",
        ("k", "groups kept, best first", "columns", "without groups, k columns"),
        rows,
    )
    targets.add("categories, no variable is split", "split" if is_split else "none", "none", not is_split)
    matter = {"city", "age", "income"}
    targets.add("categories, the 3 that matter on top", " ".join(kept[3]), "city age income", set(kept[3]) == matter)
    return {str(k): each for k, each in kept.items()}
