"""All five hospitals on this machine, by Flower's simulation engine."""

from __future__ import annotations

from flwr.simulation import run_simulation

from .client import app as client
from .rows import NAMES
from .server import app as server

if __name__ == "__main__":
    run_simulation(server, client, num_supernodes=len(NAMES))
