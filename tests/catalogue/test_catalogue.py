"""The scripts of the catalogue and its table fit each other."""

import pytest

from tests.catalogue.bug import bug_of, names, path_of
from tests.catalogue.play import OPTIONS, script_part
from tests.catalogue.table import NAMES, verdicts

LINES_MAX = 30
KNOWN = [
    *("aio-libs/aiokafka#", "apache/kafka#", "confluentinc/librdkafka#", "dpkp/kafka-python#"),
    *("confluentinc/confluent-kafka-python#", "IBM/sarama#", "tulios/kafkajs#", "twmb/franz-go#"),
    "KAFKA-",
]


@pytest.mark.parametrize("name", names())
def test_a_bug_is_told(name: str) -> None:
    bug = bug_of(name)
    assert len(path_of(name).read_text("utf-8").splitlines()) <= LINES_MAX
    assert bug.threads
    assert [each for each in bug.threads if not each.startswith(tuple(KNOWN))] == []
    assert bug.program in OPTIONS
    assert len(bug.stands.answers) in {0, len(bug.commands)}
    assert script_part(name)["name"] == name.replace("-", " ")


def test_the_table_is_about_the_bugs() -> None:
    rows = [*verdicts().rows(tuple(NAMES))]
    assert sorted({name for name, _, _ in rows}) == names()
    assert len({(name, client) for name, client, _ in rows}) == len(rows)
    told = [*verdicts().stumbles.values(), *verdicts().stands.values()]
    assert {client for clients in told for client in clients} <= NAMES.keys()
    assert verdicts().versions.keys() == NAMES.keys()
