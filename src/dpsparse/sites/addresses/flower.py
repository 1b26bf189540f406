"""The public address `dpsparse.federated.flower`."""

from dpsparse.sites.federated.flower import client_app, server_app

__all__ = ["client_app", "server_app"]
