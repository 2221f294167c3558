"""A probability over features, how it is learned, and learners on many subsets of them at once."""

from tamis.rank.stochastic._energy import SubsetEvaluation
from tamis.rank.stochastic._gradient_descent import GradientDescent
from tamis.rank.stochastic._subset_learner import SubsetLearner
from tamis.rank.stochastic._subset_neighbors import SubsetNeighbors
from tamis.rank.stochastic._subset_ridge import SubsetRidge
from tamis.rank.stochastic._subset_svm import SubsetSVM
from tamis.rank.stochastic._subset_tree import SubsetTree

__all__ = [
    "GradientDescent",
    "SubsetEvaluation",
    "SubsetLearner",
    "SubsetNeighbors",
    "SubsetRidge",
    "SubsetSVM",
    "SubsetTree",
]
