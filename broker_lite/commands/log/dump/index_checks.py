"""Checks the entries of one index against its segment, for `log dump --verify-index-only`."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from broker_lite.errors import SettingsError
from broker_lite.log.files.names import (
    INDEX_SUFFIX,
    LOG_SUFFIX,
    TIME_INDEX_SUFFIX,
    parse_segment_file,
)
from broker_lite.pipeline.files.file_io import LocalFileIO
from broker_lite.pipeline.files.layout import Segment
from broker_lite.pipeline.read.index_checks import judged_entries
from broker_lite.pipeline.read.split import SegmentRange, Split

CHECKED: Final = (INDEX_SUFFIX, TIME_INDEX_SUFFIX)

_ALL: Final = 1 << 62


def index_faults(path: Path) -> Iterator[str]:
    """Yield the wrong entries of an index.

    Raises:
        SettingsError: its .log file is missing.
        OSError: a file cannot be read.

    Rule: S-95.
    See: S-10, S-11.
    """
    parsed = parse_segment_file(path.name)
    assert parsed is not None, "it has the name of an index"
    base_offset, suffix = parsed
    log_path = path.with_suffix(LOG_SUFFIX)
    if not log_path.exists():
        raise SettingsError(f"{log_path}: No such file or directory")
    size_bytes = log_path.stat().st_size
    segment = Segment("", 0, base_offset, str(path.parent), size_bytes, frozenset((suffix,)))
    split = Split("", "", 0, (SegmentRange(segment, 0, size_bytes),), 0, _ALL)
    for entry in judged_entries(LocalFileIO(), split, segment, skip_missing=False):
        if entry.error is not None:
            yield f"entry {entry.key} -> {entry.leads_to}: {entry.error}"
