"""Every method of the five papers works from Python, in a pipeline and from the command line."""

import json

import numpy as np
import polars as pl
import pytest
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

import tamis
import tamis.assess
import tamis.dictionary
import tamis.dimension
import tamis.stop
from tamis.cli import main
from tamis.cli._methods import kebab
from tamis.testing.instances import ARGUMENTS

RANKERS = {
    "Gadat and Younes 2007": ["OFW", "FisherScore"],
    "Stoppiglia et al. 2003": ["CorrelationScore", "GramSchmidt", "PolynomialSelection"],
    "Lal et al. 2006, Sec. 2": [
        "FloatingSelection",
        "ForwardLeastSquares",
        "Grafting",
        "OptimalBrainDamage",
        "PerceptronElimination",
        "RFE",
        "SVMBoundElimination",
        "SensitivityRanking",
        "TreeSelector",
    ],
    "Lal et al. 2006, Sec. 3": ["ARD", "AdaptiveScaling", "JCFO", "MED", "MarginLP", "ScalingFactors"],
    "Lal et al. 2006, Sec. 4": ["ElasticNet", "FSV", "L1SVM", "Lasso", "LogisticLasso", "PotentialSVM", "ZeroNorm"],
    "Doquet 2019, Sec. 3": [
        "CGSSL",
        "DeepFeatureSelection",
        "DropOneOut",
        "FQI",
        "GroupLasso",
        "LaplacianScore",
        "MCFS",
        "NDFS",
        "NNFS",
        "RSFS",
        "RUFS",
        "ReliefF",
        "SOGFS",
        "SPEC",
        "SignalToNoise",
        "SparseGroupLasso",
    ],
    "Doquet 2019, Sec. 4": ["AgnosG", "AgnosS", "AgnosW"],
    "Kursa and Rudnicki 2010": ["ModelImportance"],
    "baselines": [
        "FeatureMedoids",
        "GreedyReconstruction",
        "MaxVariance",
        "NeighborFaithful",
        "PCALeverage",
        "PivotedQR",
        "RandomSelection",
    ],
}
OTHERS = {
    tamis: ["InfiniteSVM", "OFWClassifier"],
    tamis.dictionary: ["BandPassCSP", "Edges", "Gabor", "Monomials", "RBF", "Wavelets"],
    tamis.dimension: [
        "BoxCounting",
        "CorrelationDimension",
        "GMST",
        "MLE",
        "PackingDimension",
        "PairwiseSparsity",
        "TwoNN",
    ],
    tamis.stop: [
        "CrossValidation",
        "FITPlateau",
        "FisherTest",
        "IntrinsicDimension",
        "LeaveOneOut",
        "MonteCarloProbe",
        "Probe",
        "TopK",
    ],
    tamis.assess: ["compare", "fit_score", "stability"],
}
CLASSES = [name for names in RANKERS.values() for name in names]


@pytest.fixture(scope="module")
def problem() -> tuple[np.ndarray, np.ndarray]:
    """Two classes that the first of five columns tells apart."""
    rng = np.random.default_rng(0)
    y = np.arange(30) % 2
    X = rng.standard_normal((30, 5)).round(4)
    X[:, 0] += 2.5 * y
    return X, y


def short_training(name: str) -> dict[str, int]:
    """Networks are trained for a few steps only."""
    method = getattr(tamis, name)
    is_network = ".neural." in method.__module__ or name == "OptimalBrainDamage"
    return {"max_iter": 3} if is_network and "max_iter" in method().get_params() else {}


def test_the_list_is_that_of_the_library():
    assert sorted(CLASSES) == sorted(ARGUMENTS)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", CLASSES)
def test_a_method_works_from_python_and_in_a_pipeline(name, problem):
    X, y = problem
    ranker = getattr(tamis, name)(**{**short_training(name), "stop": 2})
    model = make_pipeline(ranker, GaussianNB()).fit(X, y)
    assert model[0].transform(X).shape[1] in (1, 2)  # a tree or a sparse network may have use for a single one
    assert model.predict(X).shape == (30,)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", CLASSES)
def test_a_method_works_from_the_command_line(name, problem, tmp_path, capsys):
    X, y = problem
    path = tmp_path / "table.csv"
    pl.DataFrame({f"x{j}": X[:, j] for j in range(5)} | {"y": np.where(y, "yes", "no")}).write_csv(path)
    method = kebab(name)
    options = [text for key, value in short_training(name).items() for text in ("--param", f"{key}={value}")]
    assert main(["select", str(path), "--target", "y", "--method", method, "--stop", "2", "--json", *options]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["n_kept"] in (1, 2)


@pytest.mark.parametrize(("module", "name"), [(module, name) for module, names in OTHERS.items() for name in names])
def test_what_is_no_ranker_is_there(module, name):
    assert callable(getattr(module, name))
