r"""Gradients of the rows of a chain of layers, all rows at once.

For a layer :math:`z = W a + b` the gradient of one row is :math:`\delta\,a^\top` in W and
:math:`\delta` in b, where :math:`\delta` is that of its loss in z; for a convolution, the patches
of the image are the columns of a. One pass forward and one backward over a chunk give every a and
:math:`\delta`, and :math:`\|\delta\,a^\top\| = \|\delta\|\|a\|` gives norms without a second look
at the products.

Guarantee
---------
Rows cannot mix, whatever they hold. A chain is an `nn.Sequential` of the listed kinds of layers,
none of them twice and none altered. What a kind does is called as a function of
`torch.nn.functional`, so that nothing that hangs on a module (hooks, another forward) has a part in
it; each of these functions maps row i of its input to row i of its output, if the first axis of the
input is that of the rows, which shapes tell (`fits`). The loss is taken of each row alone (`vmap`).
Any other network is no chain, and is left to `torch.func`, where rows cannot mix either. That the
last bits of a row do not depend on its company is tried by `RowGradients.rehearse`, as for every
network.

Norms are those of the numbers that are written, to a part of :math:`2^{-23}`: factors are floats of
32 bits, which is looked at, a product of two is wrong by a part of :math:`2^{-24}`, and the norms
are computed in float64.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn
from torch.func import vmap
from torch.nn import functional
from torch.nn.modules import module as modules

#: Loss of outputs (1, ...) and targets (1,): a number.
Criterion = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
#: Numbers in 64 bytes. Products of matrices take other instructions where a row begins at an odd
#: place, so that last bits would depend on it: zeros are added up to such a length.
ALIGNED = 16


def _always(layer: object) -> bool:
    return True


def _pairs(layer: nn.Module) -> bool:
    """A convolution whose settings are what they say.

    Pairs of numbers, filters of that size, zeros around the image.
    """
    pairs = all(isinstance(v, tuple) for v in (layer.kernel_size, layer.stride, layer.padding, layer.dilation))
    shape = (layer.out_channels, layer.in_channels, *layer.kernel_size) if pairs else ()
    return bool(pairs and layer.groups == 1 and layer.padding_mode == "zeros" and tuple(layer.weight.shape) == shape)


def _max_pool(layer: nn.Module, x: torch.Tensor) -> torch.Tensor:
    size, step = layer.kernel_size, layer.stride
    return functional.max_pool2d(x, size, step, layer.padding, layer.dilation, ceil_mode=layer.ceil_mode)


def _mean_pool(layer: nn.Module, x: torch.Tensor) -> torch.Tensor:
    size, step, whole = layer.kernel_size, layer.stride, layer.count_include_pad
    return functional.avg_pool2d(x, size, step, layer.padding, layer.ceil_mode, whole, layer.divisor_override)


@dataclass(frozen=True)
class Kind:
    """A kind of layer that treats every row by itself.

    Parameters
    ----------
    axes : int or None
        Axes of its input; None: any.
    does : function of layer and input, or None
        What it does; None: it has parameters, and `_pass` says what.
    suits : function of a layer
        Whether its settings are such that it treats every row by itself, and `does` does the same.
    """

    axes: int | None
    does: Callable[[nn.Module, torch.Tensor], torch.Tensor] | None
    suits: Callable[[nn.Module], bool] = _always


ROW_BY_ROW: dict[type[nn.Module], Kind] = {
    nn.Linear: Kind(2, None),
    nn.Conv2d: Kind(4, None, _pairs),
    nn.MaxPool2d: Kind(4, _max_pool, lambda layer: not layer.return_indices),
    nn.AvgPool2d: Kind(4, _mean_pool),
    nn.Flatten: Kind(None, lambda layer, x: x.flatten(1), lambda layer: (layer.start_dim, layer.end_dim) == (1, -1)),
    nn.LogSoftmax: Kind(2, lambda layer, x: functional.log_softmax(x, 1), lambda layer: layer.dim in (1, -1)),
    nn.ReLU: Kind(None, lambda layer, x: torch.relu(x)),
    nn.Tanh: Kind(None, lambda layer, x: torch.tanh(x)),
    nn.Sigmoid: Kind(None, lambda layer, x: torch.sigmoid(x)),
}


class LayerChain:
    """Layers that follow one another and treat every row by itself; made by `chain_of`."""

    def __init__(self, layers: list[tuple[str, nn.Module]]) -> None:
        self._layers = layers
        self._tried: dict[tuple[int, ...], bool] = {}

    def fits(self, shape: tuple[int, ...]) -> bool:
        """Whether rows of this shape keep an axis of their own through all layers.

        With one axis fewer, rows would be taken for channels.
        """
        if shape not in self._tried:
            self._tried[shape] = self._passes(shape)
        return self._tried[shape]

    def _passes(self, shape: tuple[int, ...]) -> bool:
        try:
            with torch.no_grad():
                weights = {f"{name}.{kind}": p for name, layer in self._layers for kind, p in layer.named_parameters()}
                x = torch.zeros((2, *shape))
                for name, layer in self._layers:
                    if ROW_BY_ROW[type(layer)].axes not in (None, x.ndim):
                        return False
                    x = _pass(name, layer, x, weights)
        except Exception:  # what is wrong with such rows is said by the trial run
            return False
        return bool(x.ndim > 1)

    def gradients(
        self, parameters: dict[str, torch.Tensor], X: torch.Tensor, y: torch.Tensor, loss: Criterion, out: torch.Tensor
    ) -> torch.Tensor:
        """Write the gradients of the loss of every row to `out`, shape (rows, parameters); returns their norms."""
        layers, inputs, outputs = [], [], []
        x = X.detach().requires_grad_()
        with torch.enable_grad():
            for name, layer in self._layers:
                before, x = x, _pass(name, layer, x, parameters)
                if ROW_BY_ROW[type(layer)].does is None:
                    layers.append(layer)
                    inputs.append(before.detach())
                    outputs.append(x)
            total = vmap(lambda output, target: loss(output.unsqueeze(0), target.unsqueeze(0)))(x, y).sum()
        slopes = torch.autograd.grad(total, outputs)
        if any(v.dtype != torch.float32 for v in (*inputs, *slopes, out)):
            raise TypeError("factors of 32 bits were expected.")
        start, squares = 0, torch.zeros(len(X), dtype=torch.float64)
        for layer, a, slope in zip(layers, inputs, slopes, strict=True):
            weight, start = out[:, start : start + layer.weight.numel()], start + layer.weight.numel()
            if type(layer) is nn.Linear:
                torch.mul(slope.unsqueeze(2), a.unsqueeze(1), out=weight.view(len(X), *layer.weight.shape))
                squares += _squares(slope) * _squares(a)
            else:
                slope, places = slope.flatten(2), slope.shape[2] * slope.shape[3]
                padded = functional.pad(slope, (0, -places % ALIGNED))
                weight.copy_(torch.bmm(padded, _patches(layer, a, places).transpose(1, 2)).flatten(1))
                squares += _squares(weight)
                slope = slope.sum(dim=2)
            if layer.bias is not None:
                out[:, start : start + layer.bias.numel()] = slope
                start += layer.bias.numel()
                squares += _squares(slope)
        return squares.sqrt()


def chain_of(module: nn.Module) -> LayerChain | None:
    """The chain that a network is, if it is one."""
    if type(module) is not nn.Sequential or _hooks_for_all():
        return None
    layers = list(module.named_children())
    if any(type(layer) not in ROW_BY_ROW or not ROW_BY_ROW[type(layer)].suits(layer) for _, layer in layers):
        return None
    if len(layers) != len(module) or any(_altered(layer) for layer in module.modules()):
        return None
    weighted = [(name, layer) for name, layer in layers if ROW_BY_ROW[type(layer)].does is None]
    names = [
        f"{name}.{kind}" for name, layer in weighted for kind in ("weight", "bias") if getattr(layer, kind) is not None
    ]
    # neither a layer nor a tensor stands twice, and there are no others
    return LayerChain(layers) if names and names == [name for name, _ in module.named_parameters()] else None


def _hooks_for_all() -> bool:
    """Whether hooks are set that act in all modules of this process."""
    names = (
        "_global_forward_hooks",
        "_global_forward_pre_hooks",
        "_global_backward_hooks",
        "_global_backward_pre_hooks",
    )
    return any(getattr(modules, name, None) for name in names)


def _altered(layer: nn.Module) -> bool:
    """Whether hooks, other functions or computed parameters stand between a layer and what its kind does.

    The network would be another than its chain.
    """
    hooks = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks", "parametrizations")
    functions = {"forward", "_call_impl", "_conv_forward"}
    return bool(functions & set(vars(layer))) or any(getattr(layer, name, None) for name in hooks)


def _pass(name: str, layer: nn.Module, x: torch.Tensor, parameters: dict[str, torch.Tensor]) -> torch.Tensor:
    """What a layer makes of its input."""
    kind = ROW_BY_ROW[type(layer)]
    if kind.does is not None:
        return kind.does(layer, x)
    weight, bias = parameters[f"{name}.weight"], parameters.get(f"{name}.bias")
    if type(layer) is nn.Conv2d:
        return functional.conv2d(x, weight, bias, layer.stride, layer.padding, layer.dilation)
    outputs, inputs = weight.shape
    padded = functional.pad(weight, (0, -inputs % ALIGNED, 0, -outputs % ALIGNED))
    found = functional.linear(functional.pad(x, (0, -inputs % ALIGNED)), padded)[:, :outputs]
    return found if bias is None else found + bias


def _squares(values: torch.Tensor) -> torch.Tensor:
    """Squared norms of rows."""
    return torch.linalg.vector_norm(values, dim=1, dtype=torch.float64).square()


def _patches(layer: nn.Module, a: torch.Tensor, places: int) -> torch.Tensor:
    """What each weight of a filter is multiplied with at each place of the output.

    The shape is (rows, weights, places and zeros).
    """
    (high, wide), (down, right), (between, beside) = layer.kernel_size, layer.stride, layer.dilation
    a = functional.pad(a, (layer.padding[1], layer.padding[1], layer.padding[0], layer.padding[0]))
    width = (a.shape[3] - beside * (wide - 1) - 1) // right + 1
    height = places // width
    found = a.new_zeros((a.shape[0], a.shape[1], high, wide, places + -places % ALIGNED))
    inside = found[..., :places].unflatten(4, (height, width))
    for i in range(high):
        for j in range(wide):
            top, left = i * between, j * beside
            inside[:, :, i, j] = a[:, :, top : top + down * height : down, left : left + right * width : right]
    return found.flatten(1, 3)
