"""What a path of weighted steps adds up to in each coordinate, kept in two numbers for all of them."""

from __future__ import annotations

from dataclasses import dataclass

from ..facts import Vector


@dataclass
class Walked:
    """How far each coordinate walked and how much noise it holds: two numbers for all of them, as long as weights stay.

    Attributes
    ----------
    squares, inverse : array
        Squared and inverse weights.
    before : tuple of arrays, or None
        What was walked and the variance under earlier weights.
    length, noise : float
        Walked of steps, and of squares of steps times deviations, under the present ones.
    """

    squares: Vector
    inverse: Vector
    before: tuple[Vector, Vector] | None = None
    length: float = 0.0
    noise: float = 0.0

    @classmethod
    def start(cls, weights: Vector) -> Walked:
        """Nothing was walked yet."""
        return cls(weights**2, 1 / weights)

    def go_on(self, weights: Vector) -> Walked:
        """With other weights from here on."""
        return Walked(weights**2, 1 / weights, (self.walked, self.variance))

    def add(self, step: float, noise: float) -> None:
        """One step, with noise of this deviation in weighted columns."""
        self.length += step
        self.noise += noise**2

    @property
    def walked(self) -> Vector:
        """Sum of steps times squared weights."""
        return self.length * self.squares + (0.0 if self.before is None else self.before[0])

    @property
    def variance(self) -> Vector:
        """Variance of the noise in each coordinate."""
        return self.noise * self.squares + (0.0 if self.before is None else self.before[1])
