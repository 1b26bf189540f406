"""The network of paper 004, table 6."""

from __future__ import annotations

import torch
from torch import nn


class PaperCNN(nn.Module):  # type: ignore[misc]
    """Two convolutions of 5 x 5 with 6 and 16 channels, each followed by ReLU and 2 x 2 max-pooling, and linear layers 256-120-84-10: 44,426 weights.

    Takes images of shape (1, 28, 28) and gives log-probabilities of ten classes.
    """

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(16 * 4 * 4, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Log-probabilities."""
        x = nn.functional.max_pool2d(torch.relu(self.conv1(x)), 2, 2)
        x = nn.functional.max_pool2d(torch.relu(self.conv2(x)), 2, 2)
        x = torch.relu(self.fc1(x.flatten(1)))
        x = torch.relu(self.fc2(x))
        return nn.functional.log_softmax(self.fc3(x), dim=1)


def paper_cnn(seed: int = 0) -> PaperCNN:
    """The network with the usual start of its layers, drawn from a public seed; the state of torch's own generator stays as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return PaperCNN()
