"""The network of paper 004, table 6, and a start for networks of few nonzero parameters."""

from __future__ import annotations

import copy
import math
from collections import OrderedDict

import torch
from torch import nn

from ...core import checks


def paper_cnn(seed: int = 0) -> nn.Sequential:
    """The convolutional network of the paper, with 44,426 weights.

    It has two convolutions of 5 x 5 with 6 and 16 channels, each followed by ReLU and 2 x 2
    max-pooling, and linear layers 256-120-84-10.

    It takes images of shape (1, 28, 28) and gives log-probabilities of ten classes. The usual start
    of its layers is drawn from a public seed; the state of torch's own generator stays as it was.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        layers = {
            "conv1": nn.Conv2d(1, 6, 5),
            "relu1": nn.ReLU(),
            "pool1": nn.MaxPool2d(2),
            "conv2": nn.Conv2d(6, 16, 5),
            "relu2": nn.ReLU(),
            "pool2": nn.MaxPool2d(2),
            "flat": nn.Flatten(),
            "fc1": nn.Linear(16 * 4 * 4, 120),
            "relu3": nn.ReLU(),
            "fc2": nn.Linear(120, 84),
            "relu4": nn.ReLU(),
            "fc3": nn.Linear(84, 10),
            "classes": nn.LogSoftmax(dim=1),
        }
        return nn.Sequential(OrderedDict(layers))


def sparse_start(module: nn.Module, sparsity: int, seed: int = 0) -> nn.Module:
    r"""A copy of a network that starts with at most `sparsity` nonzero parameters, drawn from a public seed.

    No data are looked at.

    The largest entries of an ordinary start are a bad choice of a support: its scale is that of the
    number of inputs, so a wide layer loses nearly all of its entries and what passes through it is
    lost. Here every tensor of parameters keeps at most the same number of entries, at random
    places, so that small tensors stay whole. An entry of a layer with :math:`d` inputs of which a
    part :math:`p` is kept is uniform within :math:`\pm\sqrt{6/(p\,d)}`, which keeps the variance of
    what a layer with ReLU passes on. Tensors of one axis (biases) are taken as they are.

    Parameters
    ----------
    module : torch.nn.Module
    sparsity : int
        Nonzero parameters at most.
    seed : int
        Public.

    Examples
    --------
    >>> from dpsparse.neural import paper_cnn, sparse_start
    >>> network = sparse_start(paper_cnn(), 10_000)
    >>> sum(int((p != 0).sum()) for p in network.parameters())
    10000
    """
    left, made = checks.whole(sparsity, "sparsity"), copy.deepcopy(module)
    generator = torch.Generator().manual_seed(seed)
    tensors = sorted(made.parameters(), key=lambda p: p.numel())
    with torch.no_grad():
        for place, tensor in enumerate(tensors):
            count = min(tensor.numel(), left // (len(tensors) - place))
            left -= count
            kept = torch.zeros(tensor.numel())
            kept[torch.randperm(tensor.numel(), generator=generator)[:count]] = 1.0
            if tensor.ndim > 1 and count:
                inputs = tensor[0].numel() * count / tensor.numel()
                drawn = torch.rand(tensor.shape, generator=generator) * 2 - 1
                tensor.copy_(drawn * math.sqrt(6 / inputs))
            tensor.mul_(kept.reshape(tensor.shape))
    return made
