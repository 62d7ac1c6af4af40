"""How a broker stops, with and without controlled.shutdown.enable."""

import pytest

from broker_lite.control.cluster.cluster import Cluster
from tests.control.conftest import OpenCluster
from tests.support.several_brokers import partition_of, place_topic


def leader(cluster: Cluster) -> int:
    return partition_of(cluster, "t").leader


def test_c22_others_take_over_before_a_broker_ends(open_cluster: OpenCluster) -> None:
    cluster = open_cluster(broker_lite_brokers="2")
    place_topic(cluster, "t", [2, 1])
    cluster.membership.shut_down(2)
    assert (leader(cluster), cluster.brokers.by_id[2].is_fenced) == (1, False)
    cluster.membership.has_shut_down(2)
    assert cluster.brokers.by_id[2].is_fenced
    assert cluster.membership.next_deadline_ms() is None


@pytest.mark.parametrize("timeout_ms", [0, 9000])
def test_c22_without_control_the_session_has_to_end(
    open_cluster: OpenCluster, timeout_ms: int
) -> None:
    cluster = open_cluster(
        broker_lite_brokers="2",
        broker_session_timeout_ms=str(timeout_ms),
        controlled_shutdown_enable="false",
    )
    place_topic(cluster, "t", [2, 1])
    cluster.membership.shut_down(2)
    assert leader(cluster) == 2
    cluster.membership.has_shut_down(2)
    assert (leader(cluster), cluster.brokers.by_id[2].is_fenced) == (
        (2, False) if timeout_ms else (1, True)
    )
    if timeout_ms:
        assert cluster.membership.next_deadline_ms() is not None
