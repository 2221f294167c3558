"""Sequential forward floating selection, written out."""

import numpy as np


def explained(X, Y, columns):
    """Share of the variance of the targets that least squares with an intercept explains."""
    A = np.column_stack([np.ones(len(X)), X[:, sorted(columns)]])
    Y = Y.reshape(len(X), -1)
    error = Y - A @ np.linalg.lstsq(A, Y, rcond=None)[0]
    return 1 - np.sum(error**2) / np.sum((Y - Y.mean(axis=0)) ** 2)


def floating(value, n_columns, largest):
    """Best sets and values of every size, for a value of sets; starts from nothing and ends with ``largest`` in."""
    best, chosen = {}, set()
    while len(chosen) < largest:
        chosen = max((chosen | {j} for j in range(n_columns) if j not in chosen), key=value)
        k = len(chosen)
        if k not in best or value(chosen) > value(best[k]) + 1e-10:
            best[k] = chosen
        chosen = best[k]
        while len(chosen) > 1:
            fewer = max((chosen - {j} for j in chosen), key=value)
            if value(fewer) <= value(best[len(fewer)]) + 1e-10:
                break
            chosen = best[len(fewer)] = fewer
    return best, {k: value(columns) for k, columns in best.items()}
