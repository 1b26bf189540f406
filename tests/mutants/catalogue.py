"""All mutants, room by room."""

from __future__ import annotations

from . import (
    of_accounting,
    of_audit,
    of_clusters,
    of_disk,
    of_door,
    of_federated,
    of_inference,
    of_ledger,
    of_local,
    of_losses,
    of_mechanisms,
    of_oracles,
    of_privacy,
    of_rows,
    of_search,
    of_statistics,
)
from .mutant import Mutant

MUTANTS: tuple[Mutant, ...] = (
    *of_mechanisms.MUTANTS,
    *of_privacy.MUTANTS,
    *of_accounting.MUTANTS,
    *of_oracles.MUTANTS,
    *of_rows.MUTANTS,
    *of_disk.MUTANTS,
    *of_clusters.MUTANTS,
    *of_door.MUTANTS,
    *of_inference.MUTANTS,
    *of_statistics.MUTANTS,
    *of_losses.MUTANTS,
    *of_federated.MUTANTS,
    *of_local.MUTANTS,
    *of_ledger.MUTANTS,
    *of_search.MUTANTS,
    *of_audit.MUTANTS,
)

#: Mutants that no test notices, and why that is right. Better: a test.
EXPLAINED: dict[str, str] = {
    "labels beyond their bound": "both randomisers hold their coin or their window within the bound as well; either is enough",
}
