"""Leak checks: what stands around a private model and looks at the rows without paying for it.

A private estimator cannot see what was done to X before ``fit`` was called. This reads the
arguments of a pipeline, never any data, runs what is not ours or scikit-learn's own on synthetic
rows, and names what would break the guarantee.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from ..core import PrivacyLeakError
from ..io.scikit import BaseEstimator
from .environment_checks import HARMLESS, LEARNS, UNLESS, WRAPPERS, KnownStep
from .transformer_checks import Rows, mixes

#: Wrappers that pass the rows on as they are, and the argument that holds what they wrap.
TRANSPARENT = {"FixedThresholdClassifier": "estimator", "PrivateSearch": "estimator"}

#: Steps that hold other steps, and the argument that lists them.
CONTAINERS = {"Pipeline": "steps", "FeatureUnion": "transformer_list", "ColumnTransformer": "transformers"}

#: Classes of scikit-learn that run code, or hold steps, of somebody else.
HOLDS_CODE = frozenset(("FunctionTransformer", "FrozenEstimator"))

#: Found by running a step on synthetic rows.
MIXES = KnownStep(
    "leak",
    "mixes rows: what it makes of a row depends on the other rows, as synthetic rows show",
    "Write it as a function of one row, with public constants in place of anything that is taken over rows.",
)
#: A class with the name of one of scikit-learn's, from elsewhere.
NOT_SKLEARN = KnownStep(
    "unknown", "is not scikit-learn's own, and what it does with the rows is not known", "Use scikit-learn's own."
)

#: Fitted steps that look up each cell of a row by itself, and refuse what they do not know: synthetic
#: rows cannot try them.
REVIEWED = frozenset(("OneHotEncoder", "OrdinalEncoder", "DictVectorizer", "FeatureHasher"))

#: Classes of scikit-learn whose `transform` starts at, and stops by, numbers of all rows: near
#: convergence synthetic rows show little of it.
MIXING = frozenset(("NMF", "MiniBatchNMF"))

#: Largest relative difference of a row alone and together with other rows that is taken for rounding of a fitted
#: step, which then gets every row alone. The largest of scikit-learn's is 2e-6 (cosines of 1e9 in
#: RBFSampler), the smallest of other steps 7e-3 (NMF).
ROUNDING = 1e-5

#: Our own steps that spend a budget.
PRICED = frozenset(("PrivateBounds", "PrivateScaler", "NoisyCount"))


@dataclass(frozen=True)
class Finding:
    """Something that the guarantee does not cover.

    Attributes
    ----------
    where : str
        Its place: names of steps, from the outside in.
    what : str
        Its class.
    severity : {"leak", "cost", "unknown"}
        It looks at the rows without paying for it; it spends more than a statement says; or nothing is known about it.
    cause, advice : str
        What it does, and what to do instead.
    """

    where: str
    what: str
    severity: str
    cause: str
    advice: str

    def __str__(self) -> str:
        return f"{self.where} ({self.what}) {self.cause}. {self.advice}"


def check_pipeline(estimator: BaseEstimator, *, strict: bool = False, public: tuple[str, ...] = ()) -> list[Finding]:
    """What stands around a private model and breaks its guarantee.

    Parameters
    ----------
    estimator : estimator
        A pipeline, a search, or any estimator with a private model inside. Only its arguments are
        read; nothing in it is fitted.
    strict : bool
        Raise instead of returning findings.
    public : tuple of str
        Names of steps that were fitted on public data, or learn nothing: they are believed. (A
        ``FrozenEstimator`` is, too.)

    Returns
    -------
    list of Finding
        Empty if nothing was found. Functions, and steps that are not scikit-learn's own, are run on
        synthetic rows, which is a test and not a proof; ``cross_val_score`` called on a model cannot
        be seen.

    Raises
    ------
    PrivacyLeakError
        If `strict` and anything was found.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import Normalizer, StandardScaler
    >>> from dpsparse import SparseClassifier, audit
    >>> model = SparseClassifier(row_norm=1.0)
    >>> audit.check_pipeline(make_pipeline(Normalizer(), model))
    []
    >>> [finding] = audit.check_pipeline(make_pipeline(StandardScaler(), model))
    >>> finding.cause
    'learns the location and scale of every column from all rows'
    """
    found = list(_findings(estimator, "", public))
    if strict and found:
        raise PrivacyLeakError(" ".join(str(finding) for finding in found))
    return found


def refuse_mixing_step(name: str, step: BaseEstimator, like: Rows) -> None:
    """Refuse a step with third-party code that mixes rows or cannot be tried.

    It is tried on artificial rows of this width and these types.

    Parameters
    ----------
    name : str
        Of the step.
    step : transformer
    like : rows
        Those that the step would get: their width, column names and types are used, and no value.

    Raises
    ------
    PrivacyLeakError
    """
    if not _runs_foreign_code(step):
        return
    verdict = mixes(step, like)
    if verdict is None:
        raise PrivacyLeakError(_untried(name, step))
    if verdict:
        raise PrivacyLeakError(str(_finding(step, name, MIXES)))


def refuse_mixing_transform(name: str, step: BaseEstimator, like: Rows) -> bool:
    """Refuse a fitted step whose `transform` mixes rows, or cannot be tried, on synthetic rows, no matter who wrote it.

    Parameters
    ----------
    name : str
        Of the step.
    step : transformer
        Fitted. Of steps that hold others each is tried by itself, and where it cannot be, with the
        others.
    like : rows
        Those that the step would get: their width, column names and types are used, and no value.

    Returns
    -------
    bool
        Whether rows come out alike to the last bit beside any other rows. If not, as with products of
        matrices, whose sums are taken in an order that depends on the number of rows, private rows
        have to go through it one by one.

    Raises
    ------
    PrivacyLeakError
    """
    exact = True
    for part in _parts(step):
        if _ours(part):
            continue
        tried, rows = part, like if part is step else None
        verdict = mixes(part, rows, fitted=True, tolerance=ROUNDING)
        if verdict is None and part is not step:
            tried, rows = step, like
            verdict = mixes(step, like, fitted=True, tolerance=ROUNDING)
        if verdict is None and not (_sklearn(part) and type(part).__name__ in REVIEWED):
            raise PrivacyLeakError(_untried(name, part))
        if verdict or (_sklearn(part) and type(part).__name__ in MIXING):
            advice = (
                "Use a step that takes every row by itself, such as PCA, TruncatedSVD or a product "
                "with a public matrix."
            )
            raise PrivacyLeakError(str(_finding(part, name, replace(MIXES, advice=f"{advice} {MIXES.advice}"))))
        exact &= verdict is None or not mixes(tried, rows, fitted=True, tolerance=0.0)
    return exact


def _parts(step: BaseEstimator) -> Iterator[BaseEstimator]:
    """The fitted steps inside scikit-learn's own containers; any other step itself."""
    name = type(step).__name__ if _sklearn(step) else ""
    if name == "FrozenEstimator":
        yield from _parts(step.estimator)
    elif name in CONTAINERS:
        held = "transformers_" if name == "ColumnTransformer" else CONTAINERS[name]  # what was fitted
        for _, inner, *_ in getattr(step, held):
            if not isinstance(inner, str) and inner is not None:
                yield from _parts(inner)
    else:
        yield step


def _untried(name: str, step: BaseEstimator) -> str:
    return (
        f"step {name!r} ({type(step).__name__}) does not run on synthetic rows with these columns, "
        "so that it cannot be seen whether "
        "it mixes rows. Prepare such columns with a declared dictionary, or write the step so that it takes any value."
    )


def _runs_foreign_code(step: BaseEstimator) -> bool:
    """Whether anything in a step is neither exactly scikit-learn's nor ours, or holds a function."""
    inside = [value for value in (step, *step.get_params(deep=True).values()) if _estimator(value)]
    return any(_known_name(v) in HOLDS_CODE if _sklearn(v) else not _ours(v) for v in inside)


def _findings(estimator: BaseEstimator, path: str, public: tuple[str, ...]) -> Iterator[Finding]:
    """Findings about an estimator that ends in a model."""
    name = _known_name(estimator)
    if not _holds_private(estimator):
        cause = "holds no model of dpsparse, so nothing here is private"
        yield _finding(estimator, path, KnownStep("unknown", cause, "Put a private model into it."))
    elif name in ("Pipeline", "TransformedTargetRegressor") and not (_sklearn(estimator) or _ours(estimator)):
        yield _finding(estimator, path, NOT_SKLEARN)
    elif name == "Pipeline":
        yield from _steps(estimator, path, public)
    elif name == "TransformedTargetRegressor":
        from sklearn.preprocessing import FunctionTransformer

        if estimator.func is not None and mixes(FunctionTransformer(estimator.func), np.empty((0, 1))):
            yield _finding(estimator, _join(path, "func"), MIXES)
        if estimator.transformer is not None:
            yield from _transformer(estimator.transformer, _join(path, "transformer"), public)
        yield from _findings(estimator.regressor, _join(path, "regressor"), public)
    elif name in TRANSPARENT:
        yield from _findings(getattr(estimator, TRANSPARENT[name]), _join(path, TRANSPARENT[name]), public)
    elif name in WRAPPERS:
        yield _finding(estimator, path, WRAPPERS[name])
        for key, inner in _inside(estimator):
            yield from _findings(inner, _join(path, key), public)
    elif not _ours(estimator):
        word = KnownStep(
            "unknown", "holds a private model, and what it does with the rows is not known", "Fit the model itself."
        )
        yield _finding(estimator, path, word)


def _steps(pipeline: BaseEstimator, path: str, public: tuple[str, ...]) -> Iterator[Finding]:
    *before, (last_name, last) = pipeline.steps
    priced = []
    for name, step in before:
        yield from _transformer(step, _join(path, name), public)
        if type(step).__name__ in PRICED and _ours(step):
            priced.append(name)
    if priced and not _ours(pipeline):
        cause = f"has {' and '.join([*priced, last_name])} spend a budget each, and no statement covers them together"
        yield _finding(pipeline, path, KnownStep("cost", cause, "Use dpsparse.make_private_pipeline."))
    yield from _findings(last, _join(path, last_name), public)


def _transformer(step: BaseEstimator, path: str, public: tuple[str, ...]) -> Iterator[Finding]:
    """Findings about something that rows go through before a model."""
    name = _known_name(step)
    if (
        isinstance(step, str)
        or step is None
        or path in public
        or path.rsplit(".", maxsplit=1)[-1] in public
        or _ours(step)
    ):
        return
    if name in CONTAINERS and not _sklearn(step):
        yield _finding(step, path, NOT_SKLEARN)
    elif name in CONTAINERS:
        for inner_name, inner, *_ in getattr(step, CONTAINERS[name]):
            yield from _transformer(inner, _join(path, inner_name), public)
        if name == "ColumnTransformer":
            yield from _transformer(step.remainder, _join(path, "remainder"), public)
    elif name in WRAPPERS and _holds_private(step):
        yield _finding(step, path, WRAPPERS[name])
    elif _sklearn(step) and (name in HARMLESS or (name in UNLESS and UNLESS[name](step.get_params(deep=False)))):
        if name in HOLDS_CODE and mixes(step):
            yield _finding(step, path, MIXES)
    elif name in LEARNS and not (name in UNLESS and UNLESS[name](step.get_params(deep=False))):
        yield _finding(step, path, LEARNS[name])
    elif not _learns(step):  # code of somebody else, which says that it learns nothing
        if mixes(step):
            yield _finding(step, path, MIXES)
    else:
        advice = (
            "If it learns nothing, or was fitted on public data, say so: "
            f"public=({path.rsplit('.', maxsplit=1)[-1]!r},)."
        )
        yield _finding(step, path, KnownStep("leak", "is fitted on all rows before the private model", advice))


def _learns(step: BaseEstimator) -> bool:
    """Whether a transformer says of itself that it has to be fitted."""
    from sklearn.utils import get_tags

    try:
        return bool(get_tags(step).requires_fit)
    except (AttributeError, TypeError):  # not an estimator of scikit-learn: nothing is known
        return True


def _known_name(estimator: BaseEstimator) -> str:
    """The name of the first class of scikit-learn, or ours, that an object is."""
    for kind in type(estimator).__mro__:
        if kind.__module__.split(".")[0] == "sklearn" or (
            kind.__module__.startswith("dpsparse.") and kind.__name__ in TRANSPARENT
        ):
            return kind.__name__
    return type(estimator).__name__


def _sklearn(estimator: BaseEstimator) -> bool:
    """Whether an object is exactly of a class of scikit-learn: a subclass may do anything."""
    return type(estimator).__module__.split(".")[0] == "sklearn"


def _ours(estimator: BaseEstimator) -> bool:
    return type(estimator).__module__.split(".")[0] == "dpsparse"


def _inside(estimator: BaseEstimator) -> list[tuple[str, object]]:
    """Models directly inside a wrapper that are, or hold, private ones."""
    direct = estimator.get_params(deep=False)
    listed = [pair for value in direct.values() if isinstance(value, list) for pair in value if isinstance(pair, tuple)]
    pairs = [*direct.items(), *((pair[0], pair[1]) for pair in listed)]
    return [(str(key), value) for key, value in pairs if _estimator(value) and _holds_private(value)]


def _estimator(value: object) -> bool:
    return callable(getattr(value, "get_params", None)) and not isinstance(value, type)


def _holds_private(estimator: BaseEstimator) -> bool:
    """Whether a model of ours is in there, at any depth."""
    if not _estimator(estimator):
        return False
    everything = [estimator, *estimator.get_params(deep=True).values()]
    return any(_estimator(value) and _ours(value) for value in everything)


def _finding(estimator: BaseEstimator, path: str, word: KnownStep) -> Finding:
    return Finding(path or "the estimator", type(estimator).__name__, word.severity, word.cause, word.advice)


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
