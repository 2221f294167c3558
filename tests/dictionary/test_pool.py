"""A pool is a finite part of an infinite dictionary; rankers treat it as the table of its features."""

import pickle
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from tamis import ForwardLeastSquares, GramSchmidt
from tamis.dictionary import RBF, BandPass, Dictionary, Parameter, Pool, Wavelets, _pool
from tamis.stop import CrossValidation, FisherTest, LeaveOneOut, MonteCarloProbe, Probe
from tests.oracles.gram_schmidt import centered, deflation

N, D = 80, 3


class Waves(Dictionary):
    """Cosine and sine of the first column, two columns per parameter; the ranges are known beforehand."""

    n_columns = 2

    def space(self):
        return (Parameter("rate", 0.5, 5.0, "log"), Parameter("phase", 0.0, 2 * np.pi, "circular"))

    def compute(self, signals, parameters, learned=None):
        angle = signals.reshape(len(signals), -1)[:, :1] * parameters[:, 0] + parameters[:, 1]
        return np.stack([np.cos(angle), np.sin(angle)], axis=2).reshape(len(signals), -1)


class ClassMeans(Dictionary):
    """Product with the difference of class means, blurred: what it knows is learned; columns are known after fit."""

    is_learned = True

    def space(self):
        return (Parameter("share", 0.0, 1.0),)

    def fit(self, signals, y=None):
        super().fit(signals, y)
        self.n_columns = 2
        return self

    def learn(self, signals, y, parameters):
        difference = signals[y == 1].mean(axis=0) - signals[y == 0].mean(axis=0)
        return parameters[:, :1] * difference + (1 - parameters[:, :1])

    def compute(self, signals, parameters, learned=None):
        product = signals @ learned.T
        return np.stack([product, product**2], axis=2).reshape(len(signals), -1)


def data(seed=0, n=N, d=D):
    rng = np.random.RandomState(seed)
    X = rng.uniform(-2, 2, size=(n, d))
    return X, np.exp(-np.sum(X**2, axis=1)) + np.sin(2 * X[:, 0]) + 0.2 * rng.standard_normal(n)


INNER = {"rbf": RBF(), "wavelets": Wavelets(), "waves": Waves()}


@pytest.mark.parametrize("inner", INNER.values(), ids=INNER.keys())
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("held", [True, False])
def test_products_norms_and_columns_are_those_of_the_table_of_features(
    inner, weighted, fit_intercept, held, monkeypatch
):
    if not held:
        monkeypatch.setattr(_pool, "_MOST_BYTES", 0)
        monkeypatch.setattr(_pool, "_BLOCK_ELEMENTS", 7 * N)
    X, _ = data()
    weight = 0.2 + np.random.RandomState(1).uniform(size=N) if weighted else None
    pool = Pool(inner, 40, random_state=0).fit(X)
    columns = pool.candidates(X, weight, fit_intercept=fit_intercept)
    assert hasattr(columns, "pool") is not held
    every = np.arange(pool.n_candidates(D))
    Z = centered(pool.compute(X, every), weight, fit_intercept)
    assert columns.n_candidates == Z.shape[1] == 40 * inner.n_columns
    np.testing.assert_allclose(columns.norm2, np.sum(Z**2, axis=0), rtol=1e-8, atol=1e-12)
    V = np.random.RandomState(2).standard_normal((N, 3))
    if fit_intercept:
        unit = np.ones(N) if weight is None else np.sqrt(weight)
        V -= np.outer(unit, unit @ V) / (unit @ unit)
    np.testing.assert_allclose(columns.dot(V), Z.T @ V, atol=1e-9)
    np.testing.assert_allclose(columns.columns(every[::-3]), Z[:, ::-3], atol=1e-10)
    means = np.average(pool.compute(X, every), axis=0, weights=weight) if fit_intercept else 0 * every
    np.testing.assert_allclose(columns.means(every), means, atol=1e-12)


@pytest.mark.parametrize("inner", INNER.values(), ids=INNER.keys())
@pytest.mark.parametrize("ranker", [GramSchmidt, ForwardLeastSquares])
@pytest.mark.parametrize("held", [True, False])
def test_the_order_and_the_columns_are_those_of_all_features_in_a_table(inner, ranker, held, monkeypatch):
    if not held:
        monkeypatch.setattr(_pool, "_MOST_BYTES", 0)
    X, y = data()
    found = ranker(stop=4, dictionary=Pool(inner, 60, random_state=0)).fit(X, y)
    table = found.dictionary_.compute(X, np.arange(found.support_.size))
    order, _, _ = deflation(table, y[:, None], n_steps=4, project_candidates=ranker is GramSchmidt)
    assert found.order_.tolist() == order
    new, _ = data(seed=9)
    pool = found.dictionary_
    theta = pool.parameters_[np.flatnonzero(found.support_) // pool.n_columns]
    own = pool.dictionary_.compute(pool.dictionary_.prepare(new), theta)
    wanted = own[:, np.arange(4) * pool.n_columns + np.flatnonzero(found.support_) % pool.n_columns]
    np.testing.assert_allclose(found.transform(new), wanted, rtol=1e-9)
    names = found.get_feature_names_out()
    assert names.shape == (4,)
    assert len(set(names)) == 4
    # the model that comes along is least squares on these columns
    kept = table[:, np.flatnonzero(found.support_)]
    model = LinearRegression().fit(kept, y)
    np.testing.assert_allclose(found.estimator_.predict(kept), model.predict(kept), rtol=1e-6)


RULES = {
    "probe": Probe(0.05),
    "permutations": Probe(0.05, null="permutation"),
    "leave one out": LeaveOneOut(),
    "fisher": FisherTest(against="next"),
}


@pytest.mark.parametrize("stop", RULES.values(), ids=RULES.keys())
def test_rules_decide_on_a_pool_as_on_a_table_of_its_features(stop):
    X, y = data(n=150)
    lazy = GramSchmidt(stop=stop, max_features=12, dictionary=Pool(RBF(), 60, random_state=0)).fit(X, y)
    table = lazy.dictionary_.compute(X, np.arange(60))
    eager = GramSchmidt(stop=stop, max_features=12).fit(table, y)
    assert lazy.stop_.n_features == eager.stop_.n_features
    np.testing.assert_array_equal(lazy.support_, eager.support_)
    np.testing.assert_allclose(lazy.stop_.curve, eager.stop_.curve, rtol=1e-6)


class Watched(RBF):
    """Tells how many rows it was fitted on."""

    seen: ClassVar[list] = []

    def fit(self, signals, y=None):
        self.seen.append(len(signals))
        return super().fit(signals, y)


def test_cross_validation_draws_the_pool_again_in_every_fold():
    X, y = data(n=150)
    Watched.seen.clear()
    stop = CrossValidation(LinearRegression(), cv=3)
    found = GramSchmidt(stop=stop, max_features=10, dictionary=Pool(Watched(), 60, random_state=0)).fit(X, y)
    assert 1 <= found.stop_.n_features <= 10
    assert Watched.seen == [150, 100, 100, 100]


def test_permuted_copies_are_refused_with_a_rule_that_works():
    with pytest.raises(ValueError, match="use Probe"):
        GramSchmidt(stop=MonteCarloProbe(), dictionary=Pool(RBF(), 10)).fit(*data())


def test_noise_is_explained_by_no_feature_of_a_pool():
    kept = 0
    for seed in range(60):
        rng = np.random.RandomState(seed)
        X, y = rng.standard_normal((100, 2)), rng.standard_normal(100)
        kept += (
            GramSchmidt(max_features=3, dictionary=Pool(RBF(), 100, random_state=seed)).fit(X, y).stop_.n_features > 0
        )
    assert kept <= 10  # 3 are expected at a risk of 5 %; more than 10 has a chance of 3e-4


def test_same_seed_same_pool_and_others_differ():
    X, _ = data()
    first, again, other = (Pool(RBF(), 20, random_state=seed).fit(X).parameters_ for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_the_pool_given_is_not_fitted_itself_and_can_be_cloned_and_pickled():
    X, y = data()
    given = Pool(RBF(width=(0.3, 1.0)), 20, random_state=0)
    found = GramSchmidt(stop=2, dictionary=given).fit(X, y)
    assert not hasattr(given, "parameters_")
    assert not hasattr(given.dictionary, "rows_")
    assert clone(found).dictionary.dictionary.width == (0.3, 1.0)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(found)).transform(X), found.transform(X))
    found.set_params(dictionary__n_parameters=5, dictionary__dictionary__width=(0.2, 0.4))
    assert found.fit(X, y).support_.size == 5


def test_parameters_can_be_given():
    X, y = data()
    given = np.column_stack([np.zeros((3, D)), [0.5, 1.0, 2.0]])
    pool = Pool(RBF(standardize=False), parameters=given)
    assert pool.n_candidates(D) == 3
    found = GramSchmidt(stop=None, dictionary=pool).fit(X, y)
    assert found.support_.size == 3
    expected = np.exp(-np.sum(X**2, axis=1)[:, None] / (2 * given[:, -1] ** 2))
    np.testing.assert_allclose(found.dictionary_.compute(X, np.arange(3)), expected, rtol=1e-9)


def test_a_grid_is_that_of_the_dictionary_and_counted_beforehand():
    X, y = data()
    pool = Pool(Waves(), 50, method="grid")
    assert pool.n_candidates(D) == 2 * 49
    np.testing.assert_array_equal(pool.fit(X).parameters_, Waves().grid(50))
    assert GramSchmidt(stop=3, dictionary=Pool(Waves(), 50, method="grid")).fit(X, y).support_.size == 98


def test_a_grid_of_ranges_that_depend_on_the_data_is_refused_and_can_be_given():
    X, y = data()
    with pytest.raises(ValueError, match="method='random', or give a grid of your own"):
        Pool(RBF(), 50, method="grid").n_candidates(D)
    grid = RBF().fit(X).grid(50)
    assert GramSchmidt(stop=2, dictionary=Pool(RBF(), parameters=grid)).fit(X, y).support_.size == 16


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (np.zeros((3, 2)), r"shape \(3, 2\); give one row per feature of RBF, with 4 numbers: center 0"),
        (np.zeros(4), r"shape \(4,\)"),
        (np.zeros((0, 4)), r"shape \(0, 4\)"),
        ([[0, 0, 0, 1.0], [0, 0, np.nan, 1.0]], "NaN or infinity in row 1"),
    ],
)
def test_parameters_that_cannot_be_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        Pool(RBF(), parameters=parameters).fit(data()[0])


def test_features_are_learned_from_the_classes_and_columns_may_be_known_late():
    rng = np.random.RandomState(0)
    X = rng.standard_normal((100, 20))
    y = np.where(X[:, 0] > 0, "yes", "no")
    found = GramSchmidt(stop=3, dictionary=Pool(ClassMeans(), 2, random_state=0)).fit(X, y)
    pool = found.dictionary_
    assert found.support_.size == 4
    assert pool.learned_.shape == (2, 20)
    codes = (y == "yes").astype(int)
    np.testing.assert_allclose(pool.learned_, ClassMeans().learn(X, codes, pool.parameters_))
    new = rng.standard_normal((7, 20))
    product = new @ pool.learned_.T
    expected = np.stack([product, product**2], axis=2).reshape(7, 4)
    np.testing.assert_allclose(found.transform(new), expected[:, found.support_])
    with pytest.raises(ValueError, match="ClassMeans learns its features from labels: give y"):
        Pool(ClassMeans(), 2).fit(X)


def test_signals_may_have_more_axes():
    X = np.random.RandomState(0).standard_normal((20, 4, 5))
    pool = Pool(Waves(), 6, random_state=0).fit(X)
    assert pool.compute(X, np.array([11, 0])).shape == (20, 2)
    assert pool.candidates(X).n_candidates == 12


def test_torch_signals_give_the_same_features_in_memory():
    torch = pytest.importorskip("torch")
    X, _ = data()
    pool, moved = Pool(RBF(), 10, random_state=0).fit(X), Pool(RBF(), 10, random_state=0).fit(torch.asarray(X))
    features = moved.compute(torch.asarray(X), np.array([7, 2, 7]))
    np.testing.assert_allclose(features, pool.compute(X, np.array([7, 2, 7])), rtol=1e-9, atol=1e-12)


def test_single_precision_is_enough_and_kept():
    X, y = data(n=200)
    found = GramSchmidt(stop=3, dictionary=Pool(RBF(), 100, random_state=0)).fit(X.astype(np.float32), y)
    assert found.transform(X.astype(np.float32)).dtype == np.float32
    assert found.estimator_.r2 == pytest.approx(
        GramSchmidt(stop=3, dictionary=Pool(RBF(), 100, random_state=0)).fit(X, y).estimator_.r2, abs=0.02
    )


@pytest.mark.parametrize("n_parameters", [1, 2])
def test_the_smallest_pools_work(n_parameters):
    X, y = data()
    found = GramSchmidt(stop=1, dictionary=Pool(RBF(), n_parameters, random_state=0)).fit(X, y)
    assert found.transform(X).shape == (N, 1)
    with pytest.warns(UserWarning, match=f"3 features are asked for, but there are {n_parameters}: all are kept"):
        GramSchmidt(stop=3, dictionary=Pool(RBF(), n_parameters, random_state=0)).fit(X, y)


def test_equal_features_count_once():
    X, y = data()
    given = np.tile([[0.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 1.0]], (3, 1))
    found = GramSchmidt(stop=None, dictionary=Pool(RBF(), parameters=given)).fit(X, y)
    assert sorted(found.order_.tolist()) == [0, 1]


def test_features_that_do_not_vary_are_not_ranked():
    X, y = data()
    given = [[0.0, 0.0, 0.0, 1.0], [1.0, 1.0, 1.0, 1e-9]]  # no row within the second bump
    found = GramSchmidt(stop=None, dictionary=Pool(RBF(), parameters=given)).fit(X, y)
    assert found.order_.tolist() == [0]


def test_one_column_and_wide_tables_work():
    for d in (1, 1000):
        X, y = data(n=60, d=d)
        for inner in (RBF(), Wavelets()):
            found = GramSchmidt(stop=2, dictionary=Pool(inner, 50, random_state=0)).fit(X, y)
            assert found.transform(X).shape == (60, 2)
            assert max(map(len, found.get_feature_names_out())) < 200


def test_missing_values_are_named_by_their_column():
    X, y = data()
    frame = pd.DataFrame(X, columns=["age", "size", "weight"])
    frame.loc[4, "size"] = np.nan
    with pytest.raises(ValueError, match="column 'size' holds 1 missing value"):
        GramSchmidt(dictionary=Pool(RBF())).fit(frame, y)


def test_names_are_made_of_those_of_the_table():
    X, y = data()
    frame = pd.DataFrame(X, columns=["age", "size", "weight"])
    found = GramSchmidt(stop=2, dictionary=Pool(RBF(), 30, random_state=0)).set_output(transform="pandas")
    out = found.fit(frame, y).transform(frame)
    assert all(name.startswith("rbf age=") and " weight=" in name for name in out.columns)


def test_two_columns_of_one_parameter_have_two_names():
    pool = Pool(Waves(), 3, random_state=0).fit(data()[0])
    names = pool.names(np.array([4, 5]))
    assert names[0].startswith("waves rate=")
    assert names[0].endswith("[0]")
    assert names[1] == names[0].replace("[0]", "[1]")


def test_weights_are_repeated_rows():
    X, y = data()
    count = np.random.RandomState(3).randint(1, 4, size=N)
    given = RBF().fit(X).sample(30, np.random.RandomState(0))
    ranker = {"stop": 4, "dictionary": Pool(RBF(standardize=False), parameters=given)}
    weighted = GramSchmidt(**ranker).fit(X, y, sample_weight=count)
    repeated = GramSchmidt(**ranker).fit(np.repeat(X, count, axis=0), np.repeat(y, count))
    np.testing.assert_array_equal(weighted.order_, repeated.order_)
    np.testing.assert_allclose(weighted.scores_, repeated.scores_, rtol=1e-8)


def test_an_infinite_dictionary_is_refused_with_the_way_to_make_it_finite():
    with pytest.raises(ValueError, match=r"give dictionary=Pool\(RBF\(...\)\)"):
        GramSchmidt(dictionary=RBF()).fit(*data())


@pytest.mark.parametrize("multiclass", ["ovr", "ovo"])
def test_problems_that_would_draw_pools_of_their_own_are_refused(multiclass):
    X, y = data()
    codes = np.digitize(y, np.quantile(y, [0.3, 0.6]))
    with pytest.raises(ValueError, match="use multiclass='joint'"):
        GramSchmidt(multiclass=multiclass, dictionary=Pool(RBF(), 10)).fit(X, codes)
    assert GramSchmidt(stop=2, dictionary=Pool(RBF(), 10)).fit(X, codes).transform(X).shape == (N, 2)


def test_a_library_of_bumps_and_a_linear_model_learn_what_a_linear_model_cannot():
    X, y = data(n=300, d=2)
    model = make_pipeline(GramSchmidt(dictionary=Pool(RBF(), 300, random_state=0)), LinearRegression())
    assert cross_val_score(model, X, y, cv=3).mean() > cross_val_score(LinearRegression(), X, y, cv=3).mean() + 0.2


def test_parameters_outside_of_the_space_are_refused():
    with pytest.raises(ValueError, match=r"low=20 in row 0, outside of the space of BandPass"):
        Pool(BandPass(100.0), parameters=[[20.0, 10.0], [9.0, 12.0]]).fit(np.zeros((3, 2, 200)) + np.arange(200))
    X, _ = data()
    with pytest.raises(ValueError, match="width=-1 in row 0"):
        Pool(RBF(), parameters=[[0.0, 0.0, 0.0, -1.0]]).fit(X)


def test_a_grid_of_too_many_parameters_is_its_middle():
    X = np.random.RandomState(0).standard_normal((50, 70))
    assert RBF().fit(X).grid(1000).shape == (1, 71)
