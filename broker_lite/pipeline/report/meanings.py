"""Explains the columns of a report's tables."""

from typing import Final

from broker_lite.pipeline.report.page import Column, Html, section, table

MEANINGS: Final = {
    "Partitions": "number of partitions: with batches, or with an offset that the group committed",
    "Batches": "number of batches, without damaged ones",
    "Transactional": "share of the producer's batches that belong to a transaction",
    "Records": "number of records; transaction markers do not count",
    "Size": "bytes of the batches in the files: with headers, compressed",
    "Bytes per record": "Size / Records: disk space of a record",
    "Records per batch": "Records / Batches; batches of markers count",
    "Missing offsets": "offsets without a record or marker; compaction and transactions leave them",
    "Largest partition": "its size as a multiple of the mean size; 1 means no skew",
    "First (UTC)": "earliest first timestamp in a batch header",
    "Last (UTC)": "latest timestamp in a batch header",
    "Codec": "compression of the batches; a topic can have several",
    "Stored": "bytes of the batches in the files",
    "Plain": "bytes of the same batches without compression",
    "Ratio": "Plain / Stored; compression saves space if it is above 1",
    "Producer id": "of an idempotent producer; other producers have none and are not listed",
    "Records/s": "mean between the producer's first and last timestamp, a second apart at least",
    "Median": "half of the batches took at most this long",
    "99th percentile": "99 of 100 batches took at most this long",
    "Longest": "the longest of all batches",
    "Group": "a group that has committed offsets of these topics",
    "Lag": "offsets behind what the group has committed, up to the ends of the logs",
    "Furthest behind": "the partition with the largest lag",
    "Its lag": "the lag of that partition",
    "Last commit (UTC)": "time of the group's last commit of an offset",
    "Epochs": "number of distinct epochs; each new one is a restart or a fencing",
    "Without key": "share of the topic's records whose key is null",
    "Distinct keys": "number of distinct keys, without null",
    "Records per key": "mean number of records of a key; compaction keeps one of them",
    "Largest key": "the key with most records",
    "Its share": "share of the topic's records that have the largest key",
}


def meanings() -> Html:
    """Return the section that explains the columns."""
    columns = Column("Column"), Column("Meaning")
    return section(
        "What the columns mean", "In all tables above.", table(columns, MEANINGS.items())
    )
