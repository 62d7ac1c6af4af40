"""The order of the checks, as measured on a Kafka 4.3.1."""

from itertools import count
from typing import Any

import pytest

from broker_lite.control.telemetry.clients import Identity, TelemetryClient
from broker_lite.control.telemetry.series import Point, Pushed
from broker_lite.control.telemetry.subscription import Configured, Search
from broker_lite.control.telemetry.telemetry import Telemetry
from broker_lite.errors import ErrorCode
from tests.support.subscribed import subscribe

NONE, INVALID = ErrorCode.NONE, ErrorCode.INVALID_REQUEST
EARLY, UNKNOWN = ErrorCode.THROTTLING_QUOTA_EXCEEDED, ErrorCode.UNKNOWN_SUBSCRIPTION_ID
CODEC, TOO_LARGE = ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, ErrorCode.TELEMETRY_TOO_LARGE
ME = Identity(1, "app", "soft", "1.2", "127.0.0.1", 5000, 7)
NOW_MS = 1_700_000_000_000
INTERVAL_MS = 1000


class Scene:
    """A client and its broker, whose only subscription wants pushes every second."""

    def __init__(self) -> None:
        self.configs = {"s": {"metrics": "a", "interval.ms": str(INTERVAL_MS)}}
        self.changes = 0
        ids = count(1)
        self.telemetry = Telemetry(
            Configured(lambda: self.changes, lambda: self.configs, self.configs.__getitem__),
            lambda: next(ids).to_bytes(16, "little"),
        )
        self.now_ms = NOW_MS
        self.id = bytes(16)
        self.subscription = 0

    def get(self, identity: Identity = ME) -> ErrorCode:
        error, client = subscribe(self.telemetry, identity, self.id, self.now_ms)
        if error is NONE:
            assert client.instance is not None
            self.id, self.subscription = client.instance_id, client.instance.subscription_id
        return error

    def search(self, identity: Identity, instance_id: bytes) -> Search | None:
        search = self.telemetry.search(identity, instance_id, self.now_ms)
        for _ in search or ():
            pass
        return search

    def push(self, wrong: int = 0, identity: Identity = ME, **changed: Any) -> ErrorCode:
        fields: dict[str, Any] = {
            "compression_type": 0,
            "size_bytes": 10,
            "is_terminating": False,
            "bytes_max": 100,
        }
        error, _ = self.telemetry.check_push(
            identity,
            self.id,
            self.subscription ^ wrong,
            now_ms=self.now_ms,
            search=self.search(identity, self.id),
            **fields | changed,
        )
        return error

    @property
    def client(self) -> TelemetryClient:
        client = self.telemetry.clients.get(1, self.id)
        assert client is not None
        return client


@pytest.fixture
def scene() -> Scene:
    made = Scene()
    assert made.get() is NONE
    return made


def test_p151_an_id_is_made_once(scene: Scene) -> None:
    first = scene.id
    assert scene.client.wanted == (("a",), INTERVAL_MS)
    scene.id = bytes(16)
    assert scene.get() is NONE
    assert scene.id != first
    scene.id = b"chosen by itself"
    assert scene.get() is NONE
    assert scene.id == b"chosen by itself"


def test_p151_an_id_that_is_taken_is_not_made_again() -> None:
    scene = Scene()
    scene.id = (1).to_bytes(16, "little")
    assert scene.get() is NONE
    scene.id = bytes(16)
    assert scene.get() is NONE
    assert scene.id == (2).to_bytes(16, "little")


def test_p151_a_client_that_asks_too_early(scene: Scene) -> None:
    assert scene.get() is EARLY
    scene.now_ms += INTERVAL_MS - 1
    assert scene.get() is EARLY
    scene.now_ms += 1
    assert scene.get() is NONE
    scene.now_ms += INTERVAL_MS // 2
    assert scene.push() is NONE
    scene.now_ms += INTERVAL_MS // 2
    assert scene.get() is EARLY


@pytest.mark.parametrize(
    ("refused", "error"),
    [({"wrong": 1}, UNKNOWN), ({"compression_type": 9}, CODEC), ({"compression_type": -1}, CODEC)],
)
def test_p151_errors_after_which_a_client_may_ask_at_once(
    scene: Scene, refused: dict[str, int], error: ErrorCode
) -> None:
    assert scene.push(**refused) is error
    assert scene.get() is NONE
    assert scene.get() is EARLY
    assert scene.push() is EARLY


def test_p154_the_first_push_may_come_at_once_and_the_others_not(scene: Scene) -> None:
    assert [scene.push(), scene.push()] == [NONE, EARLY]
    scene.now_ms += INTERVAL_MS
    assert [scene.push(), scene.push()] == [NONE, EARLY]
    assert (scene.client.refused, scene.client.last_refusal) == (2, EARLY)


def test_p154_a_push_may_come_one_millisecond_early(scene: Scene) -> None:
    assert scene.push() is NONE
    scene.now_ms += INTERVAL_MS - 2
    assert scene.push() is EARLY
    scene.now_ms += 1
    assert [scene.push(), scene.push()] == [NONE, EARLY]


@pytest.mark.parametrize("last_byte", [0, 1])
def test_p154_reserved_ids(scene: Scene, last_byte: int) -> None:
    scene.id = bytes(15) + bytes([last_byte])
    assert scene.push() is INVALID
    assert scene.telemetry.clients.get(1, scene.id) is None


def test_p154_the_order_of_the_checks(scene: Scene) -> None:
    wrong: dict[str, Any] = {"wrong": 1, "compression_type": 9, "size_bytes": 101}
    assert scene.push(**wrong) is UNKNOWN
    assert scene.push(**wrong) is EARLY
    scene.now_ms += INTERVAL_MS
    assert scene.push(**wrong | {"wrong": 0}) is CODEC
    scene.now_ms += INTERVAL_MS
    assert scene.push(size_bytes=101) is TOO_LARGE
    scene.now_ms += INTERVAL_MS
    assert scene.push(size_bytes=100) is NONE


def test_p154_a_terminating_push_is_never_early_and_the_last_one(scene: Scene) -> None:
    assert scene.push() is NONE
    assert scene.push(is_terminating=True) is NONE
    scene.now_ms += INTERVAL_MS
    assert scene.push() is INVALID
    # that one did not say that it was terminating
    assert scene.push(is_terminating=True) is NONE
    assert scene.push(is_terminating=True) is INVALID


def test_p154_a_refused_push_may_be_the_last_one(scene: Scene) -> None:
    assert scene.push(wrong=1, is_terminating=True) is UNKNOWN
    scene.now_ms += INTERVAL_MS
    assert scene.push() is INVALID


def test_p155_a_change_of_subscriptions_begins_anew(scene: Scene) -> None:
    assert scene.push() is NONE
    scene.configs["t"] = {"metrics": "*"}
    scene.changes += 1
    assert scene.push() is UNKNOWN
    before = scene.subscription
    assert scene.get() is NONE
    assert scene.subscription != before
    assert scene.client.wanted.metrics == ("*",)


def test_p155_a_client_is_who_it_was_at_its_first_request(scene: Scene) -> None:
    renamed = ME._replace(client_id="other", connection_id=8)
    scene.now_ms += INTERVAL_MS
    assert scene.get(renamed) is NONE
    scene.changes += 1
    assert scene.get(renamed) is NONE
    assert scene.client.identity == ME._replace(connection_id=8)


@pytest.mark.parametrize(("interval_ms", "expiry_ms"), [(1000, 60_000), (30_000, 90_000)])
def test_p155_an_instance_expires(interval_ms: int, expiry_ms: int) -> None:
    scene = Scene()
    scene.configs["s"]["interval.ms"] = str(interval_ms)
    assert scene.get() is NONE
    assert scene.push(is_terminating=True) is NONE
    scene.now_ms += expiry_ms - 1
    assert scene.push() is INVALID
    assert scene.push(is_terminating=True) is NONE
    scene.now_ms += expiry_ms
    assert scene.push(identity=ME._replace(client_id="new")) is NONE
    assert scene.client.identity.client_id == "new"


def test_p154_another_broker_takes_the_same_subscription(scene: Scene) -> None:
    assert scene.push(identity=ME._replace(node_id=2)) is NONE
    assert len(scene.telemetry.clients) == 2


def test_what_is_kept_of_a_push(scene: Scene) -> None:
    scene.push(is_terminating=True)
    pushed = Pushed({"group_id": "g"}, [Point("a", (), 1)], 1)
    # its connection has ended while the push was read
    scene.telemetry.clients.disconnected(ME.connection_id)
    scene.telemetry.take(scene.client, pushed, 44, scene.now_ms, is_terminating=True)
    client = scene.client
    assert (client.pushes, client.pushed_bytes, client.pushed_ms) == (1, 44, scene.now_ms)
    assert (client.is_ended, client.resource) == (True, {"group_id": "g"})
    assert len(client.series) == 1
    client.instance = None
    scene.telemetry.refuse(client, ErrorCode.INVALID_RECORD)
    assert client.last_refusal is ErrorCode.INVALID_RECORD
