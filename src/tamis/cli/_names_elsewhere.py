"""Names that other libraries give to methods, and what answers the same question here."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

_FOREST = "--method tree-selector --param n_trees=300"
_MODEL = "--method model-importance"
_PROBE = "--stop monte-carlo-probe"
_DEFAULT = "gram-schmidt, the default, ranks by what a feature tells of the target beyond those before it"


@dataclass(frozen=True)
class Equivalent:
    """What answers the same question here: a sentence, options on the method, and on a rule that belongs to it."""

    sentence: str
    method: str = ""
    rule: str = ""


_EQUIVALENTS: dict[str, Equivalent] = {
    "random-forest": Equivalent("importances in a random forest", _FOREST),
    "boruta": Equivalent("importances in a forest against those of permuted copies", _MODEL),
    "xgboost": Equivalent("boosted trees are not among the methods, a random forest is", _FOREST, _PROBE),
    "permutation-importance": Equivalent(
        "what a forest loses on held-out rows if the values of a column are permuted",
        f"{_MODEL} --param importance=permutation",
    ),
    "shap": Equivalent(
        "importances in a forest; from Python, contributions in a model of yours: ModelImportance(model)", _MODEL
    ),
    "decision-tree": Equivalent("importances in a decision tree", "--method tree-selector"),
    "mutual-info": Equivalent(
        "mutual information of the best single split with the target",
        "--method tree-selector --param importance=mutual_information",
    ),
    "mrmr": Equivalent(_DEFAULT),
    "stepwise": Equivalent(f"{_DEFAULT}; with steps back it is --method floating-selection"),
    "backward": Equivalent("elimination of the least weight, again and again", "--method rfe"),
    "rfecv": Equivalent(
        "recursive elimination, the number by cross-validation", "--method rfe", "--stop cross-validation"
    ),
    "ridge": Equivalent("elimination of the least weight of a ridge model", "--method rfe --param estimator=ridge"),
    "svm": Equivalent("elimination by a support vector machine; with sparse weights it is l1-svm", "--method rfe"),
    "logistic-regression": Equivalent("sparse logistic regression", "--method logistic-lasso"),
    "anova": Equivalent("variance between classes over that inside", "--method fisher-score"),
    "f-regression": Equivalent("squared correlation with the target", "--method correlation-score"),
    "select-k-best": Equivalent(
        "one feature at a time, the best ten of them", "--method correlation-score", "--stop 10"
    ),
    "select-fdr": Equivalent(
        "one feature at a time, with a false discovery rate",
        "--method correlation-score",
        "--stop monte-carlo-probe --fdr 0.1",
    ),
    "knockoffs": Equivalent(
        "a sparse linear model among knockoffs, with a false discovery rate",
        "--method lasso",
        "--stop monte-carlo-probe --fdr 0.1",
    ),
    "variance-threshold": Equivalent("the variance alone, without a target", "--method max-variance"),
    "pca": Equivalent("principal components mix columns; these are columns that span them", "--method pca-leverage"),
    "relief": Equivalent("ReliefF", "--method relief-f"),
    "autoencoder": Equivalent("features from which an autoencoder recovers all", "--method agnos-s"),
    "genetic": Equivalent("a search over subsets of features", "--method floating-selection"),
}
_SAME = {
    "rf": "random-forest",
    "forest": "random-forest",
    "extra-trees": "random-forest",
    "feature-importance": "random-forest",
    "lightgbm": "xgboost",
    "lgbm": "xgboost",
    "xgb": "xgboost",
    "catboost": "xgboost",
    "gradient-boosting": "xgboost",
    "boosting": "xgboost",
    "tree": "decision-tree",
    "cart": "decision-tree",
    "forward": "stepwise",
    "forward-selection": "stepwise",
    "sequential": "stepwise",
    "sfs": "stepwise",
    "sequential-feature-selector": "stepwise",
    "sffs": "stepwise",
    "omp": "stepwise",
    "backward-elimination": "backward",
    "sbs": "backward",
    "f": "anova",
    "chi2": "anova",
    "f-test": "anova",
    "t-test": "anova",
    "correlation": "f-regression",
    "pearson": "f-regression",
    "mutual-information": "mutual-info",
    "mi": "mutual-info",
    "information-gain": "mutual-info",
    "univariate": "select-k-best",
    "select-percentile": "select-k-best",
    "filter": "select-k-best",
    "k-best": "select-k-best",
    "fdr": "select-fdr",
    "select-fpr": "select-fdr",
    "select-fwe": "select-fdr",
    "variance": "variance-threshold",
    "svm-rfe": "svm",
    "svc": "svm",
    "linear-svc": "svm",
    "logistic": "logistic-regression",
    "permutation": "permutation-importance",
    "ga": "genetic",
}

RULES = {
    "cv": "cross-validation",
    "rfecv": "cross-validation",
    "loo": "leave-one-out",
    "f-test": "fisher-test",
    "p-value": "probe",
    "boruta": "monte-carlo-probe",
    "permutation": "monte-carlo-probe",
    "shadow": "monte-carlo-probe",
    "fdr": "monte-carlo-probe --fdr 0.1",
    "bh": "monte-carlo-probe --fdr 0.1",
    "k-best": "10",
}


def equivalent(name: str) -> Equivalent | None:
    """What to use for a method that is called ``name`` elsewhere; None where the name is not known."""
    plain = name.lower().replace("_", "-").replace(" ", "-")
    for ending in ("-classifier", "-regressor", "-classif", "-regression", "cv"):
        plain = plain if plain in _EQUIVALENTS or plain in _SAME else plain.removesuffix(ending)
    return _EQUIVALENTS.get(_SAME.get(plain, plain))


def suggest_command(found: Equivalent, command: Sequence[str]) -> str:
    """``command`` with what answers the same question in place of its method, as it is typed in a shell.

    Parameters
    ----------
    found : Equivalent
    command : sequence of str
        Arguments, of which ``--method NAME`` or ``--method=NAME`` asks for what is not there.
    """
    words = list(command)
    place = next((j for j, word in enumerate(words) if word == "--method" or word.startswith("--method=")), len(words))
    words[place : place + (2 if words[place : place + 1] == ["--method"] else 1)] = shlex.split(found.method)
    if "select" in words and "--stop" not in words:
        words += shlex.split(found.rule)
    return shlex.join(["tamis", *words])
