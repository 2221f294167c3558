"""The random probe holds its risk where it promises to, and the published rule where it does."""

import array_api_strict
import numpy as np
import pytest
import torch
from scipy import sparse
from sklearn import config_context
from sklearn.utils.validation import check_is_fitted

from tamis import CorrelationScore, ForwardLeastSquares, GramSchmidt
from tamis.datasets import make_linear
from tamis.stop import Probe
from tests.oracles import probe_law
from tests.oracles.chance import fewest, most
from tests.oracles.probes import permuted_best

N_DRAWINGS = 300


def noise(seed, n=30, q=100, law="normal"):
    """Features and a target that have nothing to do with each other."""
    rng = np.random.RandomState(seed)
    if law == "normal":
        return rng.standard_normal((n, q)), rng.standard_normal(n)
    if law == "lognormal":
        return np.exp(1.5 * rng.standard_normal((n, q))), np.exp(1.5 * rng.standard_normal(n))
    X = (rng.uniform(size=(n, q)) < 3 / n).astype(float)  # rare ones
    X[rng.randint(n, size=q), np.arange(q)] = 1.0
    return X, (rng.uniform(size=n) < 4 / n).astype(float) + 1e-3 * rng.standard_normal(n)


def times_kept(rule, n_drawings=N_DRAWINGS, **kind):
    return sum(GramSchmidt(stop=rule).fit(*noise(seed, **kind)).stop_.n_features > 0 for seed in range(n_drawings))


@pytest.mark.parametrize("risk", [0.05, 0.2])
@pytest.mark.parametrize("q", [1, 10, 100])
def test_calibrated_probe_keeps_noise_as_often_as_its_risk(risk, q):
    kept = times_kept(Probe(risk, null="gaussian", n_beyond=0), q=q)
    assert fewest(N_DRAWINGS, risk) <= kept <= most(N_DRAWINGS, risk)


@pytest.mark.parametrize("risk", [0.05, 0.2])
def test_default_probe_keeps_noise_no_more_often_than_its_risk(risk):
    assert times_kept(Probe(risk, n_beyond=0), q=20, n_drawings=200) <= most(200, risk)


def test_published_probe_holds_its_risk_for_one_candidate_and_not_for_a_hundred():
    published = Probe(0.05, correction="none", null="gaussian", n_beyond=0)
    assert fewest(N_DRAWINGS, 0.05) <= times_kept(published, q=1) <= most(N_DRAWINGS, 0.05)
    assert times_kept(published, n_drawings=100, q=100) > 90


@pytest.mark.parametrize("law", ["lognormal", "rare"])
def test_permutations_hold_the_risk_on_heavy_tails_where_the_gaussian_law_does_not(law):
    by_permutation = Probe(0.1, null="permutation", n_draws=19, n_beyond=0)
    assert times_kept(by_permutation, law=law) <= most(N_DRAWINGS, 0.1)
    assert times_kept(Probe(0.1, null="gaussian", n_beyond=0), law=law) > 2 * most(N_DRAWINGS, 0.1)
    auto = Probe(0.1, null="auto", n_draws=19, n_beyond=0)
    assert times_kept(auto, law=law, n_drawings=200) <= most(200, 0.1)


def test_permutations_do_not_lose_power_on_normal_data():
    kept = times_kept(Probe(0.2, null="permutation", n_draws=19, n_beyond=0))
    assert fewest(N_DRAWINGS, 0.2) <= kept <= most(N_DRAWINGS, 0.2)


def test_auto_takes_the_gaussian_law_on_normal_data_and_permutations_on_heavy_tails():
    def curves(law):
        X, y = noise(1, law=law)
        return {
            null: GramSchmidt(stop=Probe(0.1, null=null, n_draws=99)).fit(X, y).stop_.curve[0]
            for null in ("auto", "gaussian", "permutation")
        }

    normal, heavy = curves("normal"), curves("lognormal")
    assert normal["auto"] == normal["gaussian"] != normal["permutation"]
    assert heavy["auto"] == heavy["permutation"] != heavy["gaussian"]


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_published_curve_is_equation_four_with_the_closed_form_of_the_law(fit_intercept):
    X, y = make_linear(15, random_state=3)
    rule = Probe(0.9, correction="none", null="gaussian", n_beyond=10)
    found = GramSchmidt(stop=rule, fit_intercept=fit_intercept).fit(X, y)
    dimension = len(y) - 1 if fit_intercept else len(y)
    chances = [
        1 - probe_law.distribution(min(step.criterion, 1.0), dimension - n) for n, step in enumerate(found.path_)
    ]
    np.testing.assert_allclose(found.stop_.curve, probe_law.cumulated(chances), atol=1e-10)
    assert np.all(np.diff(found.stop_.curve) >= 0)
    assert found.stop_.n_features == np.sum(found.stop_.curve <= 0.9)


def test_calibrated_curve_is_the_chance_of_the_best_of_the_candidates_left():
    X, y = make_linear(40, n_features=25, noise=1.0, random_state=0)
    found = GramSchmidt(stop=Probe(0.3, null="gaussian", n_beyond=30)).fit(X, y)
    chances = [
        1 - probe_law.distribution(step.criterion, 39 - n) ** (25 - n) for n, step in enumerate(found.path_[:12])
    ]
    np.testing.assert_allclose(found.stop_.curve[:12], chances, atol=1e-9)


def test_candidates_that_are_constant_or_redundant_do_not_count_as_rivals():
    X, y = make_linear(60, n_features=10, coef=[2.0, 1.0], noise=1.0, random_state=0)
    crowded = np.column_stack([X, np.full(60, 3.0), X[:, 0], X[:, 0]])
    found = GramSchmidt(stop=Probe(null="gaussian")).fit(crowded, y)
    assert found.path_[0].info["n_candidates"] == 12
    assert found.path_[1].info["n_candidates"] == 9


def test_a_permuted_chance_is_the_share_of_draws_whose_best_candidate_comes_as_close():
    rng = np.random.RandomState(0)
    X = rng.standard_normal((25, 8))
    y = X[:, 0] + 1.5 * rng.standard_normal(25)
    found = GramSchmidt(stop=Probe(0.99, null="permutation", n_draws=99, random_state=5)).fit(X, y)
    draws, kept = np.random.RandomState(5), []
    for n, step in enumerate(found.path_[:4]):
        rest = np.setdiff1d(np.arange(8), kept)
        best = permuted_best(X, y, kept, rest, 99, draws)
        expected = (1 + np.sum(best >= step.criterion * (1 - 1e-9))) / 100
        assert found.stop_.curve[n] == pytest.approx(expected)
        kept.append(step.feature)


def test_the_decision_does_not_depend_on_how_far_the_path_goes_beyond_it():
    rng = np.random.RandomState(0)
    for null in ("gaussian", "permutation", "auto"):
        for _ in range(12):
            # many candidates that are nearly the same: the analytic law counts them as so many rivals
            causes = rng.standard_normal((60, 3))
            X = np.repeat(causes, 60, axis=1) + 0.1 * rng.standard_normal((60, 180))
            y = causes @ [0.5, 0.5, 0.5] + rng.standard_normal(60)
            sizes = [
                GramSchmidt(stop=Probe(0.1, null=null, n_draws=99, n_beyond=beyond)).fit(X, y).stop_.n_features
                for beyond in (0, 5, 20)
            ]
            assert len(set(sizes)) == 1, (null, sizes)


def test_keeping_nothing_is_an_answer_and_transform_warns():
    X, y = noise(0)
    found = GramSchmidt(stop=Probe(0.01)).fit(X, y)
    assert found.stop_.n_features == 0
    assert not found.support_.any()
    check_is_fitted(found)
    assert found.estimator_.features.size == 0
    assert found.estimator_.intercept[0] == pytest.approx(y.mean())
    with pytest.warns(UserWarning, match="No features were selected"):
        assert found.transform(X).shape == (30, 0)
    assert found.get_feature_names_out().tolist() == []


def test_the_reason_names_the_refused_feature_its_rivals_and_the_risk():
    X, y = make_linear(100, n_features=12, coef=[3, 3], random_state=0)
    found = GramSchmidt(stop=Probe(0.02)).fit(X, y)
    assert found.stop_.n_features == 2
    assert f"'x{found.order_[2]}'" in found.stop_.reason
    assert "best of 10 random features" in found.stop_.reason
    assert "0.98" in found.stop_.reason
    assert found.stop_.threshold == 0.02


def test_a_refusal_by_a_hair_does_not_read_as_a_tie():
    rule = Probe(0.05, null="gaussian", n_beyond=0)
    found = (GramSchmidt(stop=rule).fit(*noise(seed, q=20)).stop_ for seed in range(2000))
    narrow = next(stop for stop in found if 0.05 < stop.curve[0] < 0.0545)
    chance, asked = (
        float(part.split()[0].strip("(")) for part in narrow.reason.split("probability ")[1].split(" only ")
    )
    assert chance < asked


def test_all_features_may_pass_and_the_reason_says_so():
    X, y = make_linear(100, n_features=2, coef=[3, 3], random_state=0)
    found = GramSchmidt(stop=Probe(0.05)).fit(X, y)
    assert found.support_.all()
    assert "all 2 features" in found.stop_.reason


def test_the_same_seed_gives_the_same_draws_and_another_seed_others():
    X, y = noise(2, q=20)

    def curve(seed):
        return GramSchmidt(stop=Probe(0.5, null="permutation", random_state=seed)).fit(X, y).stop_.curve

    np.testing.assert_array_equal(curve(1), curve(1))
    assert any(not np.array_equal(curve(1), curve(seed)) for seed in (2, 3, 4))
    np.testing.assert_array_equal(curve(None), curve(None))


def test_forward_least_squares_obeys_the_same_rule():
    rule = Probe(0.2, null="gaussian", n_beyond=0)
    kept = sum(ForwardLeastSquares(stop=rule).fit(*noise(seed, q=20)).stop_.n_features > 0 for seed in range(200))
    assert fewest(200, 0.2) <= kept <= most(200, 0.2)


def test_several_classes_follow_the_law_of_as_many_dimensions():
    kept = 0
    for seed in range(N_DRAWINGS):
        X, y = noise(seed, n=33, q=20)
        labels = np.argsort(np.argsort(y)) % 3
        kept += GramSchmidt(stop=Probe(0.2, null="gaussian", n_beyond=0)).fit(X, labels).stop_.n_features > 0
    assert fewest(N_DRAWINGS, 0.2) <= kept <= most(N_DRAWINGS, 0.2)


def test_a_ranker_without_a_least_squares_path_is_refused_and_both_are_named():
    X, y = noise(0)
    with pytest.raises(ValueError, match=r"Probe is for methods.*GramSchmidt.*CorrelationScore.*MonteCarloProbe"):
        CorrelationScore(stop=Probe()).fit(X, y)
    with pytest.raises(ValueError, match=r"Probe is for methods.*GramSchmidt.*CorrelationScore"):
        CorrelationScore(stop="probe").fit(X, y)


def test_a_risk_that_the_permutations_cannot_resolve_is_refused():
    X, y = noise(0)
    with pytest.raises(ValueError, match=r"n_draws=99.*0\.001.*999"):
        GramSchmidt(stop=Probe(0.001, null="permutation", n_draws=99)).fit(X, y)
    assert GramSchmidt(stop=Probe(0.001, null="gaussian", n_draws=99)).fit(X, y).stop_.n_features == 0


def test_torch_and_sparse_tables_get_the_same_decision():
    X, y = make_linear(50, n_features=20, coef=[1, 1, 1], noise=1.0, random_state=1)
    rule = Probe(0.05, null="permutation", random_state=0)
    expected = GramSchmidt(stop=rule).fit(X, y).stop_
    np.testing.assert_allclose(GramSchmidt(stop=rule).fit(sparse.csr_array(X), y).stop_.curve, expected.curve)
    with config_context(array_api_dispatch=True):
        np.testing.assert_allclose(GramSchmidt(stop=rule).fit(torch.asarray(X), y).stop_.curve, expected.curve)


@pytest.mark.parametrize("container", [torch.asarray, array_api_strict.asarray], ids=["torch", "strict"])
@pytest.mark.parametrize("heavy", [False, True], ids=["Gaussian", "heavy tails"])
def test_whether_the_law_can_be_trusted_is_decided_alike_on_any_device(container, heavy):
    rng = np.random.RandomState(0)
    X = rng.standard_t(2, (60, 30)) if heavy else rng.standard_normal((60, 30))
    y = X[:, 3] + X[:, 7] + (rng.standard_t(2, 60) if heavy else rng.standard_normal(60))
    expected = GramSchmidt().fit(X, y).stop_
    with config_context(array_api_dispatch=True):
        found = GramSchmidt().fit(container(X), y).stop_
    np.testing.assert_allclose(found.curve, expected.curve, rtol=1e-8)
    assert found.n_features == expected.n_features
