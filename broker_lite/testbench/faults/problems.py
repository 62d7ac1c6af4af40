"""Why a rule does not act on a request that it matches."""


class CannotApply(Exception):
    """The rule cannot be applied to this request; the text says why. The request is served."""
