"""Client quotas through their handlers; every answer of Kafka is in tests/differential."""

from pathlib import Path
from typing import Any

import pytest

from broker_lite.handler.context import CloseConnection
from broker_lite.handler.security.client_quotas import HOSTS_MAX
from broker_lite.wire import messages
from tests.support.handler_broker import HandlerBroker, OpenBroker, handler_broker, one
from tests.support.small_disk import files_end_at

RATE = "producer_byte_rate"


def alter(broker: HandlerBroker, version: int, *names: str | None, kind: str = "user") -> Any:
    types = messages.AlterClientQuotasRequest
    key = RATE if kind == "user" else "connection_creation_rate"
    entries = [
        types.EntryData(
            entity=[types.EntityData(entity_type=kind, entity_name=name)],
            ops=[types.OpData(key=key, value=1000.0)],
        )
        for name in names
    ]
    answer = broker.call("AlterClientQuotas", version, entries=entries)
    return {each.entity[0].entity_name: each.error_code for each in answer.entries}


def told(broker: HandlerBroker, version: int = 1) -> dict[str | None, dict[str, float]]:
    answer = broker.call("DescribeClientQuotas", version, components=[], strict=False)
    assert (answer.error_code, answer.error_message) == (0, "")
    return {
        one(entry.entity).entity_name: {each.key: each.value for each in entry.values}
        for entry in answer.entries
    }


@pytest.mark.parametrize("version", [0, 1])
def test_p160_p161_what_is_set_is_told(broker: HandlerBroker, version: int) -> None:
    assert told(broker, version) == {}
    assert alter(broker, version, "u", None) == {"u": 0, None: 0}
    assert told(broker, version) == {"u": {RATE: 1000.0}, None: {RATE: 1000.0}}


def test_p160_they_are_there_after_a_restart(tmp_path: Path) -> None:
    with handler_broker(tmp_path / "data") as broker:
        alter(broker, 1, "u")
    with handler_broker(tmp_path / "data") as broker:
        assert told(broker) == {"u": {RATE: 1000.0}}


@pytest.mark.parametrize(("parts", "operations"), [(101, 1), (1, 101)])
def test_too_many_parts_close_the_connection(
    broker: HandlerBroker, parts: int, operations: int
) -> None:
    types = messages.AlterClientQuotasRequest
    entry = types.EntryData(
        entity=[types.EntityData(entity_type="user", entity_name="u")] * parts,
        ops=[types.OpData(key=RATE, value=1.0)] * operations,
    )
    with pytest.raises(CloseConnection, match="more than 100 parts or operations"):
        broker.call("AlterClientQuotas", 1, entries=[entry])


def test_p161_a_filter_that_cannot_be(broker: HandlerBroker) -> None:
    component = messages.DescribeClientQuotasRequest.ComponentData(entity_type="", match_type=2)
    answer = broker.call("DescribeClientQuotas", 1, components=[component], strict=False)
    assert (answer.error_code, answer.entries) == (42, None)


def test_what_is_not_written_is_not_set(open_broker: OpenBroker) -> None:
    broker = open_broker()
    log = broker.cluster.logs.data_dir / "__cluster_metadata-0" / f"{0:020d}.log"
    with files_end_at(log.stat().st_size):
        assert alter(broker, 1, "u", "", "v") == {"u": 56, "": 42, "v": 56}
    assert told(broker) == {}


def test_p160_an_address_is_one_or_a_host_s_name(broker: HandlerBroker) -> None:
    names = ("127.0.0.1", "::1", "localhost", "x" * 300, "no host\ud7ff")
    found = alter(broker, 1, *names, kind="ip")
    assert list(found.values()) == [0, 0, 0, 42, 42]


def test_only_some_names_are_looked_up(broker: HandlerBroker) -> None:
    unknown = [f"{number} no host\ud7ff" for number in range(HOSTS_MAX)]
    found = alter(broker, 1, "127.0.0.2", "localhost", *unknown, kind="ip")
    assert (found["127.0.0.2"], found["localhost"]) == (0, 42)
    assert alter(broker, 1, "localhost", *unknown[1:], kind="ip")["localhost"] == 0
