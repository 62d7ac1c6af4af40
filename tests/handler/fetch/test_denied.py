"""Fetch by clients whose rights are limited: X-47, X-63."""

from typing import Any

import anyio
import pytest

from broker_lite.security.acls.acl import CLUSTER_NAME, Operation, ResourceType
from broker_lite.security.principal import Principal
from broker_lite.wire import messages
from tests.handler.data_apis import FETCH, TOPIC, Handlers, size, wanted
from tests.handler.fetch.test_session import Client
from tests.log.batches import batch, record
from tests.support.acls import acl, apply_acls
from tests.support.handler_broker import HandlerBroker

DATA = batch(record())
READ = acl(Operation.READ)
BROKER = acl(Operation.CLUSTER_ACTION, ResourceType.CLUSTER, CLUSTER_NAME)
BOB = Principal("User", "bob")


@pytest.fixture
def handlers(handlers: Handlers) -> Handlers:
    """Topics t and other have a record each."""
    handlers.create("other")
    handlers.produce(DATA)
    handlers.produce(DATA, topic="other")
    return handlers


def request(*names: str | bytes, **fields: Any) -> Any:
    """Partition 0 of each topic, by name or by id."""
    types = messages.FetchRequest
    topics = [
        types.FetchTopic(
            topic="" if isinstance(name, bytes) else name,
            topic_id=name if isinstance(name, bytes) else bytes(16),
            partitions=[wanted()],
        )
        for name in names
    ]
    return types(min_bytes=1, max_bytes=1_000_000, topics=topics, **fields)


def answers(response: Any, version: int = 12) -> list[tuple[str | bytes, int, int]]:
    """Topic, error code and bytes of records of each partition, in the order of the answer."""
    return [
        (topic.topic_id if version >= 13 else topic.topic, each.error_code, size(each))
        for topic in response.responses
        for each in topic.partitions
    ]


def test_x47_denied_topics_come_last_and_the_others_have_records(handlers: Handlers) -> None:
    apply_acls(handlers.context, READ)
    response = handlers.now(FETCH, 12, request("other", "unknown", TOPIC))
    assert answers(response) == [(TOPIC, 0, len(DATA)), ("other", 29, 0), ("unknown", 29, 0)]
    denied = response.responses[1].partitions[0]
    offsets = (denied.high_watermark, denied.last_stable_offset, denied.log_start_offset)
    assert offsets == (-1, -1, -1)
    assert denied.aborted_transactions == []


def test_x47_denied_and_unknown_topics_keep_their_order(handlers: Handlers) -> None:
    apply_acls(handlers.context, READ, acl(Operation.READ, name="gone"))
    response = handlers.now(FETCH, 12, request("gone", "other", TOPIC, "denied"))
    assert answers(response)[1:] == [("gone", 3, 0), ("other", 29, 0), ("denied", 29, 0)]


def test_x63_an_unknown_id_is_no_secret_and_comes_first(handlers: Handlers) -> None:
    apply_acls(handlers.context, READ)
    known, other, unknown = handlers.topic_id(), handlers.topic_id("other"), b"u" * 16
    response = handlers.now(FETCH, 13, request(other, unknown, known))
    assert answers(response, 13) == [(known, 0, len(DATA)), (unknown, 100, 0), (other, 29, 0)]


def test_f05_unknown_ids_come_before_unknown_partitions(handlers: Handlers) -> None:
    value = request(handlers.topic_id(), b"u" * 16)
    value.topics[0].partitions.append(wanted(9))
    assert answers(handlers.now(FETCH, 13, value), 13) == [
        (handlers.topic_id(), 0, len(DATA)),
        (b"u" * 16, 100, 0),
        (handlers.topic_id(), 3, 0),
    ]


@pytest.mark.parametrize(
    ("rights", "code"), [((READ,), 29), ((BROKER,), 6), ((), 29)], ids=["reads", "broker", "none"]
)
def test_x47_a_follower_needs_a_right_on_the_cluster(
    handlers: Handlers, rights: tuple[Any, ...], code: int
) -> None:
    apply_acls(handlers.context, *rights)
    response = handlers.now(FETCH, 12, request(TOPIC, "unknown", replica_id=7))
    unknown = 29 if code == 29 else 3
    assert answers(response) == [(TOPIC, code, 0), ("unknown", unknown, 0)]


def test_x47_a_right_that_is_taken_away_ends_within_a_session(handlers: Handlers) -> None:
    index = apply_acls(handlers.context, READ, acl(Operation.WRITE))
    client = Client(handlers, wanted(0), wanted(1))
    assert client.news(wanted(0, offset=1)) == []
    index.remove(READ)
    assert client.news() == [(0, 29, 0), (1, 29, 0)]
    assert client.news() == [(0, 29, 0), (1, 29, 0)]
    index.add(READ)
    assert client.news() == [(0, 0, 0), (1, 0, 0)]
    assert client.news() == []
    handlers.produce(DATA)
    assert client.news() == [(0, 0, len(DATA))]


def test_x47_who_uses_anothers_session_has_its_own_rights(handlers: Handlers) -> None:
    index = apply_acls(handlers.context, READ)
    client = Client(handlers, wanted(0, offset=1))
    assert client.news() == []
    handlers.context.principal = BOB
    assert client.news() == [(0, 29, 0)]
    index.add(READ._replace(principal="User:bob"))
    assert client.news() == [(0, 0, 0)]
    assert client.news() == []


async def fetch(handlers: Handlers, *names: str) -> list[tuple[str | bytes, int, int]]:
    with anyio.fail_after(10):
        value = request(*names, max_wait_ms=60_000)
        value.topics[-1].partitions[0].fetch_offset = 1
        return answers(await handlers.answer(FETCH, 12, value))


@pytest.mark.anyio
async def test_x47_f30_only_denied_topics_are_answered_at_once(handlers: Handlers) -> None:
    apply_acls(handlers.context, READ)
    assert await fetch(handlers, "other", "unknown") == [("other", 29, 0), ("unknown", 29, 0)]


@pytest.mark.anyio
async def test_x47_f30_the_others_are_waited_for(handlers: Handlers) -> None:
    index = apply_acls(handlers.context, READ)
    got: list[Any] = []

    async def wait() -> None:
        got.extend(await fetch(handlers, "other", TOPIC))

    async with anyio.create_task_group() as group:
        group.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        assert not got
        index.add(acl(Operation.READ, name="other"))  # it counts for the next request
        handlers.context.authorizer, authorizer = None, handlers.context.authorizer
        await handlers.answer(0, 8, handlers.produce_request(DATA))
        handlers.context.authorizer = authorizer
    assert got == [(TOPIC, 0, len(DATA)), ("other", 29, 0)]


@pytest.mark.usefixtures("short_turns")
def test_x47_a_request_of_very_many_partitions(broker: HandlerBroker) -> None:
    broker.cluster.create_topic(TOPIC)
    apply_acls(broker.context, READ)
    value = request(*(f"no-{number}" for number in range(1500)), TOPIC)
    found = answers(broker.request("Fetch", 12, value))
    assert found[0] == (TOPIC, 0, 0)
    assert [each[0] for each in found[1:]] == [f"no-{number}" for number in range(1500)]
    assert {each[1] for each in found[1:]} == {29}
