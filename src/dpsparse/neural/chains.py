r"""Gradients of the rows of a chain of layers, all rows at once.

For a layer :math:`z = W a + b` the gradient of one row is :math:`\delta\,a^\top` in W and :math:`\delta` in b, where :math:`\delta` is that of its loss in z; for a convolution, the patches of the image are the
columns of a. One pass forward and one backward over a chunk give every a and :math:`\delta`, and :math:`\|\delta\,a^\top\| = \|\delta\|\|a\|` gives norms without a second look at the products.

Guarantee
---------
Rows cannot mix, whatever they hold. A chain is an `nn.Sequential`, or nothing but one in its forward, of the listed kinds of layers, none of them twice and none altered; each of these maps row i of its input to
row i of its output, if the first axis of the input is that of the rows, which shapes tell (`fits`). The loss is taken of each row alone (`vmap`). Any other network is no chain, and is left to
`torch.func`, where rows cannot mix either. That the last bits of a row do not depend on its company is tried by `RowGradients.rehearse`, as for every network.

Norms are those of the numbers that are written, to a part of :math:`2^{-23}`: a product of two floats is wrong by a part of :math:`2^{-24}`, and the norms are computed in float64.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.func import vmap
from torch.nn import functional

#: Loss of outputs (1, ...) and targets (1,): a number.
Criterion = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
#: Numbers in 64 bytes. Products of matrices take other instructions where a row begins at an odd place, so that last bits would depend on it: zeros are added up to such a length.
ALIGNED = 16


def _always(layer: Any) -> bool:
    return True


def _plain(layer: Any) -> bool:
    return bool(layer.groups == 1 and layer.padding_mode == "zeros" and not isinstance(layer.padding, str))


#: Kinds of layers that treat every row by itself: number of axes of their input (None: any), and the settings with which they do.
ROW_BY_ROW: dict[type[nn.Module], tuple[int | None, Callable[[Any], bool]]] = {
    nn.Linear: (2, _always),
    nn.Conv2d: (4, _plain),
    nn.MaxPool2d: (4, lambda layer: not layer.return_indices),
    nn.AvgPool2d: (4, _always),
    nn.Flatten: (None, lambda layer: (layer.start_dim, layer.end_dim) == (1, -1)),
    nn.LogSoftmax: (2, lambda layer: layer.dim in (1, -1)),
    nn.ReLU: (None, lambda layer: not layer.inplace),
    nn.Tanh: (None, _always),
    nn.Sigmoid: (None, _always),
}


class Chain:
    """Layers that follow one another and treat every row by itself; made by `chain_of`."""

    def __init__(self, layers: list[tuple[str, nn.Module]]) -> None:
        self._layers = layers
        self._tried: dict[tuple[int, ...], bool] = {}

    def fits(self, shape: tuple[int, ...]) -> bool:
        """Whether rows of this shape keep an axis of their own through all layers; with one axis fewer, rows would be taken for channels."""
        if shape not in self._tried:
            self._tried[shape] = self._passes(shape)
        return self._tried[shape]

    def _passes(self, shape: tuple[int, ...]) -> bool:
        x = torch.zeros((2, *shape))
        try:
            with torch.no_grad():
                for _, layer in self._layers:
                    axes, _ = ROW_BY_ROW[type(layer)]
                    if axes not in (None, x.ndim):
                        return False
                    x = layer(x)
        except Exception:  # what is wrong with such rows is said by the rehearsal
            return False
        return x.ndim > 1

    def gradients(
        self,
        parameters: dict[str, torch.Tensor],
        X: torch.Tensor,
        y: torch.Tensor,
        loss: Criterion,
        out: torch.Tensor,
    ) -> torch.Tensor:
        """Write the gradients of the loss of every row to `out`, shape (rows, parameters); returns their norms."""
        layers, inputs, outputs = [], [], []
        x = X.detach().requires_grad_()
        with torch.enable_grad():
            for name, layer in self._layers:
                if type(layer) in (nn.Linear, nn.Conv2d):
                    layers.append(layer)
                    inputs.append(x.detach())
                    x = _apply(layer, x, parameters[f"{name}.weight"], parameters.get(f"{name}.bias"))
                    outputs.append(x)
                else:
                    x = layer(x)
            total = vmap(lambda output, target: loss(output.unsqueeze(0), target.unsqueeze(0)))(x, y).sum()
        slopes = torch.autograd.grad(total, outputs)
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


def chain_of(module: nn.Module) -> Chain | None:
    """The chain that a network is, if it is one."""
    if not isinstance(module, nn.Sequential) or type(module).forward is not nn.Sequential.forward:
        return None
    layers = list(module.named_children())
    if any(type(layer) not in ROW_BY_ROW or not ROW_BY_ROW[type(layer)][1](layer) for _, layer in layers):
        return None
    if len(layers) != len(module) or any(_altered(layer) for layer in module.modules()):
        return None
    weighted = [(name, layer) for name, layer in layers if type(layer) in (nn.Linear, nn.Conv2d)]
    names = [
        f"{name}.{kind}" for name, layer in weighted for kind in ("weight", "bias") if getattr(layer, kind) is not None
    ]
    # neither a layer nor a tensor stands twice, and there are no others
    return Chain(layers) if names and names == [name for name, _ in module.named_parameters()] else None


def _altered(layer: nn.Module) -> bool:
    """Whether hooks, another forward or computed parameters stand between a layer and what its kind does."""
    hooks = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks", "parametrizations")
    return "forward" in vars(layer) or any(getattr(layer, name, None) for name in hooks)


def _apply(layer: Any, x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    if type(layer) is nn.Conv2d:
        return functional.conv2d(x, weight, bias, layer.stride, layer.padding, layer.dilation)
    outputs, inputs = weight.shape
    padded = functional.pad(weight, (0, -inputs % ALIGNED, 0, -outputs % ALIGNED))
    found = functional.linear(functional.pad(x, (0, -inputs % ALIGNED)), padded)[:, :outputs]
    return found if bias is None else found + bias


def _squares(values: torch.Tensor) -> torch.Tensor:
    """Squared norms of rows."""
    return torch.linalg.vector_norm(values, dim=1, dtype=torch.float64).square()


def _patches(layer: Any, a: torch.Tensor, places: int) -> torch.Tensor:
    """What each weight of a filter is multiplied with at each place of the output, shape (rows, weights, places and zeros)."""
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
