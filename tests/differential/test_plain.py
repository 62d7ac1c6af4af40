"""What a plain Kafka answers about security, quotas, replicas and the quorum, against ours.

`vectors/plain.json` was written by `python -m tests.differential.test_plain FILE` from a Kafka
4.3.1 of one node with `ReferenceKafka`'s settings; the test marked kafka compares them again. The
answers are compared whole, but for the order of results, which is that of Kafka's hash maps, and
for offsets and times of the quorum.
"""

import copy
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from broker_lite.wire import messages
from tests.differential import plain_cases
from tests.differential.kept_answers import Rows, as_kept, keep, kept
from tests.differential.plain_cases import DATA_DIR, PlainCase
from tests.differential.quota_cases import quotas
from tests.support.handler_broker import HandlerBroker, handler_broker
from tests.support.raw_client import RawClient
from tests.support.reference_kafka import ReferenceKafka
from tests.support.toolchain import require

KEPT: Final = "plain"
# Kafka answers a change before its own broker has seen it
SETTLE_S: Final = 0.15
CHANGES: Final = ("Alter", "Create")
VOLATILE: Final = frozenset(
    ("high_watermark", "log_end_offset", "last_caught_up_timestamp", "last_fetch_timestamp")
)
# the answer to CreateTopics is another test's; here is no listener of controllers
LEFT_OUT: Final = frozenset(("topic_id", "configs", "nodes"))
# their elements come in the order of the request
ORDERED: Final = frozenset(("entity", "partition_result", "responses"))


def cases() -> list[PlainCase]:
    return [
        *plain_cases.topics(),
        *plain_cases.acls(),
        *plain_cases.log_dirs(),
        *plain_cases.elections(),
        *plain_cases.reassignments(),
        *plain_cases.credentials(),
        *plain_cases.quorum(),
        *quotas(),
    ]


def placed(value: Any, data_dir: str) -> Any:
    """The fields of a request with the data directory in the place of what stands for it."""
    fields = copy.deepcopy(value)
    for directory in fields.get("dirs", ()):
        directory.path = directory.path.replace(DATA_DIR, data_dir)
    return fields


def plain(value: Any, name: str = "") -> Any:
    """A response as JSON can hold it, with what may differ told only by its presence."""
    if isinstance(value, list):
        items = [plain(item) for item in value]
        return items if name in ORDERED else sorted(items, key=json.dumps)
    if isinstance(value, bytes):
        return value.hex()
    if name in VOLATILE:
        return value > 0
    if hasattr(value, "__slots__"):
        return {
            slot: plain(getattr(value, slot), slot)
            for slot in value.__slots__
            if slot not in LEFT_OUT
        }
    return value


def outcomes(ask: Callable[[PlainCase], Any]) -> Rows:
    answers = [[case.title, plain(ask(case))] for case in cases()]
    return as_kept(answers)


def kafka_outcomes(folder: Path) -> Rows:
    with ReferenceKafka(folder) as kafka, RawClient("127.0.0.1", kafka.port) as client:

        def ask(case: PlainCase) -> Any:
            answer = client.call(
                case.api, case.version, **placed(case.fields, str(kafka.log_dir.absolute()))
            )
            if case.api.startswith(CHANGES):
                time.sleep(SETTLE_S)
            return answer

        return outcomes(ask)


def ours(broker: HandlerBroker) -> Rows:
    data_dir = str(broker.cluster.logs.data_dir.absolute())

    def ask(case: PlainCase) -> Any:
        value = getattr(messages, f"{case.api}Request")(**placed(case.fields, data_dir))
        return broker.request(case.api, case.version, value)

    return outcomes(ask)


def test_our_answers_are_kafkas(tmp_path: Path) -> None:
    golden = kept(KEPT)
    with handler_broker(tmp_path / "data") as broker:
        mine = ours(broker)
    assert len(mine) == len(golden)
    for answer, theirs in zip(mine, golden, strict=True):
        assert answer == theirs


@pytest.mark.kafka
@pytest.mark.slow
def test_kafka_answers_as_it_did(tmp_path: Path) -> None:
    require("java", "mvn")
    assert kafka_outcomes(tmp_path / "kafka") == kept(KEPT)


if __name__ == "__main__":
    keep(Path(sys.argv[1]), kafka_outcomes)
