"""A further process of `broker-lite serve --processes`: `python -m broker_lite.commands.worker FD`.

Only the first process starts it. FD is the descriptor of a socket, over which the first process
tells what to do; what else is on the command line is for people who look at it.
"""

import gc
import signal
import sys

from broker_lite import logging_setup


def main() -> int:
    """Run a broker until the first process ends it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Imported objects stay, and looking for garbage among them takes a twelfth of the import time.
    gc.disable()
    from broker_lite.server.processes.worker import work

    work(int(sys.argv[1]), logging_setup.set_up)
    return 0


if __name__ == "__main__":
    sys.exit(main())
