"""Damaged data directories, started: what a broker serves of them, and what it says.

Every case damages a copy of a log (log_damage.py), with some of the files beside it or without, in
the data directory of a broker, and opens it as a broker does at its start. It was stopped cleanly,
killed, or killed without a recovery point, so that all of it is recovered. The truth is what a walk
over the undamaged bytes gives (log_reference.py).

- The start goes on, or ends with one line; nothing but the documented errors comes out of it.
- Every batch in front of the damage is served, byte for byte.
- What else is served with a right checksum are records of the undamaged log, by rising offset.
- Where all of it is recovered, every batch that is served is sound, `log verify` calls what is left
  sound, `log repair` leaves the same, and a log that `log verify` calls sound loses nothing, unless
  the files are such as a broker could have left them: nobody can tell then. Those are counted.
"""

import argparse
import contextlib
import io
import logging
import random
import shutil
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from broker_lite.commands.log import repair as log_repair
from broker_lite.control.clock import Clock
from broker_lite.control.cluster.cluster import Cluster
from broker_lite.errors import BrokerError, SettingsError
from broker_lite.log.files.checkpoints import format_partition_metadata
from broker_lite.log.log import Log
from broker_lite.log.read import read_log
from broker_lite.pipeline.audit.local import LocalVerifier
from broker_lite.settings import Settings
from tests.fuzz.damaged_cases import judge_all
from tests.fuzz.log_damage import Case
from tests.fuzz.log_reference import HEADER, TrueBatch, could_be_whole, walk
from tests.fuzz.log_templates import Template, make_templates
from tests.log.logs import content
from tests.support.command import seeded_main

TOPIC: Final = "topic"
PARTITION: Final = f"{TOPIC}-0"
CLEAN, KILLED, UNKNOWN = "stopped cleanly", "killed", "killed, without a recovery point"
_MARK: Final = ".kafka_cleanshutdown"
_RECOVERY_POINT: Final = "recovery-point-offset-checkpoint"
_SLOW_S: Final = 20
_READ_BYTES: Final = 1 << 20
_MAGIC_MAX: Final = 2
_CHECKED_FROM: Final = 21  # in front of it no checksum is right or wrong: offset, length, epoch

logger = logging.getLogger("broker_lite")


@dataclass(slots=True)
class Found:
    """What a run saw.

    Attributes:
        outcomes: how many starts ended how.
    """

    cases: int = 0
    faults: list[str] = field(default_factory=list)
    outcomes: Counter[str] = field(default_factory=Counter)

    def summary(self) -> str:
        """The figures of the run."""
        told = ", ".join(f"{name} {count:,}" for name, count in sorted(self.outcomes.items()))
        return f"{self.cases:,} damaged directories: {told}\n{len(self.faults)} faults"


class Served(NamedTuple):
    """What a reader from the first offset on gets, and the end of the log."""

    batches: tuple[TrueBatch, ...]
    end_offset: int


class Starter:
    """Starts damaged directories in a folder, and judges what comes.

    Args:
        root: where they are written.
        found: takes what is seen.
    """

    def __init__(self, root: Path, found: Found) -> None:
        self._root = root
        self._found = found
        self._skeleton = root / "skeleton"
        cluster = _open(self._skeleton)
        self._topic_id = cluster.create_topic(TOPIC).topic_id
        cluster.close()
        shutil.rmtree(self._skeleton / PARTITION)
        for path in self._skeleton.glob("*-offset-checkpoint"):  # they tell of an empty log
            path.unlink()

    def judge(self, number: int, source: random.Random, template: Template, case: Case) -> None:
        """Start a case, and where all of it is recovered, repair it, too."""
        stop = source.choice((CLEAN, KILLED, UNKNOWN, UNKNOWN))
        name = f"case {number}: {template.kind}, {' and '.join(case.classes)}, {stop}"
        name += f", without {', '.join(case.gone) or 'nothing'}"
        began = time.monotonic()
        folder = self._write(case, stop, "data")
        is_sound = _is_sound(folder, has_gaps=template.has_gaps)
        served = self._start(name, folder)
        if served is not None:
            self._judge_front(name, template, case, served)
            is_checked = stop == UNKNOWN
            if is_checked and _has_unknown_magic(folder):
                self._found.outcomes["unknown magic"] += 1
                is_checked = False
            self._judge_rest(name, template, served, is_checked=is_checked)
            if is_checked:
                self._judge_verify(name, template, case, served, is_sound=is_sound)
                # where a log ends in front of it, the cleaner makes its checkpoint anew
                (folder / "cleaner-offset-checkpoint").unlink(missing_ok=True)
                if not _is_sound(folder):
                    self._fault(f"{name}: what recovery left is not sound")
                self._judge_repair(name, template, case, served)
        if time.monotonic() - began > _SLOW_S:
            self._fault(f"{name}: {time.monotonic() - began:.0f} s")

    def _write(self, case: Case, stop: str, name: str) -> Path:
        folder = self._root / name
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self._skeleton, folder)
        (folder / _MARK).unlink()
        (folder / PARTITION).mkdir()
        gone = {CLEAN: (), KILLED: (_MARK,), UNKNOWN: (_MARK, _RECOVERY_POINT)}[stop]
        for path, data in case.files.items():
            if path not in (*gone, "meta.properties"):
                (folder / path).write_bytes(data)
        if stop == CLEAN:
            (folder / _MARK).touch()
        text = format_partition_metadata(self._topic_id)
        (folder / PARTITION / "partition.metadata").write_text(text)
        return folder

    def _start(self, name: str, folder: Path) -> Served | None:
        """Open a directory and read its log; None when it does not start, or its log is offline."""
        try:
            cluster = _open(folder)
        except (SettingsError, BrokerError) as error:
            self._found.outcomes["refused"] += 1
            if "\n" in str(error):
                self._fault(f"{name}: more than one line: {error}")
            return None
        except Exception:  # whatever it is, it is a fault
            self._fault(f"{name}: {traceback.format_exc()}")
            return None
        try:
            log = cluster.log(TOPIC, 0)
            served = Served(tuple(_read(log)), log.log_end_offset)
            self._found.outcomes["served"] += 1
        except BrokerError:
            self._found.outcomes["offline"] += 1
            return None
        except Exception:  # as above
            self._fault(f"{name}: {traceback.format_exc()}")
            return None
        finally:
            cluster.close(sync=False)
        return served

    def _judge_front(self, name: str, template: Template, case: Case, served: Served) -> None:
        """Every batch in front of the damage is served as it was."""
        front = [batch.data for batch in _in_front(template, case)]
        got = [batch.data for batch in served.batches[: len(front)]]
        if got != front:
            self._fault(f"{name}: {len(front)} batches are in front of the damage, not all served")

    def _judge_rest(
        self, name: str, template: Template, served: Served, *, is_checked: bool
    ) -> None:
        """What has a right checksum was written, and is served in order where it was looked at."""
        known = {batch.data[_CHECKED_FROM:] for batch in template.batches}
        if any(batch.data[_CHECKED_FROM:] not in known for batch in served.batches):
            self._fault(f"{name}: records are served that were never written")
        ends = [0, *(batch.last_offset + 1 for batch in served.batches)]
        is_rising = all(
            batch.base_offset >= end for end, batch in zip(ends, served.batches, strict=False)
        )
        if is_checked and not (is_rising and ends[-1] == served.end_offset):
            self._fault(f"{name}: offsets do not rise to the end {served.end_offset} of the log")

    def _judge_verify(
        self, name: str, template: Template, case: Case, served: Served, *, is_sound: bool
    ) -> None:
        """A log that `log verify` called sound loses nothing by its recovery."""
        is_whole = [batch.data for batch in served.batches] == [
            batch.data for batch in template.batches
        ]
        if is_whole:
            self._found.outcomes["whole"] += 1
        elif could_be_whole(case.files, template.batches, has_gaps=template.has_gaps):
            self._found.outcomes["untold"] += 1
        elif is_sound:
            self._fault(f"{name}: verify found nothing, and recovery cut it")

    def _judge_repair(self, name: str, template: Template, case: Case, served: Served) -> None:
        """`log repair` leaves what a start leaves."""
        folder = self._write(case, KILLED, "repaired")
        options = argparse.Namespace(data_dir=folder, dry_run=False, topic_ids=None)
        with contextlib.redirect_stdout(io.StringIO()):
            try:
                code = log_repair.run(options)
            except Exception:  # as above
                self._fault(f"{name}: repair: {traceback.format_exc()}")
                return
        if code or not _is_sound(folder):
            self._fault(f"{name}: not sound after a repair that ended with {code}")
        elif self._start(f"{name}, repaired", folder) != served:
            self._fault(f"{name}: repair leaves something else than a start")

    def _fault(self, text: str) -> None:
        self._found.faults.append(text)


def _open(folder: Path) -> Cluster:
    return Cluster.open(Settings(), folder, Clock.standing_still())


def _read(log: Log) -> Iterator[TrueBatch]:
    """Fetch from the start of a log on, as a consumer, up to what it would refuse."""
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        try:
            data = content(read_log(log, offset, max_bytes=_READ_BYTES))
        except BrokerError:
            return
        sound = [batch for batch in walk("", data) if batch.last_offset >= offset]
        yield from sound
        if not sound or sum(len(batch.data) for batch in walk("", data)) < len(data):
            return
        offset = sound[-1].last_offset + 1


def _in_front(template: Template, case: Case) -> Iterator[TrueBatch]:
    """The batches up to the first one that is not in its place."""
    for batch in template.batches:
        data = case.files[batch.path]
        if data[batch.position : batch.end] != batch.data:
            return
        yield batch
        original = len(template.files[batch.path])
        if batch.end == original < len(data):  # the damage is behind the last one of the file
            return


def _has_unknown_magic(folder: Path) -> bool:
    """Whether recovery kept a batch whose magic no client knows: Kafka's keeps it, too.

    No checksum covers the magic.
    """
    for path in (folder / PARTITION).glob("*.log"):
        data, at = path.read_bytes(), 0
        while at + HEADER.size <= len(data):
            if data[at + 16] > _MAGIC_MAX:
                return True
            at += 12 + int.from_bytes(data[at + 8 : at + 12], "big")
    return False


def _is_sound(folder: Path, *, has_gaps: bool = True) -> bool:
    """What `log verify` says; records that are gone from between others do not come back."""

    def is_topic(topic: str, _: int) -> bool:
        return topic == TOPIC

    return LocalVerifier(str(folder), is_topic, is_compacted=has_gaps).verify().is_sound


def run(seed: int, cases: int, folder: Path) -> Found:
    """Damage and start; a case can be done again alone, by its number.

    Args:
        seed: of chance.
        cases: how many.
        folder: an empty one.
    """
    found = Found()
    templates = make_templates(folder / "templates")
    starter = Starter(folder, found)
    judge_all(seed, cases, templates, starter, found)
    return found


def main() -> int:
    """Run from the command line."""
    logger.propagate = False
    return seeded_main(run, __doc__, count="cases", default=1_000)


if __name__ == "__main__":
    sys.exit(main())
