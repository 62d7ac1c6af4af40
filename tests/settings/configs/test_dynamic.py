"""P-127, P-131; the texts are those of Kafka 4.3.1."""

import pytest

from broker_lite.errors import InvalidRequest
from broker_lite.settings import Settings, with_dynamic_broker_configs


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("log.retention.ms", "1000"),
        ("message.max.bytes", "7"),
        ("min.insync.replicas", "2"),
        ("max.connections", "5"),
        ("log.cleaner.threads", "2"),
    ],
)
def test_changes(name: str, text: str) -> None:
    changed = with_dynamic_broker_configs(Settings(), {name: text}, {})
    assert changed.value(name) == int(text)
    assert with_dynamic_broker_configs(Settings(), {}, {name: text}).value(name) == int(text)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("num.partitions", "3", "Cannot update these configs dynamically: [num.partitions]"),
        ("node.id", "4", "Cannot update these configs dynamically: [node.id]"),
        (
            "log.retention.ms",
            "x",
            "Invalid value x for configuration log.retention.ms: Not a number of type LONG",
        ),
        (
            "log.retention.ms",
            "0",
            "requirement failed: log.retention.ms must be unlimited (-1) or,"
            " greater than or equal to 1",
        ),
        (
            "log.segment.bytes",
            "100",
            "Invalid value 100 for configuration log.segment.bytes: Value must be at least 1048576",
        ),
    ],
)
def test_refusals(name: str, text: str, message: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        with_dynamic_broker_configs(Settings(), {name: text}, {})
    assert caught.value.message == message


def test_unknown_names_are_kept() -> None:
    """P-131."""
    changed = with_dynamic_broker_configs(Settings(), {"nosuch": "1"}, {})
    assert changed.dynamic == {"nosuch": "1"}


def test_what_stays_is_not_looked_at() -> None:
    settings = Settings(dynamic={"node.id": "4"})
    assert with_dynamic_broker_configs(settings, {"node.id": "4"}, {}).node_id == 4
