"""min.insync.replicas while eligible leader replicas are in force, as a Kafka 4.3.1 answers."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from broker_lite.control.cluster.eligible_replicas import clearings
from broker_lite.control.metadata.image import BROKER_RESOURCE, TOPIC_RESOURCE
from broker_lite.wire import messages
from tests.support.handler_broker import HandlerBroker, handler_broker, one
from tests.support.several_brokers import place_topic

OpenBroker = Callable[..., HandlerBroker]
FEATURE = "eligible.leader.replicas.version"
KEY = "min.insync.replicas"
SET, DELETE = 0, 1
NO_REMOVAL = f"Cluster-level {KEY} cannot be removed while ELR is enabled."
NO_CHANGE = f"Broker-level {KEY} cannot be altered while ELR is enabled."


@pytest.fixture
def open_broker(tmp_path: Path) -> Iterator[OpenBroker]:
    with ExitStack() as stack:
        yield lambda **texts: stack.enter_context(
            handler_broker(
                tmp_path / "data", {name.replace("_", "."): text for name, text in texts.items()}
            )
        )


def alter(broker: HandlerBroker, name: str, code: int, value: str | None, key: str = KEY) -> Any:
    types = messages.IncrementalAlterConfigsRequest
    config = types.AlterableConfig(name=key, config_operation=code, value=value)
    resource = types.AlterConfigsResource(
        resource_type=BROKER_RESOURCE, resource_name=name, configs=[config]
    )
    answer = one(broker.call("IncrementalAlterConfigs", 1, resources=[resource]).responses)
    return answer.error_code, answer.error_message


def replace(broker: HandlerBroker, name: str, **values: str) -> Any:
    types = messages.AlterConfigsRequest
    configs = [
        types.AlterableConfig(name=key.replace("_", "."), value=value)
        for key, value in values.items()
    ]
    resource = types.AlterConfigsResource(
        resource_type=BROKER_RESOURCE, resource_name=name, configs=configs
    )
    answer = one(broker.call("AlterConfigs", 2, resources=[resource]).responses)
    return answer.error_code, answer.error_message


def configured(broker: HandlerBroker, name: str = "") -> dict[str, str]:
    return dict(broker.cluster.configs(BROKER_RESOURCE, name))


@pytest.mark.parametrize("static", ["1", "2"])
def test_p54_a_new_cluster_has_the_value_of_its_broker(
    open_broker: OpenBroker, static: str
) -> None:
    assert configured(open_broker(min_insync_replicas=static)) == {KEY: static}


def test_p121_topics_are_described_with_it(open_broker: OpenBroker) -> None:
    broker = open_broker()
    broker.cluster.create_topic("t")
    types = messages.DescribeConfigsRequest
    resource = types.DescribeConfigsResource(
        resource_type=2, resource_name="t", configuration_keys=[KEY]
    )
    described = broker.call("DescribeConfigs", 4, resources=[resource], include_synonyms=True)
    config = one(one(described.results).configs)
    dynamic_default, default = 3, 5
    assert (config.value, config.config_source) == ("1", dynamic_default)
    assert [each.source for each in config.synonyms] == [dynamic_default, default]


def test_p127_the_cluster_keeps_a_value(open_broker: OpenBroker) -> None:
    broker = open_broker()
    assert alter(broker, "", DELETE, None) == (40, NO_REMOVAL)
    assert replace(broker, "", log_retention_ms="100000") == (40, NO_REMOVAL)
    assert replace(broker, "") == (40, NO_REMOVAL)
    assert configured(broker) == {KEY: "1"}
    assert alter(broker, "", SET, "2") == (0, None)
    assert replace(broker, "", min_insync_replicas="1") == (0, None)
    assert configured(broker) == {KEY: "1"}


def test_p127_no_broker_has_one_of_its_own(open_broker: OpenBroker) -> None:
    broker = open_broker()
    assert alter(broker, "1", SET, "2") == (40, NO_CHANGE)
    assert alter(broker, "1", DELETE, None) == (40, NO_CHANGE)
    assert replace(broker, "1", min_insync_replicas="1") == (40, NO_CHANGE)
    assert alter(broker, "1", SET, "100000", "log.retention.ms") == (0, None)
    assert replace(broker, "1") == (0, None)


def test_p54_both_are_free_without_the_feature_and_gone_with_it(open_broker: OpenBroker) -> None:
    broker = open_broker()
    broker.cluster.update_features({FEATURE: 0})
    assert configured(broker) == {KEY: "1"}
    assert alter(broker, "1", SET, "2") == (0, None)
    assert alter(broker, "", DELETE, None) == (0, None)
    assert broker.cluster.settings.min_insync_replicas == 2
    broker.cluster.update_features({FEATURE: 1})
    assert (configured(broker), configured(broker, "1")) == ({KEY: "1"}, {})
    assert broker.cluster.settings.min_insync_replicas == 1


def lost(broker: HandlerBroker) -> set[str]:
    """The topics whose partition has no leader, but one that may lead again."""
    return {
        topic.name
        for topic in broker.cluster.topics.values()
        if topic.partitions[0].eligible == (2,)
    }


def test_c12_c13_another_value_forgets_the_eligible_leaders(open_broker: OpenBroker) -> None:
    broker = open_broker(broker_lite_brokers="3")
    for name in ("a", "b", "c"):
        place_topic(broker.cluster, name, [2])
    broker.cluster.controller.fence(2)
    assert lost(broker) == {"a", "b", "c"}
    broker.cluster.alter_configs([(TOPIC_RESOURCE, "a", {KEY: "1", "retention.ms": "5"})])
    assert lost(broker) == {"b", "c"}
    broker.cluster.alter_configs([(TOPIC_RESOURCE, "b", {"retention.ms": "5"})])
    assert lost(broker) == {"b", "c"}
    assert alter(broker, "", SET, "2") == (0, None)
    assert lost(broker) == set()


def test_c12_without_the_feature_there_is_nothing_to_forget(open_broker: OpenBroker) -> None:
    broker = open_broker(broker_lite_brokers="3")
    broker.cluster.update_features({FEATURE: 0})
    assert clearings(broker.cluster.features, [(TOPIC_RESOURCE, "a", {KEY: "1"})]) == []


def test_p56_a_cluster_of_4_0_has_none_of_it(open_broker: OpenBroker) -> None:
    broker = open_broker(emulate="4.0")
    assert configured(broker) == {}
    assert alter(broker, "1", SET, "2") == (0, None)
