"""Answers of one cluster as plain data that is the same for two clusters that behave alike.

Left out are times, and what a cluster is free to choose: ports, ids that it makes up, the order of
lists, and where it puts replicas of topics that were created without an assignment.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any, Final

from broker_lite.record.batch import RecordBatch
from broker_lite.record.framing import walk
from tests.differential.coordinator_memory import Names
from tests.differential.coordinator_views import Plain, plain
from tests.differential.kafka_cluster import NODE_IDS

PLACED: Final = "own-placed"
"""How the names of topics begin whose replicas the cluster places."""
GROWING: Final = f"{PLACED}-growing"
"""How the names of those begin that get more partitions, each time by a new stripe."""

_LEFT_OUT: Final = frozenset(
    {
        *("throttle_time_ms", "unknown_tags", "log_append_time_ms"),
        *("log_dir", "total_bytes", "usable_bytes"),
    }
)
_SETS: Final = frozenset(
    {"isr_nodes", "eligible_leader_replicas", "last_known_elr", "offline_replicas"}
)


class Views:
    """Makes views of the answers of one cluster.

    Args:
        addresses: of its brokers.
        names: of the ids that it has made up, and of topics.
        first_epochs: of partitions of topics that were there before; what is shown counts from
            them.
    """

    def __init__(
        self,
        addresses: Mapping[int, tuple[str, int]],
        names: Names,
        first_epochs: Mapping[tuple[str, int], int],
    ) -> None:
        self._node_ids = {address: node_id for node_id, address in addresses.items()}
        self._names = names
        self._first_epochs = first_epochs

    def of(self, value: Any, field: str = "") -> Plain:
        """The view of a decoded answer or a part of it."""
        if field == "records":
            return batches(value)
        if field in _SETS:
            return None if value is None else sorted(value)
        if isinstance(value, list):
            return self._list(value, field)
        slots = getattr(type(value), "__slots__", ())
        if slots and not isinstance(value, (int, str, bytes, memoryview)):
            return self._struct(value)
        if field == "controller_id":
            return "a broker" if value in self._node_ids.values() else value
        if field == "cluster_id":
            return "an id"
        return plain(value, self._names, field)

    def _struct(self, value: Any) -> Plain:
        view = {
            slot: self.of(getattr(value, slot), slot)
            for slot in type(value).__slots__
            if slot not in _LEFT_OUT
        }
        if "host" in view and "port" in view:
            address = view.pop("host"), view.pop("port")
            view["address"] = self._node_ids.get(address, address)
        name = view.get("name", view.get("topic"))
        for row in view.get("partitions") or ():
            if isinstance(row, dict) and {"leader_epoch", "partition_index"} <= row.keys():
                row["leader_epoch"] -= self._first_epochs.get((name, row["partition_index"]), 0)
        if isinstance(name, str) and name.startswith(PLACED) and view.get("partitions"):
            view["partitions"] = placement(name, view["partitions"])
        return view

    def _list(self, items: list[Any], field: str) -> Plain:
        views = [self.of(item, field) for item in items]
        # replicas have an order, and only they
        return views if field in {"replica_nodes", "replicas"} else sorted(views, key=_sort_key)


def _sort_key(view: Plain) -> Any:
    if isinstance(view, Mapping):
        numbers = [
            view[name] for name in ("partition_index", "partition", "partition_id") if name in view
        ]
        return str(view.get("name", view.get("topic", ""))), numbers, repr(view)
    return "", [], repr(view)


def batches(records: Any) -> Plain:
    """The batches of fetched records: first and last offset, leader epoch, whether they control."""
    data = memoryview(bytes(records or b""))
    found = (RecordBatch(data, entry.position, entry.size_bytes) for entry in walk(data))
    return [
        f"{one.base_offset}-{one.last_offset} epoch {one.leader_epoch}"
        + (" control" if one.is_control else "")
        for one in found
    ]


def placement(topic: str, partitions: Collection[Mapping[str, Plain]]) -> Plain:
    """What has to be the same of partitions that each cluster places as it likes.

    Only the first stripe, of as many partitions as there are brokers, has leaders of its own each.
    """
    leaders = Counter(row["leader_id"] for row in partitions)
    is_one_stripe = len(partitions) <= len(NODE_IDS) and not topic.startswith(GROWING)
    shapes = Counter(
        (
            row["error_code"],
            f"{len(row['replica_nodes'])} replicas",
            f"{len(set(row['replica_nodes']))} brokers",
            f"{len(row['isr_nodes'])} in sync",
            _leader_of(row),
        )
        for row in partitions
    )
    return {
        "leaders": sorted(leaders.values()) if is_one_stripe else "any",
        "shapes": {repr(shape): count for shape, count in shapes.items()},
    }


def _leader_of(row: Mapping[str, Plain]) -> str:
    """Whether the first replica leads; without a broker that depends on where it was placed."""
    replicas, in_sync = row["replica_nodes"], row["isr_nodes"]
    assert isinstance(replicas, list)
    assert isinstance(in_sync, list)
    is_first = len(in_sync) == len(replicas) and replicas[:1] == [row["leader_id"]]
    return "led by the first" if is_first else "led"
