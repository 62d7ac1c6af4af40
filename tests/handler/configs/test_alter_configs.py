"""What the differential test does not reach; codes and texts are in tests/differential."""

from collections.abc import Callable
from typing import Any

import anyio
import pytest

from broker_lite.control.metadata.image import BROKER_RESOURCE, GROUP_RESOURCE, TOPIC_RESOURCE
from broker_lite.errors import ErrorCode, InvalidRequest
from broker_lite.settings import Settings
from broker_lite.wire import messages
from tests.support.handler_broker import HandlerBroker, OpenBroker, one
from tests.support.several_brokers import talk_to


def alter(broker: HandlerBroker, version: int, value: str, **fields: Any) -> Any:
    types = messages.AlterConfigsRequest
    resource = types.AlterConfigsResource(
        resource_type=TOPIC_RESOURCE,
        resource_name="t",
        configs=[types.AlterableConfig(name="segment.ms", value=value)],
    )
    return broker.call("AlterConfigs", version, resources=[resource], **fields)


def alter_one(broker: HandlerBroker, version: int, value: str, **fields: Any) -> Any:
    types = messages.IncrementalAlterConfigsRequest
    resource = types.AlterConfigsResource(
        resource_type=TOPIC_RESOURCE,
        resource_name="t",
        configs=[types.AlterableConfig(name="segment.ms", config_operation=0, value=value)],
    )
    return broker.call("IncrementalAlterConfigs", version, resources=[resource], **fields)


CALLS = [(alter, 0), (alter, 1), (alter, 2), (alter_one, 0), (alter_one, 1)]


@pytest.mark.parametrize(("call", "version"), CALLS)
def test_every_version_alters_and_the_log_knows_at_once(
    broker: HandlerBroker, call: Any, version: int
) -> None:
    """P-126, P-128."""
    broker.cluster.create_topic("t")
    log = broker.cluster.log("t", 0)
    assert one(call(broker, version, "9").responses).error_code == 0
    assert log.config.segment_ms == 9


@pytest.mark.parametrize("call", [alter, alter_one])
def test_p129_validate_only_checks_and_changes_nothing(broker: HandlerBroker, call: Any) -> None:
    broker.cluster.create_topic("t")
    for value, error in (("9", 0), ("x", 40)):
        response = one(call(broker, 1, value, validate_only=True).responses)
        assert response.error_code == error
    assert broker.cluster.topics["t"].overrides == {}


def test_p127_a_resource_named_twice_fails_each_time(broker: HandlerBroker) -> None:
    broker.cluster.create_topic("t")
    types = messages.AlterConfigsRequest
    resource = types.AlterConfigsResource(resource_type=TOPIC_RESOURCE, resource_name="t")
    responses = broker.call("AlterConfigs", 2, resources=[resource, resource]).responses
    assert [response.error_code for response in responses] == [42, 42]


def test_p126_what_cannot_be_written_is_not_in_force(broker: HandlerBroker) -> None:
    broker.cluster.create_topic("t")
    assert broker.cluster.logs.metadata_log is not None
    broker.cluster.logs.metadata_log.delete()
    for send in (alter, alter_one):
        result = one(send(broker, 1, "7").responses)
        assert result.error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert broker.cluster.configs(TOPIC_RESOURCE, "t") == {}


def alter_group(broker: HandlerBroker, name: str, key: str, operation: int, value: str) -> Any:
    types = messages.IncrementalAlterConfigsRequest
    config = types.AlterableConfig(name=key, config_operation=operation, value=value)
    resource = types.AlterConfigsResource(
        resource_type=GROUP_RESOURCE, resource_name=name, configs=[config]
    )
    return one(broker.call("IncrementalAlterConfigs", 1, resources=[resource]).responses)


SESSION = "consumer.session.timeout.ms"


@pytest.mark.parametrize(
    ("name", "key", "operation", "value", "error", "message"),
    [
        ("g", SESSION, 0, "50000", 0, None),
        ("", SESSION, 0, "50000", 42, "Default group resources are not allowed."),
        ("g", "nope", 0, "1", 40, "Unknown group config name: nope"),
        ("g", SESSION, 2, "1", 40, f"Can't APPEND to key {SESSION} because its type is not LIST."),
    ],
)
def test_g91_configs_of_a_group(
    broker: HandlerBroker,
    name: str,
    key: str,
    operation: int,
    value: str,
    error: int,
    message: str | None,
) -> None:
    result = alter_group(broker, name, key, operation, value)
    assert (result.error_code, result.error_message) == (error, message)
    assert broker.cluster.configs(GROUP_RESOURCE, "g") == ({key: value} if error == 0 else {})


def test_g91_configs_of_a_group_are_replaced(broker: HandlerBroker) -> None:
    alter_group(broker, "g", SESSION, 0, "50000")
    resource = messages.AlterConfigsRequest.AlterConfigsResource(
        resource_type=GROUP_RESOURCE, resource_name="g"
    )
    assert one(broker.call("AlterConfigs", 2, resources=[resource]).responses).error_code == 0
    assert broker.cluster.configs(GROUP_RESOURCE, "g") == {}


LONG = "x" * 32_767


@pytest.mark.parametrize("call", [alter, alter_one])
def test_p_23_a_value_too_long_for_its_text_is_answered(broker: HandlerBroker, call: Any) -> None:
    broker.cluster.create_topic("t")
    response = one(call(broker, 1, LONG).responses)
    assert response.error_code == 40
    assert LONG[:30_000] in response.error_message
    assert response.error_message.endswith("...")


@pytest.mark.parametrize("name", ["AlterConfigs", "IncrementalAlterConfigs"])
def test_p127_very_many_configs_of_one_resource_are_refused(
    broker: HandlerBroker, name: str
) -> None:
    broker.cluster.create_topic("t")
    types = getattr(messages, f"{name}Request")
    configs = [types.AlterableConfig(name=f"{n}", value="1") for n in range(10_001)]
    for count, code in ((10_001, 44), (10_000, 40)):
        resource = types.AlterConfigsResource(
            resource_type=TOPIC_RESOURCE, resource_name="t", configs=configs[:count]
        )
        assert one(broker.call(name, 1, resources=[resource]).responses).error_code == code


def test_p127_many_configs_are_several_changes(broker: HandlerBroker) -> None:
    """Those of a hundred groups, thirty each, which do not exist: each is answered for itself."""
    types = messages.AlterConfigsRequest
    configs = [types.AlterableConfig(name=f"{n}", value="1") for n in range(30)]
    resources = [
        types.AlterConfigsResource(
            resource_type=GROUP_RESOURCE, resource_name=f"{n}", configs=configs if n % 2 else []
        )
        for n in range(100)
    ]
    answers = broker.call("AlterConfigs", 1, resources=resources).responses
    assert [each.resource_name for each in answers] == [f"{n}" for n in range(100)]
    assert [each.error_code for each in answers] == [0, 40] * 50


@pytest.mark.parametrize("api", ["AlterConfigs", "IncrementalAlterConfigs"])
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("2", None),
        ("", None),
        ("1", "Unexpected broker id, expected 2, but received 1"),
        ("9", "Unexpected broker id, expected 2, but received 9"),
        ("x", "Node id must be an integer, but it is: x"),
    ],
)
def test_p127_each_broker_takes_its_own_configs(
    open_broker: OpenBroker, api: str, name: str, text: str | None
) -> None:
    broker = talk_to(open_broker(broker_lite_brokers="3"), 2)
    types = getattr(messages, f"{api}Request")
    configs = {"max.connections": "7", **({} if name else {"min.insync.replicas": "1"})}
    resource = types.AlterConfigsResource(
        resource_type=BROKER_RESOURCE,
        resource_name=name,
        configs=[types.AlterableConfig(name=key, value=value) for key, value in configs.items()],
    )
    response = one(broker.call(api, 1, resources=[resource]).responses)
    assert (response.error_code, response.error_message) == (42 if text else 0, text)
    counts = [broker.cluster.settings_of(node_id).max_connections for node_id in (1, 2, 3)]
    assert [count == 7 for count in counts] == [name == "", text is None, name == ""]


def test_p131_a_change_is_checked_against_the_brokers_own_settings(open_broker: OpenBroker) -> None:
    broker = talk_to(open_broker(broker_lite_brokers="2", num_io_threads="4"), 2)
    types = messages.IncrementalAlterConfigsRequest

    def threads(count: int) -> Any:
        resource = types.AlterConfigsResource(
            resource_type=BROKER_RESOURCE,
            resource_name="2",
            configs=[types.AlterableConfig(name="num.io.threads", value=str(count))],
        )
        return one(broker.call("IncrementalAlterConfigs", 1, resources=[resource]).responses)

    assert threads(8).error_code == 0
    assert threads(16).error_code == 0
    assert threads(33).error_code == 42
    assert broker.cluster.settings.num_io_threads == 4


KEY_STORE = "listener.name.ssl.ssl.keystore.location"


class Stores:
    """Key stores that are told what to refuse."""

    def __init__(self) -> None:
        self.turn = anyio.Lock()
        self.told: list[tuple[object, object, bool]] = []
        self.used = 0

    async def read(
        self, before: Settings, after: Settings, *, may_reload: bool
    ) -> Callable[[], None]:
        assert self.turn.locked()
        location = after.dynamic.get(KEY_STORE)
        self.told.append((before.dynamic.get(KEY_STORE), location, may_reload))
        if location == "/bad":
            raise InvalidRequest("it is bad")

        def use() -> None:
            self.used += 1

        return use


@pytest.fixture
def stores(broker: HandlerBroker) -> Stores:
    found = Stores()
    broker.context.key_stores = found
    return found


def alter_broker(broker: HandlerBroker, *resources: tuple[str, str | None], **more: Any) -> Any:
    types = messages.IncrementalAlterConfigsRequest
    return broker.call(
        "IncrementalAlterConfigs",
        1,
        resources=[
            types.AlterConfigsResource(
                resource_type=BROKER_RESOURCE,
                resource_name=name,
                configs=[
                    types.AlterableConfig(
                        name=KEY_STORE if name else "log.cleaner.backoff.ms",
                        config_operation=1 if value is None else 0,
                        value=value,
                    )
                ],
            )
            for name, value in resources
        ],
        **more,
    ).responses


def test_key_stores_are_read_before_a_change_x66(broker: HandlerBroker, stores: Stores) -> None:
    (answer,) = alter_broker(broker, ("1", "/a"))
    assert (answer.error_code, stores.told, stores.used) == (0, [(None, "/a", True)], 1)
    (answer,) = alter_broker(broker, ("1", None), validate_only=True)
    assert (answer.error_code, stores.told[1:], stores.used) == (0, [("/a", None, False)], 1)
    refused, other = alter_broker(broker, ("1", "/bad"), ("", "14000"))
    assert (refused.error_code, refused.error_message) == (42, "it is bad")
    assert (other.error_code, stores.used) == (0, 1)
    assert broker.cluster.configs(BROKER_RESOURCE, "1") == {KEY_STORE: "/a"}
    assert alter_broker(broker, ("", "14001"))[0].error_code == 0
    assert len(stores.told) == 3
    assert not stores.turn.locked()


def test_a_change_that_is_not_planned_reads_no_key_store(
    broker: HandlerBroker, stores: Stores
) -> None:
    first, second = alter_broker(broker, ("1", "/a"), ("1", "/b"))
    assert first.error_code == second.error_code == ErrorCode.INVALID_REQUEST
    assert stores.told == []
