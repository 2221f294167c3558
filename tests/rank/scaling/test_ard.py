"""Automatic relevance determination: against loops with explicit inverses and scikit-learn, and by its evidence."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import ARDRegression
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from tamis import ARD
from tamis.assess import compare
from tamis.rank.scaling._ard import effective_number
from tamis.stop import MonteCarloProbe
from tests.oracles import evidence as oracle

SEEDS = st.integers(0, 2**20)
SHAPES = [(60, 8), (20, 40)]
IDS = ["tall", "wide"]


def make_classes(n=60, d=8, seed=0, noise=0.7):
    rng = np.random.RandomState(seed)
    X = rng.randn(n, d)
    return X, (X[:, 0] - X[:, d // 2] + noise * rng.randn(n) > 0).astype(int)


def make_quantity(n=60, d=8, seed=0, noise=0.7):
    rng = np.random.RandomState(seed)
    X = rng.randn(n, d)
    return X, 3.0 + X[:, 0] - 2.0 * X[:, d // 2] + noise * rng.randn(n)


def make(loss, *shape, seed=0):
    return (make_classes if loss == "logistic" else make_quantity)(*shape, seed=seed)


def standardized(X):
    return StandardScaler().fit_transform(X)


def targets(y):
    classes = np.unique(y)
    return np.stack([np.where(y == c, 1.0, -1.0) for c in (classes[1:] if classes.size == 2 else classes)], axis=1)


# the rounds


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("shape", SHAPES, ids=IDS)
def test_precisions_are_those_of_a_loop_with_explicit_inverses(shape, loss):
    X, y = make(loss, *shape)
    found = ARD(early_stopping=3, noise_precision=2.0).fit(X, y)
    Y = targets(y) if loss == "logistic" else ((y - y.mean()) / y.std())[:, None]
    betas, evidences = oracle.relevance_rounds(standardized(X), Y, 3, loss=loss, noise_precision=2.0)
    assert np.all(np.diff(evidences) > 0)  # no step was shortened
    np.testing.assert_allclose(found.evidence_, evidences, rtol=1e-8)
    left = np.isfinite(found.beta_)
    np.testing.assert_allclose(found.beta_[left], betas[-1][left], rtol=1e-5)
    assert np.all(betas[-1][~left] > 0.99e10 * betas[-1].min())  # those have vanished
    np.testing.assert_allclose(found.sigma_[left], found.beta_[left] ** -0.5, rtol=1e-12)
    assert found.order_[: left.sum()].tolist() == np.argsort(betas[-1])[: left.sum()].tolist()


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("update", ["mackay", "mm"])
@pytest.mark.parametrize("shape", SHAPES, ids=IDS)
@pytest.mark.parametrize("seed", range(3))
def test_the_evidence_never_falls(seed, shape, update, loss):
    X, y = make(loss, *shape, seed=seed)
    found = ARD(update=update).fit(X, y)
    assert found.certificate_["converged"]
    assert found.certificate_["stationary"]
    assert found.evidence_.size == found.n_iter_ + 1
    assert np.all(np.diff(found.evidence_) >= -1e-9 * (1.0 + np.abs(found.evidence_[1:])))
    assert found.certificate_["evidence"] == found.evidence_[-1]


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("shape", SHAPES, ids=IDS)
def test_at_the_end_the_evidence_is_at_a_maximum(shape, loss):
    X, y = make(loss, *shape)
    found = ARD(tol=1e-5).fit(X, y)
    left = np.flatnonzero(np.isfinite(found.beta_))
    Z, beta = standardized(X)[:, left], found.beta_[left]

    def evidence(log_change):
        variances = np.exp(-log_change) / beta
        if loss == "logistic":
            return oracle.logistic_evidence(Z, targets(y)[:, 0], variances)
        return oracle.gaussian_evidence(Z, (y - y.mean()) / y.std(), variances, found.noise_precision_)

    assert evidence(np.zeros(left.size)) == pytest.approx(found.certificate_["evidence"], rel=1e-8)
    for i in range(left.size):
        step = np.zeros(left.size)
        step[i] = 1e-3
        slope = (evidence(step) - evidence(-step)) / 2e-3
        assert abs(slope) <= found.certificate_["gradient"] + 1e-6
        assert max(evidence(300 * step), evidence(-300 * step)) < found.certificate_["evidence"] + 1e-4


def test_equation_22_holds_at_the_end_of_a_regression():
    X, y = make_quantity(80, 10)
    found = ARD(tol=1e-6).fit(X, y)
    left = np.isfinite(found.beta_)
    Z = standardized(X)[:, left]
    w, covariance = oracle.gaussian_weights(
        Z, (y - y.mean()) / y.std(), 1.0 / found.beta_[left], found.noise_precision_
    )
    np.testing.assert_allclose(found.beta_[left] * w**2, 1.0 - found.beta_[left] * np.diag(covariance), atol=1e-5)
    np.testing.assert_allclose(found.coef_[left] * X[:, left].std(axis=0) / y.std(), w, rtol=1e-6)
    assert found.intercept_ == pytest.approx(y.mean() - X.mean(axis=0) @ found.coef_)


@pytest.mark.parametrize("seed", range(3))
def test_a_regression_agrees_with_that_of_scikit_learn(seed):
    X, y = make_quantity(80, 10, seed=seed)
    Z, target = standardized(X), (y - y.mean()) / y.std()
    found = ARD(tol=1e-6).fit(X, y)
    other = ARDRegression(
        alpha_1=1e-12, alpha_2=1e-12, lambda_1=1e-12, lambda_2=1e-12, tol=1e-10, max_iter=20_000,
        threshold_lambda=1e8, compute_score=True,
    ).fit(Z, target)  # fmt: skip
    assert found.noise_precision_ == pytest.approx(other.alpha_, rel=1e-3)
    strong = other.lambda_ < 1e3
    assert set(np.flatnonzero(strong)) <= set(np.flatnonzero(found.support_))
    np.testing.assert_allclose(found.beta_[strong], other.lambda_[strong], rtol=1e-2)
    np.testing.assert_allclose(found.coef_ * X.std(axis=0) / y.std(), other.coef_, atol=1e-3)
    assert found.certificate_["evidence"] == pytest.approx(
        oracle.gaussian_evidence(Z, target, 1.0 / other.lambda_, other.alpha_), abs=1e-3
    )


def test_a_step_that_would_lower_the_evidence_is_shortened():
    """Eq. 22 alone lowers Laplace's evidence here."""
    shortened = 0
    for seed in range(20):
        X, y = make_classes(12, 6, seed=seed, noise=0.0)
        if np.unique(y).size < 2:
            continue
        _, evidences = oracle.relevance_rounds(standardized(X), targets(y), 30, loss="logistic")
        found = ARD(early_stopping=30).fit(X, y)
        assert np.all(np.diff(found.evidence_) >= -1e-9)
        shortened += np.any(np.diff(evidences) < -1e-6)
        if shortened:
            return
    raise AssertionError("no such case")


# what is found


def test_planted_features_are_left():
    rng = np.random.RandomState(0)
    X = rng.randn(150, 300)
    planted = [3, 50, 110, 270]
    f = X[:, planted] @ [2.0, -2.0, 2.0, 2.0]
    assert set(np.flatnonzero(ARD(stop=4).fit(X, f + rng.randn(150) > 0).support_)) == set(planted)
    assert set(np.flatnonzero(ARD(stop=4).fit(X, f + rng.randn(150)).support_)) == set(planted)
    few = ARD(noise_precision=10.0).fit(X, f + rng.randn(150))
    assert set(planted) <= set(np.flatnonzero(few.support_))
    assert few.n_chosen_ < 75


def test_an_exact_target_has_the_smallest_noise_that_is_allowed():
    X, _ = make_quantity(60, 8)
    found = ARD().fit(X, X[:, 1] - 3.0 * X[:, 5])
    assert set(np.flatnonzero(found.support_)) == {1, 5}
    assert found.noise_precision_ == pytest.approx(1e8)


@pytest.mark.parametrize("k", [1, 2, 5, 11])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_a_number_of_features_ends_the_rounds_before_fewer_are_left(k, loss):
    X, y = make(loss, 30, 40)
    found = ARD(stop=k, early_stopping=False).fit(X, y)
    assert found.get_support().sum() == k
    assert np.count_nonzero(np.any(np.atleast_2d(found.coef_) != 0, axis=0)) == k
    early = ARD(stop=k).fit(X, y)
    assert early.n_iter_ <= found.n_iter_
    assert early.certificate_["converged"]
    assert early.get_support().sum() == k


def test_features_that_last_longest_are_first():
    X, y = make_classes(30, 40)
    found = ARD().fit(X, y)
    assert len(found.order_) == 40
    n_left = np.count_nonzero(found.sigma_)
    assert np.all(np.diff(found.sigma_[found.order_[:n_left]]) <= 0)
    assert not found.sigma_[found.order_[n_left:]].any()
    np.testing.assert_allclose(found.scores_[found.order_[:n_left]], found.sigma_[found.order_[:n_left]])


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_the_model_is_the_maximum_a_posteriori_of_the_selected_features(loss):
    X, y = make(loss, 60, 8)
    found = ARD(stop=3).fit(X, y)
    kept = np.flatnonzero(found.support_)
    Z, variances = standardized(X)[:, kept], found.sigma_[kept] ** 2
    if loss == "logistic":
        w, b, _ = oracle.logistic_weights(Z, targets(y)[:, 0], variances)
        expected = Z @ w + b
    else:
        w, _ = oracle.gaussian_weights(Z, (y - y.mean()) / y.std(), variances, found.noise_precision_)
        expected = y.mean() + y.std() * Z @ w
    outputs = found.estimator_.decision_function(found.transform(X))[:, 0]
    np.testing.assert_allclose(outputs, expected, atol=1e-6)
    np.testing.assert_allclose(outputs, (X @ np.ravel(found.coef_)) + found.intercept_, atol=1e-8)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_several_classes_share_their_precisions(loss):
    X, _ = make_classes(60, 8)
    y = np.digitize(X[:, 0] + X[:, 3], [-0.7, 0.7])
    found = ARD(loss=loss, early_stopping=3, noise_precision=2.0).fit(X, y)
    Y = targets(y)
    betas, evidences = oracle.relevance_rounds(standardized(X), Y, 3, loss=loss, noise_precision=2.0)
    np.testing.assert_allclose(found.evidence_, evidences, rtol=1e-7)
    np.testing.assert_allclose(found.beta_, betas[-1], rtol=1e-4)
    assert found.coef_.shape == (3, 8)
    assert set(found.order_[:2]) == {0, 3}


# weights, groups, layouts


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("shape", SHAPES, ids=IDS)
def test_weights_of_rows_are_repetitions(shape, loss):
    X, y = make(loss, *shape)
    weight = np.random.RandomState(1).randint(0, 4, len(y))
    rows = np.repeat(np.arange(len(y)), weight)
    weighted = ARD(early_stopping=8).fit(X, y, sample_weight=weight)
    repeated = ARD(early_stopping=8).fit(X[rows], y[rows])
    np.testing.assert_allclose(weighted.evidence_, repeated.evidence_, rtol=1e-8)
    np.testing.assert_allclose(weighted.sigma_, repeated.sigma_, rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(weighted.intercept_, repeated.intercept_, rtol=1e-5, atol=1e-8)


def test_weights_of_classes_are_weights_of_their_rows():
    X, y = make_classes()
    by_class = ARD(class_weight={1: 3.0}).fit(X, y)
    by_row = ARD().fit(X, y, sample_weight=np.where(y == 1, 3.0, 1.0))
    np.testing.assert_allclose(by_class.sigma_, by_row.sigma_)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("shape", SHAPES, ids=IDS)
def test_sparse_tables_give_the_same(shape, loss):
    X, y = make(loss, *shape)
    X = np.where(np.abs(X) > 0.5, X, 0.0)
    dense, thin = ARD(stop=5).fit(X, y), ARD(stop=5).fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(thin.evidence_, dense.evidence_, rtol=1e-8)
    np.testing.assert_allclose(thin.sigma_, dense.sigma_, rtol=1e-5, atol=1e-8)
    assert thin.order_.tolist() == dense.order_.tolist()
    np.testing.assert_allclose(thin.coef_, dense.coef_, rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(thin.intercept_, dense.intercept_, rtol=1e-5, atol=1e-8)


def test_sparse_tables_are_not_written_out():
    rng = np.random.RandomState(0)
    X = sparse.random_array((40, 200_000), density=1e-3, rng=rng, format="csr")
    y = np.asarray(X[:, :2000].sum(axis=1) > X[:, 2000:4000].sum(axis=1)).astype(int)
    assert ARD(stop=5, early_stopping=2).fit(X, y).get_support().sum() == 5


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_columns_of_a_group_have_one_precision(loss):
    X, y = make(loss, 40, 12)
    groups = np.repeat(np.arange(4), 3)
    found = ARD(groups=groups, early_stopping=3, noise_precision=2.0).fit(X, y)
    Y = targets(y) if loss == "logistic" else ((y - y.mean()) / y.std())[:, None]
    betas, _ = oracle.relevance_rounds(standardized(X), Y, 3, loss=loss, noise_precision=2.0, groups=groups)
    np.testing.assert_allclose(found.beta_, betas[-1], rtol=1e-4)
    assert set(groups[found.order_[:6]]) == {0, 2}
    assert ARD(groups=groups, stop=1).fit(X, y).get_support().sum() == 3
    alone = ARD(groups=np.arange(12)).fit(X, y)
    np.testing.assert_allclose(alone.sigma_, ARD().fit(X, y).sigma_, rtol=1e-9)


@given(seed=SEEDS)
@settings(max_examples=10, deadline=None)
def test_columns_in_another_order_and_units(seed):
    X, y = make_classes(25, 8, seed=seed % 1000)
    rng = np.random.RandomState(seed)
    order, unit = rng.permutation(8), 10.0 ** rng.uniform(-50, 50, 8) * rng.choice([-1.0, 1.0], 8)
    plain, other = ARD(early_stopping=6).fit(X, y), ARD(early_stopping=6).fit(X[:, order] * unit, y)
    np.testing.assert_allclose(other.sigma_, plain.sigma_[order], rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(other.coef_[0] * unit, plain.coef_[0][order], rtol=1e-4, atol=1e-6)


@given(seed=SEEDS)
@settings(max_examples=10, deadline=None)
def test_copies_and_constants_have_no_factor(seed):
    X, y = make_classes(25, 6, seed=seed % 1000)
    plain = ARD(early_stopping=6).fit(X, y)
    more = ARD(early_stopping=6).fit(np.column_stack([X, X[:, ::-1], np.ones(25)]), y)
    np.testing.assert_allclose(more.sigma_[:6], plain.sigma_, rtol=1e-9)
    assert not more.sigma_[6:].any()
    assert np.array_equal(more.order_, plain.order_)


@pytest.mark.parametrize("unit", [1e-150, 1e150])
def test_any_units(unit):
    X, y = make_classes()
    plain, other = ARD().fit(X, y), ARD().fit(X * unit, y)
    np.testing.assert_allclose(other.sigma_, plain.sigma_, rtol=1e-6, atol=1e-9)
    assert np.array_equal(
        other.estimator_.predict(other.transform(X * unit)), plain.estimator_.predict(plain.transform(X))
    )
    X, y = make_quantity()
    for arguments in ({}, {"early_stopping": True, "random_state": 0}, {"noise_precision": 3.0}):
        plain, other = ARD(**arguments).fit(X, y), ARD(**arguments).fit(X, y * unit)
        np.testing.assert_allclose(other.sigma_, plain.sigma_, rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(other.coef_ / unit, plain.coef_, rtol=1e-5, atol=1e-7)


def test_columns_as_they_are():
    X, y = make_quantity()
    unit = 10.0 ** np.arange(-3, 5)
    plain = ARD(standardize=False, early_stopping=False).fit(standardized(X), y)
    np.testing.assert_allclose(plain.sigma_, ARD().fit(X, y).sigma_, rtol=1e-6)
    other = ARD(standardize=False, early_stopping=False).fit(X * unit, y)
    assert np.all(np.diff(other.evidence_) >= -1e-9 * (1.0 + np.abs(other.evidence_[1:])))


# early stopping


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_early_stopping_takes_the_round_with_the_fewest_errors_on_held_out_rows(loss):
    X, y = make(loss, 60, 30)
    found = ARD(early_stopping=True, validation_fraction=0.3, random_state=3, max_iter=25).fit(X, y)
    stratify = y if loss == "logistic" else None
    train, test = train_test_split(
        np.arange(60), test_size=0.3, stratify=stratify, random_state=np.random.RandomState(3)
    )
    train, test = np.sort(train), np.sort(test)
    errors = []
    for n_rounds in range(1, 26):
        one = ARD(early_stopping=n_rounds).fit(X[train], y[train])
        predicted = one.estimator_.predict(one.transform(X[test]))
        errors.append(np.mean(predicted != y[test]) if loss == "logistic" else np.mean((predicted - y[test]) ** 2))
        if one.n_iter_ < n_rounds:
            break
    best = np.flatnonzero(np.array(errors) <= min(errors) + 1e-12)[-1] + 1
    assert found.n_iter_ == best


@pytest.mark.parametrize("k", [1, 3, 10])
def test_rounds_end_before_the_effective_number_of_features_is_too_small(k):
    X, y = make_classes(30, 200)
    found = ARD(stop=k).fit(X, y)
    fewest = min(8 * k, np.sqrt(k * 200))
    longer = ARD(early_stopping=found.n_iter_ + 1).fit(X, y)
    assert effective_number(found.sigma_[found.sigma_ > 0]) >= fewest
    assert effective_number(longer.sigma_[longer.sigma_ > 0]) < fewest
    assert effective_number(np.ones(7)) == pytest.approx(7.0)


def test_rounds_that_are_too_few_warn():
    X, y = make_classes()
    with pytest.warns(ConvergenceWarning, match="raise max_iter=3"):
        found = ARD(max_iter=3).fit(X, y)
    assert not found.certificate_["converged"]
    assert not found.certificate_["stationary"]


# small, odd and bad input


@pytest.mark.parametrize(
    ("X", "y"),
    [
        (np.array([[0.0, 1.0], [1.0, 1.0]]), [0, 1]),
        (np.array([[0.0], [1.0], [3.0]]), ["a", "b", "b"]),
        (np.array([[0.0, 2.0], [1.0, 2.5]]), [0.5, 1.7]),
        (np.eye(5), [0, 1, 2, 3, 4]),
        (np.array([[1.0, 2.0], [1.0, 2.0], [1.0, 2.5]]), [0.5, 1.7, 0.2]),
    ],
)
def test_tables_of_a_few_rows(X, y):
    for arguments in ({}, {"early_stopping": True}, {"stop": 1}, {"loss": "squared"}):
        found = ARD(**arguments).fit(X, y)
        predicted = found.estimator_.predict(found.transform(X))
        assert len(predicted) == len(y)
        assert np.all(np.isfinite(found.coef_))
        if not isinstance(y[0], float):
            assert set(predicted.tolist()) <= set(y)


def test_columns_that_vary_only_in_rows_that_are_left_out():
    X, y = np.zeros((12, 2)), np.arange(12) % 2
    X[3, 1] = 1.0
    for target in (y, y + 0.1 * np.arange(12)):
        found = ARD(early_stopping=True, random_state=0).fit(X, target)
        assert found.order_.tolist() == [1]


def test_heavy_imbalance():
    X, y = make_classes(60, 8)
    y[:] = 0
    y[[4, 9]] = 1
    for arguments in ({}, {"early_stopping": True}, {"class_weight": "balanced"}, {"loss": "squared"}):
        found = ARD(stop=2, **arguments).fit(X, y)
        assert found.get_support().sum() == 2


def test_classes_that_one_column_separates():
    X, _ = make_classes(40, 10)
    y = (X[:, 2] > 0).astype(int)
    X[:, 2] += np.sign(X[:, 2])
    found = ARD().fit(X, y)
    assert found.order_[0] == 2
    assert found.certificate_["converged"]
    assert np.all(np.diff(found.evidence_) >= -1e-9)


@pytest.mark.filterwarnings("ignore:the evidence of ARD still has a derivative")  # where copies separate the classes
def test_with_rules_and_in_a_comparison():
    X, y = make_classes(50, 8)
    probed = ARD(stop=MonteCarloProbe(n_draws=19, random_state=0)).fit(X, y)
    assert 0 < probed.get_support().sum() <= 8
    validated = ARD(stop="cross-validation").fit(X, y)
    assert 0 < validated.get_support().sum() <= 8
    assert "ARD" in str(compare([ARD()], X, y, ks=(2, 4), n_seeds=1, n_random=10))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"loss": "hinge"}, "'loss' parameter"),
        ({"update": "newton"}, "'update' parameter"),
        ({"noise_precision": 0.0}, "'noise_precision' parameter"),
        ({"early_stopping": 0}, "'early_stopping' parameter"),
        ({"tol": 0.0}, "'tol' parameter"),
        ({"max_iter": 0}, "'max_iter' parameter"),
        ({"class_weight": {7: 1.0}}, "class_weight names 7"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    X, y = make_classes()
    with pytest.raises(ValueError, match=message):
        ARD(**arguments).fit(X, y)


def test_the_logistic_likelihood_is_refused_for_a_quantity():
    X, y = make_quantity()
    with pytest.raises(ValueError, match=r"loss='logistic' is for classes.*use loss='squared'"):
        ARD(loss="logistic").fit(X, y)


@pytest.mark.parametrize("shape", [(20_000, 40), (100, 5000)])
def test_rounds_keep_no_copies_of_the_table(shape):
    rng = np.random.RandomState(0)
    X = rng.standard_normal(shape)
    y = X[:, :3].sum(axis=1) + rng.standard_normal(shape[0]) > 0
    tracemalloc.start()
    ranker = ARD(early_stopping=15).fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert ranker.n_iter_ == 15
    assert peak < 6 * X.nbytes
