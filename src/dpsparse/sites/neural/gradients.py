r"""Clipped gradients of a network, row by row, as exact integer sums.

Guarantee
---------
The gradient :math:`g_i` of one row, over all D parameters, is scaled to norm at most C and
truncated towards zero to whole multiples of :math:`C/2^{20}`:
:math:`q_i = \mathrm{trunc}(g_i\,f_i\,2^{20}/C)`, :math:`f_i = \min(1, C(1-10^{-6})/\|g_i\|)`. The
norm is computed in float64, right to a part of :math:`D\,2^{-53}`, for a chain of layers of
:math:`2^{-23}`; factor and product are floats of 24 bits and wrong by at most :math:`2^{-23}`
together. For all of that :math:`10^{-6}` leaves space up to :math:`D = 10^9`, and truncation only
shrinks: :math:`\|q_i\| \le 2^{20}`. Where a gradient is not finite the row adds nothing, and so
does a row on which the network or the loss fails. The rows of a chunk, at most 128, are added as
32-bit integers: no sum exceeds :math:`2^{27}`. Chunks are added as 64-bit integers.

*Rows by themselves.* Rows go through `torch.func.vmap`, or through layers that cannot mix them
(`layers`). :math:`q_i` must not depend on who else is computed beside row i, to the last bit. Rows
are therefore computed in chunks of one fixed size, filled with zeros, by one thread, and `rehearse`
tries on synthetic rows whether each place of a chunk gives the same bits beside any other rows. Where it
does not, every row is computed alone. Networks whose rows mix (batch normalisation) or that draw at
random (dropout) are refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import torch
from numpy.typing import NDArray
from torch.func import functional_call, grad, vmap

from ...core import PrivacyError
from ...core.facts import Vector
from .layers import Criterion, chain_of

#: Units of the lattice in the clip of one row.
UNITS = 2.0**20
#: Space for the rounding of norms.
SLACK = 1e-6
#: Clips beyond these would leave the range of 32-bit floats.
SMALLEST_CLIP, LARGEST_CLIP = 1e-20, 1e20
#: Gradients beyond this norm count as not finite: below it, no product of two factors is beyond the 32-bit floats.
LARGEST_NORM = 1e38
#: Rows that are computed at once at most, and numbers of their gradients: 256 MB.
CHUNK, NUMBERS = 128, 2**26
#: Synthetic rows that are tried in every place of a chunk.
PLACES = 8
#: Rows that are computed at once are a multiple of it, so that registers are filled whatever the
#: width of a layer: a rest is computed by other functions.
WHOLE = 16

Integers = NDArray[np.int64]
#: Networks that were tried, and how many rows at once each of them may compute.
_TRIED: WeakKeyDictionary[torch.nn.Module, dict[tuple[Any, ...], int]] = WeakKeyDictionary()


@contextmanager
def _one_way() -> Iterator[None]:
    """Numbers of 32 bits and one thread, whatever the process is set to.

    How a tensor is shared among threads depends on its size, and last bits on that.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.autocast("cpu", enabled=False):
            yield
    finally:
        torch.set_num_threads(threads)


class RowGradientBlock(NamedTuple):
    """Gradients of some rows, shape (rows, dimension), and their norms in float64: **private**."""

    values: torch.Tensor
    norms: torch.Tensor

    def each(self) -> Iterator[tuple[torch.Tensor, float]]:
        """One after the other."""
        return zip(self.values, self.norms.tolist(), strict=True)


def clipped_units(row: torch.Tensor, norm: float, clip: float) -> torch.Tensor:
    """One gradient within the clip, in whole units; zero where it is not finite.

    Written over `row`; the conversion to integers truncates.
    """
    if not norm <= LARGEST_NORM:
        return torch.zeros(row.shape, dtype=torch.int32)
    return row.mul_(min((1 - SLACK) * UNITS / max(norm, 1e-300), UNITS / clip)).to(torch.int32)


class RowGradients:
    """Gradients of a network at any parameters, one for each row.

    Parameters
    ----------
    module : torch.nn.Module
        The network; its parameters are the public start, its buffers stay as they are.
    criterion : function of outputs and targets
    chunk : int, optional
        Rows at once, cut to a multiple of `WHOLE` or to 1; default: as many as their gradients
        leave space for, up to `CHUNK`.
    """

    def __init__(self, module: torch.nn.Module, criterion: Criterion, chunk: int | None = None) -> None:
        self._module = module
        self._shapes = {name: tuple(p.shape) for name, p in module.named_parameters()}
        if not self._shapes:
            raise ValueError("the network has no parameters.")
        self._sizes = [int(np.prod(shape, dtype=np.int64)) for shape in self._shapes.values()]
        self._buffers = {name: b.detach().clone() for name, b in module.named_buffers()}
        self._criterion = criterion
        at_once = min(CHUNK, NUMBERS // self.dimension if chunk is None else chunk)
        self._chunk = at_once - at_once % WHOLE or 1
        self._chain = chain_of(module)
        self._each = vmap(grad(self._loss), in_dims=(None, 0, 0))
        self._together = grad(self._losses)

    @property
    def dimension(self) -> int:
        """Number of parameters."""
        return sum(self._sizes)

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Names and shapes of the parameters, in their order."""
        return dict(self._shapes)

    def start(self) -> Vector:
        """The parameters that the network came with, as one vector."""
        parts = [p.detach().reshape(-1).to(torch.float64).numpy() for _, p in self._module.named_parameters()]
        return np.concatenate(parts)

    def parameters(self, w: Vector) -> dict[str, torch.Tensor]:
        """A vector as the parameters of the network."""
        whole = torch.from_numpy(np.ascontiguousarray(w, dtype=np.float32))
        parts = torch.split(whole, self._sizes)
        return {name: part.reshape(shape) for (name, shape), part in zip(self._shapes.items(), parts, strict=True)}

    def outputs(self, w: Vector, X: torch.Tensor) -> torch.Tensor:
        """Outputs of the network for some rows; for public rows, and for what was released."""
        with torch.no_grad():
            return functional_call(self._module, (self.parameters(w), self._buffers), (X,))

    def _loss(self, parameters: dict[str, torch.Tensor], x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        output = functional_call(self._module, (parameters, self._buffers), (x.unsqueeze(0),))
        return self._criterion(output, y.unsqueeze(0))

    def _losses(self, parameters: dict[str, torch.Tensor], X: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return vmap(self._loss, in_dims=(None, 0, 0))(parameters, X, y).sum()

    # ---------------------------------------------------------------------------------------------- sums

    def total(self, w: Vector, X: torch.Tensor, y: torch.Tensor, taking: NDArray[np.bool_], clip: float) -> Integers:
        """Sum of the clipped gradients of the rows that take part, in units of ``clip / UNITS``: **private**."""
        total = np.zeros(self.dimension, dtype=np.int64)
        # the same memory for all chunks: new pages cost more than gradients
        held = torch.empty((self._chunk, self.dimension))
        for place in self._places(taking):
            part = torch.zeros(self.dimension, dtype=torch.int32)
            for row, norm in self.silent(w, X[place], y[place], held).each():
                part += clipped_units(row, norm, clip)
            total += part.numpy()
        return total

    def exact(self, w: Vector, X: torch.Tensor, y: torch.Tensor, taking: NDArray[np.bool_]) -> Vector:
        """Sum of the gradients, neither clipped nor protected: for baselines.

        Rows whose gradient is not finite add nothing.
        """
        total = np.zeros(self.dimension)
        for place in self._places(taking):
            total += self._exact(w, X[place], y[place]).numpy()
        return total

    def _exact(self, w: Vector, X: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """Sum of the gradients of a chunk; row by row where one of them fails or is not finite."""
        try:
            found = self._together(self.parameters(w), X, y)
            part = torch.cat([g.reshape(-1) for g in found.values()]).to(torch.float64)
        except Exception:
            part = torch.full((1,), torch.nan)
        if bool(torch.isfinite(part).all()):
            return part
        rows = self.silent(w, X, y).values.to(torch.float64)
        return rows[torch.isfinite(rows).all(dim=1)].sum(dim=0)

    def _places(self, taking: NDArray[np.bool_]) -> tuple[torch.Tensor, ...]:
        """The rows that take part, in chunks."""
        chosen = np.flatnonzero(taking)
        return torch.split(torch.from_numpy(chosen), self._chunk) if chosen.size else ()

    def chunk(self, w: Vector, X: torch.Tensor, y: torch.Tensor, held: torch.Tensor | None = None) -> RowGradientBlock:
        """Gradients of up to a chunk of rows. What the network raises passes: for synthetic rows, and for `silent`.

        They are written to `held`, if that is given, which has as many rows as a chunk.
        """
        count, missing = len(X), self._chunk - len(X)
        filled = torch.cat([X, torch.zeros((missing, *X.shape[1:]), dtype=X.dtype)]).contiguous()
        targets = torch.cat([y, torch.zeros((missing, *y.shape[1:]), dtype=y.dtype)]).contiguous()
        held = torch.empty((self._chunk, self.dimension)) if held is None else held
        with _one_way():
            if self._chain is not None and self._chain.fits(tuple(X.shape[1:])):
                norms = self._chain.gradients(self.parameters(w), filled, targets, self._criterion, held)
                return RowGradientBlock(held[:count], norms[:count])
            found = self._each(self.parameters(w), filled, targets)
            torch.cat([g.reshape(self._chunk, -1) for g in found.values()], dim=1, out=held)
            norms = torch.stack([torch.linalg.vector_norm(v, dtype=torch.float64) for v in held[:count]])
        return RowGradientBlock(held[:count], norms)

    def silent(self, w: Vector, X: torch.Tensor, y: torch.Tensor, held: torch.Tensor | None = None) -> RowGradientBlock:
        """The same of private rows.

        Where the network or the loss fails on a chunk, its rows are computed one by one, and those
        on which it fails have gradient zero: a failure raises nothing, reveals nothing, and changes
        nothing for other rows.
        """
        try:
            return self.chunk(w, X, y, held)
        except Exception:  # its words could be about these rows
            alone = [self._alone(w, X[[i]], y[[i]]) for i in range(len(X))]
            return RowGradientBlock(torch.cat([one.values for one in alone]), torch.cat([one.norms for one in alone]))

    def _alone(self, w: Vector, x: torch.Tensor, y: torch.Tensor) -> RowGradientBlock:
        try:
            return self.chunk(w, x, y)
        except Exception:
            return RowGradientBlock(torch.zeros((1, self.dimension)), torch.zeros(1, dtype=torch.float64))

    @staticmethod
    def whole(rows: RowGradientBlock, clip: float) -> torch.Tensor:
        """Gradients within the clip, in whole units. Written over `rows`."""
        return torch.stack([clipped_units(row, norm, clip) for row, norm in rows.each()])

    # ---------------------------------------------------------------------------------------------- trial runs

    def rehearse(self, shape: tuple[int, ...], target: torch.Tensor) -> None:
        """Try on synthetic rows that each row is computed by itself; go over to single rows where chunks differ.

        Some of them are a thousand times larger: beside rows on which the network fails, others must be what they were.

        Parameters
        ----------
        shape : tuple of int
            Of one row.
        target : tensor of shape (1, ...)
            The target of which the loss asks most: the last class.
        """
        tried = _TRIED.setdefault(self._module, {})
        place = (shape, str(target.dtype), tuple(target.tolist()), self._criterion, self._chunk, self._chain is None)
        if place in tried:  # sites of one process may share a network
            self._chunk = tried[place]
            return
        if self._chunk > 1 and not self._independent_rows(shape, target):
            self._chunk = 1
        if self._chunk == 1 and not self._independent_rows(shape, target):
            raise PrivacyError(
                "the network does not treat every row by itself: its gradients changed with the company of a row, or "
                "from one time to the next. Batch normalisation and dropout cannot be trained here."
            )
        tried[place] = self._chunk

    @property
    def rows_at_once(self) -> int:
        """How many rows are computed at once."""
        return self._chunk

    def _independent_rows(self, shape: tuple[int, ...], target: torch.Tensor) -> bool:
        """Whether rows have the same bits in every position and among any other rows.

        This is tried with artificial rows, at the start and at other parameters: those of a start
        may be zeros, with which many differences do not show.
        """
        generator = torch.Generator().manual_seed(0)
        count = max(self._chunk, 3)
        X = torch.rand((count, *shape), generator=generator) * 2 - 1
        y = target.expand(count, *target.shape[1:]).clone()
        kept = [0, count // 2, count - 1]
        company = X * 1e3
        company[kept] = X[kept]
        order, straight = torch.randperm(count, generator=generator), torch.arange(count)
        try:
            for w in (self.start(), self._elsewhere(generator)):
                known = self._bits(self.chunk, w, X, y, straight)
                same = [torch.equal(self._bits(self.chunk, w, X, y, order), known)]
                same.append(torch.equal(self._bits(self.silent, w, company, y, straight)[kept], known[kept]))
                for row in range(min(count, PLACES)):
                    alone = self._bits(self.chunk, w, X[[row]], y[[row]], straight[:1])
                    every = self._bits(self.chunk, w, X[[row]].expand_as(X), y, straight)
                    same += [torch.equal(alone[0], known[row]), torch.equal(every, alone.expand_as(every))]
                if not all(same):
                    return False
            return True
        except Exception as error:
            raise PrivacyError(
                "the gradients of single rows cannot be computed for this network "
                f"({type(error).__name__}): of synthetic rows of shape {shape} with target "
                f"{target.tolist()[0]}. A network for classes needs an output for each of them."
            ) from None

    def _elsewhere(self, generator: torch.Generator) -> Vector:
        """Parameters without zeros, of the usual size for the inputs of a layer."""
        parts = [
            torch.randn(size, generator=generator) / math.sqrt(max(1, size // shape[0] if shape else 1))
            for size, shape in zip(self._sizes, self._shapes.values(), strict=True)
        ]
        return np.asarray(torch.cat(parts).to(torch.float64).numpy())

    def _bits(
        self, compute: Callable[..., RowGradientBlock], w: Vector, X: torch.Tensor, y: torch.Tensor, order: torch.Tensor
    ) -> torch.Tensor:
        """Every bit of the gradients of rows and of their norms, which were computed in some order, put back."""
        parts = [compute(w, X[place], y[place]) for place in torch.split(order, self._chunk)]
        found = [
            torch.cat([part.values.view(torch.int32), part.norms[:, None].view(torch.int32)], dim=1) for part in parts
        ]
        back = torch.empty((len(order), found[0].shape[1]), dtype=torch.int32)
        back[order] = torch.cat(found)
        return back


def to_vector(tensors: dict[str, Any], shapes: dict[str, tuple[int, ...]]) -> Vector:
    """Parameters by name as one vector; refuses others than were expected."""
    if set(tensors) != set(shapes) or any(tuple(tensors[n].shape) != s for n, s in shapes.items()):
        raise ValueError("the parameters are those of another network.")
    return np.concatenate([np.asarray(tensors[n], dtype=np.float64).ravel() for n in shapes])
