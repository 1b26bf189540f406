"""Squared loss behind a known non-linear link."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.special import expit

from ...core.facts import Vector

Function = Callable[[Vector], Vector]


def _sigmoid_slope(m: Vector) -> Vector:
    p = expit(m)
    return np.asarray(p * (1.0 - p))


def _tanh_slope(m: Vector) -> Vector:
    return np.asarray(1.0 - np.tanh(m) ** 2)


#: Links by name, with their derivatives.
LINKS: dict[str, tuple[Function, Function]] = {"sigmoid": (expit, _sigmoid_slope), "tanh": (np.tanh, _tanh_slope)}


@dataclass(frozen=True)
class KnownLink:
    r"""Squared loss behind a public link: :math:`\tfrac12 (f(m) - y)^2` with :math:`|f'| \le L`.

    The non-linear measurements of [WX19]_, section 6. Not convex in general; gradient methods with
    clipped rows take it as it is, and methods that need a minimiser refuse it.

    Parameters
    ----------
    f : str or function
        ``sigmoid`` or ``tanh``, or a smooth function of an array of margins.
    derivative : function or None
        Its derivative; needed where `f` is a function.
    slope_limit, curvature_limit : float or None
        Bounds on the first and second derivative of the loss in the margin, for targets within
        `target`; needed where `f` is a function. For :math:`|f| \le F, |f'| \le L, |f''| \le L_2`
        they are at most :math:`(F+B)L` and :math:`L^2 + (F+B)L_2`. None: found on a grid for the
        named links.
    target : float
        B: targets beyond it are clipped to it, so that slope and curvature have bounds.

    Examples
    --------
    >>> loss = KnownLink("tanh")
    >>> loss.slope(np.array([0.0]), np.array([0.5]))
    array([-0.5])

    References
    ----------
    .. [WX19] Wang and Xu, ICML 2019.
    """

    f: str | Function = "sigmoid"
    derivative: Function | None = None
    slope_limit: float | None = None
    curvature_limit: float | None = None
    target: float = 1.0

    name: ClassVar[str] = "link"
    classes: ClassVar[bool] = False
    convex: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not (np.isfinite(self.target) and self.target > 0):
            raise ValueError(f"target must be positive and finite, got {self.target!r}.")
        if isinstance(self.f, str):
            if self.f not in LINKS:
                raise ValueError(
                    f"unknown link {self.f!r}; name one of {', '.join(LINKS)}, or give f and its derivative."
                )
            return
        if not callable(self.f) or not callable(self.derivative):
            raise TypeError("a link of your own needs the functions f and derivative.")
        for value, what in ((self.slope_limit, "slope_limit"), (self.curvature_limit, "curvature_limit")):
            if value is None or not value > 0:
                raise ValueError(f"a link of your own needs {what}, a positive number, got {value!r}.")

    @property
    def rowwise(self) -> bool:
        """Whether the link is one of ours, which are functions of one margin."""
        return isinstance(self.f, str)

    @property
    def slope_bound(self) -> float:
        """Bound on the slope for targets within `target`."""
        return self._limits[0] if self.slope_limit is None else self.slope_limit

    @property
    def curvature(self) -> float:
        """Bound on the second derivative for targets within `target`."""
        return self._limits[1] if self.curvature_limit is None else self.curvature_limit

    def value(self, margin: Vector, y: Vector) -> Vector:
        """Half the squared residual."""
        return np.asarray(0.5 * (self.mean(margin) - self._clipped(y)) ** 2)

    def slope(self, margin: Vector, y: Vector) -> Vector:
        """The residual times the slope of the link."""
        f, derivative = self._functions
        return np.asarray((f(margin) - self._clipped(y)) * derivative(margin))

    def mean(self, margin: Vector) -> Vector:
        """The link itself."""
        return np.asarray(self._functions[0](margin))

    def _clipped(self, y: Vector) -> Vector:
        return np.clip(y, -self.target, self.target)

    @cached_property
    def _functions(self) -> tuple[Function, Function]:
        if isinstance(self.f, str):
            return LINKS[self.f]
        assert self.derivative is not None
        return self.f, self.derivative

    @cached_property
    def _limits(self) -> tuple[float, float]:
        """Suprema over a fine grid of margins; both derivatives are linear in the target, so its ends are enough."""
        m = np.linspace(-20.0, 20.0, 80001)
        slopes = [self.slope(m, np.full_like(m, y)) for y in (-self.target, self.target)]
        bends = [np.diff(s) / np.diff(m) for s in slopes]
        return tuple(float(np.abs(v).max()) * (1 + 1e-6) for v in (slopes, bends))  # type: ignore[return-value]
