"""Do bands of shapes cover? python -m benchmarks.shape_coverage [--fits 40] [--rows 20000] [--epsilon 4].

Simulated tables of six uniform columns, of which the first three have an effect: straight lines, or a parabola, a cubic and a line,
all of them within the curves' terms. For numbers and two classes it prints the part of values at which pointwise bands cover the
true effect, averaged over selected columns and fits, the part of selected columns whose simultaneous band covers it everywhere,
and the mean half-width of pointwise bands against the size of the effect.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

from dpsparse import SparseClassifier, SparseRegressor

COLUMNS = 6
TRUTHS = {
    "straight": (lambda u: 1.2 * u, lambda u: -0.8 * u, lambda u: 0.5 * u),
    "bent": (lambda u: 1.8 * u**2, lambda u: 2 * u**3 - u, lambda u: 0.5 * u),
}


def one(
    truth: str, classes: bool, rows: int, epsilon: float, seed: int
) -> tuple[list[float], list[float], list[float]]:
    """Coverage of pointwise and simultaneous bands of each selected column of one fit, and relative half-widths."""
    rng = np.random.default_rng([seed, classes, len(truth)])
    X = rng.uniform(-1, 1, (rows, COLUMNS))
    margin = sum(f(X[:, j]) for j, f in enumerate(TRUTHS[truth])) - (0.6 if truth == "bent" else 0.0)
    shared = {"epsilon": epsilon, "delta": 1e-6, "feature_bound": 1.0, "shapes": "smooth", "intervals": "split"}
    if classes:
        model = SparseClassifier(classes=[0, 1], **shared).fit(X, (margin + rng.logistic(size=rows) > 0).astype(int))
    else:
        model = SparseRegressor(target_bound=5.0, **shared).fit(X, margin + 0.5 * rng.standard_normal(rows))
    pointwise, together, widths = [], [], []
    for j in range(COLUMNS):
        shape, band = model.shape_(j), model.shape_(j, simultaneous=True)
        if shape.low is None or shape.high is None or band.low is None or band.high is None:
            continue
        effect = TRUTHS[truth][j](shape.grid) - TRUTHS[truth][j](0.0) if j < len(TRUTHS[truth]) else 0 * shape.grid
        off = shape.grid != shape.reference
        pointwise.append(float(np.mean((shape.low <= effect) & (effect <= shape.high), where=off)))
        together.append(float(np.all((band.low <= effect + 1e-12) & (effect <= band.high + 1e-12))))
        widths.append(float(np.mean(shape.high - shape.low) / 2 / max(np.ptp(effect), 0.5)))
    return pointwise, together, widths


def main() -> None:
    """Print one line for each truth and kind of target."""
    reader = argparse.ArgumentParser(description=__doc__)
    reader.add_argument("--fits", type=int, default=40)
    reader.add_argument("--rows", type=int, default=20_000)
    reader.add_argument("--epsilon", type=float, default=4.0)
    given = reader.parse_args()
    print(f"{given.rows} rows, epsilon {given.epsilon:g}, {given.fits} fits; band of 95 %")
    for truth in TRUTHS:
        for classes in (False, True):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = [one(truth, classes, given.rows, given.epsilon, seed) for seed in range(given.fits)]
            pointwise, together, widths = (np.array([v for fit in found for v in fit[k]]) for k in range(3))
            error = pointwise.std() / np.sqrt(max(pointwise.size, 1))
            print(
                f"{truth:9s} {'classes' if classes else 'numbers'}: pointwise {pointwise.mean():.3f} ({error:.3f}), simultaneous "
                f"{together.mean():.3f}, half-width {np.median(widths):.2f} of the effect, {pointwise.size} columns",
                flush=True,
            )


if __name__ == "__main__":
    main()
