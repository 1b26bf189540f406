"""The constants of fits of ordinary tables."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Middle:
    """Which quantiles are asked for, and what they are multiplied with to be a clip and a length.

    A question errs upwards with a chance of about exp(-(1 - quantile) N) for each point of its grid above the data, and downwards with
    exp(-quantile N). A clip that is far too large is ruin, and so is a length that is far too small: few records ask for a lower
    quantile of the one and a higher one of the other.
    """

    clip_quantile: float
    clip_factor: float
    length_quantile: float
    length_factor: float


@dataclass(frozen=True, kw_only=True)
class TableRule:
    """Constants; chosen on the tables of the choosing half of the public tables and on synthetic designs.

    Parameters
    ----------
    means, gram, slope, questions : float
        Shares of column means, of a Gram matrix, of the slope (at least), of all questions (at least).
    least_level : float
        What N times the root of its share should be for one question.
    hopeless, class_hopeless : float
        Below this level of a question nothing but the median is told; for classes, public guesses take the place of questions.
    class_constant : float
        Below this N nothing but the share of a class is told.
    few_records, low : float, Middle
        Below this level there are no means, no Gram matrix and no slope, and quantiles are those of `low`.
    middle : Middle
    gram_noise : float
        Largest noise of the spectrum of a Gram matrix that is asked for, in its mean eigenvalue.
    clip_growth, clip_from : float
        A clip grows as (kappa / clip_from)^clip_growth, up to 2.5 times.
    phases, lean_phases : tuple of float
        Parts of the phases.
    noise, noise_slope, noise_range : float, float, pair
        Noise on margins in clips: `noise` in the first phase, then so much more the more the clip fell.
    burn : float
        Mean relaxation lengths before iterates are averaged.
    steps, class_steps, most_steps : int
        Steps of the last phase at least (of others half as many), for numbers and for classes, and at most for the sake of stability.
    stable, class_stable : float
        A first step this many times the inverse curvature of rows of length 1 is stable, for numbers and for classes, whose curvature is well below its
        bound.
    momentum, class_momentum : float
        Part of the former direction that a step keeps. Classes walk the same path in a third of the steps with momentum that forgets in a third of
        them: chosen on drawn tables and a9a, confirmed on others.
    class_clip, class_noise, class_start : float
        Clip, noise on margins, and part of the log-odds of the class share at which a path begins.
    soft, soft_columns, soft_kappa, soft_noise : float, int, float, float
        Threshold in standard deviations of noise, from so many columns and from this kappa on, and noise on margins with it.
    constant : float
        Height of the constant coordinate where rows have length 1.
    lean_noise : float
        In the place of `noise` below `few_records`.
    finish, finish_clip : float
        Share of the mean residual at the end, and its clip in clips of gradients.
    slope_steps, slope_skipped : int
        Steps of the slope, and those before its average.
    guess : float
        Public guess of a length, in parts of the longest.
    race_columns : int
        From so many columns on it is asked whether few of them are enough.
    race_phases : tuple of float
        Parts of the phases there.
    race_noise : float
        Noise on margins in clips there, at least.
    """

    means: float = 0.04
    gram: float = 0.12
    slope: float = 0.03
    questions: float = 0.06
    least_level: float = 30.0
    hopeless: float = 12.0
    class_hopeless: float = 10.0
    class_constant: float = 10.0
    few_records: float = 110.0
    middle: Middle = Middle(clip_quantile=0.65, clip_factor=1.3, length_quantile=0.7, length_factor=1.2)
    low: Middle = Middle(clip_quantile=0.5, clip_factor=1.8, length_quantile=0.75, length_factor=1.15)
    gram_noise: float = 8.0
    clip_growth: float = 0.35
    clip_from: float = 25.0
    phases: tuple[float, ...] = (0.15, 0.25, 0.60)
    lean_phases: tuple[float, ...] = (0.4, 0.6)
    noise: float = 0.5
    noise_slope: float = 3.0
    noise_range: tuple[float, float] = (0.25, 1.2)
    burn: float = 3.0
    steps: int = 60
    class_steps: int = 34
    most_steps: int = 400
    stable: float = 19.0
    class_stable: float = 57.0
    momentum: float = 0.9
    class_momentum: float = 0.7
    class_clip: float = 0.45
    class_noise: float = 1.0
    class_start: float = 0.5
    soft: float = 0.7
    soft_columns: int = 300
    soft_kappa: float = 0.7
    soft_noise: float = 1.5
    constant: float = 0.3
    lean_noise: float = 0.35
    finish: float = 0.02
    finish_clip: float = 5.0
    slope_steps: int = 30
    slope_skipped: int = 8
    guess: float = 0.75
    race_columns: int = 60
    race_phases: tuple[float, ...] = (0.12, 0.23, 0.65)
    race_noise: float = 0.9
