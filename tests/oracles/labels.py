"""Agreement of two labelings by trying every map from clusters to classes."""

from itertools import permutations, product


def best_matching(y_true, y_pred):
    """Largest share of right samples over one-to-one maps; clusters or classes may be left over."""
    classes, clusters = sorted(set(y_true)), sorted(set(y_pred))
    padded = classes + [None] * max(0, len(clusters) - len(classes))
    return max(
        share_right(y_true, y_pred, dict(zip(clusters, chosen, strict=True)))
        for chosen in permutations(padded, len(clusters))
    )


def best_map(y_true, y_pred):
    """Largest share of right samples over all maps (Doquet 2019, Eq. 5.4)."""
    classes, clusters = sorted(set(y_true)), sorted(set(y_pred))
    return max(
        share_right(y_true, y_pred, dict(zip(clusters, chosen, strict=True)))
        for chosen in product(classes, repeat=len(clusters))
    )


def share_right(y_true, y_pred, theta):
    return sum(theta[cluster] == true for true, cluster in zip(y_true, y_pred, strict=True)) / len(y_true)
