"""AutoSelector: what every estimator owes its users, and its own promises."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from tamis import AutoSelector

SMALL = {"rankers": ["fisher"], "models": ["ridge"], "n_bootstraps": 20}


@parametrize_with_checks(
    [
        AutoSelector(600, task="classification", **SMALL),
        AutoSelector(600, task="regression", **SMALL),
        AutoSelector(600, **SMALL),
    ]
)
def test_scikit_learn_agrees(estimator, check):
    check(estimator)
