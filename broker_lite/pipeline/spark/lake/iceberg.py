"""A table of Apache Iceberg, by the package pyiceberg.

The offsets are in the summary of the snapshot that adds the files, so a rollback takes them back,
too. Snapshots of others, as of a compaction, have none: then those of the nearest ancestor count.
When that has expired, the table's own property counts, which each commit writes as well.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final

from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.exceptions import CommitFailedException, NoSuchTableError, ValidationException
from pyiceberg.manifest import DataFileContent
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table, TableProperties
from pyiceberg.transforms import DayTransform, IdentityTransform
from pyiceberg.types import (
    BinaryType,
    IntegerType,
    ListType,
    LongType,
    NestedField,
    StringType,
    StructType,
    TimestamptzType,
)

from broker_lite.pipeline.read.offset_limits import TopicPartition
from broker_lite.pipeline.spark.lake.data_files import DataFile
from broker_lite.pipeline.spark.lake.table import Held, LakeError
from broker_lite.pipeline.stream.offsets import Offsets, from_shape, to_shape

OFFSETS: Final = "broker-lite.offsets"
"""In the summary of a snapshot and in the properties of the table: {"topic": {"0": 123}}."""
CATALOG_FILE: Final = "catalog.db"
CATALOG_NAME: Final = "lake"
OWN_NAME: Final = ("kafka", "records")
"""The catalog that a folder has, and the table in it."""

_ATTEMPTS: Final = 5
_FIRST: Final = 1  # the sequence number of a table's first snapshot, which has no parent
_TOPIC_ID: Final = 3
_TIMESTAMP_ID: Final = 6
_SCHEMA: Final = Schema(
    NestedField(1, "key", BinaryType(), required=False),
    NestedField(2, "value", BinaryType(), required=False),
    NestedField(_TOPIC_ID, "topic", StringType(), required=False),
    NestedField(4, "partition", IntegerType(), required=False),
    NestedField(5, "offset", LongType(), required=False),
    NestedField(_TIMESTAMP_ID, "timestamp", TimestamptzType(), required=False),
    NestedField(7, "timestampType", IntegerType(), required=False),
    NestedField(
        8,
        "headers",
        ListType(
            element_id=9,
            element_type=StructType(
                NestedField(10, "key", StringType(), required=False),
                NestedField(11, "value", BinaryType(), required=False),
            ),
            element_required=False,
        ),
        required=False,
    ),
)
_PARTITIONING: Final = PartitionSpec(
    PartitionField(_TOPIC_ID, 1000, IdentityTransform(), "topic"),
    PartitionField(_TIMESTAMP_ID, 1001, DayTransform(), "day"),
)


class IcebergLake:
    """An Iceberg table with one row for each record, partitioned by topic and day.

    Its catalog keeps no connection open in between: it connects again when it is asked again.

    Args:
        table: of a catalog.
    """

    extra_columns: Mapping[str, str] = MappingProxyType({})

    def __init__(self, table: Table) -> None:
        self._table = table
        self.data_place = f"{table.location()}/data"

    @classmethod
    def open(cls, target: str, catalog: str | None = None) -> "IcebergLake":
        """Open a table.

        Args:
            target: a directory that an export made; with a catalog, the name of a table.
            catalog: a name of pyiceberg's configuration; None for the catalog in the directory.

        Raises:
            FileNotFoundError: there is none.
        """
        if catalog is None and not Path(target, CATALOG_FILE).exists():
            raise FileNotFoundError(f"{target}: there is no Iceberg table with a {CATALOG_FILE}")
        found, name = _catalog(target, catalog)
        with found:
            try:
                return cls(found.load_table(name))
            except NoSuchTableError:
                raise FileNotFoundError(f"{target}: there is no Iceberg table") from None

    @classmethod
    def open_or_create(cls, target: str, catalog: str | None = None) -> "IcebergLake":
        """Open a table; make it, and a catalog in its directory, if it is not there."""
        location = None
        if catalog is None:
            Path(target).mkdir(parents=True, exist_ok=True)
            location = target  # no URI: Spark and pyarrow read escapes in one differently
        found, name = _catalog(target, catalog)
        with found:
            try:
                return cls(found.load_table(name))
            except NoSuchTableError:
                found.create_namespace_if_not_exists(name[:-1])
                made = found.create_table_if_not_exists(name, _SCHEMA, location, _PARTITIONING)
                return cls(made)

    def offsets(self, wanted: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        """See LakeTable.offsets()."""
        noted = self._noted()
        return {key: noted[key] for key in wanted if key in noted}

    def commit(self, files: Sequence[DataFile], start: Offsets, end: Offsets) -> None:
        """See LakeTable.commit()."""
        paths = [f"{self.data_place}/{file.path}" for file in files]
        with self._table.catalog:
            for attempt in range(_ATTEMPTS):
                if attempt:
                    self._table.refresh()
                noted = self._noted()
                if {key: noted[key] for key in end if key in noted} != {
                    key: start[key] for key in end if key in start
                }:
                    break
                try:
                    self._add(paths, json.dumps(to_shape({**noted, **end})))
                    return
                except (CommitFailedException, ValidationException):
                    continue  # a compaction, say: its snapshot becomes the parent of ours
        raise LakeError(
            f"{self._table.location()}: another writer has changed the table meanwhile, so nothing"
            " was added; run the export again"
        )

    def _add(self, paths: list[str], offsets: str) -> None:
        # pyiceberg would try again by itself, without a look at the offsets that came in between.
        metadata = self._table.metadata
        once = {**metadata.properties, TableProperties.COMMIT_NUM_RETRIES: "0"}
        self._table.metadata = metadata.model_copy(update={"properties": once})
        with self._table.transaction() as change:
            change.set_properties({OFFSETS: offsets})
            change.add_files(paths, {OFFSETS: offsets}, check_duplicate_files=False)

    def _noted(self) -> dict[TopicPartition, int]:
        """Return the offsets of the table as it is now."""
        metadata = self._table.metadata
        snapshot = self._table.current_snapshot()
        while snapshot is not None:
            if snapshot.summary is not None and OFFSETS in snapshot.summary.additional_properties:
                return from_shape(json.loads(snapshot.summary.additional_properties[OFFSETS]))
            if snapshot.sequence_number == _FIRST:
                return {}  # of somebody else, before any export; or rolled back to it
            parent = snapshot.parent_snapshot_id
            snapshot = None if parent is None else metadata.snapshot_by_id(parent)
        return from_shape(json.loads(metadata.properties.get(OFFSETS, "{}")))

    def held(self) -> list[Held]:
        """See LakeTable.held()."""
        tasks = list(self._table.scan().plan_files())
        if any(
            file.content is not DataFileContent.DATA for task in tasks for file in task.delete_files
        ):
            raise LakeError(f"{self._table.location()}: cannot be read here: rows are deleted")
        paths = [task.file.file_path for task in tasks]
        return [Held(None, paths)] if paths else []


def _catalog(target: str, catalog: str | None) -> tuple[Catalog, tuple[str, ...]]:
    """Return a catalog, and the name of the table in it."""
    if catalog is not None:
        return load_catalog(catalog), tuple(target.split("."))
    place = Path(target, CATALOG_FILE)
    own = load_catalog(CATALOG_NAME, type="sql", uri=f"sqlite:///{place}", warehouse=target)
    return own, OWN_NAME
