"""Finds the cause of an error, for log lines."""


def cause_of(error: BaseException) -> BaseException:
    """Return the error that caused this one, or the error itself if nothing caused it.

    __context__ is needed for modules that mypyc has compiled: they drop the `from` of a raise. The
    error that was being handled there is the same one.
    """
    return error.__cause__ or error.__context__ or error
