"""Adam with steps relative to the size of each parameter: number and scale of the features do not matter."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

_DECAY = 0.9, 0.999  # of the first and the second moment of the gradient
_EPSILON = 1e-5  # gradients below this, over the norm of their parameter, are not scaled up


class RelativeAdam:
    """Adam (Kingma and Ba 2015) whose learning rate is a share of the root mean square of each parameter.

    Not torch's own, whose learning rate would have to leave the device at each step for that, and wait for it.

    Parameters
    ----------
    parameters : iterable of Tensor
    """

    def __init__(self, parameters: Iterable[Tensor]) -> None:
        self.parameters = list(parameters)
        self.n_steps = 0
        self.moments = [[torch.zeros_like(each), torch.zeros_like(each)] for each in self.parameters]

    @torch.no_grad()
    def step(self, gradients: Iterable[Tensor], learning_rate: float) -> None:
        """Move all parameters against their gradients."""
        self.n_steps += 1
        bias, root_bias = 1.0 - _DECAY[0] ** self.n_steps, (1.0 - _DECAY[1] ** self.n_steps) ** 0.5
        for parameter, gradient, (first, second) in zip(self.parameters, gradients, self.moments, strict=True):
            first.lerp_(gradient, 1.0 - _DECAY[0])
            second.mul_(_DECAY[1]).addcmul_(gradient, gradient, value=1.0 - _DECAY[1])
            tiny, norm = torch.finfo(parameter.dtype).tiny, torch.linalg.vector_norm(parameter)
            size = norm / parameter.numel() ** 0.5 + tiny
            epsilon = torch.clamp(_EPSILON / (size * parameter.numel() ** 0.5), min=tiny)
            step = first / (second.sqrt() / root_bias + epsilon)
            parameter.sub_(step * (size * (learning_rate / bias)))

    def keep_rows(self, places: Iterable[int], kept: Tensor) -> None:
        """Forget what is known of the rows that some parameters, given by their place, have lost."""
        for place in places:
            self.moments[place] = [torch.index_select(each, 0, kept) for each in self.moments[place]]

    def state_dict(self) -> dict[str, Any]:
        """All that a later step depends on."""
        return {"n_steps": self.n_steps, "moments": self.moments}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Resume from a state."""
        self.n_steps = state["n_steps"]
        self.moments = [
            [each.to(parameter) for each in pair]
            for parameter, pair in zip(self.parameters, state["moments"], strict=True)
        ]
