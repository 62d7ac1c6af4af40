"""What the differential test does not reach; the rest of the rules is in tests/differential."""

import pytest

from broker_lite.control.cluster.config_rules import (
    ConfigOperation,
    OperationType,
    plan_operations,
    plan_replacement,
)
from broker_lite.control.metadata.image import BROKER_RESOURCE, TOPIC_RESOURCE
from broker_lite.errors import InvalidRequest
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
