"""What stands behind an error, for the log."""


def cause_of(error: BaseException) -> BaseException:
    """Give what an error came from, or itself when it came from nothing.

    Modules that mypyc has compiled drop the `from` of a raise; what was being handled there, which
    is the same, they keep.
    """
    return error.__cause__ or error.__context__ or error
