"""Leave-one-out classification against scikit-learn."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.model_selection import LeaveOneOut, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from tamis.assess import knn_accuracy, knn_predict


@pytest.mark.parametrize("n_neighbors", [1, 3])
def test_it_is_scikit_learns_leave_one_out_accuracy(n_neighbors):
    X, y = load_wine(return_X_y=True)
    Z = StandardScaler().fit_transform(X)[:, [0, 3, 6, 9]]
    expected = cross_val_score(KNeighborsClassifier(n_neighbors), Z, y, cv=LeaveOneOut()).mean()
    assert knn_accuracy(X, y, [0, 3, 6, 9], n_neighbors=n_neighbors) == pytest.approx(expected)


def test_held_out_rows_are_classified_by_the_others():
    X, y = load_wine(return_X_y=True)
    X, labels = X[:, :5], np.array(["a", "b", "c"])[y]
    scaler = StandardScaler().fit(X[::2])
    model = KNeighborsClassifier(1).fit(scaler.transform(X[::2]), labels[::2])
    expected = model.predict(scaler.transform(X[1::2]))
    np.testing.assert_array_equal(knn_predict(X[::2], labels[::2], X_test=X[1::2]), expected)
    accuracy = knn_accuracy(X[::2], labels[::2], X_test=X[1::2], y_test=labels[1::2])
    assert accuracy == pytest.approx(np.mean(expected == labels[1::2]))


def test_a_tied_vote_goes_to_the_nearest():
    X = np.array([[0.0], [1.0], [1.5], [-3.0], [-3.2]])
    y = np.array(["b", "a", "b", "b", "a"])
    assert knn_predict(X, y, n_neighbors=2)[0] == "a"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_neighbors": 150}, "between 1 and 149"),
        ({"X_test": np.ones((2, 4))}, "go together"),
        ({"X_test": np.ones((2, 4)), "y_test": [0]}, "2 rows, but y_test has 1"),
        ({"y": [0, 1]}, "y has 2"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=message):
        knn_accuracy(X, **{"y": y, **arguments})


def test_labels_may_stand_in_a_column_but_none_may_be_missing():
    X, y = load_iris(return_X_y=True)
    assert knn_accuracy(X[::2], y[::2], X_test=X[1::2], y_test=y[1::2]) > 0.9
    with pytest.raises(ValueError, match="y holds 1 missing label"):
        knn_accuracy(X, np.where(np.arange(150) == 3, np.nan, y))
    with pytest.raises(ValueError, match="n_neighbors=1"):
        knn_accuracy(X, y, n_neighbors=1.5)


def test_one_held_out_row_can_be_classified():
    X, y = load_iris(return_X_y=True)
    assert knn_predict(X[1:], y[1:], X_test=X[:1]).tolist() == [0]
