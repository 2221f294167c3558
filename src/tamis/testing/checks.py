"""What every ranker owes its users, as assertions on one instance."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.base import clone

from tamis.base import Ranker


def make_data(n_samples: int = 60, n_features: int = 8, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Three classes that the first two columns separate, up to noise; other columns are noise of the same scale."""
    rng = np.random.RandomState(seed)
    y = np.arange(n_samples) % 3
    X = rng.standard_normal((n_samples, n_features))
    X[:, 0] += 2.0 * y
    X[:, 1] -= 1.5 * (y == 1)
    return X, y


def seeded(ranker: Ranker) -> Ranker:
    """A copy with a seed, where it takes one."""
    copy = clone(ranker)
    return copy.set_params(random_state=0) if "random_state" in copy.get_params() else copy


def fitted(ranker: Ranker, X: Any, y: Any) -> Ranker:
    """A seeded, fitted copy."""
    return seeded(ranker).fit(X, y)


@lru_cache(maxsize=256)
def reference(ranker: Ranker) -> Ranker:
    """The fit on `make_data` that most checks start from, made once; to be looked at, not to be changed."""
    return fitted(ranker, *make_data())


def ignores_data(ranker: Ranker) -> bool:
    """True for a ranker, such as RandomSelection, that never looks at the values."""
    X, y = make_data()
    return np.array_equal(reference(ranker).scores_, fitted(ranker, X[::-1] ** 3, y).scores_, equal_nan=True)


def same(a: Ranker, b: Ranker) -> None:
    """Both found the same."""
    np.testing.assert_array_equal(a.order_, b.order_)
    np.testing.assert_array_equal(a.support_, b.support_)
    np.testing.assert_allclose(a.scores_, b.scores_, rtol=1e-10)


def check_fit_returns_self_and_fitted_attributes_agree(ranker: Ranker) -> None:
    X, y = make_data()
    found = seeded(ranker)
    assert found.fit(X, y) is found
    n_features = X.shape[1]
    assert found.scores_.shape == found.ranking_.shape == found.support_.shape == (n_features,)
    assert np.unique(found.order_).size == found.order_.size <= n_features
    np.testing.assert_array_equal(found.ranking_[found.order_], np.arange(1, found.order_.size + 1))
    unranked = np.setdiff1d(np.arange(n_features), found.order_)
    assert np.all(found.ranking_[unranked] == found.order_.size + 1)
    assert found.support_.sum() == found.stop_.n_features
    np.testing.assert_array_equal(np.flatnonzero(found.support_), np.sort(found.order_[: found.stop_.n_features]))
    assert found.stop_.reason
    assert found.certificate_["converged"]
    assert len(found.stop_.curve) == len(found.stop_.curve_at)
    if found.path_:
        assert [step.feature for step in found.path_] == found.order_.tolist()


def check_input_untouched_and_may_be_read_only(ranker: Ranker) -> None:
    X, y = make_data()
    X_before, y_before = X.copy(), y.copy()
    X.setflags(write=False)
    y.setflags(write=False)
    found = fitted(ranker, X, y)
    found.transform(X)
    np.testing.assert_array_equal(X, X_before)
    np.testing.assert_array_equal(y, y_before)


def check_same_seed_same_result(ranker: Ranker) -> None:
    same(reference(ranker), fitted(ranker, *make_data()))


def check_n_jobs_changes_nothing(ranker: Ranker) -> None:
    jobs = [name for name in ranker.get_params() if name.split("__")[-1] == "n_jobs"]
    if jobs:
        two = clone(ranker).set_params(**dict.fromkeys(jobs, 2))
        same(reference(ranker), fitted(two, *make_data()))


def check_constant_columns_come_last(ranker: Ranker) -> None:
    X, y = make_data()
    X = np.column_stack([np.full(len(X), 3.7), X, np.zeros(len(X)), np.full(len(X), 1e9)])
    found = fitted(ranker, X, y)
    are_behind = found.ranking_[[0, 9, 10]].min() >= found.ranking_[1]
    are_kept_last = found.support_[[0, 9, 10]].sum() == 0 or found.support_.sum() >= 8
    assert (are_behind and are_kept_last) or ignores_data(ranker)


def check_duplicates_go_to_the_lowest_index(ranker: Ranker) -> None:
    X, y = make_data()
    found = fitted(ranker, np.column_stack([X, X[:, 0], X[:, 1]]), y)
    are_behind = found.ranking_[0] <= found.ranking_[8] and found.ranking_[1] <= found.ranking_[9]
    copies, originals = found.scores_[[8, 9]], found.scores_[[0, 1]]
    score_alike = not ranker.one_shot or np.allclose(copies, originals, rtol=1e-8, atol=0, equal_nan=True)
    assert (are_behind and score_alike) or ignores_data(ranker)


def check_more_features_than_samples(ranker: Ranker) -> None:
    X, y = make_data(n_samples=12, n_features=30)
    found = fitted(ranker, X, y)
    with warnings.catch_warnings():  # keeping nothing is a valid answer where so few rows say so little
        warnings.filterwarnings("ignore", message="No features were selected")
        assert found.transform(X).shape == (12, found.stop_.n_features)


def check_one_feature_and_all_features(ranker: Ranker) -> None:
    X, y = make_data()
    for k in (1, X.shape[1]):
        found = fitted(clone(ranker).set_params(stop=k), X, y)
        assert found.stop_.n_features <= X.shape[1]
        assert hasattr(found, "subproblems_") or found.stop_.n_features == min(k, found.order_.size)
    whole = fitted(clone(ranker).set_params(stop=None), X, y)
    assert whole.stop_.n_features == whole.order_.size
    alone = fitted(clone(ranker).set_params(stop=1), X[:, :1], y)
    assert alone.support_.tolist() == [True]


def check_names_in_and_out(ranker: Ranker) -> None:
    pandas, polars = _optional("pandas"), _optional("polars")
    X, y = make_data()
    names = [f"column {letter}" for letter in "abcdefgh"]
    expected = reference(ranker)
    for library in (pandas, polars):
        if library is None:
            continue
        frame = library.DataFrame(dict(zip(names, X.T, strict=True)))
        found = fitted(ranker, frame, y)
        same(found, expected)
        assert found.feature_names_in_.tolist() == names
        kept = [name for name, keep in zip(names, expected.support_, strict=True) if keep]
        assert found.get_feature_names_out().tolist() == kept
        found.set_output(transform=library.__name__)
        if kept:
            assert list(found.transform(frame).columns) == kept


def _optional(name: str) -> Any:
    try:
        return __import__(name)
    except ImportError:
        return None


def check_column_permutation_permutes_the_result(ranker: Ranker) -> None:
    X, y = make_data()
    shuffle = np.random.RandomState(1).permutation(X.shape[1])
    plain, shuffled = reference(ranker), fitted(ranker, X[:, shuffle], y)
    if np.array_equal(shuffled.scores_, plain.scores_, equal_nan=True) and ignores_data(ranker):
        return
    np.testing.assert_array_equal(shuffle[shuffled.order_], plain.order_)
    np.testing.assert_array_equal(shuffled.support_, plain.support_[shuffle])
    np.testing.assert_allclose(shuffled.scores_, plain.scores_[shuffle], rtol=1e-8)


def check_higher_scores_are_better(ranker: Ranker) -> None:
    X, y = make_data(n_samples=300)
    found = fitted(clone(ranker).set_params(stop=None), X, y)
    if ranker.one_shot and not hasattr(found, "subproblems_"):
        assert np.all(np.diff(found.scores_[found.order_]) <= 0)
        assert found.scores_[found.order_[0]] == np.nanmax(found.scores_) or ignores_data(ranker)
    if ranker.supervised and not hasattr(found, "subproblems_"):
        assert found.order_[0] == 0 or ignores_data(ranker)


def check_columns_to_keep_stay_and_excluded_ones_are_not_ranked(ranker: Ranker) -> None:
    X, y = make_data()
    found = fitted(clone(ranker).set_params(keep=[6, 5], exclude=[1], min_features=4), X, y)
    assert found.support_[[6, 5]].all()
    assert not found.support_[1]
    assert set(found.order_[:2].tolist()) == {5, 6}
    assert 1 not in found.order_
    assert np.isnan(found.scores_[1])
    assert found.support_.sum() == found.n_features_ >= min(4, found.order_.size)
    assert "stay, as asked" in found.stop_.reason
    assert found.transform(X).shape[1] == found.n_features_


def check_summary_has_a_row_per_feature(ranker: Ranker) -> None:
    found = reference(ranker)
    assert found.task_ in ("classification", "regression", "unsupervised")
    table = found.summary()
    assert len(table["feature"]) == found.n_features_in_
    assert sum(table["kept"]) == found.n_features_
    assert "features" in found._repr_html_()


def check_clone_and_pickle(ranker: Ranker) -> None:
    X, _ = make_data()
    found = reference(ranker)
    back = pickle.loads(pickle.dumps(found))
    same(found, back)
    assert back.stop_.reason == found.stop_.reason
    np.testing.assert_array_equal(back.transform(X), found.transform(X))
    assert clone(found).get_params().keys() == found.get_params().keys()
    assert not hasattr(clone(found), "order_")


RANKER_CHECKS: list[Callable[[Ranker], None]] = [
    check_fit_returns_self_and_fitted_attributes_agree,
    check_input_untouched_and_may_be_read_only,
    check_same_seed_same_result,
    check_n_jobs_changes_nothing,
    check_constant_columns_come_last,
    check_duplicates_go_to_the_lowest_index,
    check_more_features_than_samples,
    check_one_feature_and_all_features,
    check_names_in_and_out,
    check_column_permutation_permutes_the_result,
    check_higher_scores_are_better,
    check_columns_to_keep_stay_and_excluded_ones_are_not_ranked,
    check_summary_has_a_row_per_feature,
    check_clone_and_pickle,
]


def check_ranker(ranker: Ranker) -> None:
    """Run every check on a ranker; raises ``AssertionError`` at the first that fails."""
    own = clone(ranker)  # so that `reference` is not that of the same object with other parameters
    for check in RANKER_CHECKS:
        check(own)
