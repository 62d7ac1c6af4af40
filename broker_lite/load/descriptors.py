"""Makes room for the descriptors of many connections."""

import resource
from typing import Final

from broker_lite.errors import SettingsError

_OTHERS: Final = 100  # of the process itself


def make_room_for(connections: int) -> None:
    """Raise the limit of open files as far as this process may.

    Raises:
        SettingsError: it may not have enough.
    """
    wanted = connections + _OTHERS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return
    if hard != resource.RLIM_INFINITY and hard < wanted:
        raise SettingsError(
            f"{connections} connections need {wanted} open files, and a process may have {hard}"
            " here: raise `ulimit -n`, or use more --processes"
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
