"""The public address `dpsparse.federated.devices`."""

from dpsparse.sites.federated.flower import device_app, run_devices

__all__ = ["device_app", "run_devices"]
