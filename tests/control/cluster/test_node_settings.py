"""The effective settings of each broker."""

from broker_lite.control.cluster.node_settings import NodeSettings
from broker_lite.control.metadata import metadata_records as kinds
from broker_lite.control.metadata.image import BROKER_RESOURCE, MetadataImage
from broker_lite.control.metadata.metadata_records import make
from broker_lite.settings import Given, Settings


def config(node: str, value: str) -> kinds.MetadataRecord:
    return make(
        kinds.CONFIG,
        resource_type=BROKER_RESOURCE,
        resource_name=node,
        name="max.connections",
        value=value,
    )


def test_a_broker_has_its_own_dynamic_settings_and_those_of_all() -> None:
    image = MetadataImage()
    nodes = NodeSettings(Settings({"broker.lite.brokers": Given("3", "test")}), image)
    assert nodes.of(2) is nodes.of(2)
    assert nodes.of(2) is nodes.static(2)
    image.apply([config("", "7"), config("2", "8")])
    assert nodes.of(2).max_connections == 2**31 - 1
    nodes.forget()
    assert [nodes.of(node_id).max_connections for node_id in (1, 2, 3)] == [7, 8, 7]
    assert [nodes.of(node_id).node_id for node_id in (1, 2, 3)] == [1, 2, 3]
    assert nodes.static(2).max_connections == 2**31 - 1
