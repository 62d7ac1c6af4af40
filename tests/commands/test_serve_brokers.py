"""`broker-lite serve --brokers`: several brokers of one process.

Also tests: broker_lite.commands.serve, broker_lite.server.node_maker.
"""

from pathlib import Path

from tests.support.broker_process import BrokerProcess
from tests.support.raw_client import RawClient


def test_brokers_with_racks_and_releases(tmp_path: Path) -> None:
    arguments = ("--brokers", "3", "--racks", "a,a,b", "--set", "emulate=3.9,4.3,2.8")
    with BrokerProcess(tmp_path / "data", arguments=arguments) as process:
        with RawClient(process.host, process.port) as client:
            brokers = client.call("Metadata", 9, topics=None).brokers
        highest = {}
        for node in brokers:
            with RawClient(node.host, node.port) as client:
                keys = client.call("ApiVersions", 0).api_keys
                highest[node.node_id] = {one.api_key: one.max_version for one in keys}
        log = process.log
    assert sorted((node.node_id, node.rack) for node in brokers) == [(1, "a"), (2, "a"), (3, "b")]
    assert len({node.port for node in brokers}) == 3
    assert [highest[node_id][1] for node_id in (1, 2, 3)] == [17, 18, 12]
    assert "there are" not in log
