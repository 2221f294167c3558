"""A probability over features, and learners on many subsets of them at once."""

from tamis.rank.stochastic._learners import SubsetLearner
from tamis.rank.stochastic._subset_neighbors import SubsetNeighbors
from tamis.rank.stochastic._subset_ridge import SubsetRidge
from tamis.rank.stochastic._subset_svm import SubsetSVM
from tamis.rank.stochastic._subset_tree import SubsetTree

__all__ = ["SubsetLearner", "SubsetNeighbors", "SubsetRidge", "SubsetSVM", "SubsetTree"]
