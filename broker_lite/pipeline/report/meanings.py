"""What the columns of a report's tables mean."""

from typing import Final

from broker_lite.pipeline.report.page import Column, Html, section, table

MEANINGS: Final = {
    "Partitions": "how many of the topic, or that the producer wrote to, have batches",
    "Batches": "how many; of those that are damaged none is counted",
    "Transactional": "share of the producer's batches that belong to a transaction",
    "Records": "those of users: the markers that end transactions are none",
    "Size": "bytes of the batches as they lie in the files: with headers, compressed",
    "Bytes a record": "Size by Records: how much of the disk a record takes",
    "Records a batch": "Records by batches, markers among these",
    "Largest partition": "its size as a multiple of the mean one; 1 is no skew",
    "First (UTC)": "smallest first timestamp of a batch, as its header says",
    "Last (UTC)": "largest timestamp of a batch, as its header says",
    "Codec": "how the batches are compressed; one topic can have several",
    "Stored": "bytes of the batches in the files",
    "Plain": "bytes that the same batches take without compression",
    "Ratio": "Plain by Stored: above 1 is what compression saves",
    "Producer id": "of an idempotent producer; others have none and are not listed",
    "Epochs": "how many different ones: each new one is a restart or a fencing",
    "Without key": "share of the topic's records whose key is null",
    "Different keys": "how many, null not counted",
    "Records a key": "mean number of records of a key: what compaction can take away",
    "Largest key": "the key with most records",
    "Its share": "share of the topic's records that have the largest key",
}


def meanings() -> Html:
    """Make the section that explains the columns."""
    columns = Column("Column"), Column("Meaning")
    return section(
        "What the columns mean", "In all tables above.", table(columns, MEANINGS.items())
    )
