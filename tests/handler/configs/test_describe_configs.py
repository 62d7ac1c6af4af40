"""What the differential test does not reach; values and texts are in tests/differential."""

from typing import Any

import pytest

from broker_lite.control.metadata.image import (
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    TOPIC_RESOURCE,
)
from broker_lite.handler.configs import describe_configs
from broker_lite.handler.context import CloseConnection
from broker_lite.wire import messages
from tests.support.handler_broker import HandlerBroker, OpenBroker, one
from tests.support.several_brokers import talk_to

RESOURCE = messages.DescribeConfigsRequest.DescribeConfigsResource


@pytest.mark.parametrize("version", range(5))
def test_p125_every_version(broker: HandlerBroker, version: int) -> None:
    broker.cluster.create_topic("t")
    asked = RESOURCE(
        resource_type=TOPIC_RESOURCE, resource_name="t", configuration_keys=["retention.ms"]
    )
    fields = {"include_synonyms": True} if version >= 1 else {}
    if version >= 3:
        fields["include_documentation"] = True
    result = one(broker.call("DescribeConfigs", version, resources=[asked], **fields).results)
    config = one(result.configs)
    assert (config.value, config.read_only) == ("604800000", False)
    if version == 0:
        assert config.is_default
    else:
        assert config.config_source == 5
    assert config.config_type == (5 if version >= 3 else 0)
    assert bool(config.documentation) == (version >= 3)


def test_p123_a_broker_without_a_name_is_what_all_brokers_have(broker: HandlerBroker) -> None:
    broker.cluster.alter_configs([(BROKER_RESOURCE, "", {"message.max.bytes": "77"})])
    keys = ["message.max.bytes", "num.partitions"]
    asked = RESOURCE(resource_type=BROKER_RESOURCE, resource_name="", configuration_keys=keys)
    config = one(one(broker.call("DescribeConfigs", 4, resources=[asked]).results).configs)
    assert (config.name, config.value, config.config_source) == ("message.max.bytes", "77", 3)


def test_p123_what_a_broker_is_given_and_what_is_secret(open_broker: OpenBroker) -> None:
    broker = open_broker(num_partitions="3")
    broker.cluster.alter_configs([(BROKER_RESOURCE, "1", {"my.secret": "x"})])
    asked = RESOURCE(resource_type=BROKER_RESOURCE, resource_name="1", configuration_keys=None)
    configs = one(broker.call("DescribeConfigs", 4, resources=[asked]).results).configs
    told = {config.name: config for config in configs}
    count, secret = told["num.partitions"], told["my.secret"]
    assert (count.value, count.config_source, count.read_only) == ("3", 4, True)
    assert (secret.value, secret.config_source, secret.is_sensitive) == (None, 2, True)
    assert len(told) > 100


def test_p120_an_answer_that_is_too_large_closes_the_connection(
    broker: HandlerBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker.cluster.create_topic("t")
    asked = RESOURCE(
        resource_type=TOPIC_RESOURCE, resource_name="t", configuration_keys=["retention.ms"]
    )
    monkeypatch.setattr(describe_configs, "CONFIGS_MAX", 250)
    results = broker.call("DescribeConfigs", 4, resources=[asked] * 250).results
    assert len(results) == 250
    with pytest.raises(CloseConnection):
        broker.call("DescribeConfigs", 4, resources=[asked] * 251)


def test_p123_g91_a_group_is_described_whether_there_is_one_or_not(broker: HandlerBroker) -> None:
    types = messages.DescribeConfigsRequest
    resources = [
        types.DescribeConfigsResource(resource_type=32, resource_name=name, configuration_keys=keys)
        for name, keys in (("g", None), ("g", ["consumer.session.timeout.ms"]), ("", None))
    ]
    every, some, nobody = broker.call("DescribeConfigs", 4, resources=resources).results
    assert [config.name for config in every.configs][:3] == [
        "consumer.heartbeat.interval.ms",
        "consumer.session.timeout.ms",
        "consumer.assignment.interval.ms",
    ]
    assert {config.name.partition(".")[0] for config in every.configs} == {
        "consumer",
        "share",
        "streams",
    }
    assert len(every.configs) == 17
    (config,) = some.configs
    assert (config.value, config.config_source, config.read_only) == ("45000", 5, False)
    assert (nobody.error_code, nobody.error_message) == (42, "Group name must not be empty")


def test_p123_a_broker_describes_itself(open_broker: OpenBroker) -> None:
    broker = talk_to(open_broker(broker_lite_brokers="3", broker_lite_racks="a,b"), 2)
    broker.cluster.alter_configs(
        [(BROKER_RESOURCE, "2", {"max.connections": "5"}), (BROKER_RESOURCE, "3", {"x": "y"})]
    )
    keys = ["max.connections", "node.id", "broker.rack", "listeners", "x"]
    asked = RESOURCE(resource_type=BROKER_RESOURCE, resource_name="2", configuration_keys=keys)
    configs = one(broker.call("DescribeConfigs", 4, resources=[asked]).results).configs
    assert {config.name: (config.value, config.config_source) for config in configs} == {
        "max.connections": ("5", 2),
        "node.id": ("2", 4),
        "broker.rack": ("b", 4),
        "listeners": ("PLAINTEXT://127.0.0.1:9093", 4),
    }


@pytest.mark.parametrize("name", ["1", "3", "9"])
def test_p123_a_broker_does_not_describe_others(open_broker: OpenBroker, name: str) -> None:
    broker = talk_to(open_broker(broker_lite_brokers="3"), 2)
    asked = RESOURCE(resource_type=BROKER_RESOURCE, resource_name=name, configuration_keys=None)
    result = one(broker.call("DescribeConfigs", 4, resources=[asked]).results)
    text = f"Unexpected broker id, expected 2 or empty string, but received {name}"
    assert (result.error_code, result.error_message) == (42, text)


def test_p132_client_metrics_with_what_is_set(broker: HandlerBroker) -> None:
    broker.cluster.alter_configs([(CLIENT_METRICS_RESOURCE, "m", {"metrics": " a,b"})])

    def described(name: str, *keys: str) -> Any:
        asked = RESOURCE(
            resource_type=CLIENT_METRICS_RESOURCE,
            resource_name=name,
            configuration_keys=list(keys) or None,
        )
        fields = {"include_synonyms": True}
        return one(broker.call("DescribeConfigs", 4, resources=[asked], **fields).results)

    told = [
        (each.name, each.value, each.config_source, [(s.name, s.source) for s in each.synonyms])
        for each in described("m").configs
    ]
    assert told == [
        ("interval.ms", "300000", 5, []),
        ("match", "", 5, []),
        ("metrics", "a,b", 7, [("metrics", 7)]),
    ]
    assert [each.name for each in described("m", "metrics", "nope").configs] == ["metrics"]
    assert [each.config_source for each in described("other").configs] == [5, 5, 5]
    refused = described("")
    assert refused.error_code == 42
    assert refused.error_message == "Client metrics subscription name must not be empty"
