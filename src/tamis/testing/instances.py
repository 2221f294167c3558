"""Constructor arguments under which each method is checked: one line per method, at least two instances each.

``stop=1`` and ``stop=None`` (k = D) are among them for every method: boundaries break first. Our own checks run on all
of them; scikit-learn's, of which there are five times as many, on the first of each method and on those that say
``OtherPath``. Where training takes long, the first is one that trains briefly, and the default rule, which ranks
nineteen times, stands with the cheapest way of training.
"""

from __future__ import annotations

from typing import Any

from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import PoissonRegressor, Ridge
from sklearn.svm import SVC, SVR

import tamis
from tamis.base import Ranker


class OtherPath(dict[str, Any]):
    """Arguments that lead through other code than the first of their list: another solver, graph or kind of model."""


ARGUMENTS: dict[str, list[dict[str, Any]]] = {
    "AdaptiveScaling": [
        {},
        {"stop": 1, "loss": "hinge", "p": 0.5},
        OtherPath({"stop": None, "kernel": "rbf", "max_iter": 20, "tol": 0.1}),
        {"stop": 1, "kernel": "poly", "degree": 2, "p": 2.0, "max_iter": 20, "tol": 0.1},
        {"C": "auto", "cv": 2, "max_iter": 20, "tol": 0.3, "early_stopping": True, "random_state": 0},
    ],
    "ARD": [{"early_stopping": 3}, {"stop": 1}, OtherPath({"stop": None, "task": "classification"})],
    "AgnosG": [{"stop": 1, "max_iter": 20}, {"max_iter": 30}, {"stop": None, "mode": "thesis", "max_iter": 30}],
    "AgnosS": [
        {"stop": 1, "max_iter": 20, "hidden_units": (6,), "batch_size": 16},
        {"max_iter": 30},
        OtherPath({"stop": None, "mode": "thesis", "max_iter": 30}),
    ],
    "AgnosW": [{"stop": 1, "max_iter": 20}, {"max_iter": 30}, {"stop": None, "mode": "thesis", "max_iter": 30}],
    "CGSSL": [{"random_state": 0}, {"stop": 1}, {"stop": None, "n_clusters": 2, "random_state": 0}],
    "CorrelationScore": [{}, {"stop": 1}, {"stop": None, "multiclass": "ovo"}],
    "DeepFeatureSelection": [{"stop": 1}, {"stop": None, "hidden_units": (4, 3)}],
    "DropOneOut": [{"stop": 1, "step": 0.5, "hidden_units": (2,)}, {"stop": None, "hidden_units": (4,), "step": 0.5}],
    "ElasticNet": [
        {"cv": 2, "n_alphas": 5},
        {"stop": 1, "alpha": "path"},
        OtherPath({"stop": None, "loss": "squared_hinge", "l1_ratio": 0.9}),
    ],
    "FQI": [{"stop": 1}, {"hidden_units": ()}, {"stop": None}],
    "FSV": [
        {"C": 1.0},
        {"stop": 1, "n_alphas": 8},
        {"stop": None, "C": "path", "n_alphas": 8},
        OtherPath({"C": 1.0, "loss": "logistic"}),
        {"C": 1.0, "early_stopping": True, "random_state": 0},
        {"n_alphas": 5, "cv": 2},
    ],
    "FeatureMedoids": [{}, {"stop": 1}, {"stop": None, "standardize": False}],
    "FisherScore": [{}, {"stop": 1}, {"stop": None, "threshold": 0.01}],
    "FloatingSelection": [{}, {"stop": 1}, {"stop": None}, OtherPath({"estimator": Ridge(), "stop": 1, "cv": 3})],
    "ForwardLeastSquares": [
        {},
        {"stop": 1},
        {"stop": None},
        OtherPath({"algorithm": "lars", "multiclass": "ovr", "stop": 1}),
    ],
    "Grafting": [
        {},
        {"stop": 1, "loss": "squared_hinge", "l2": 1e-3},
        {"stop": None, "loss": "squared", "step": 3},
        {"l0": 1e-3},
    ],
    "GramSchmidt": [
        {},
        {"stop": 1},
        {"stop": None, "orthogonalization": "modified"},
        OtherPath({"multiclass": "ovo", "stop": "fisher-test"}),
    ],
    "GreedyReconstruction": [{}, {"stop": 1}, {"stop": None, "standardize": False}],
    "GroupLasso": [
        {"n_alphas": 5, "cv": 2},
        {"stop": 1, "n_alphas": 8},
        {"stop": None, "loss": "squared_hinge", "order": "magnitude"},
    ],
    "JCFO": [
        {},
        {"stop": 1, "loss": "logistic"},
        OtherPath({"stop": None, "kernel": "rbf"}),
    ],
    "L1SVM": [
        {"n_alphas": 5, "cv": 2},
        {"stop": 1, "order": "magnitude"},
        OtherPath({"stop": None, "loss": "squared_hinge"}),
        {"C": 0.1, "debias": True},
    ],
    "Lasso": [
        {"n_alphas": 5, "cv": 2},
        {"stop": 1, "order": "magnitude"},
        {"stop": None, "debias": True},
        {"max_norm": 0.5},
    ],
    "LaplacianScore": [
        {},
        {"stop": 1, "weight": "binary"},
        OtherPath({"stop": None, "weight": "rbf"}),
        {"weight": "cosine"},
    ],
    "LogisticLasso": [
        {"n_alphas": 5, "cv": 2},
        {"stop": 1},
        {"stop": None, "class_weight": "balanced"},
        {"alpha": 0.01, "debias": True},
    ],
    "MCFS": [{}, {"stop": 1, "n_clusters": 2}, {"stop": None, "n_nonzero": 3}],
    "MED": [{}, {"stop": 1, "p0": 1e-3, "c": 5.0}, {"stop": None, "p0": 1.0}],
    "MarginLP": [{}, {"stop": 1, "C": 0.5}, {"stop": None, "epsilon": 0.5}],
    "MaxVariance": [{}, {"stop": 1}, {"stop": None}],
    "ModelImportance": [
        {"stop": 1},
        {"estimator": Ridge()},
        OtherPath({"estimator": Ridge(), "importance": "contributions", "stop": None}),
        OtherPath({"estimator": Ridge(), "importance": "permutation", "stop": 1, "n_repeats": 2}),
        {"estimator": RandomForestRegressor(20), "stop": None},
    ],
    "NDFS": [{"random_state": 0}, {"stop": 1, "init": "spectral"}, {"stop": None, "gamma": 1e9, "random_state": 0}],
    "NNFS": [{"stop": 1, "step": 0.5}, {}, {"stop": None, "hidden_units": (4,)}],
    "NeighborFaithful": [
        {},
        {"stop": 1},
        {"stop": None, "polish": False},
        OtherPath({"n_neighbors": 2, "max_samples": 20, "random_state": 0}),
    ],
    "OFW": [
        {"n_subsets": 10},
        OtherPath(
            {"stop": 1, "estimator": "ridge", "method": "riemannian", "evaluation": "out-of-bag", "n_subsets": 5}
        ),
        OtherPath({"stop": None, "estimator": "neighbors", "subset_size": 2, "n_subsets": 10}),
        OtherPath({"estimator": "tree", "method": "exact", "subset_size": 2}),
        {"stop": 0.5, "method": "diffusion", "subset_size": 2, "group_correlation": 0.95, "tol": 0.2, "n_subsets": 5},
    ],
    "OptimalBrainDamage": [
        {"stop": 1},
        {"stop": None, "hidden_units": (4, 3), "step": 0.5},
        OtherPath({"estimator": Ridge(), "stop": 1, "step": 1}),
        {"estimator": PoissonRegressor(), "stop": None, "step": "halving"},
    ],
    "PCALeverage": [{}, {"stop": 1}, {"stop": None, "n_components": 2, "standardize": False}],
    "PerceptronElimination": [
        {"stop": 1, "step": "halving"},
        {"step": 0.5},
        {"stop": None, "alpha": 0.9, "fit_intercept": False, "random_state": 0},
    ],
    "PivotedQR": [{}, {"stop": 1}, {"stop": None, "standardize": False}],
    "PolynomialSelection": [
        {"degree": 1},
        {"stop": 1},
        {"stop": None, "max_monomials": 6, "prune": "leave-one-out"},
        {"degree": 3, "interaction_only": True, "max_monomials": 8, "prune": "fisher"},
    ],
    "PotentialSVM": [{"n_alphas": 5, "cv": 2}, {"stop": 1, "C": 0.1}, {"stop": None, "C": 1.0, "alpha": 0.1}],
    "RFE": [
        {"stop": 0.5},  # the draws of the default rule differ where a row of weight two is one and not two
        {"step": 0.5},
        {"stop": 1, "estimator": "hinge", "multiclass": "ovo"},
        OtherPath({"stop": None, "estimator": "logistic", "step": 0.3}),
        OtherPath({"estimator": "ridge", "step": "halving", "stop": 0.5}),
        OtherPath({"estimator": "logistic", "multiclass": "multinomial", "stop": 1}),
        OtherPath({"kernel": "rbf", "step": 2, "stop": 0.5}),
    ],
    "RandomSelection": [{}, {"stop": 1}, {"stop": None, "random_state": 0}],
    "RSFS": [{"random_state": 0}, {"stop": 1}, {"stop": None, "n_clusters": 2, "random_state": 0}],
    "RUFS": [{"random_state": 0}, {"stop": 1}, {"stop": None, "n_clusters": 2, "random_state": 0}],
    "ReliefF": [
        {},
        {"stop": 1},
        OtherPath({"stop": None, "metric": "manhattan", "difference": "squared"}),
        {"n_samples": 20, "random_state": 0},
        {"n_neighbors": 1, "difference": "squared", "stop": 1},
    ],
    "SVMBoundElimination": [
        {"stop": 1, "bound": "span"},
        {"step": 0.5},
        OtherPath({"stop": None, "criterion": "retrain", "kernel": "rbf"}),
        {"stop": 1, "bound": "span", "criterion": "descent", "kernel": "poly", "degree": 2, "step": "halving"},
        {"stop": 1, "radius": "ball"},
    ],
    "ScalingFactors": [
        {"stop": 1, "kernel": "linear", "max_iter": 1000},
        OtherPath({"max_iter": 1000}),
        {"stop": None, "criterion": "span", "kernel": "poly", "degree": 2, "tol": 0.1},
        {"stop": 1, "criterion": "validation", "cv": 2, "discard": "increase", "tol": 0.1},
        {"stop": 1, "radius": "ball", "discard": "second-order", "step": 1, "max_iter": 1000},
    ],
    "SensitivityRanking": [
        {"stop": 1, "norm": "l1"},
        {"stop": None, "hidden_units": (4,)},
        OtherPath({"estimator": Ridge(), "stop": 1}),
        OtherPath({"estimator": SVC(), "stop": None}),
        {"estimator": SVR(kernel="poly", degree=2), "norm": "l1"},
    ],
    "SignalToNoise": [{"n_draws": 3}, {"stop": 1, "n_draws": 2}, {"stop": None, "threshold": None, "n_draws": 2}],
    "SOGFS": [{}, {"stop": 1}, {"stop": None, "n_clusters": 2}],
    "SparseGroupLasso": [
        {"n_alphas": 5, "cv": 2},
        {"stop": 1, "n_alphas": 8, "l1_ratio": 0.0},
        {"stop": None, "loss": "squared"},
    ],
    "TreeSelector": [
        {},
        {"stop": 1, "criterion": "entropy", "max_depth": 3},
        OtherPath({"stop": None, "importance": "mutual_information"}),
        OtherPath({"stop": 1, "criterion": "gain_ratio", "task": "classification"}),
        {"stop": None, "criterion": "error", "max_depth": 1, "task": "classification"},
        {"importance": "gain_ratio", "task": "classification"},
        OtherPath({"n_trees": 5, "random_state": 0}),
    ],
    "SPEC": [{}, {"stop": 1, "phi": 1}, {"stop": None, "phi": 3}, OtherPath({"prefer": "rough", "weight": "rbf"})],
    "ZeroNorm": [
        {},
        {"stop": 1, "loss": "hinge"},
        OtherPath({"stop": None, "kernel": "rbf", "loss": "squared"}),
        {"stop": 1, "kernel": "poly", "degree": 2, "loss": "sparse_fisher"},
        {"C": "auto", "cv": 2, "max_iter": 20, "tol": 0.3, "early_stopping": True, "random_state": 0},
    ],
}


def instances(name: str | None = None, *, one_per_path: bool = False) -> list[Ranker]:
    """Fresh instances of one method, or of all; every one of them, or one for each path through the code."""
    chosen = ARGUMENTS if name is None else {name: ARGUMENTS[name]}
    return [
        getattr(tamis, method)(**arguments)
        for method, each in chosen.items()
        for position, arguments in enumerate(each)
        if position == 0 or not one_per_path or isinstance(arguments, OtherPath)
    ]
