"""Forward search over groups, slow and obvious: every group is projected off the selected ones at every step."""

import numpy as np

from tamis.kernels.probe.law import probe_survival


def orthonormal(A, tol=1e-9):
    """Basis of the span of the columns, whatever their scale."""
    size = np.linalg.norm(A, axis=0)
    U, values, _ = np.linalg.svd(A[:, size > 0] / size[size > 0], full_matrices=False)
    return U[:, values > tol]


def judge_groups(Z, members, Y):
    """One minus Wilks' lambda of every group."""
    U = orthonormal(Y)
    found = []
    for group in members:
        Q = orthonormal(Z[:, group])
        found.append(1 - np.linalg.det(np.eye(U.shape[1]) - U.T @ Q @ Q.T @ U))
    return np.array(found)


def search_groups(X, members, Y, *, fit_intercept):
    """Groups in the order in which they are selected, with what each explains."""
    basis = np.full((len(X), 1), len(X) ** -0.5) if fit_intercept else np.empty((len(X), 0))
    left, found = list(range(len(members))), []
    while left:
        PX, PY = X - basis @ (basis.T @ X), Y - basis @ (basis.T @ Y)
        if np.linalg.norm(PY) < 1e-9 * np.linalg.norm(Y):
            break
        explained = judge_groups(PX, [members[g] for g in left], PY)
        ranks = np.array([orthonormal(PX[:, members[g]]).shape[1] for g in left])
        n_targets = orthonormal(PY).shape[1]
        chance = probe_survival(explained, len(X) - basis.shape[1], n_targets, ranks)
        best = min(range(len(left)), key=lambda i: (chance[i], -explained[i]))
        found.append((left[best], explained[best]))
        basis = np.hstack([basis, orthonormal(PX[:, members[left.pop(best)]])])
    return found
