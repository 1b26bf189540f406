"""Sparse networks of PyTorch under differential privacy, in one place or across sites (extra ``torch``).

Per-row gradients by ``torch.func``, clipped and summed as integers; noise, coins, prices, ledgers
and statements are those of every other fit.
"""

try:
    import torch  # noqa: F401
except ImportError:
    raise ImportError("dpsparse.neural needs PyTorch. Install it with: pip install 'dpsparse[torch]'") from None

from .federation import NetworkProtocol, NetworkServer, NetworkSite
from .network import SparseNetwork
from .networks import paper_cnn, sparse_start

__all__ = ["NetworkProtocol", "NetworkServer", "NetworkSite", "SparseNetwork", "paper_cnn", "sparse_start"]
