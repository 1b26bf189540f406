"""Modules of `dpsparse.sites.federated` that users import as `dpsparse.federated.NAME`."""
