"""Refusals. Each is a ValueError or TypeError, so that code which knows only scikit-learn catches them too."""


class PrivacyError(ValueError):
    """Something was asked that the promise does not allow."""


class BudgetError(PrivacyError):
    """A budget that makes no sense, or that this plan cannot be priced in."""


class BudgetExceededError(BudgetError):
    """The ledger has less left than this fit costs."""


class NotPricedError(PrivacyError):
    """A solver asked for something that its plan did not pay for."""


class MissingBoundError(PrivacyError):
    """A bound that must be declared was not."""


class AssumptionError(PrivacyError):
    """A recipe rests on an assumption that the user has not accepted by name."""


class DataError(ValueError):
    """The data cannot be used as it is; says what is wrong without naming a row."""


class NonPrivateRandomnessWarning(UserWarning):
    """A seed was given: the noise can be reproduced, so the fit is not private."""
