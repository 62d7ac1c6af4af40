"""The named places of the broker at which a call that changes a file can be made to fail.

A name is OPERATION.KIND.WHAT: `roll.create.log`, `append.write.log`, `metadata.sync.log`,
`checkpoint.rename.recovery-point-offset-checkpoint`. The kind is that of calls.Call; what is the
file's suffix or name, `partition`
for a partition's directory, `data` for the data directory. The operation is found in the stack of
the thread that makes the call, so the code of the broker has no marks in it, and runs as it is
written wherever this is imported: what is compiled has no frames there. points.txt lists the
names that a run of the broker passes; tests/crash/test_points.py makes such a run and compares.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Final

import tests.support.as_written  # noqa: F401 - see above
from tests.crash.calls import Call

# Function, or module, to operation. An operation of ALWAYS counts for all that it does, whatever
# else is found further inside; of the rest the innermost counts.
OPERATIONS: Final = {
    "broker_lite.control.metadata.metadata_log": "metadata",
    "broker_lite.control.metadata.quorum_files": "metadata",
    "broker_lite.log.recovery.loading": "recovery",
    "broker_lite.log.recovery.recover_segment": "recovery",
    "broker_lite.log.recovery.temporary_files": "recovery",
    "broker_lite.log.directory.chores:Chores._set_aside": "delete",
    "broker_lite.log.directory.chores:Chores.work": "delete",
    "broker_lite.log.files.segment:LogSegment.append": "append",
    "broker_lite.log.files.segment:LogSegment.make_index_files": "partition",
    "broker_lite.log.files.txn_index:TransactionIndex.append": "append",
    "broker_lite.log.segments:Segments.roll": "roll",
    "broker_lite.log.flusher": "flush",
    "broker_lite.log.directory.stopping:make_durable": "flush",
    "broker_lite.log.removal": "removal",
    "broker_lite.log.recovery.producer_loading": "recovery",
    "broker_lite.log.directory.offset_checkpoints": "checkpoint",
    "broker_lite.seed.marker": "seed",
    "broker_lite.log.segments:Segments.take_snapshot": "snapshot",
    "broker_lite.log.epoch_file:EpochFile.save": "epochs",
    "broker_lite.log.log:Log.close": "stop",
    "broker_lite.log.log:Log._settle": "partition",
    "broker_lite.log.directory.partitions:make_directory": "partition",
    "broker_lite.log.directory.partitions:write_checkpoints": "checkpoint",
    "broker_lite.log.directory.data_directory:leave_clean_mark": "stop",
    "broker_lite.log.directory.data_directory": "start",
    "broker_lite.commands.serve": "start",
    "broker_lite.log.directory.manager:LogManager.open": "start",
    "broker_lite.log.directory.manager:LogManager.open_metadata_log": "start",
}
ALWAYS: Final = frozenset({"metadata", "recovery"})
CLEANER: Final = "broker_lite.log.cleaner"
SWAP: Final = "swap"
OTHER: Final = "other"

_SEGMENT_FILE: Final = re.compile(r"[0-9]{20}\.(.+)")
_PARTITION: Final = re.compile(r".+-[0-9]+(?:\.[0-9a-f]{32}-(?:delete|stray|future))?")


def listed() -> list[str]:
    """The names of all places."""
    return Path(__file__).with_name("points.txt").read_text().split()


def name_of(call: Call) -> str:
    """The name of the place that makes a call; to be asked in the thread that makes it."""
    return f"{_operation()}.{call.kind}.{_what(call)}"


def _operation() -> str:
    innermost = OTHER
    for frame in _frames():
        module = frame.f_globals.get("__name__", "")
        if module.startswith(CLEANER):
            return SWAP
        found = OPERATIONS.get(f"{module}:{frame.f_code.co_qualname}") or OPERATIONS.get(module)
        if found in ALWAYS:
            return found
        if found is not None and innermost == OTHER:
            innermost = found
    return innermost


def _frames() -> Iterator[FrameType]:
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        yield frame
        frame = frame.f_back


def _what(call: Call) -> str:
    name = (call.target or call.path).rpartition("/")[2]
    found = _SEGMENT_FILE.fullmatch(name)
    if found is not None:
        return found[1].removesuffix(".tmp")
    if call.is_directory or call.kind in {"mkdir", "rmdir", "sync-all"}:
        return "partition" if _PARTITION.fullmatch(name) else "data"
    return name.removesuffix(".tmp").lstrip(".")
