"""The share sessions of each broker: K-16."""

from pathlib import Path

from tests.control.group_node import Node


def test_k16_each_broker_has_its_own(tmp_path: Path) -> None:
    node = Node(tmp_path / "data")
    sessions = node.groups.shares.sessions
    assert sessions.of(1) is sessions.of(1)
    assert sessions.of(1) is not sessions.of(2)
    node.cluster.close(sync=False)
