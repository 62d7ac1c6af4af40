"""What an export needs of a table, whatever its format."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, Protocol

from broker_lite.pipeline.read.offset_limits import TopicPartition
from broker_lite.pipeline.spark.lake.data_files import DataFile
from broker_lite.pipeline.stream.offsets import Offsets


class LakeError(ValueError):
    """A table cannot be used; the text is one line for the user."""


class Held(NamedTuple):
    """Files of a table that are read together.

    Attributes:
        topic: of all their records, if the files need not have the column; else None.
        paths: what Spark reads.
    """

    topic: str | None
    paths: Sequence[str]


class LakeTable(Protocol):
    """A table that is there.

    Attributes:
        data_place: the directory or URI below which Spark writes new files.
        extra_columns: columns beside those of the record view, as expressions of SQL by name.
    """

    data_place: str
    extra_columns: Mapping[str, str]

    def offsets(self, wanted: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the next offset of each wanted partition that the table has records of."""

    def commit(self, files: Sequence[DataFile], start: Offsets, end: Offsets) -> None:
        """Add files, and note the offsets up to which they reach, in one commit.

        Args:
            files: all that Spark wrote for these offsets.
            start: what offsets() said.
            end: the new offsets of the partitions that have changed, above those of start.

        Raises:
            LakeError: another export has been faster; nothing was changed.
        """

    def held(self) -> list[Held]:
        """Return the files that the table has now.

        Raises:
            LakeError: the table has rows that are deleted without a new file.
        """
