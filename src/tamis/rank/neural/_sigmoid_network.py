"""A network of sigmoid hidden units and one linear output, trained to the noise floor by least squares.

    f(x) = c + sum_h a_h tanh(w_h' x + b_h)

The output layer is linear, so for given hidden units ``V = [W, b]`` it has a closed form, and training is a search over
``V`` alone (variable projection). With ``T`` the hidden outputs, ``A = [1, T]``, ``P`` the projector off ``A`` and
``r = P y``, the Gauss-Newton model of the residual (Kaufman's) is

    r(V + d) ~ r - P D d,     D = df/dV at the best output layer,

and a Levenberg-Marquardt step solves ``(D'PD + mu diag(D'PD)) d = D'r``. It ends where BFGS does, down to rounding
where the target has no noise, in a quarter of the time or less. Units that the target does not need end with an output
weight near zero.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, svd

_RANK = 1e-12  # singular values of the hidden outputs below this share are rounding
_MIN_DAMPING, _MAX_DAMPING = 1e-15, 1e10
_PATIENCE = 5  # steps in a row that gain less than tol before training ends


@dataclass(frozen=True)
class SigmoidNetwork:
    """Weights of a network with one hidden layer of tanh units and a linear output.

    Attributes
    ----------
    hidden_weights : ndarray of shape (n_hidden, n_features)
    hidden_bias : ndarray of shape (n_hidden,)
    output_weights : ndarray of shape (n_hidden,)
    output_bias : float
    """

    hidden_weights: np.ndarray
    hidden_bias: np.ndarray
    output_weights: np.ndarray
    output_bias: float

    @property
    def n_hidden(self) -> int:
        """Number of hidden units."""
        return len(self.hidden_bias)

    @property
    def units(self) -> np.ndarray:
        """Hidden weights and, last, biases: of shape (n_hidden, n_features + 1)."""
        return np.column_stack([self.hidden_weights, self.hidden_bias])

    def hidden(self, X: np.ndarray) -> np.ndarray:
        """Outputs of the hidden units, of shape (n_samples, n_hidden)."""
        return np.tanh(X @ self.hidden_weights.T + self.hidden_bias)

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Output of the network, of shape (n_samples,)."""
        return self.output_bias + self.hidden(X) @ self.output_weights

    def tangent(self, X: np.ndarray) -> np.ndarray:
        """Derivatives of the output by every weight, of shape (n_samples, n_weights)."""
        T, Z = self.hidden(X), with_constant(X)
        return np.hstack([np.ones((len(X), 1)), T, _jacobian(T, self.output_weights, Z)])

    def rescaled(self, mean: np.ndarray, scale: np.ndarray, y_mean: float, y_scale: float) -> SigmoidNetwork:
        """The same function for raw data, given the means and scales that training took out."""
        weights = self.hidden_weights / scale
        return SigmoidNetwork(
            weights,
            self.hidden_bias - weights @ mean,
            self.output_weights * y_scale,
            self.output_bias * y_scale + y_mean,
        )


@dataclass(frozen=True)
class Trained:
    """A network at the end of its training."""

    network: SigmoidNetwork
    error: float  # root mean square, on the training rows
    converged: bool


@dataclass(frozen=True)
class _State:
    """One point of the search: hidden units, and the best output layer for them."""

    V: np.ndarray
    T: np.ndarray
    basis: np.ndarray  # orthonormal, spans the hidden outputs and the constant
    output: np.ndarray
    residual: np.ndarray
    sse: float


def with_constant(X: np.ndarray) -> np.ndarray:
    """The columns of ``X`` and a column of ones, for the bias."""
    return np.hstack([X, np.ones((len(X), 1))])


def train(X: np.ndarray, y: np.ndarray, V: np.ndarray, *, max_iter: int, tol: float) -> Trained:
    """Levenberg-Marquardt from the hidden units ``V`` of shape (n_hidden, n_features + 1), biases last.

    It ends when five steps in a row lower the squared error by a share of less than ``tol`` each.
    """
    Z = with_constant(X)
    state = _solve_output(Z, y, V)
    damping, n_stalled, converged = 1e-2, 0, V.size == 0
    for _ in range(max_iter):
        if converged:
            break
        D = _jacobian(state.T, state.output[1:], Z)
        D -= state.basis @ (state.basis.T @ D)
        candidate, damping = _step(Z, y, state, D.T @ D, D.T @ state.residual, damping)
        if candidate is None:  # no direction descends any more: only rounding errors remain
            converged = True
            break
        n_stalled = n_stalled + 1 if state.sse - candidate.sse <= tol * state.sse else 0
        state = candidate
        converged = n_stalled >= _PATIENCE or state.sse == 0
    network = SigmoidNetwork(state.V[:, :-1], state.V[:, -1], state.output[1:], float(state.output[0]))
    return Trained(network, float(np.sqrt(state.sse / len(y))), converged)


@dataclass(frozen=True)
class Trainer:
    """Trains networks on the same rows, from several starts each."""

    X: np.ndarray
    y: np.ndarray
    n_starts: int
    max_iter: int
    tol: float
    rng: np.random.RandomState

    def from_units(self, units: np.ndarray) -> Trained:
        """The best network of as many units as given, from these and from random starts."""
        drawn = [draw_units(len(units), self.X.shape[1], self.rng) for _ in range(self.n_starts - 1)]
        return self._best([units, *drawn] if len(units) else [units])

    def from_random_units(self, n_units: int) -> Trained:
        """The best network from random starts alone."""
        return self._best([draw_units(n_units, self.X.shape[1], self.rng) for _ in range(self.n_starts)])

    def _best(self, starts: list[np.ndarray]) -> Trained:
        trained = (train(self.X, self.y, V, max_iter=self.max_iter, tol=self.tol) for V in starts)
        return min(trained, key=lambda one: one.error)


def draw_units(n_units: int, n_features: int, rng: np.random.RandomState) -> np.ndarray:
    """Hidden units of random direction, whose potential has unit variance on standardized inputs; biases last."""
    V = rng.standard_normal((n_units, n_features + 1))
    V[:, :-1] /= np.sqrt(max(n_features, 1))
    V[:, -1] *= 0.5
    return V


def draw_useful_unit(
    network: SigmoidNetwork, X: np.ndarray, y: np.ndarray, rng: np.random.RandomState, n_draws: int = 200
) -> np.ndarray:
    """Of random units, the one that explains most of the residual of the network: a start for training another."""
    drawn = draw_units(n_draws, X.shape[1], rng) * rng.uniform(0.5, 3.0, size=(n_draws, 1))  # from flat to steep
    T = np.tanh(with_constant(X) @ drawn.T)
    basis = orthonormal_basis(with_constant(network.hidden(X)))
    T -= basis @ (basis.T @ T)
    explained = (T.T @ (y - network.predict(X))) ** 2
    return drawn[np.argmax(explained / np.maximum(np.sum(T**2, axis=0), _RANK))]


def orthonormal_basis(columns: np.ndarray) -> np.ndarray:
    """Orthonormal columns that span the given ones, whatever their scales and dependences."""
    size = np.linalg.norm(columns, axis=0)
    U, values, _ = svd(columns[:, size > 0] / size[size > 0], full_matrices=False)
    return U[:, values > _RANK * values.max(initial=0.0)]


def _solve_output(Z: np.ndarray, y: np.ndarray, V: np.ndarray) -> _State:
    """The least-squares output layer for hidden units ``V``; of least norm where their outputs are dependent."""
    T = np.tanh(Z @ V.T)
    U, values, Vt = svd(np.hstack([np.ones((len(y), 1)), T]), full_matrices=False)
    rank = int(np.sum(values > _RANK * values[0]))
    basis = U[:, :rank]
    projection = basis.T @ y
    residual = y - basis @ projection
    residual -= basis @ (basis.T @ residual)  # a second time, for the last digits of a noiseless target
    output = Vt[:rank].T @ (projection / values[:rank])
    return _State(V, T, basis, output, residual, float(residual @ residual))


def _jacobian(T: np.ndarray, output_weights: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """Derivatives of the network's output by the hidden weights, unit after unit: ``a_h (1 - T_h^2) z``."""
    return np.einsum("nh,nd->nhd", (1 - T**2) * output_weights, Z).reshape(len(Z), -1)


def _step(
    Z: np.ndarray, y: np.ndarray, state: _State, hessian: np.ndarray, negative_gradient: np.ndarray, damping: float
) -> tuple[_State | None, float]:
    """The first damped Gauss-Newton step that descends, and the damping for the next; None if there is none."""
    diagonal = np.diag(hessian)
    floor = _RANK * diagonal.max(initial=0.0)
    diagonal = np.maximum(diagonal, floor if floor > 0 else 1.0)  # units with an output weight of zero do not move
    growth = 2.0
    while damping <= _MAX_DAMPING:
        try:
            move = cho_solve(cho_factor(hessian + np.diag(damping * diagonal)), negative_gradient)
        except LinAlgError:
            damping *= 10
            continue
        candidate = _solve_output(Z, y, state.V + move.reshape(state.V.shape))
        if candidate.sse < state.sse:
            predicted = float(move @ (2 * negative_gradient - hessian @ move))
            gain_ratio = (state.sse - candidate.sse) / predicted if predicted > 0 else 0.0
            shrink = max(0.2, 1 - (2 * min(gain_ratio, 1.0) - 1) ** 3)  # Nielsen's rule
            return candidate, max(damping * shrink, _MIN_DAMPING)
        damping *= growth
        growth *= 2
    return None, damping
