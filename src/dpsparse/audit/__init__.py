"""Audits: what would catch us."""

from .examine import attack, examine, recomputed_epsilon
from .judge import Claim
from .laws import LawBroken, check_estimator_privacy, check_loss, check_solver
from .lower_bounds import LowerBound, event, log_odds_shift, two_worlds
from .noise import check_noise, check_sampler, off_lattice
from .one_run import OneRun, one_run, one_run_epsilon, one_run_p_value
from .pipeline import Finding, check_pipeline
from .result import AuditResult, Check, LawCheck
from .trace import Trace, sensitivity_trace

__all__ = [
    "AuditResult",
    "Check",
    "Claim",
    "Finding",
    "LawBroken",
    "LawCheck",
    "LowerBound",
    "OneRun",
    "Trace",
    "attack",
    "check_estimator_privacy",
    "check_loss",
    "check_noise",
    "check_pipeline",
    "check_sampler",
    "check_solver",
    "event",
    "examine",
    "log_odds_shift",
    "off_lattice",
    "one_run",
    "one_run_epsilon",
    "one_run_p_value",
    "recomputed_epsilon",
    "sensitivity_trace",
    "two_worlds",
]
