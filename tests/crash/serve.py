"""The broker, as a user starts it, with faults at named places or with observers of its calls.

    python -m tests.crash.serve --crash roll.create.log:2 -- serve --data-dir DIR --port 0
    python -m tests.crash.serve --observe tests.crash.journal:make -- serve --data-dir DIR

An observer is made by calling the named function without arguments in the broker's process, before
it starts; see calls.Observer. Observers see a call after the faults, so one that fails or that is
preceded by death is not seen, and a torn write is seen with the bytes that it wrote. With
faults the broker runs as it is written, else compiled; see points.
"""

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from tests.crash.calls import Observer, watch


def main(arguments: Sequence[str]) -> int:
    """Run a broker's command line under observation and return its exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--crash", action="append", default=[], metavar="NAME:N[:ACTION[:PART]]")
    parser.add_argument("--observe", action="append", default=[], metavar="MODULE:FUNCTION")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="-- and what to run")
    options = parser.parse_args(arguments)
    command = [word for word in options.command if word != "--"]
    data_dir = Path(command[command.index("--data-dir") + 1])
    observers: list[Observer] = []
    if options.crash:
        from tests.crash.faults import Fault, FaultObserver

        observers += [FaultObserver(Fault.parse(text)) for text in options.crash]
    for text in options.observe:
        module, _, function = text.partition(":")
        observers.append(getattr(import_module(module), function)())
    from broker_lite.cli import main as broker_main

    with watch(data_dir, observers):
        return broker_main(command)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
