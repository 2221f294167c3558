"""Grafting: the minimum is that of scikit-learn's l1 models, the order that of the paper's loop."""

import tracemalloc
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import ElasticNet, Lasso, LogisticRegression
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from tamis import Grafting
from tamis.datasets import load, names
from tests.oracles import grafting as oracle

LOSSES = ["logistic", "squared", "squared_hinge"]


def data(loss="squared", seed=0, n=60, d=8):
    """Columns with means, scales and correlations; the target depends on three of them."""
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((n, d)) @ (np.eye(d) + 0.3 * rng.standard_normal((d, d))) * np.linspace(1, 2, d)
    X += rng.uniform(-2, 2, size=d)
    signal = X[:, 1] - 0.7 * X[:, 4] + 0.5 * X[:, d - 1] + rng.standard_normal(n)
    signal -= np.median(signal)
    if loss == "squared":
        return X, signal
    return (X, np.digitize(signal, [-1, 1])) if loss == "three classes" else (X, np.where(signal > 0, "yes", "no"))


def coded(y):
    """The target as the objective sees it."""
    return y if y.dtype.kind == "f" else np.where(y == "yes", 1.0, -1.0)


def model_of(found):
    return np.ravel(found.coef_), np.ravel(found.intercept_)[0]


def objective_of(found, X, y, loss, **weights):
    return oracle.objective(X, coded(y), *model_of(found), loss, **weights)


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("alpha", [0.3, 0.03])
def test_the_squared_loss_gives_the_lasso(alpha, standardize):
    X, y = data(d=80)
    found = Grafting(alpha=alpha, standardize=standardize).fit(X, y)
    scaler = StandardScaler(with_mean=False, with_std=standardize).fit(X)
    lasso = Lasso(alpha=alpha, tol=1e-13, max_iter=10**6).fit(scaler.transform(X), y)
    coef = lasso.coef_ / scaler.scale_ if standardize else lasso.coef_
    np.testing.assert_allclose(found.coef_, coef, atol=1e-7)
    assert found.intercept_ == pytest.approx(lasso.intercept_, abs=1e-6)
    np.testing.assert_array_equal(np.sort(found.order_), np.flatnonzero(coef))


def test_a_ridge_gives_the_elastic_net():
    X, y = data(d=80)
    found = Grafting(alpha=0.12, l2=0.04, standardize=False).fit(X, y)
    net = ElasticNet(alpha=0.2, l1_ratio=0.6, tol=1e-13, max_iter=10**6).fit(X, y)
    np.testing.assert_allclose(found.coef_, net.coef_, atol=1e-8)
    assert found.intercept_ == pytest.approx(net.intercept_)


@pytest.mark.parametrize("alpha", [0.1, 0.02])
def test_the_logistic_loss_gives_l1_logistic_regression(alpha):
    X, y = data("logistic", d=20)
    X = StandardScaler().fit_transform(X)
    found = Grafting(alpha=alpha, standardize=False).fit(X, y)
    peer = LogisticRegression(l1_ratio=1.0, C=1 / (60 * alpha), solver="saga", tol=1e-10, max_iter=10**5).fit(X, y)
    np.testing.assert_allclose(found.coef_, peer.coef_, atol=1e-6)
    np.testing.assert_allclose(found.intercept_, peer.intercept_, atol=1e-6)
    least = objective_of(found, X, y, "logistic", alpha=alpha)
    assert least == pytest.approx(objective_of(peer, X, y, "logistic", alpha=alpha), abs=1e-9)
    np.testing.assert_array_equal(found.estimator_.predict(found.transform(X)), peer.predict(X))


def test_the_squared_hinge_gives_the_l1_svm():
    X, y = data("squared_hinge", d=20)
    found = Grafting(alpha=0.02, loss="squared_hinge", standardize=False).fit(X, y)
    # liblinear penalizes the intercept, the less the larger its scaling is
    peer = LinearSVC(penalty="l1", dual=False, C=1 / (60 * 0.02), intercept_scaling=100, tol=1e-8, max_iter=10**5)
    peer.fit(X, y)
    least = objective_of(found, X, y, "squared_hinge", alpha=0.02)
    assert 0 <= objective_of(peer, X, y, "squared_hinge", alpha=0.02) - least < 1e-5
    np.testing.assert_allclose(found.coef_, peer.coef_, atol=1e-2)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("l2", [0.0, 0.05])
def test_the_order_is_that_of_a_slow_loop(loss, l2):
    X, y = data(loss)
    alpha = 0.02
    entered, inside = oracle.graft(X, coded(y), loss, alpha, l2)
    found = Grafting(loss=loss, alpha=alpha, l2=l2, standardize=False).fit(X, y)
    last = {feature: place for place, feature in enumerate(entered)}
    assert found.order_.tolist() == sorted(inside, key=last.get)
    assert found.n_iter_ == len(entered)


@pytest.mark.parametrize("loss", LOSSES)
@given(
    seed=st.integers(0, 2**20),
    alpha=st.floats(1e-3, 0.5),
    l2=st.sampled_from([0.0, 0.1]),
    d=st.sampled_from([3, 12, 40]),
    step=st.sampled_from([1, 4, "auto"]),
)
@settings(max_examples=20, deadline=None)
def test_no_feature_violates_the_conditions_for_a_minimum(loss, seed, alpha, l2, d, step):
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((25, d)) + rng.uniform(-2, 2, d)
    signal = X[:, 0] - X[:, 1] + rng.standard_normal(25)
    y = signal if loss == "squared" else np.where(signal > np.median(signal), "yes", "no")
    found = Grafting(loss=loss, alpha=alpha, l2=l2, step=step, standardize=False).fit(X, y)
    assert oracle.violation(X, coded(y), *model_of(found), loss, alpha, l2) < 1e-8
    assert found.certificate_["converged"]
    assert found.certificate_["kkt"] < 1e-9
    assert found.certificate_["gap"] < 1e-8
    assert found.certificate_["objective"] == pytest.approx(objective_of(found, X, y, loss, alpha=alpha, l2=l2))


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "squared"])
def test_each_of_several_classes_gets_the_model_that_sets_it_against_the_others(loss):
    X, y = data("three classes")
    found = Grafting(alpha=0.03, loss=loss).fit(X, y)
    assert found.coef_.shape == (3, 8)
    for label in range(3):
        alone = Grafting(alpha=0.03, loss=loss, task="classification").fit(X, (y == label).astype(int))
        np.testing.assert_allclose(found.coef_[label], alone.coef_[0], atol=1e-8)
        assert found.intercept_[label] == pytest.approx(alone.intercept_[0], abs=1e-8)
    output = X @ found.coef_.T + found.intercept_
    np.testing.assert_array_equal(found.estimator_.predict(found.transform(X)), output.argmax(axis=1))
    np.testing.assert_allclose(found.estimator_.decision_function(found.transform(X)), output, atol=1e-9)


def blend():
    """Two features that make up the target, and before them one that blends both with noise."""
    rng = np.random.RandomState(0)
    basis = np.linalg.qr(np.column_stack([np.ones(200), rng.standard_normal((200, 3))]))[0][:, 1:]
    a, b, noise = basis.T * 200**0.5
    return np.column_stack([a + b + 0.5 * noise, a, b]), a + b - 0.05 * noise


@pytest.mark.parametrize("loss", LOSSES)
def test_a_feature_leaves_again_once_others_do_its_work(loss):
    X, y = blend()
    target = y if loss == "squared" else y > 0
    found = Grafting(alpha=0.02, loss=loss).fit(X, target)
    assert sorted(found.order_.tolist()) == [1, 2]
    assert found.n_iter_ == 3
    assert np.isnan(found.scores_[0])
    along = Grafting(stop=None, loss=loss).fit(X, target)
    assert along.order_[0] == 0  # a path ranks all that entered


def test_a_feature_that_comes_back_ranks_by_when_it_entered_for_good():
    X, y = blend()
    found = Grafting(alpha=1e-4).fit(X, y)
    assert found.n_iter_ > 3
    assert found.order_[-1] == 0


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("alpha", [0.0, 0.02])
@pytest.mark.parametrize("l0", [0.005, 0.05])
def test_with_a_price_no_single_feature_that_enters_or_leaves_lowers_the_objective(loss, alpha, l0):
    X, y = data(loss)
    target, weights = coded(y), {"alpha": alpha, "l2": 0.01}
    found = Grafting(loss=loss, l0=l0, standardize=False, **weights).fit(X, y)
    inside = set(found.order_.tolist())
    here = objective_of(found, X, y, loss, l0=l0, **weights)
    assert here == pytest.approx(found.certificate_["objective"])
    assert here == pytest.approx(oracle.lowest(X, target, inside, loss, l0=l0, **weights), abs=1e-7)
    for j in range(X.shape[1]):
        assert oracle.lowest(X, target, inside ^ {j}, loss, l0=l0, **weights) >= here - 1e-7


@pytest.mark.parametrize("loss", LOSSES)
def test_a_price_that_is_not_paid_back_takes_weights_out_again(loss):
    X, y = blend()
    X[:, 0] -= 0.2 * X[:, 1]  # so that the blend keeps a little weight without a price
    target = y if loss == "squared" else y > 0
    free = Grafting(alpha=1e-4, loss=loss).fit(X, target)
    priced = Grafting(alpha=1e-4, l0=0.05 if loss == "squared_hinge" else 0.02, loss=loss).fit(X, target)
    assert free.support_.all()
    assert sorted(priced.order_.tolist()) == [1, 2]
    assert priced.n_iter_ == 3
    assert not Grafting(alpha=1e-4, l0=100.0, loss=loss).fit(X, target).support_.any()


@pytest.mark.parametrize("loss", [*LOSSES, "three classes"])
@pytest.mark.parametrize("parameters", [{}, {"stop": None}, {"l0": 0.01}, {"standardize": False, "l2": 0.1}], ids=str)
def test_a_sparse_table_gives_what_a_dense_one_does(loss, parameters):
    X, y = data(loss)
    X = np.where(np.abs(X) > 1.5, X, 0.0)
    parameters = {**parameters, "loss": "auto" if loss == "three classes" else loss}
    dense = Grafting(**parameters).fit(X, y)
    for table in (sparse.csr_array(X), sparse.csc_matrix(X)):
        found = Grafting(**parameters).fit(table, y)
        np.testing.assert_array_equal(found.order_, dense.order_)
        np.testing.assert_allclose(found.coef_, dense.coef_, atol=1e-8)
        np.testing.assert_allclose(
            found.estimator_.decision_function(found.transform(table)),
            dense.estimator_.decision_function(dense.transform(X)),
            atol=1e-8,
        )


def test_a_sparse_table_is_never_made_dense():
    rng = np.random.RandomState(0)
    X = sparse.random_array((500, 20_000), density=0.002, rng=rng, format="csr")
    y = np.arange(500) % 2
    tracemalloc.start()
    try:
        Grafting(stop=20).fit(X, y)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 500 * 20_000 * 8 / 5


@pytest.mark.parametrize("name", ["nips_dexter", "nips_dorothea"])
def test_wide_sparse_tables_are_solved_to_the_minimum(name):
    if name not in names():
        pytest.skip(f"the data set {name} is not on this machine; set TAMIS_DATA to its folder")
    table = load(name)
    found = Grafting().fit(table.X, table.y)
    assert found.certificate_["converged"]
    assert found.certificate_["gap"] < 1e-9
    right = found.estimator_.predict(found.transform(table.X_valid)) == table.y_valid
    assert right.mean() > 0.85


@pytest.mark.parametrize("loss", [*LOSSES, "three classes"])
def test_the_order_along_the_path_does_not_depend_on_where_it_is_cut(loss):
    X, y = data(loss, d=15)
    loss = "auto" if loss == "three classes" else loss
    whole = Grafting(stop=None, loss=loss).fit(X, y)
    assert whole.order_.size > 8
    for k in (1, 4, 8):
        found = Grafting(stop=k, loss=loss).fit(X, y)
        assert found.support_.sum() == k
        np.testing.assert_array_equal(found.order_, whole.order_[: found.order_.size])
        np.testing.assert_array_equal(np.flatnonzero(found.support_), np.sort(whole.order_[:k]))


def test_a_rule_cuts_the_order_and_the_model_follows():
    X, y = data()
    found = Grafting(alpha=0.05, stop=2, standardize=False).fit(X, y)
    assert found.order_.size > 2
    kept = np.sort(found.order_[:2])
    np.testing.assert_array_equal(np.flatnonzero(found.coef_), kept)
    lasso = Lasso(alpha=0.05, tol=1e-13, max_iter=10**6).fit(X[:, kept], y)
    np.testing.assert_allclose(found.coef_[kept], lasso.coef_, atol=1e-9)
    np.testing.assert_allclose(found.estimator_.predict(found.transform(X)), lasso.predict(X[:, kept]), atol=1e-9)


def test_auto_keeps_what_has_a_weight_at_a_tenth_of_the_largest_alpha():
    X, y = data("logistic", d=30)
    found = Grafting().fit(X, y)
    assert found.alpha_ == pytest.approx(0.1 * found.alpha_max_)
    same = Grafting(alpha=found.alpha_).fit(X, y)
    np.testing.assert_array_equal(same.order_, found.order_)
    assert found.stop_.n_features == found.order_.size == np.count_nonzero(found.coef_)
    assert found.stop_.reason.startswith(
        f"the {found.order_.size} features that have a weight at alpha = {found.alpha_:.4g} "
        "(0.1 of the smallest that leaves none)"
    )


@pytest.mark.parametrize("loss", LOSSES)
def test_at_the_largest_alpha_nothing_is_kept_and_the_reason_says_so(loss):
    X, y = data(loss)
    largest = Grafting(loss=loss).fit(X, y).alpha_max_
    found = Grafting(loss=loss, alpha=largest * 1.001).fit(X, y)
    assert not found.support_.any()
    assert found.stop_.reason.startswith("no feature has a weight at alpha")
    assert not found.coef_.any()
    below = Grafting(loss=loss, alpha=largest * 0.99).fit(X, y)
    assert below.support_.sum() == 1
    assert "the 1 feature that has a weight" in below.stop_.reason


@pytest.mark.parametrize("loss", LOSSES)
def test_units_of_columns_do_not_matter_and_weights_are_in_theirs(loss):
    X, y = data(loss)
    units = 10.0 ** np.linspace(-200, 90, 8)
    plain, other = Grafting(loss=loss, l2=0.01).fit(X, y), Grafting(loss=loss, l2=0.01).fit(X * units, y)
    np.testing.assert_array_equal(plain.order_, other.order_)
    np.testing.assert_allclose(other.coef_ * units, plain.coef_, rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(other.intercept_, plain.intercept_, rtol=1e-7)


def test_the_unit_of_a_quantity_only_changes_units():
    X, y = data()
    plain, other = Grafting(alpha=0.1, l0=0.01).fit(X, y), Grafting(alpha=1e5, l0=1e10).fit(X, 1e6 * y - 3e9)
    np.testing.assert_array_equal(plain.order_, other.order_)
    np.testing.assert_allclose(other.coef_, 1e6 * plain.coef_, rtol=1e-6)
    np.testing.assert_allclose(other.scores_, 1e6 * plain.scores_, rtol=1e-6)
    assert other.certificate_["objective"] == pytest.approx(1e12 * plain.certificate_["objective"], rel=1e-6)
    Grafting().fit(X, y * 1e250)


def test_single_precision_is_computed_in_double():
    X, y = data("logistic")
    single = Grafting().fit(X.astype(np.float32), y)
    double = Grafting().fit(X.astype(np.float32).astype(float), y)
    np.testing.assert_allclose(single.coef_, double.coef_, rtol=1e-10, atol=1e-12)
    assert single.scores_.dtype == np.float32


@pytest.mark.parametrize("step", [2, 5, 100, "auto"])
def test_many_weights_at_once_reach_the_same_minimum(step):
    X, y = data("logistic", d=40)
    one, many = Grafting(alpha=0.01, step=1).fit(X, y), Grafting(alpha=0.01, step=step).fit(X, y)
    np.testing.assert_allclose(many.coef_, one.coef_, atol=1e-8)


@pytest.mark.parametrize("loss", LOSSES)
def test_weights_that_enter_together_rank_by_their_derivative(loss):
    X, y = data(loss, n=300, d=60)
    one, many = (Grafting(loss=loss, alpha=1e-3, step=step).fit(X, y) for step in (1, "auto"))
    np.testing.assert_allclose(many.coef_, one.coef_, atol=1e-8)
    assert many.order_.size > 40
    together: dict = {}
    for graft in many.path_:
        together.setdefault(graft.info["objective"], []).append(graft.criterion)
    assert max(map(len, together.values())) > 1
    assert all(sizes == sorted(sizes, reverse=True) for sizes in together.values())


@pytest.mark.parametrize("step", [1, 3])
def test_a_copy_never_enters_without_a_ridge_and_right_after_with_one(step):
    X, y = data()
    X = np.column_stack([X[:, 4], X])
    plain = Grafting(alpha=0.02, step=step).fit(X, y)
    assert 0 in plain.order_
    assert 5 not in plain.order_
    ridged = Grafting(alpha=0.02, l2=0.1, step=step).fit(X, y)
    assert ridged.ranking_[0] < ridged.ranking_[5]
    assert ridged.coef_[0] == pytest.approx(ridged.coef_[5])


def test_steps_tell_what_happened():
    X, y = data("three classes")
    found = Grafting(alpha=0.02).fit(X, y)
    assert all(step.info["alpha"] == 0.02 < step.criterion for step in found.path_)
    assert {step.info["class"] for step in found.path_} <= {0, 1, 2}
    assert [found.scores_[step.feature] for step in found.path_] == [step.criterion for step in found.path_]


def test_a_search_that_is_cut_short_warns():
    X, y = data("logistic")
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        found = Grafting(alpha=0.001, max_iter=2).fit(X, y)
    assert not found.certificate_["converged"]
    assert found.order_.size == 2


class EndAfter:
    """A callback that ends the fit after some grafts."""

    def __init__(self, n_steps):
        self.left = n_steps

    def setup(self, estimator, context): ...

    def on_fit_task_begin(self, estimator, context): ...

    def on_fit_task_end(self, estimator, context):
        self.left -= context.task_name == "graft step"
        return self.left <= 0

    def teardown(self, estimator, context): ...


def test_a_callback_may_end_the_search():
    X, y = data("logistic")
    ranker = Grafting(alpha=0.001)
    ranker.set_callbacks(EndAfter(3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = ranker.fit(X, y)
    assert found.order_.size == 3
    assert not found.certificate_["converged"]


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_a_loss_for_classes_refuses_quantities(loss):
    with pytest.raises(ValueError, match=f"loss='{loss}' is for classes"):
        Grafting(loss=loss).fit(*data())


def test_whole_numbers_may_be_quantities():
    X, y = data("three classes")
    found = Grafting(task="regression", alpha=0.1, standardize=False).fit(X, y)
    np.testing.assert_allclose(found.coef_, Lasso(alpha=0.1, tol=1e-13, max_iter=10**6).fit(X, y).coef_, atol=1e-8)


@pytest.mark.parametrize(
    "settings",
    [{}, {"loss": "squared_hinge"}, {"l2": 0.01, "alpha": "path"}, {"l0": 1e-3}, {"standardize": False}],
    ids=repr,
)
@pytest.mark.parametrize("kind", ["quantity", "two", "three"])
def test_whole_weights_are_repeated_rows_and_weight_zero_is_none(settings, kind):
    if kind == "quantity" and "loss" in settings:
        pytest.skip("a loss of classes")
    rng = np.random.RandomState(0)
    X = rng.standard_normal((60, 6)) * [1, 10, 0.1, 1, 1, 1]
    signal = X[:, 0] - 5 * X[:, 2] + rng.standard_normal(60)
    y = {"quantity": signal, "two": signal > 0, "three": np.digitize(signal, [-0.7, 0.7])}[kind]
    weight = rng.randint(0, 4, 60)
    rows = np.repeat(np.arange(60), weight)
    weighted = Grafting(**settings).fit(X, y, sample_weight=weight)
    repeated = Grafting(**settings).fit(X[rows], y[rows])
    np.testing.assert_array_equal(weighted.order_, repeated.order_)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(weighted.intercept_, repeated.intercept_, rtol=1e-5, atol=1e-8)
    assert weighted.certificate_["objective"] == pytest.approx(repeated.certificate_["objective"], rel=1e-8)
    assert weighted.certificate_.get("gap", 0.0) <= 1e-7
