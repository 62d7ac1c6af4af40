"""How the transactions of a log ended, told by its batches.

A marker ends the transaction that its producer has open in the partition. So the state of a
transactional batch is that of the next marker of its producer; without one, it is open.
"""

from enum import StrEnum
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from broker_lite.record.control import ControlType

STATE: Final = "transaction"

_PARTITION: Final = ("topic", "partition")


class State(StrEnum):
    """How a transaction ended, or that it did not."""

    COMMITTED = "committed"
    ABORTED = "aborted"
    OPEN = "open"


def with_states(batches: DataFrame) -> DataFrame:
    """Add the column `transaction`; null for batches outside of transactions, and for markers.

    Args:
        batches: the batch view, to the ends of the logs.

    See: F-14, S-17.
    """
    # As many tasks as cores: Spark's 200 cost more than the work, each time the result is read.
    cores = batches.sparkSession.sparkContext.defaultParallelism
    batches = batches.repartition(cores, *_PARTITION, "producerId")
    # From the last batch to the first: the other way, each row would look at all that follow it.
    behind = Window.partitionBy(*_PARTITION, "producerId").orderBy(F.desc("baseOffset"))
    behind = behind.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    marker = F.last("controlType", ignorenulls=True).over(behind)
    state = (
        F.when(marker == ControlType.COMMIT.name, State.COMMITTED)
        .when(marker == ControlType.ABORT.name, State.ABORTED)
        .otherwise(State.OPEN)
    )
    is_data = F.col("isTransactional") & ~F.col("isControl")
    return batches.withColumn(STATE, F.when(is_data, state))


HIDDEN: Final = (State.ABORTED, State.OPEN)
"""The states that a reader of committed records passes over."""


def is_state(*states: State) -> Column:
    """Tell whether a row belongs to a transaction of one of these states; never null."""
    return F.coalesce(F.col(STATE).isin(*states), F.lit(False))


def is_hidden() -> Column:
    """Tell whether a reader of committed records passes over a row, by its transaction."""
    return is_state(*HIDDEN)


def is_abort() -> Column:
    """Tell whether a row is the marker of an aborted transaction; never null."""
    return F.coalesce(F.col("controlType") == ControlType.ABORT.name, F.lit(False))


def partition_ends(batches: DataFrame, *, is_committed_only: bool) -> DataFrame:
    """Select the offsets at which the partitions end: topic, partition, end.

    Args:
        batches: with their states.
        is_committed_only: end in front of the first open transaction.

    See: F-14, V-64 (UnifiedLog.lastStableOffset).
    """
    end = F.max("lastOffset") + 1
    if is_committed_only:
        end = F.least(end, F.min(F.when(is_state(State.OPEN), F.col("baseOffset"))))
    return batches.groupBy(*_PARTITION).agg(end.alias("end"))
