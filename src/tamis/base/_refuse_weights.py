"""A clear error where weights of rows are given to a method that takes none."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

_Fit = TypeVar("_Fit", bound=Callable[..., Any])


def refuse_weights(fit: _Fit) -> _Fit:
    """Let ``fit`` say that it takes no ``sample_weight``, in place of Python's "unexpected keyword argument".

    The signature stays that of ``fit``: scikit-learn finds out by it which metadata a method takes.
    """

    @functools.wraps(fit)
    def checked(self: Any, *arguments: Any, **named: Any) -> Any:
        if named.pop("sample_weight", None) is not None:
            others = "use a method that does, such as GramSchmidt() or RFE(), or " if self.supervised else "or "
            raise TypeError(
                f"{type(self).__name__} takes no weights of the rows: leave sample_weight out, {others}repeat rows"
            )
        return fit(self, *arguments, **named)

    return checked  # type: ignore[return-value]
