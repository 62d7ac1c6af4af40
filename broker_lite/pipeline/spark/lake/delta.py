"""A table of Delta Lake, by the package deltalake.

The offsets are the table's own application transactions: one for each partition, whose version is
the next offset. They are part of the commit that adds the files, are kept in checkpoints of the
table, and a commit fails if another one has changed one of them since the table was read.
"""

import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Transaction
from deltalake.exceptions import CommitFailedError, TableNotFoundError
from deltalake.transaction import AddAction

from broker_lite.pipeline.read.offset_limits import TopicPartition
from broker_lite.pipeline.spark.lake.data_files import DataFile
from broker_lite.pipeline.spark.lake.table import Held, LakeError
from broker_lite.pipeline.stream.offsets import Offsets
from broker_lite.pipeline.views.record_schema import record_schema

DAY: Final = "day"

_DATA: Final = "data"
_PARTITION_COLUMNS: Final = ("topic", DAY)
_STATISTICS: Final = ("partition", "offset", "timestamp", "timestampType")
_REWRITTEN_FEATURES: Final = frozenset(("deletionVectors", "columnMapping"))


class DeltaLake:
    """A Delta table with one row for each record, partitioned by topic and day.

    Args:
        target: directory or URI.
    """

    extra_columns: Mapping[str, str] = MappingProxyType({DAY: "to_date(timestamp)"})

    def __init__(self, target: str) -> None:
        self._target = target
        self._table = DeltaTable(target)
        self.data_place = f"{target}/{_DATA}"

    @classmethod
    def open(cls, target: str) -> "DeltaLake":
        """Open a table.

        Raises:
            FileNotFoundError: there is none.
        """
        try:
            return cls(target)
        except TableNotFoundError:
            raise FileNotFoundError(f"{target}: there is no Delta table") from None

    @classmethod
    def open_or_create(cls, target: str) -> "DeltaLake":
        """Open a table; make it if it is not there."""
        if not DeltaTable.is_deltatable(target):
            schema = record_schema(include_headers=True).append(pa.field(DAY, pa.date32()))
            DeltaTable.create(target, schema, mode="ignore", partition_by=list(_PARTITION_COLUMNS))
        return cls(target)

    def offsets(self, wanted: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        """See LakeTable.offsets()."""
        versions = {key: self._table.transaction_version(_app_id(key)) for key in wanted}
        return {key: version for key, version in versions.items() if version is not None}

    def commit(self, files: Sequence[DataFile], start: Offsets, end: Offsets) -> None:
        """See LakeTable.commit()."""
        noted = [Transaction(_app_id(key), offset) for key, offset in sorted(end.items())]
        try:
            self._table.create_write_transaction(
                list(map(_add_action, files)),
                "append",
                self._table.schema(),
                list(_PARTITION_COLUMNS),
                commit_properties=CommitProperties(app_transactions=noted),
            )
        except CommitFailedError as error:
            raise LakeError(
                f"{self._target}: another writer has changed the table meanwhile, so nothing was"
                f" added; run the export again ({error})"
            ) from error

    def held(self) -> list[Held]:
        """See LakeTable.held()."""
        features = self._table.protocol().reader_features or ()
        for feature in sorted(_REWRITTEN_FEATURES.intersection(features)):
            raise LakeError(f"{self._target}: cannot be read here, because it uses {feature}")
        paths: defaultdict[str, list[str]] = defaultdict(list)
        actions = pa.table(self._table.get_add_actions(flatten=True))
        for path, topic in zip(actions["path"], actions["partition.topic"], strict=True):
            paths[topic.as_py()].append(f"{self._target}/{path.as_py()}")
        return [Held(topic, found) for topic, found in sorted(paths.items())]


def _app_id(key: TopicPartition) -> str:
    return f"broker-lite/{key[0]}/{key[1]}"


def _add_action(file: DataFile) -> AddAction:
    statistics = {
        "numRecords": file.record_count,
        "minValues": _plain(file.lows),
        "maxValues": _plain(file.highs),
        "nullCount": {name: file.nulls[name] for name in _STATISTICS if name in file.nulls},
    }
    return AddAction(
        f"{_DATA}/{file.path}",
        file.size_bytes,
        {"topic": file.topic, DAY: file.day},
        0,
        True,
        json.dumps(statistics),
    )


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """Convert statistics to JSON; timestamps of records have milliseconds, as Delta's have."""
    return {
        name: _timestamp(values[name]) if name == "timestamp" else values[name]
        for name in _STATISTICS
        if name in values
    }


def _timestamp(moment: datetime) -> str:
    return moment.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"
