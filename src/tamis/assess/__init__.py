"""Judging a selection: what it recovers, what it predicts, how stable it is, and what beats what."""

from tamis.assess._clusters import cluster_samples
from tamis.assess._compare import compare
from tamis.assess._comparison import Comparison
from tamis.assess._criteria import Criterion, criterion_names
from tamis.assess._fit import feature_gram, feature_r2, fit_score
from tamis.assess._knn import knn_accuracy, knn_predict, knn_r2
from tamis.assess._labels import balanced_error_rate, clustering_accuracy, normalized_mutual_info, purity
from tamis.assess._probe_fraction import probe_fraction
from tamis.assess._redundancy import Redundancy, RedundancyGroup, redundancy
from tamis.assess._stability import Stability, stability

__all__ = [
    "Comparison",
    "Criterion",
    "Redundancy",
    "RedundancyGroup",
    "Stability",
    "balanced_error_rate",
    "cluster_samples",
    "clustering_accuracy",
    "compare",
    "criterion_names",
    "feature_gram",
    "feature_r2",
    "fit_score",
    "knn_accuracy",
    "knn_predict",
    "knn_r2",
    "normalized_mutual_info",
    "probe_fraction",
    "purity",
    "redundancy",
    "stability",
]
