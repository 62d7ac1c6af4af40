"""The poisons by name: what is wrong, and what a right client does about it.

Each changes the first batch of a partition in a Fetch answer. Sizes stay the same, so nothing
around the batch changes. The checksum is made right again, unless the poison is the checksum.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple


class Poison(NamedTuple):
    """One way in which a batch is wrong.

    Attributes:
        wrong: what is wrong.
        client: what a right client does.
    """

    wrong: str
    client: str


POISONS: Final[Mapping[str, Poison]] = {
    "bad-crc": Poison(
        "The checksum does not fit the batch.",
        "It raises an error, delivers nothing of the batch, and does not go past it by itself.",
    ),
    "flipped-byte": Poison(
        "One bit of the first value, or of compressed records, is flipped; the checksum is right.",
        "It delivers a value: only the application can notice. A codec may refuse the bytes.",
    ),
    "count-too-high": Poison(
        "The header counts one record more than there is.",
        "It raises an error when the records end too early; it does not wait for more bytes.",
    ),
    "count-too-low": Poison(
        "The header counts one record less than there is.",
        "It raises an error because bytes are left, or delivers as many records as are counted.",
    ),
    "offset-gap": Poison(
        "The second record is missing, as after compaction; the first one has a header x instead.",
        "It delivers the others with their own offsets, and goes on after the batch's last offset.",
    ),
    "offset-backwards": Poison(
        "The last record has an offset below that of the batch.",
        "It raises an error or skips the record; its position never goes back.",
    ),
    "duplicate-offsets": Poison(
        "The second record has the offset of the first.",
        "It raises an error, or skips the record that is not above its position.",
    ),
    "length-too-long": Poison(
        "The batch's length goes beyond the end of the answer.",
        "It takes the batch for one that was cut, and fetches again with more bytes.",
    ),
    "length-too-short": Poison(
        "The batch's length is less than that of the shortest batch.",
        "It raises an error, and reads nothing behind the batch.",
    ),
    "unknown-magic": Poison(
        "The batch's magic is 9.",
        "It raises an error that names the format.",
    ),
    "unknown-codec": Poison(
        "The attributes name a codec that does not exist.",
        "It raises an error that names the codec, and delivers nothing of the batch.",
    ),
    "broken-stream": Poison(
        "What should be compressed records is none of the codec's streams.",
        "It raises an error, and frees what the codec took.",
    ),
    "control-batch": Poison(
        "The attributes say that the batch is a marker of a transaction.",
        "It delivers nothing of the batch, and goes on after it.",
    ),
    "open-transaction": Poison(
        "The batch belongs to a transaction that has not ended: the last stable offset is there.",
        "It trusts the broker's list of aborted transactions, and delivers the records.",
    ),
    "old-timestamp": Poison(
        "The timestamps are those of 1970.",
        "It delivers the records: timestamps are the producer's word.",
    ),
    "epoch-backwards": Poison(
        "The leader epoch is one below the partition's.",
        "It delivers the records, and keeps the higher epoch that it knows.",
    ),
    "negative-varint": Poison(
        "The length of the first value is negative, and not the -1 of a null.",
        "It raises an error; it neither takes memory for it nor goes back in the bytes.",
    ),
    "header-count": Poison(
        "The first record counts more headers than it has.",
        "It raises an error at the end of the record, before it reads the next one.",
    ),
}
