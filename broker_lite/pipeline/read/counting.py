"""What a read counts instead of giving its records, and how the records are grouped."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from broker_lite.pipeline.read.option_values import Given, OptionError

TOPIC: Final = "topic"
PARTITION: Final = "partition"
TIME_BUCKET: Final = "timeBucket"
KEY_HASH: Final = "keyHash"
GROUPS: Final = (TOPIC, PARTITION, TIME_BUCKET, KEY_HASH)
"""By what records can be grouped."""

RECORDS: Final = "records"
KEYS: Final = "keys"
KEY_BYTES: Final = "keyBytes"
VALUES: Final = "values"
VALUE_BYTES: Final = "valueBytes"
MIN_OFFSET: Final = "minOffset"
MAX_OFFSET: Final = "maxOffset"
MIN_TIMESTAMP: Final = "minTimestamp"
MAX_TIMESTAMP: Final = "maxTimestamp"
MEASURES: Final = (
    *(RECORDS, KEYS, KEY_BYTES, VALUES, VALUE_BYTES),
    *(MIN_OFFSET, MAX_OFFSET, MIN_TIMESTAMP, MAX_TIMESTAMP),
)
"""What can be told of the records of a group."""

HEADER_MEASURES: Final = frozenset({RECORDS, MIN_OFFSET, MAX_OFFSET})
"""What the header of a batch has exactly, if no cleaner took records from it."""

COUNTING_OPTIONS: Final = ("countBy", "measures", "bucketMs", "keyHashes")
KEY_HASHES_MAX: Final = 1 << 16
BUCKET_MS_MAX: Final = 1 << 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Counting:
    """Groups and measures, each in the order of the result's columns.

    Attributes:
        by: some of GROUPS.
        measures: some of MEASURES.
        bucket_ms: width of a bucket of time; 0 unless records are grouped by it.
        key_hashes: number of hashes of keys; 0 unless records are grouped by them.
    """

    by: tuple[str, ...]
    measures: tuple[str, ...]
    bucket_ms: int = 0
    key_hashes: int = 0

    @classmethod
    def parse(cls, options: Mapping[str, str | None]) -> "Counting":
        """Parse the options of COUNTING_OPTIONS.

        Raises:
            OptionError: an option is wrong, or one is missing.
        """
        given = Given(options, COUNTING_OPTIONS)
        by = _names(given, "countBy", GROUPS, (TOPIC, PARTITION))
        measures = _names(given, "measures", MEASURES, MEASURES)
        if not measures:
            raise given.error("measures", f"one is needed of {', '.join(MEASURES)}")
        return cls(
            by=by,
            measures=measures,
            bucket_ms=_number(given, "bucketMs", BUCKET_MS_MAX, TIME_BUCKET in by, TIME_BUCKET),
            key_hashes=_number(given, "keyHashes", KEY_HASHES_MAX, KEY_HASH in by, KEY_HASH),
        )

    @property
    def is_by_header(self) -> bool:
        """Whether the header of a batch that was never cleaned tells all that is wanted."""
        return not (self.bucket_ms or self.key_hashes) and HEADER_MEASURES.issuperset(self.measures)


def _names(
    given: Given, option: str, known: tuple[str, ...], default: tuple[str, ...]
) -> tuple[str, ...]:
    text = given.text(option)
    if text is None:
        return default
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    for name in names:
        if name not in known or names.count(name) > 1:
            raise given.error(option, f"each at most once of {', '.join(known)}")
    return names


def _number(given: Given, option: str, most: int, is_needed: bool, group: str) -> int:
    number = given.count(option)
    if number is None and is_needed:
        raise OptionError(f"option {option}: needed to group by {group}")
    if number is not None and not is_needed:
        raise given.error(option, f"only for a group by {group}")
    if number is not None and number > most:
        raise given.error(option, f"at most {most}")
    return number or 0
