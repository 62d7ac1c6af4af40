from broker_lite.control.metadata.image import CLIENT_METRICS_RESOURCE
from broker_lite.control.telemetry.clients import Identity
from broker_lite.control.telemetry.shared import SharedTelemetry
from tests.control.conftest import OpenCluster
from tests.support.subscribed import subscribe

ME = Identity(1, "app", "soft", "1.2", "127.0.0.1", 5000, 7)


def test_it_is_made_once_when_it_is_needed(open_cluster: OpenCluster) -> None:
    shared = SharedTelemetry(open_cluster())
    shared.disconnected(7)
    assert shared.begun is None
    assert shared.get() is shared.get()


def test_subscriptions_are_those_of_the_cluster(open_cluster: OpenCluster) -> None:
    cluster = open_cluster()
    shared = SharedTelemetry(cluster)
    _, client = subscribe(shared.get(), ME, bytes(16), 1_700_000_000_000)
    assert client.wanted.metrics == ()
    cluster.alter_configs([(CLIENT_METRICS_RESOURCE, "s", {"metrics": "a"})])
    subscribe(shared.get(), ME, client.instance_id, 1_700_000_000_000)
    assert client.wanted.metrics == ("a",)
    shared.disconnected(7)
    assert client.instance is None
