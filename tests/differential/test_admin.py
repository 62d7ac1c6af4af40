"""Admin requests: a real Kafka's answers, kept in a file, against ours.

`vectors/admin.json` was written by `python -m tests.differential.test_admin FILE` from a Kafka
4.3.1 of one node with `ReferenceKafka`'s settings; the test marked kafka compares them again.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from broker_lite.wire import messages
from tests.differential.admin_cases import admin_cases
from tests.differential.admin_requests import AdminCase
from tests.differential.kept_answers import Rows, as_kept, keep, kept
from tests.support.handler_broker import handler_broker
from tests.support.raw_client import RawClient
from tests.support.reference_kafka import ReferenceKafka
from tests.support.toolchain import require

KEPT: Final = "admin"
# Kafka answers a change of configs before its own broker has seen it
SETTLE_S: Final = 0.15
CHANGES: Final = ("Alter", "Create", "Delete", "Incremental")
Ask = Callable[[AdminCase], Any]


def outcomes(ask: Ask) -> Rows:
    answers = [[case.title, case.view(ask(case))] for case in admin_cases()]
    return as_kept(answers)


def kafka_outcomes(folder: Path) -> Rows:
    with ReferenceKafka(folder) as kafka, RawClient("127.0.0.1", kafka.port) as client:

        def ask(case: AdminCase) -> Any:
            request_type = getattr(messages, f"{case.api}Request")
            answer = client.request(request_type, case.request, case.version)
            if case.api.startswith(CHANGES):
                time.sleep(SETTLE_S)
            return answer

        return outcomes(ask)


def test_our_answers_are_kafkas(tmp_path: Path) -> None:
    golden = kept(KEPT)
    with handler_broker(tmp_path / "data") as broker:
        ours = outcomes(lambda case: broker.request(case.api, case.version, case.request))
    assert len(ours) == len(golden)
    for mine, theirs in zip(ours, golden, strict=True):
        assert mine == theirs


@pytest.mark.kafka
@pytest.mark.slow
def test_kafka_answers_as_it_did(tmp_path: Path) -> None:
    require("java", "mvn")
    assert kafka_outcomes(tmp_path / "kafka") == kept(KEPT)


if __name__ == "__main__":
    keep(Path(sys.argv[1]), kafka_outcomes)
