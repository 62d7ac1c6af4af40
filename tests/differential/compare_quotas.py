"""The same loads with the same quotas at two brokers: how long each throttles, and mutes.

A load is one connection with a client id of its own. Right behind each step it sends an ApiVersions
request. It is answered once the broker reads on, so it tells how long the connection was muted.

Steps are sent at multiples of a time that is no part of a second. So no two of them are a whole
number of windows apart, where a millisecond would decide which windows count.
"""

import math
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from broker_lite.wire import messages
from tests.differential.batches import BatchSpec, RecordSpec
from tests.support.raw_client import Closed, RawClient

TOPIC: Final = "quotas"
RECORDS_BYTES: Final = 200_000
BEAT_S: Final = 0.73
SETTLED_S: Final = 0.1
"""Kafka puts a quota into force after it has answered."""
MUTED_S_MAX: Final = 8
"""Who is muted for longer is not waited for."""
_API_VERSIONS: Final = 18
_USER: Final = "ANONYMOUS"
_BATCH_BYTES: Final = 61
_RECORD_BYTES: Final = 8

Levels = Mapping[str, str | None]


class Step(NamedTuple):
    """What is sent.

    Attributes:
        kind: produce, fetch, session, metadata (which creates topics), lookup (which does not),
            create, validate, grow or delete.
        size: of the records, the limit of a fetch, or a count of partitions.
        version: of the API.
        acks: of a Produce.
        name: of a topic.
    """

    kind: str
    size: int = 0
    version: int = 9
    acks: int = 1
    name: str = TOPIC


class Seen(NamedTuple):
    """What a client saw of a step.

    Attributes:
        throttle_ms: as the answer tells it; -1 without an answer.
        facts: the rest that has to be the same.
        muted_ms: how long the next request waited after the answer, or after it was sent;
            infinite if it was not waited for.
    """

    throttle_ms: int
    facts: Any
    muted_ms: float


class Load(NamedTuple):
    """One connection."""

    client_id: str
    steps: Sequence[Step]


def batch(size: int) -> bytes:
    """A batch of one record; it has about so many bytes."""
    value = bytes(max(0, size - _BATCH_BYTES - _RECORD_BYTES))
    now_ms = int(time.time() * 1000)  # older records would be deleted
    records = (RecordSpec(key=None, value=value),)
    return BatchSpec(records=records, base_timestamp=now_ms).encode()


def set_quota(client: RawClient, key: str, value: float | None, **entity: str | None) -> int:
    """Set a quota of user, client_id or ip; None for the value removes it. Gives the error code."""
    types = messages.AlterClientQuotasRequest
    names = [
        types.EntityData(entity_type=kind.replace("_", "-"), entity_name=name)
        for kind, name in entity.items()
    ]
    change = types.OpData(key=key, value=value or 0.0, remove=value is None)
    answer = client.call(
        "AlterClientQuotas", 1, entries=[types.EntryData(entity=names, ops=[change])]
    )
    code: int = answer.entries[0].error_code
    return code


def prepare(port: int) -> None:
    """Make the topic of the loads, with records to fetch."""
    with RawClient("127.0.0.1", port, client_id="admin") as client:
        make_topic(client)
        for _ in range(9):
            produce(client, Step("produce", RECORDS_BYTES))


def run(port: int, load: Load) -> list[Seen]:
    """Send the steps of a load, and note what is seen."""
    with RawClient("127.0.0.1", port, client_id=load.client_id, timeout_s=MUTED_S_MAX) as client:
        client.exchange(_API_VERSIONS, 0, b"")
        began = time.monotonic()
        seen, session = [], _Session()
        for step in load.steps:
            elapsed_s = time.monotonic() - began
            time.sleep(math.ceil(elapsed_s / BEAT_S) * BEAT_S - elapsed_s)
            seen.append(_see(client, step, session))
            if math.isinf(seen[-1].muted_ms):
                break
    return seen


class _Session:
    """A fetch session of a load."""

    id = 0
    epoch = 0


def _see(client: RawClient, step: Step, session: _Session) -> Seen:
    kind, value = _request(step, session)
    body = kind.encode(value, step.version)
    flexible = kind.flexible_from is not None and step.version >= kind.flexible_from
    client.send(kind.api_key, step.version, body, flexible=flexible)
    client.send(_API_VERSIONS, 0, b"", flexible=False)
    answered = time.monotonic()
    throttle_ms, facts = -1, None
    if step.acks:
        _, data = client.receive(flexible=flexible)
        answered = time.monotonic()
        answer, _ = messages.by_api(kind.api_key)[1].decode(data, step.version)
        throttle_ms, facts = answer.throttle_time_ms, _facts(step, answer, session)
    try:
        client.receive(flexible=False)
    except TimeoutError:
        return Seen(throttle_ms, facts, math.inf)
    return Seen(throttle_ms, facts, (time.monotonic() - answered) * 1000)


def produce(client: RawClient, step: Step) -> Any:
    """Send a Produce with an answer."""
    kind, value = _request(step, _Session())
    return client.request(kind, value, step.version)


def _request(step: Step, session: _Session) -> tuple[Any, Any]:
    if step.kind == "produce":
        types: Any = messages.ProduceRequest
        records = types.PartitionProduceData(index=0, records=batch(step.size))
        topics = [types.TopicProduceData(name=step.name, partition_data=[records])]
        return types, types(acks=step.acks, timeout_ms=5000, topic_data=topics)
    if step.kind in ("fetch", "session"):
        return messages.FetchRequest, _fetch(step, session)
    if step.kind in ("metadata", "lookup"):
        types = messages.MetadataRequest
        topics = [types.MetadataRequestTopic(name=step.name)]
        return types, types(topics=topics, allow_auto_topic_creation=step.kind == "metadata")
    if step.kind in ("create", "validate"):
        return messages.CreateTopicsRequest, _creation(step)
    if step.kind == "grow":
        types = messages.CreatePartitionsRequest
        topics = [types.CreatePartitionsTopic(name=step.name, count=step.size, assignments=None)]
        return types, types(topics=topics, timeout_ms=5000, validate_only=False)
    assert step.kind == "delete"
    types = messages.DeleteTopicsRequest
    return types, types(topic_names=[step.name], timeout_ms=5000)


def _fetch(step: Step, session: _Session) -> Any:
    types = messages.FetchRequest
    wanted = [types.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)]
    topics = [types.FetchTopic(topic=step.name, partitions=wanted)]
    is_session = step.kind == "session"
    return types(
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=step.size,
        session_id=session.id if is_session else 0,
        session_epoch=session.epoch if is_session else -1,
        topics=topics if not (is_session and session.epoch) else [],
    )


def _creation(step: Step) -> Any:
    types = messages.CreateTopicsRequest
    names = step.name.split(",")
    topics = [
        types.CreatableTopic(
            name=name, num_partitions=step.size, replication_factor=1, assignments=[], configs=[]
        )
        for name in names
    ]
    return types(topics=topics, timeout_ms=5000, validate_only=step.kind == "validate")


def make_topic(client: RawClient) -> None:
    """Make the topic of the loads, and wait until it takes records."""
    client.request(messages.CreateTopicsRequest, _creation(Step("create", 1)), 5)
    for _ in range(50):
        answer = produce(client, Step("produce", RECORDS_BYTES))
        if not answer.responses[0].partition_responses[0].error_code:
            break
        time.sleep(0.1)


def _facts(step: Step, answer: Any, session: _Session) -> Any:
    if step.kind == "produce":
        return answer.responses[0].partition_responses[0].error_code
    if step.kind in ("fetch", "session"):
        partitions = [each for topic in answer.responses for each in topic.partitions]
        if step.kind == "session":
            session.id = session.id or answer.session_id
            session.epoch += bool(answer.session_id)
        return (
            answer.error_code,
            bool(answer.session_id),
            [(each.error_code, len(each.records or b"")) for each in partitions],
        )
    if step.kind == "metadata":  # Kafka creates the topic after the answer
        return None
    if step.kind == "lookup":
        return answer.topics[0].error_code
    if step.kind == "delete":
        return [(each.name, each.error_code, each.error_message) for each in answer.responses]
    results = answer.topics if step.kind in ("create", "validate") else answer.results
    return sorted((each.name, each.error_code, each.error_message) for each in results)


def quotas() -> Iterator[tuple[str, float, Levels]]:
    """The quotas of the loads: key, value, entity."""
    yield "producer_byte_rate", 20_000.0, {"client_id": "steady"}
    yield "producer_byte_rate", 100_000.0, {"client_id": "random-1"}
    yield "producer_byte_rate", 30_000.0, {"client_id": "random-2"}
    yield "producer_byte_rate", 40_000.0, {"client_id": "silent"}
    yield "producer_byte_rate", 9_000.0, {"client_id": None}
    yield "consumer_byte_rate", 60_000.0, {"client_id": "reader"}
    yield "consumer_byte_rate", 50_000.0, {"client_id": "session"}
    yield "consumer_byte_rate", 1.0, {"client_id": "tiny"}
    yield "controller_mutation_rate", 1.0, {"client_id": "maker"}
    yield "controller_mutation_rate", 1.0, {"client_id": "old-maker"}
    yield "controller_mutation_rate", 1.0, {"client_id": "on-demand"}
    yield "request_percentage", 0.000_001, {"client_id": "slow"}


def loads(seed: int) -> list[Load]:
    """The loads, which run at the same time."""
    dice = random.Random(seed)

    def some(count: int, top: int) -> list[Step]:
        sizes = [dice.randint(1_000, top) for _ in range(count)]
        return [Step("produce", size, dice.choice((3, 7, 9))) for size in sizes]

    fetches = [Step("fetch", dice.choice((150_000, 450_000, 900_000)), 11) for _ in range(8)]
    return [
        Load("steady", [Step("produce", 30_000)] * 11),
        Load("random-1", some(16, 180_000)),
        Load("random-2", some(16, 60_000)),
        Load("silent", [Step("produce", 200_000, 9, 0)] * 4),
        Load("default", [Step("produce", 100_000), Step("produce", 40_000)]),
        Load("", [Step("produce", 150_000)] * 2),
        Load("reader", fetches),
        Load("session", [Step("session", 250_000, 11)] * 7),
        Load("tiny", [Step("fetch", 250_000, 11)]),
        Load("maker", list(_changes(dice, "m", (7, 5, 3)))),
        Load("old-maker", list(_changes(dice, "o", (5, 3, 2)))),
        Load("on-demand", list(_on_demand())),
        Load("slow", [*SLOW, Step("metadata", version=9)]),
    ]


SLOW: Final = (
    Step("produce", 100),
    Step("produce", 100, 9, 0),
    Step("fetch", 300_000, 11),
    Step("create", 1, 7, 1, "slow"),
)
"""Steps of a client that is above its share of time with each request."""


def _changes(dice: random.Random, prefix: str, versions: tuple[int, int, int]) -> Iterator[Step]:
    """Changes of topics: some at once, until tokens are owed, and some as they come back."""
    create, delete, grow = versions
    yield Step("create", 5, create, 1, f"{prefix}0")
    yield Step("validate", 2, create, 1, f"{prefix}x")
    yield Step("grow", 8, grow, 1, f"{prefix}0")
    yield Step("create", 3, create, 1, f"{prefix}1,{prefix}2,{prefix}3")
    yield Step("delete", 0, delete, 1, f"{prefix}0")
    for number in range(4, 5):
        yield Step("create", dice.randint(1, 3), create, 1, f"{prefix}{number}")
        yield Step("grow", dice.randint(4, 5), grow, 1, f"{prefix}{number}")


def _on_demand() -> Iterator[Step]:
    """Topics that are made when a client asks for them, while tokens are owed and later."""
    yield Step("create", 13, 7, 1, "d")  # 2 tokens are owed
    yield Step("metadata", name="d1")
    yield Step("lookup", name="d1")
    yield Step("lookup", name="d1")
    yield Step("metadata", name="d2")
    yield Step("lookup", name="d2")


LEVELS: Final[Sequence[Levels]] = (
    {"user": _USER, "client_id": "levels"},
    {"user": _USER, "client_id": None},
    {"user": _USER},
    {"user": None, "client_id": "levels"},
    {"user": None, "client_id": None},
    {"user": None},
    {"client_id": "levels"},
    {"client_id": None},
)
"""The levels at which a quota can be set, the most specific first."""


def by_level(port: int) -> list[int]:
    """Set a quota on each level, and take them away one by one; the throttle time of each."""
    found = []
    with RawClient("127.0.0.1", port, client_id="admin") as admin:
        for number, level in enumerate(LEVELS):
            assert set_quota(admin, "producer_byte_rate", 1500.0 + 50 * number, **level) == 0
        for level in (*LEVELS, None):
            time.sleep(SETTLED_S)
            with RawClient("127.0.0.1", port, client_id="levels") as client:
                answer = produce(client, Step("produce", 20_000))
            found.append(answer.throttle_time_ms)
            if level is not None:
                assert set_quota(admin, "producer_byte_rate", None, **level) == 0
    return found


CONNECTION_RATE: Final = 4
CONNECTIONS: Final = 45


def connections(port: int, entity: Levels | None) -> list[tuple[str, float]]:
    """Connect again and again, one after the other: what becomes of each, and after how long.

    Args:
        port: of the broker.
        entity: whose connections are limited; None for those of the whole node.
    """
    with RawClient("127.0.0.1", port, client_id="admin") as admin:
        _limit_connections(admin, entity, CONNECTION_RATE)
        time.sleep(SETTLED_S)
        found = [_connect(port) for _ in range(CONNECTIONS)]
        _limit_connections(admin, entity, None)
    return found


def _connect(port: int) -> tuple[str, float]:
    began = time.monotonic()
    try:
        with RawClient("127.0.0.1", port) as client:
            client.exchange(_API_VERSIONS, 0, b"")
        outcome = "served"
    except Closed:
        outcome = "closed"
    return outcome, (time.monotonic() - began) * 1000


def _limit_connections(admin: RawClient, entity: Levels | None, rate: int | None) -> None:
    if entity is not None:
        assert set_quota(admin, "connection_creation_rate", rate, **entity) == 0
        return
    types = messages.IncrementalAlterConfigsRequest
    change = types.AlterableConfig(
        name="max.connection.creation.rate",
        config_operation=0 if rate else 1,
        value=None if rate is None else str(rate),
    )
    resource = types.AlterConfigsResource(resource_type=4, resource_name="", configs=[change])
    answer = admin.call("IncrementalAlterConfigs", 1, resources=[resource], validate_only=False)
    assert answer.responses[0].error_code == 0
