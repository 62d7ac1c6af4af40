"""What the differential test does not reach; the rest of the rules is in tests/differential."""

import pytest

from broker_lite.control.cluster import config_rules
from broker_lite.control.cluster.config_rules import (
    ConfigOperation,
    OperationType,
    plan_operations,
    plan_replacement,
)
from broker_lite.control.metadata.image import (
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    TOPIC_RESOURCE,
)
from broker_lite.errors import (
    ClusterAuthorizationFailed,
    InvalidConfig,
    InvalidRequest,
    PolicyViolation,
)
from tests.control.conftest import OpenCluster

SET, DELETE, APPEND, SUBTRACT = OperationType


def test_p126_only_what_changes_is_written(open_cluster: OpenCluster) -> None:
    cluster = open_cluster()
    cluster.create_topic("t")
    cluster.alter_configs([(TOPIC_RESOURCE, "t", {"retention.ms": "5", "segment.ms": "7"})])
    operations = [
        ConfigOperation("retention.ms", SET, "5"),
        ConfigOperation("segment.ms", DELETE, None),
        ConfigOperation("flush.ms", DELETE, None),
        ConfigOperation("cleanup.policy", APPEND, "compact"),
    ]
    assert plan_operations(cluster, TOPIC_RESOURCE, "t", operations) == {
        "segment.ms": None,
        "cleanup.policy": "delete,compact",
    }


def test_p126_lists_of_a_broker(open_cluster: OpenCluster) -> None:
    cluster = open_cluster()
    append = ConfigOperation("log.cleanup.policy", APPEND, "compact,delete,compact")
    planned = plan_operations(cluster, BROKER_RESOURCE, "1", [append])
    assert planned == {"log.cleanup.policy": "delete,compact"}
    cluster.alter_configs([(BROKER_RESOURCE, "1", planned)])
    subtract = ConfigOperation("log.cleanup.policy", SUBTRACT, "delete")
    planned = plan_operations(cluster, BROKER_RESOURCE, "1", [subtract])
    assert planned == {"log.cleanup.policy": "compact"}


def test_p128_what_is_left_out_is_taken_away(open_cluster: OpenCluster) -> None:
    cluster = open_cluster()
    cluster.alter_configs([(BROKER_RESOURCE, "", {"message.max.bytes": "5", "foo": "x"})])
    planned = plan_replacement(cluster, BROKER_RESOURCE, "", [("message.max.bytes", "6")])
    # a new data directory has min.insync.replicas there, as Kafka's eligible replicas want it
    assert planned == {"message.max.bytes": "6", "foo": None, "min.insync.replicas": None}


def test_p131_both_levels_of_broker_configs_are_checked_together(
    open_cluster: OpenCluster,
) -> None:
    cluster = open_cluster()
    zero = ConfigOperation("log.retention.ms", SET, "0")
    for name in ("", "1"):
        with pytest.raises(InvalidRequest, match=r"log.retention.ms must be unlimited"):
            plan_operations(cluster, BROKER_RESOURCE, name, [zero])


def test_p132_client_metrics(open_cluster: OpenCluster) -> None:
    cluster = open_cluster()
    operations = [
        ConfigOperation("metrics", SET, "a"),
        ConfigOperation("match", SET, "client_id=b"),
    ]
    planned = plan_operations(cluster, CLIENT_METRICS_RESOURCE, "s", operations)
    assert planned == {"metrics": "a", "match": "client_id=b"}
    assert plan_replacement(cluster, CLIENT_METRICS_RESOURCE, "s", []) == {}
    with pytest.raises(InvalidConfig, match="Illegal client matching pattern: b"):
        plan_replacement(cluster, CLIENT_METRICS_RESOURCE, "s", [("match", "b")])
    with pytest.raises(InvalidRequest, match="Subscription name can't be empty"):
        plan_replacement(cluster, CLIENT_METRICS_RESOURCE, "", [("nope", "b")])


@pytest.mark.parametrize("name", ["metrics", "interval.ms", "cleanup.policy", "nope"])
def test_p132_no_config_of_client_metrics_is_a_list_to_kafka(
    open_cluster: OpenCluster, name: str
) -> None:
    cluster = open_cluster()
    for kind in (APPEND, SUBTRACT):
        change = ConfigOperation(name, kind, "a")
        text = f"Can't {kind.name} to key {name} because its type is not LIST."
        with pytest.raises(InvalidConfig, match=text):
            plan_operations(cluster, CLIENT_METRICS_RESOURCE, "s", [change])


def test_p132_rights_come_before_what_is_wrong_with_a_value(open_cluster: OpenCluster) -> None:
    cluster, denied = open_cluster(), ClusterAuthorizationFailed()
    wrong = [("nope", "1")]
    with pytest.raises(ClusterAuthorizationFailed):
        plan_replacement(cluster, CLIENT_METRICS_RESOURCE, "s", wrong, denied=denied)
    with pytest.raises(InvalidRequest, match="duplicate"):
        plan_replacement(cluster, CLIENT_METRICS_RESOURCE, "s", wrong * 2, denied=denied)


def test_p133_there_is_no_room_for_very_many_subscriptions(
    open_cluster: OpenCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(config_rules, "_SUBSCRIPTIONS_MAX", 2)
    cluster = open_cluster()
    for name in "ab":
        cluster.alter_configs([(CLIENT_METRICS_RESOURCE, name, {"metrics": "m"})])
    with pytest.raises(PolicyViolation):
        plan_replacement(cluster, CLIENT_METRICS_RESOURCE, "c", [("metrics", "m")])
    assert plan_replacement(cluster, CLIENT_METRICS_RESOURCE, "c", []) == {}
    assert plan_replacement(cluster, CLIENT_METRICS_RESOURCE, "a", [("metrics", "n")])


def test_p132_client_metrics_are_kept_over_a_restart(open_cluster: OpenCluster) -> None:
    cluster = open_cluster()
    cluster.alter_configs([(CLIENT_METRICS_RESOURCE, "s", {"metrics": "m"})])
    cluster.close()
    again = open_cluster()
    assert again.configured(CLIENT_METRICS_RESOURCE) == ["s"]
    assert again.configs(CLIENT_METRICS_RESOURCE, "s") == {"metrics": "m"}
