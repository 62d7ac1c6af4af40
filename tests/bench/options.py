"""The command line of the benches that run cases, beside a real Kafka or alone."""

import argparse
import os
import platform

from broker_lite.record import implementations


def begin(doc: str | None, *, beside_kafka: bool = True) -> argparse.Namespace:
    """Read the command line, and print what machine this is.

    Args:
        doc: of the bench's module.
        beside_kafka: whether there is a real Kafka that may be left out.

    Returns:
        scale, rounds, cases (a part of their names); then alone (without Kafka), or without a Kafka
        at all the folder of the data, None for the system's own.
    """
    parser = argparse.ArgumentParser(description=(doc or "").partition("\n")[0])
    parser.add_argument("--scale", type=float, default=1.0, help="requests per round, relative")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cases", default="", help="only cases whose name holds this")
    if beside_kafka:
        parser.add_argument("--alone", action="store_true", help="broker-lite only, without Kafka")
    else:
        parser.add_argument("--folder", help="where the data is, as /dev/shm for memory")
    options = parser.parse_args()
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, "
          f"{implementations()}")  # fmt: skip
    return options
