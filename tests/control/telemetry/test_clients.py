from collections.abc import ItemsView
from sys import getrefcount

import pytest

from broker_lite.control.telemetry import clients as clients_module
from broker_lite.control.telemetry.clients import (
    KEPT_MS,
    Identity,
    Instance,
    TelemetryClient,
    TelemetryClients,
    shown_id,
)
from broker_lite.control.telemetry.series import Point, Pushed
from broker_lite.control.telemetry.subscription import Wanted

ME = Identity(1, "app", "soft", "1.2", "127.0.0.1", 5000, 7)
NOTHING = Wanted((), 300_000)


def client(number: int, identity: Identity = ME) -> TelemetryClient:
    made = TelemetryClient(number.to_bytes(16, "big"), identity, NOTHING)
    made.instance = Instance(1, 0, NOTHING)
    return made


def test_attributes_and_id_as_kafka_has_them() -> None:
    instance_id = bytes.fromhex("acd79a1f85904a88bfe1f3df09940904")
    assert shown_id(instance_id) == "rNeaH4WQSoi_4fPfCZQJBA"
    assert ME.attributes(instance_id) == {
        "client_instance_id": "rNeaH4WQSoi_4fPfCZQJBA",
        "client_id": "app",
        "client_software_name": "soft",
        "client_software_version": "1.2",
        "client_source_address": "127.0.0.1",
        "client_source_port": "5000",
    }


def test_each_broker_knows_its_own() -> None:
    known = TelemetryClients()
    one = client(1)
    known.used(one, 0)
    assert known.get(1, one.instance_id) is one
    assert known.get(2, one.instance_id) is None
    known.clear()
    assert len(known) == 0
    assert known.get(1, one.instance_id) is None


def test_p155_the_one_unused_for_longest_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clients_module, "CLIENTS_MAX", 2)
    known = TelemetryClients()
    one, two, three = map(client, (1, 2, 3))
    for each in (one, two, one, three):
        known.used(each, 0)
    assert [*known] == [one, three]


def test_p155_what_all_hold_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clients_module, "HELD_BYTES_MAX", 10_000)
    known = TelemetryClients()
    one, two = client(1), client(2)
    known.used(one, 0)
    known.used(two, 0)
    two.take(Pushed({"a": "b"}, [Point("m" * 100, (), n) for n in range(5)], 0), 1)
    known.used(two, 1)
    assert len(known) == 2
    two.take(Pushed({}, [Point(f"{n}" * 100, (), n) for n in range(15)], 0), 2)
    known.used(two, 2)
    assert [*known] == [two]


def test_p155_one_that_made_room_is_not_kept_by_its_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(clients_module, "CLIENTS_MAX", 1)
    known = TelemetryClients()
    gone = client(1)
    before = getrefcount(gone)
    known.used(gone, 0)
    known.connected(gone)
    known.used(client(2), 0)
    assert getrefcount(gone) == before
    known.disconnected(7)
    assert gone.instance is not None


@pytest.mark.parametrize("field", ["client_id", "software_name", "software_version", "address"])
def test_p155_who_a_client_is_counts(field: str) -> None:
    one = client(1)
    small_bytes = one.size_bytes
    one.tell(ME._replace(**{field: "é" * 30_000}), NOTHING)
    assert one.size_bytes > small_bytes + 29_000
    one.tell(ME, Wanted(("m" * 30_000,), 300_000))
    assert one.size_bytes > small_bytes + 29_000


def test_p155_what_a_client_says_of_itself_counts_with_its_objects() -> None:
    one = client(1)
    small_bytes = one.size_bytes
    one.take(Pushed({str(number): "" for number in range(32)}, [], 0), 1)
    assert one.size_bytes > small_bytes + 32 * 100
    one.take(Pushed({}, [], 0), 1)
    assert one.size_bytes == small_bytes


def test_a_request_does_not_count_again_what_a_client_says_of_itself() -> None:
    class Counted(dict[str, str]):
        walks = 0

        def items(self) -> ItemsView[str, str]:
            Counted.walks += 1
            return super().items()

    known, one = TelemetryClients(), client(1)
    one.take(Pushed(Counted(a="b"), [], 0), 1)
    for _ in range(5):
        known.used(one, 1)
    assert Counted.walks == 1


def test_p155_what_was_pushed_is_kept_for_an_hour() -> None:
    known = TelemetryClients()
    one, two = client(1), client(2)
    known.used(one, 0)
    known.used(two, KEPT_MS)
    assert len(known) == 2
    known.used(two, KEPT_MS + 1)
    assert [*known] == [two]


def test_p155_an_instance_ends_with_its_connection() -> None:
    known = TelemetryClients()
    one, two, moved = client(1), client(2), client(3)
    for each in (one, two, moved):
        known.used(each, 0)
        known.connected(each)
    moved.identity = ME._replace(connection_id=8)
    known.connected(moved)
    known.disconnected(7)
    known.disconnected(9)
    # a connection stands for the instance that it has made last, as in Kafka
    assert [each.instance is None for each in (one, two, moved)] == [False, False, False]
    known.disconnected(8)
    assert moved.instance is None


def test_connections_of_other_processes_do_not_pile_up(monkeypatch: pytest.MonkeyPatch) -> None:
    known = TelemetryClients()
    made = [client(number, ME._replace(connection_id=number)) for number in (1, 2, 3)]
    for each in made:
        known.used(each, 0)
    monkeypatch.setattr(clients_module, "CLIENTS_MAX", 2)
    for each in made:
        known.connected(each)
    for number in (1, 2, 3):
        known.disconnected(number)
    assert [each.instance is None for each in made] == [False, True, True]
