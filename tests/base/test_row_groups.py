"""Rows that belong together."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tamis import GramSchmidt, Lasso
from tamis.stop import CrossValidation


def make_patients(seed=0, n_patients=20, n_visits=6):
    """A column that tells the patient tells the target of his other visits, and nothing of other patients."""
    rng = np.random.RandomState(seed)
    patient = np.repeat(np.arange(n_patients), n_visits)
    X = rng.standard_normal((patient.size, 6))
    y = X[:, 0] + 3 * rng.standard_normal(n_patients)[patient]
    return X, y, patient


class Recording(GroupKFold):
    """Remembers whether any patient was in both parts of a fold."""

    shared = None

    def split(self, X, y=None, groups=None):
        for train, test in super().split(X, y, groups):
            type(self).shared = bool(np.intersect1d(groups[train], groups[test]).size)
            yield train, test


def test_folds_keep_the_rows_of_a_group_together():
    X, y, patient = make_patients()
    rule = CrossValidation(LinearRegression(), cv=Recording(4))
    GramSchmidt(stop=rule).fit(X, y, row_groups=patient)
    assert Recording.shared is False


@pytest.mark.parametrize("ranker", [GramSchmidt(stop=CrossValidation(cv=4)), Lasso(cv=4)])
def test_a_number_of_folds_keeps_groups_together_too(ranker, monkeypatch):
    X, y, patient = make_patients()
    seen = []
    split = GroupKFold.split

    def recorded(self, table, y=None, groups=None):
        for train, test in split(self, table, y, groups):
            seen.append(np.intersect1d(groups[train], groups[test]).size)
            yield train, test

    monkeypatch.setattr(GroupKFold, "split", recorded)
    ranker.fit(X, y, row_groups=patient)
    assert seen == [0] * 4


def test_weightless_rows_lose_their_label():
    X, y, patient = make_patients()
    weight = (patient != 3).astype(float)
    rule = CrossValidation(LinearRegression(), cv=GroupKFold(4))
    weighted = GramSchmidt(stop=rule).fit(X, y, sample_weight=weight, row_groups=patient)
    plain = GramSchmidt(stop=rule).fit(X[patient != 3], y[patient != 3], row_groups=patient[patient != 3])
    np.testing.assert_allclose(weighted.stop_.curve, plain.stop_.curve)


def test_a_splitter_that_needs_groups_says_how_to_give_them():
    X, y, _ = make_patients()
    with pytest.raises(ValueError, match=r"GroupKFold needs to know which rows belong together: fit\(X, y, row_groups"):
        GramSchmidt(stop=CrossValidation(cv=GroupKFold(4))).fit(X, y)


@pytest.mark.parametrize(
    ("labels", "message"), [(np.zeros(3), "one label per row"), (np.full(120, np.nan), "no label in 120 of 120 rows")]
)
def test_labels_that_do_not_fit_are_refused(labels, message):
    X, y, _ = make_patients()
    with pytest.raises(ValueError, match=message):
        GramSchmidt().fit(X, y, row_groups=labels)


def test_pipelines_route_them():
    X, y, patient = make_patients()
    with config_context(enable_metadata_routing=True):
        ranker = GramSchmidt(stop=CrossValidation(LinearRegression(), cv=GroupKFold(4)))
        model = make_pipeline(StandardScaler(), ranker.set_fit_request(row_groups=True), LinearRegression())
        assert model.fit(X, y, row_groups=patient).predict(X).shape == y.shape
