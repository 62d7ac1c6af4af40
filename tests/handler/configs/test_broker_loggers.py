"""Levels of loggers as configs: P-134. Codes and texts are those of a real Kafka 4.3.1."""

import logging
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from broker_lite.wire import messages
from tests.support.acls import apply_acls
from tests.support.handler_broker import HandlerBroker, OpenBroker, one
from tests.support.several_brokers import talk_to

LOGGERS = 8
SET, DELETE, APPEND, SUBTRACT = range(4)
LOG = "broker_lite.log"
NO_LEVEL = "Valid log levels are DEBUG, ERROR, FATAL, INFO, TRACE, WARN"


@pytest.fixture(autouse=True)
def _levels_are_restored() -> Iterator[None]:
    logger, root = logging.getLogger(LOG), logging.getLogger("broker_lite")
    before = logger.level, root.level
    logger.setLevel(logging.NOTSET)
    root.setLevel(logging.INFO)
    yield
    logger.setLevel(before[0])
    root.setLevel(before[1])


def describe(broker: HandlerBroker, name: str = "1", keys: Sequence[str] | None = (LOG,)) -> Any:
    asked = messages.DescribeConfigsRequest.DescribeConfigsResource(
        resource_type=LOGGERS,
        resource_name=name,
        configuration_keys=None if keys is None else list(keys),
    )
    return one(broker.call("DescribeConfigs", 4, resources=[asked]).results)


def level(broker: HandlerBroker, logger: str = LOG) -> str:
    return one(describe(broker, keys=[logger]).configs).value


def alter(
    broker: HandlerBroker,
    *operations: tuple[str, int, str | None],
    name: str = "1",
    validate_only: bool = False,
) -> tuple[int, str | None]:
    types = messages.IncrementalAlterConfigsRequest
    resource = types.AlterConfigsResource(
        resource_type=LOGGERS,
        resource_name=name,
        configs=[
            types.AlterableConfig(name=logger, config_operation=code, value=value)
            for logger, code, value in operations
        ],
    )
    answer = broker.call(
        "IncrementalAlterConfigs", 1, resources=[resource], validate_only=validate_only
    )
    response = one(answer.responses)
    return response.error_code, response.error_message


def test_p134_all_loggers_are_described(broker: HandlerBroker) -> None:
    for keys in (None, []):
        told = {config.name: config for config in describe(broker, keys=keys).configs}
        assert {"root", LOG, "broker_lite.control"} <= told.keys()
        assert all(name == "root" or name.startswith("broker_lite.") for name in told)
    config = one(describe(broker).configs)
    assert (config.value, config.config_source, config.config_type) == ("INFO", 6, 0)
    assert (config.read_only, config.is_sensitive, config.documentation) == (False, False, "")
    assert config.synonyms == []
    assert describe(broker, keys=["nope"]).configs == []


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "Broker id must not be empty"),
        ("7", "Unexpected broker id, expected 1 but received 7"),
        ("x", "Broker id must be an integer, but it is: x"),
    ],
)
def test_p134_of_another_broker(broker: HandlerBroker, name: str, message: str) -> None:
    result = describe(broker, name)
    assert (result.error_code, result.error_message, result.configs) == (42, message, [])


@pytest.mark.parametrize("text", ["FATAL", "ERROR", "WARN", "INFO", "DEBUG", "TRACE"])
def test_p134_a_level_is_set_and_taken_back(broker: HandlerBroker, text: str) -> None:
    assert alter(broker, (LOG, SET, text)) == (0, None)
    assert level(broker) == text
    is_heard = logging.getLogger(LOG).isEnabledFor(logging.WARNING)
    assert is_heard == (text not in {"FATAL", "ERROR"})
    assert alter(broker, (LOG, DELETE, None)) == (0, None)
    assert level(broker) == "INFO"


def test_p134_root_is_the_level_of_all_others(broker: HandlerBroker) -> None:
    assert alter(broker, ("root", SET, "ERROR")) == (0, None)
    assert (level(broker, "root"), level(broker)) == ("ERROR", "ERROR")
    assert logging.getLogger().level != logging.ERROR


@pytest.mark.parametrize(
    ("operations", "code", "message"),
    [
        ([(LOG, SET, "debug")], 40, f"Cannot set the log level of {LOG} to debug as it is not a "),
        ([(LOG, SET, "OFF")], 40, NO_LEVEL),
        ([(LOG, SET, "")], 40, NO_LEVEL),
        ([(LOG, SET, None)], 42, f"Null value not supported for : {LOG}"),
        ([("root", DELETE, None)], 42, "Removing the log level of the root logger is not allowed"),
        ([("nope", SET, "DEBUG")], 40, "Logger nope does not exist!"),
        ([("nope", DELETE, None)], 40, "Logger nope does not exist!"),
        ([("", SET, "WARN")], 40, "Logger  does not exist!"),
        ([("broker_lite", SET, "WARN")], 40, "Logger broker_lite does not exist!"),
        ([(LOG, APPEND, "DEBUG")], 42, "APPEND operation is not allowed for the BROKER_LOGGER"),
        ([(LOG, SUBTRACT, "DEBUG")], 42, "SUBTRACT operation is not allowed for the BROKER_LOG"),
        ([(LOG, 9, "DEBUG")], -1, ""),
        ([(LOG, SET, "WARN"), ("nope", SET, "WARN")], 40, "Logger nope does not exist!"),
        ([(LOG, SET, "WARN"), (LOG, SET, "ERROR")], 42, "Error due to duplicate config keys"),
    ],
)
def test_p134_what_is_refused_changes_nothing(
    broker: HandlerBroker,
    operations: list[tuple[str, int, str | None]],
    code: int,
    message: str,
) -> None:
    told_code, told_message = alter(broker, *operations)
    assert told_code == code
    assert message in (told_message or "")
    assert level(broker) == "INFO"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "Node id must be an integer, but it is: "),
        ("x", "Node id must be an integer, but it is: x"),
        ("7", "Unexpected node id. Expected 1, but received 7"),
    ],
)
def test_p134_levels_of_another_broker(broker: HandlerBroker, name: str, message: str) -> None:
    assert alter(broker, (LOG, SET, "DEBUG"), name=name) == (42, message)
    assert alter(broker, name=name) == (42, message)


def test_p134_x57_rights_come_before_the_name_is_looked_at(broker: HandlerBroker) -> None:
    apply_acls(broker.context)
    denied = (31, "Cluster authorization failed.")
    for name in ("1", "7", "x"):
        assert alter(broker, (LOG, SET, "nope"), name=name) == denied
        result = describe(broker, name)
        assert (result.error_code, result.error_message) == denied
    assert alter(broker, (LOG, SET, None)) == (42, f"Null value not supported for : {LOG}")


def test_p134_validate_only_changes_nothing(broker: HandlerBroker) -> None:
    assert alter(broker, (LOG, SET, "DEBUG"), validate_only=True) == (0, None)
    assert level(broker) == "INFO"


def test_p134_alter_configs_does_not_know_loggers(broker: HandlerBroker) -> None:
    types = messages.AlterConfigsRequest
    resource = types.AlterConfigsResource(
        resource_type=LOGGERS,
        resource_name="1",
        configs=[types.AlterableConfig(name=LOG, value="DEBUG")],
    )
    response = one(broker.call("AlterConfigs", 2, resources=[resource]).responses)
    assert (response.error_code, response.error_message) == (42, "Unknown resource type 8")
    assert level(broker) == "INFO"


def test_p134_brokers_of_a_process_share_their_loggers(open_broker: OpenBroker) -> None:
    broker = talk_to(open_broker(broker_lite_brokers="2"), 2)
    assert alter(broker, (LOG, SET, "DEBUG"), name="2") == (0, None)
    assert one(describe(talk_to(broker, 1)).configs).value == "DEBUG"
