"""The command line of the benches that run cases beside a real Kafka."""

import argparse
import os
import platform

from broker_lite.record import implementations


def begin(doc: str | None) -> argparse.Namespace:
    """Read the command line, and print what machine this is.

    Args:
        doc: of the bench's module.

    Returns:
        scale, rounds, cases (a part of their names) and alone (without Kafka).
    """
    parser = argparse.ArgumentParser(description=(doc or "").partition("\n")[0])
    parser.add_argument("--scale", type=float, default=1.0, help="requests per round, relative")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cases", default="", help="only cases whose name holds this")
    parser.add_argument("--alone", action="store_true", help="broker-lite only, without Kafka")
    options = parser.parse_args()
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, "
          f"{implementations()}")  # fmt: skip
    return options
