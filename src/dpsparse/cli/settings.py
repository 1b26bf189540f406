"""Fields of recipes, losses and public files from options, with their types checked."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

from .exits import Refusal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..queries.losses import Loss
    from ..recipes import Recipe

#: Words for types, as users know them.
WORDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a word"}
#: What options with NAME=VALUE take.
NAMED = {"--set": "FIELD=VALUE, such as steps=20", "--from-theory": "NAME=VALUE, such as n_rows=10000"}
TRUTHS = {"true": True, "yes": True, "false": False, "no": False}


def types_of(kind: type, field: Field[Any]) -> tuple[type, ...]:
    """Plain types that a field takes; empty for one that cannot be typed on a command line."""
    return plain_types(get_type_hints(kind).get(field.name))


def plain_types(hint: object) -> tuple[type, ...]:
    """The plain types among those of an annotation."""
    parts = getattr(hint, "__args__", (hint,))
    return tuple(part for part in (bool, int, float, str, type(None)) if part in parts)


def typed(option: str, taken: tuple[type, ...], text: str) -> object:
    """The value that a text stands for; refused where no such thing is taken."""
    if type(None) in taken and text.lower() in ("none", "auto" if str not in taken else "none"):
        return None
    if bool in taken and text.lower() in TRUTHS:
        return TRUTHS[text.lower()]
    for number in (int, float):
        if number in taken:
            try:
                return number(text)
            except ValueError:
                continue
    if str in taken:
        return text
    words = [WORDS[one] for one in taken if one in WORDS]
    raise Refusal(f"{option}: {' or '.join(words) or 'nothing that can be typed here'} was expected, got {text!r}.")


def assigned(option: str, given: Sequence[str], known: Mapping[str, tuple[type, ...]], owner: str) -> dict[str, Any]:
    """Values by name from texts NAME=VALUE."""
    chosen: dict[str, Any] = {}
    for text in given:
        key, sign, value = text.partition("=")
        if not sign:
            raise Refusal(f"{option} takes {NAMED[option]}, got {text!r}.")
        if key not in known:
            close = difflib.get_close_matches(key, known, n=1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            raise Refusal(
                f"{owner} has no {'field' if option == '--set' else 'constant'} {key!r}.{hint} "
                f"It has {', '.join(known) or 'none'}."
            )
        chosen[key] = typed(f"{option} {key}", known[key], value)
    return chosen


def theory_constants(of: type[Recipe], given: Sequence[str]) -> dict[str, Any]:
    """Constants of a recipe's theorem."""
    from ..recipes.printed import constants_of

    if not hasattr(of, "from_theory"):
        raise Refusal(f"no theorem prescribes settings of recipe {of.name!r}.")
    known = {name: plain_types(hint) for name, hint in constants_of(of).items()}
    return assigned("--from-theory", given, known, f"the theorem of recipe {of.name!r}")


def set_fields(name: str, given: Sequence[str], auxiliary: Path | None) -> str | Recipe:
    """A recipe with some of its fields set; its name alone where none are."""
    from .. import recipes

    if not given and auxiliary is None:
        return name
    kind = recipes.get(name)
    known = {field.name: field for field in fields(kind)}
    chosen = assigned("--set", given, {n: types_of(kind, one) for n, one in known.items()}, f"recipe {name!r}")
    if auxiliary is not None:
        if "auxiliary" not in known:
            raise Refusal(f"--auxiliary belongs to recipes with public rows, and {name!r} takes none.")
        chosen["auxiliary"] = public_matrix(auxiliary)
    return replace(kind(), **chosen)


def default_of(field: Field[Any]) -> object:
    """The default of a field; None where it is made."""
    return field.default if field.default is not MISSING else None


def loss_option(text: str | None) -> Loss | None:
    """A loss by its name, with settings behind a colon: ``huber`` or ``huber:threshold=0.5``."""
    from ..queries import losses

    if text is None:
        return None
    try:
        return losses.named_loss(text)
    except ValueError as error:
        raise Refusal(f"--loss: {error}") from None


def public_matrix(path: Path) -> NDArray[np.float64]:
    """A public table of numbers: npy, npz with X, or CSV."""
    import numpy as np
    import scipy.sparse as sp

    from ..io.files import read_table

    return np.asarray(sp.csr_matrix(read_table(path).X, dtype=float).toarray())


def public_vector(path: Path | None) -> NDArray[np.float64] | None:
    """A public start: npy or npz or CSV with one row or one column."""
    import numpy as np

    if path is None:
        return None
    if path.suffix.lower() == ".npy":
        try:
            found = np.load(path, allow_pickle=False)
        except (OSError, ValueError):
            raise Refusal(f"{path} could not be read as npy. Write the file again.") from None
    else:
        found = public_matrix(path)
    if found.dtype.kind not in "biuf" or found.size != max(found.shape, default=0):
        raise Refusal(f"{path} was expected to hold one number for each feature.")
    return np.asarray(found, dtype=float).ravel()
