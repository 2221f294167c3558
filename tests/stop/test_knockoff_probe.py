"""Knockoffs and permuted residuals as probes: plain loops give the same, and conditional errors keep to their rate."""

import numpy as np
import pytest
from joblib import parallel_config
from scipy import sparse
from sklearn.linear_model import Lasso as PeerLasso

from tamis import (
    L1SVM,
    RFE,
    CorrelationScore,
    ElasticNet,
    FisherScore,
    GramSchmidt,
    GroupLasso,
    Lasso,
    LogisticLasso,
    TreeSelector,
)
from tamis.base import ColumnCandidates
from tamis.stop import MonteCarloProbe
from tamis.stop._probe_copies import Knockoffs, PermutedResiduals
from tests.oracles.probes import benjamini_hochberg, draw_seeds, pooled_p_values, step_down


def blocks_of_columns(seed, n=150, d=30, size=5, strength=0.6):
    """Columns in blocks of correlation .7, of which the first of each has a part in the target."""
    rng = np.random.RandomState(seed)
    X = np.sqrt(0.3) * rng.standard_normal((n, d)) + np.sqrt(0.7) * np.repeat(
        rng.standard_normal((n, d // size)), size, axis=1
    )
    relevant = np.arange(0, d, size)
    return X, X[:, relevant] @ (strength * rng.choice([-1, 1], relevant.size)) + rng.standard_normal(n), relevant


def plain_weights(copies, X, y, seeds, alpha):
    """Sizes of scikit-learn's lasso weights of the features and of their copies in every draw."""
    real, fake = [], []
    for seed in seeds:
        Z = np.hstack([X, copies.draw(X, np.random.RandomState(seed))])
        Z = (Z - Z.mean(axis=0)) / Z.std(axis=0)
        weights = np.abs(PeerLasso(alpha, tol=1e-12, max_iter=100_000).fit(Z, y).coef_)
        real.append(weights[: X.shape[1]])
        fake.append(weights[X.shape[1] :])
    return np.mean(real, axis=0), np.array(fake)


@pytest.mark.parametrize("kind", ["knockoff", "residual"])
@pytest.mark.parametrize("seed", range(3))
def test_kept_features_are_those_of_plain_loops_over_lasso_weights(kind, seed):
    X, y, _ = blocks_of_columns(seed, n=80, d=15)
    seeds = draw_seeds(seed, 19)
    candidates = ColumnCandidates(X)
    if kind == "knockoff":
        copies = Knockoffs(candidates, None, np.random.RandomState(int(seeds[0])))
    else:
        copies = PermutedResiduals(candidates, None)
    real, fake = plain_weights(copies, X, y, seeds, 0.1)
    by_rate = Lasso(alpha=0.1, stop=MonteCarloProbe(fdr=0.2, probes=kind, random_state=seed)).fit(X, y)
    assert set(by_rate.get_support(indices=True)) == benjamini_hochberg(pooled_p_values(real, fake), 0.2)
    by_risk = Lasso(alpha=0.1, stop=MonteCarloProbe(probes=kind, random_state=seed)).fit(X, y)
    assert set(by_risk.get_support(indices=True)) == step_down(real, fake, 0.05)


def test_the_share_of_features_without_a_part_beyond_the_others_keeps_to_the_rate():
    shares, found = [], []
    for seed in range(30):
        X, y, relevant = blocks_of_columns(seed)
        kept = Lasso(stop=MonteCarloProbe(fdr=0.2, random_state=seed)).fit(X, y).get_support(indices=True)
        shares.append(1 - np.isin(kept, relevant).mean() if kept.size else 0.0)
        found.append(np.isin(relevant, kept).mean())
    assert np.mean(shares) <= 0.2 + 3 * np.std(shares) / np.sqrt(30)
    assert np.mean(found) > 0.6


def test_noise_is_kept_no_more_often_than_the_risk():
    kept_any = 0
    for seed in range(40):
        rng = np.random.RandomState(seed)
        X, y = rng.standard_normal((60, 12)), rng.standard_normal(60)
        kept_any += Lasso(stop=MonteCarloProbe(0.1, random_state=seed)).fit(X, y).n_features_ > 0
    assert kept_any <= 12  # of 40 at a risk of .1, by bad luck in one of ten thousand runs


@pytest.mark.parametrize(
    "ranker",
    [
        Lasso(),
        ElasticNet(),
        LogisticLasso(),
        L1SVM(loss="squared_hinge"),
        GroupLasso(groups=np.arange(15) // 3),
        Lasso(groups=np.arange(15) // 5),
        Lasso(max_norm=1.0),
    ],
    ids=lambda ranker: type(ranker).__name__,
)
def test_sparse_models_take_knockoffs_by_themselves(ranker):
    X, y, _ = blocks_of_columns(0, d=15, strength=1.5)
    target = y > 0 if isinstance(ranker, LogisticLasso | L1SVM) else y
    found = ranker.set_params(stop=MonteCarloProbe(fdr=0.2)).fit(X, target)
    assert "knockoffs" in found.stop_.reason
    assert "false: no part in the target beyond the other" in found.stop_.reason
    assert found.n_features_ > 0
    assert found.certificate_["covariance"] == "Ledoit-Wolf"
    assert found.estimator_ is not None


@pytest.mark.parametrize("ranker", [CorrelationScore(), GramSchmidt(), RFE(), TreeSelector(random_state=0)])
def test_methods_that_rank_by_themselves_or_greedily_take_permuted_copies_and_say_what_false_means(ranker):
    X, y, _ = blocks_of_columns(1, n=60, d=10)
    found = ranker.set_params(stop=MonteCarloProbe(fdr=0.2)).fit(X, y)
    assert "permuted copies" in found.stop_.reason
    assert "false: unrelated to the target and to the features that matter" in found.stop_.reason
    assert "covariance" not in found.certificate_


@pytest.mark.parametrize("probes", ["knockoff", "residual"])
@pytest.mark.parametrize("ranker", [RFE(step=0.5), TreeSelector(random_state=0)])
def test_any_ranker_can_be_given_either_kind(ranker, probes):
    X, y, _ = blocks_of_columns(1, n=60, d=10, strength=2.0)
    found = ranker.set_params(stop=MonteCarloProbe(0.2, probes=probes)).fit(X, y)
    assert "no part in the target beyond the other features" in found.stop_.reason


@pytest.mark.parametrize("probes", ["knockoff", "residual"])
def test_scores_of_single_features_are_promised_nothing_beside_copies_by_an_estimated_covariance(probes):
    X, y, _ = blocks_of_columns(1, n=60, d=10, strength=2.0)
    with pytest.warns(UserWarning, match=r"nothing is promised of scores of single features .* give covariance="):
        found = CorrelationScore(stop=MonteCarloProbe(0.2, probes=probes)).fit(X, y)
    assert "no part in the target beyond the other features" in found.stop_.reason
    assert "nothing is promised" in found.stop_.reason
    known = MonteCarloProbe(0.2, probes=probes, covariance=np.cov(X.T))
    assert "nothing is promised" not in CorrelationScore(stop=known).fit(X, y).stop_.reason


def test_where_columns_cannot_be_modeled_auto_permutes_and_says_why():
    X, y, _ = blocks_of_columns(2, n=40, d=10)
    found = Lasso(stop=MonteCarloProbe(fdr=0.2)).fit(sparse.csr_array(X), y)
    assert "no knockoffs, for X is not a dense table in memory" in found.stop_.reason
    with pytest.raises(ValueError, match="models the columns given each other, and X is not a dense table"):
        Lasso(stop=MonteCarloProbe(probes="knockoff")).fit(sparse.csr_array(X), y)


def test_a_known_covariance_asks_for_knockoffs_whatever_the_ranker():
    X, y, _ = blocks_of_columns(3, n=60, d=10)
    found = CorrelationScore(stop=MonteCarloProbe(covariance=np.cov(X.T))).fit(X, y)
    assert "knockoffs" in found.stop_.reason
    assert found.certificate_["covariance"] == "given"


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"n_probes": 3}, "goes with fdr"),
        ({"covariance": np.eye(10), "probes": "permuted"}, "use probes='knockoff'"),
        ({"covariance": np.eye(10), "conditional": True}, "conditional=True does not look at"),
        ({"covariance": np.eye(3)}, "X has 10 columns"),
        ({"conditional": True, "probes": "knockoff"}, "give one of them"),
        ({"probes": "shuffled"}, "must be a str among"),
        ({"max_samples": 1}, "max_samples"),
    ],
)
def test_parameters_that_do_not_go_together_are_refused(parameters, words):
    X, y, _ = blocks_of_columns(4, n=40, d=10)
    with pytest.raises(ValueError, match=words):
        Lasso(stop=MonteCarloProbe(**parameters)).fit(X, y)


@pytest.mark.parametrize(("risk", "n_draws"), [(0.05, 19), (0.1, 19), (0.01, 99), (0.02, 49)])
def test_there_are_as_many_draws_as_the_risk_needs(risk, n_draws):
    X, y, _ = blocks_of_columns(5, n=40, d=10)
    by_default = RFE(step=0.5, stop=MonteCarloProbe(risk, random_state=0)).fit(X, y)
    given = RFE(step=0.5, stop=MonteCarloProbe(risk, n_draws=n_draws, random_state=0)).fit(X, y)
    assert by_default.stop_.reason == given.stop_.reason
    np.testing.assert_array_equal(by_default.stop_.curve, given.stop_.curve)


@pytest.mark.parametrize("ranker", [RFE(step=0.5), TreeSelector(n_trees=5, random_state=0), GroupLasso()])
def test_fewer_copies_than_features_count_as_many_as_there_are(ranker):
    X, y, _ = blocks_of_columns(6, n=60, d=10, strength=2.0)
    groups = np.arange(10) // 2 if isinstance(ranker, GroupLasso) else None
    if groups is not None:
        ranker.set_params(groups=groups)
    found = ranker.set_params(stop=MonteCarloProbe(fdr=0.3, n_probes=3)).fit(X, y)
    n_candidates = 10 if groups is None else 5
    smallest = n_candidates / (1 + 19 * 3)  # of an adjusted p-value of a single feature
    assert found.stop_.curve.min() >= smallest / n_candidates - 1e-12
    assert found.n_features_ > 0


def test_copies_of_some_features_give_the_pooled_p_values_of_these():
    X, y, _ = blocks_of_columns(7, n=60, d=8, size=4, strength=1.0)
    alpha, seeds, real, pool = 0.1, draw_seeds(3, 19), [], []
    copies = Knockoffs(ColumnCandidates(X), None, np.random.RandomState(int(seeds[0])))
    for seed in seeds:
        rng = np.random.RandomState(seed)
        fake = copies.draw(X, rng)
        copied = np.sort(rng.permutation(np.arange(8))[:3])
        Z = np.hstack([X, fake[:, copied]])
        weights = np.abs(
            PeerLasso(alpha, tol=1e-12, max_iter=100_000).fit((Z - Z.mean(axis=0)) / Z.std(axis=0), y).coef_
        )
        real.append(weights[:8])
        pool.append(weights[8:])
    expected = benjamini_hochberg(pooled_p_values(np.mean(real, axis=0), np.array(pool)), 0.2)
    found = Lasso(alpha=alpha, stop=MonteCarloProbe(fdr=0.2, n_probes=3, random_state=3)).fit(X, y)
    assert set(found.get_support(indices=True)) == expected


def test_draws_on_some_rows_take_them_from_every_class():
    X, y, _ = blocks_of_columns(8, n=60, d=10, strength=3.0)
    rare = y > np.sort(y)[-8]
    probe = MonteCarloProbe(0.2, max_samples=20)
    found = FisherScore(stop=probe).fit(X, rare)
    assert np.isfinite(found.scores_).all()
    again = FisherScore(stop=probe).fit(X, rare)
    np.testing.assert_array_equal(found.order_, again.order_)
    assert RFE(step=0.5, stop=MonteCarloProbe(max_samples=30, fdr=0.2)).fit(X, y).n_features_ >= 0


@pytest.mark.parametrize("probes", ["knockoff", "residual"])
def test_the_number_of_jobs_does_not_matter(probes):
    X, y, _ = blocks_of_columns(9, n=60, d=10)
    one = Lasso(alpha=0.1, stop=MonteCarloProbe(fdr=0.2, probes=probes)).fit(X, y)
    with parallel_config("threading"):
        two = Lasso(alpha=0.1, stop=MonteCarloProbe(fdr=0.2, probes=probes, n_jobs=2)).fit(X, y)
    np.testing.assert_array_equal(one.stop_.curve, two.stop_.curve)


def test_units_and_offsets_of_columns_do_not_matter():
    X, y, _ = blocks_of_columns(10, n=80, d=10)
    found = Lasso(stop=MonteCarloProbe(fdr=0.2)).fit(X, y)
    moved = Lasso(stop=MonteCarloProbe(fdr=0.2)).fit(X * 10.0 ** np.arange(-5, 5) + 3.0, y)
    np.testing.assert_array_equal(found.support_, moved.support_)


@pytest.mark.parametrize("probes", ["knockoff", "residual"])
@pytest.mark.parametrize(("unit", "offset"), [(1e300, 0.0), (1e-300, 0.0), (1.0, 1e12)])
def test_columns_whose_squares_or_digits_are_lost_have_copies_too(probes, unit, offset):
    X, y, _ = blocks_of_columns(10, n=80, d=10, strength=1.5)
    found = Lasso(stop=MonteCarloProbe(probes=probes)).fit(X, y)
    moved = Lasso(stop=MonteCarloProbe(probes=probes)).fit(X * unit + offset, y)
    assert found.support_.any()
    np.testing.assert_array_equal(found.support_, moved.support_)


@pytest.mark.parametrize("probes", ["knockoff", "residual"])
def test_copies_of_a_column_share_their_probe_and_stay_with_it(probes):
    X, y, _ = blocks_of_columns(10, n=80, d=10, strength=1.5)
    found = Lasso(stop=MonteCarloProbe(probes=probes)).fit(X, y)
    kept = found.get_support(indices=True)[0]
    twice = Lasso(stop=MonteCarloProbe(probes=probes)).fit(np.column_stack([X, 3.0 - 2.0 * X[:, kept]]), y)
    assert twice.support_[[kept, 10]].all()


def test_forced_and_excluded_columns_stay_where_they_were_put():
    X, y, _ = blocks_of_columns(11, n=80, d=10)
    found = Lasso(keep=[3], exclude=[0], stop=MonteCarloProbe(fdr=0.2)).fit(X, y)
    assert found.support_[3]
    assert not found.support_[0]


def test_missing_weights_of_a_target_without_variation_are_no_discoveries():
    rng = np.random.RandomState(0)
    X = rng.standard_normal((40, 6))
    y = X[:, 0] - X[:, 0]
    y[0] = 1.0  # what nothing explains
    assert Lasso(stop=MonteCarloProbe()).fit(X, y).n_features_ <= 6


def test_several_classes_have_knockoffs_too():
    X, y, relevant = blocks_of_columns(12, n=240, d=10, strength=3.0)
    classes = np.digitize(y, np.quantile(y, [1 / 3, 2 / 3]))
    kept = LogisticLasso(stop=MonteCarloProbe(fdr=0.2)).fit(X, classes).get_support(indices=True)
    assert np.isin(relevant, kept).all()
