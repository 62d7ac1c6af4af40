"""What a Metadata of topics with few and very many partitions costs.

    python -m tests.bench.metadata [../other ...] [--rounds 4]

One client asks again and again for a topic of 1, 100 or 10,000 partitions, or for 1,000 topics of
one. CPU of the broker, user and system, of a request; the best of some rounds. Other checkouts,
which have to be built, are measured beside this one, in turns.
"""

import argparse
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Final, NamedTuple

from broker_lite.wire import messages
from tests.bench.bytecode import write_bytecode
from tests.bench.group_frames import frame
from tests.bench.load_client import LoadClient, create_topic, measure
from tests.bench.versions import broker_of
from tests.support.broker_process import BrokerProcess
from tests.tidy.project_files import ROOT

VERSION: Final = 12
_TOPICS: Final = 1_000


class Case(NamedTuple):
    """One row: which topics are asked for, None for all, and how often."""

    name: str
    topics: tuple[str, ...] | None
    requests: int


CASES: Final = (
    Case("1 partition", ("of-1",), 10_000),
    Case("100 partitions", ("of-100",), 4_000),
    Case("10,000 partitions", ("of-10000",), 500),
    Case(f"all {_TOPICS:,} topics of one", None, 200),
)


def fill(broker: BrokerProcess) -> None:
    """Make all topics."""
    for count in (1, 100, 10_000):
        create_topic("127.0.0.1", broker.port, f"of-{count}", count)


def fill_more(broker: BrokerProcess) -> None:
    """Make many small topics."""
    for number in range(_TOPICS):
        create_topic("127.0.0.1", broker.port, f"small-{number}")


def asked(case: Case) -> bytes:
    """The request of a case."""
    kind = messages.MetadataRequest
    topics = case.topics
    wanted = None if topics is None else [kind.MetadataRequestTopic(name=name) for name in topics]
    return frame("Metadata", VERSION, topics=wanted, allow_auto_topic_creation=False)


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("others", type=Path, nargs="*", help="other checkouts, built")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--cases", default="", help="only those whose names contain this")
    options = parser.parse_args()
    write_bytecode()
    checkouts = [ROOT, *(each.resolve() for each in options.others)]
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="metadata-")))
        brokers = {
            each.name: stack.enter_context(broker_of(each, folder / each.name))
            for each in checkouts
        }
        for broker in brokers.values():
            fill(broker)
        for case in CASES:
            if options.cases not in case.name:
                continue
            if case.topics is None:
                for broker in brokers.values():
                    fill_more(broker)
            print(_row(case, brokers, options.rounds), flush=True)
    return 0


def _row(case: Case, brokers: dict[str, BrokerProcess], rounds: int) -> str:
    request = asked(case)
    best: dict[str, float] = {}
    for _ in range(rounds):
        for name, broker in brokers.items():
            client = LoadClient("127.0.0.1", broker.port)
            client.run(lambda _: request, 2, 1)
            found = measure(
                client, broker.pid, lambda _: request, requests=case.requests, in_flight=1
            )
            client.close()
            best[name] = min(best.get(name, found.cpu_us_per_request), found.cpu_us_per_request)
    return f"{case.name:24} | " + " | ".join(f"{name} {us:8.0f} us" for name, us in best.items())


if __name__ == "__main__":
    sys.exit(main())
