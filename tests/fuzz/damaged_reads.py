"""Damaged logs, read: what is lost is told, and what is told is lost.

Every case damages a copy of a log (log_damage.py), with some of the files beside it or without,
and reads it. The truth is what a walk over the undamaged bytes gives (log_reference.py).

- onCorrupt=fail gives every record of the undamaged log, or an error.
- onCorrupt=skip gives only records of the undamaged log, loses those of damaged batches alone, and
  warns. Not where nothing can tell which batch is the damaged one: see _is_in_doubt and MOVED.
- A log without damage, with a torn tail or without, is read without an error.
- Where records are missing without a word, the files have to be such as a broker could have left
  them: nobody can tell then. Those cases are counted.
"""

import logging
import operator
import random
import shutil
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from broker_lite.pipeline.audit.local import LocalVerifier
from broker_lite.pipeline.files.file_io import LocalFileIO
from broker_lite.pipeline.read.corruption import CorruptLog
from broker_lite.pipeline.read.options import ReadOptions
from broker_lite.pipeline.read.ranges import PlanError
from broker_lite.pipeline.stream.log_watch import LogWatch
from broker_lite.pipeline.stream.planned import plan_settled, read_planned
from broker_lite.pipeline.stream.stretch import Stretch, read_stretch
from tests.fuzz.damaged_cases import judge_all
from tests.fuzz.log_damage import MOVED, SOUND, SWAPPED, Case
from tests.fuzz.log_reference import HEADER, TrueBatch, TrueRow, could_be_whole, segments_of
from tests.fuzz.log_templates import Template, make_templates
from tests.support.command import seeded_main

IO: Final = LocalFileIO()
DIRECTORY: Final = "topic-0"

_CONTENT: Final = 16  # begins behind length and leader epoch, which no checksum covers
# base offset and last offset delta, from the bytes of a header
_OFFSETS: Final = operator.itemgetter(slice(0, 8), slice(23, 27))

logger = logging.getLogger("broker_lite.pipeline")


@dataclass(slots=True)
class Found:
    """What a run saw.

    Attributes:
        outcomes: how many reads ended how.
        untold: of those that lost records without a word, how many there were of each class.
    """

    cases: int = 0
    faults: list[str] = field(default_factory=list)
    outcomes: Counter[str] = field(default_factory=Counter)
    untold: Counter[str] = field(default_factory=Counter)

    def summary(self) -> str:
        """The figures of the run."""
        told = ", ".join(f"{name} {count:,}" for name, count in sorted(self.outcomes.items()))
        untold = ", ".join(f"{name} {count:,}" for name, count in sorted(self.untold.items()))
        return (
            f"{self.cases:,} damaged logs: {told}\n"
            f"nothing can tell (files as a broker leaves them): {untold or 'none'}\n"
            f"{len(self.faults)} faults"
        )


class _Warnings(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.count = 0

    def emit(self, record: logging.LogRecord) -> None:
        self.count += 1


class Reader:
    """Reads damaged logs of a folder and judges what comes.

    Args:
        root: where they are written; emptied first.
        found: takes what is seen.
    """

    def __init__(self, root: Path, found: Found) -> None:
        self._root = root
        self._found = found
        self._written: dict[str, bytes] = {}

    def judge(self, number: int, source: random.Random, template: Template, case: Case) -> None:
        """Read a case in several ways."""
        self._write(case.files)
        is_sound = case.classes[0] in SOUND
        options = {
            "maxSplitBytes": source.choice(("1k", "6k", "64m")),
            "isolationLevel": source.choice(
                ("read_uncommitted", "read_uncommitted", "read_committed")
            ),
        }
        if source.random() < 0.2:
            options["minPartitions"] = "9"
        name = f"case {number}: {template.kind}, {' and '.join(case.classes)}"
        name += f", without {', '.join(case.gone) or 'nothing'}, {options}"
        warnings = _Warnings()
        logger.addHandler(warnings)
        try:
            error = self._judge_fail(name, template, case, options, is_sound=is_sound)
            self._judge_stream(name, template, case, is_sound=is_sound)
            warnings.count = 0
            self._judge_skip(name, template, case, options, warnings)
            if number % 4 == 0:
                self._judge_verify(name, template, case, error)
        finally:
            logger.removeHandler(warnings)

    def _write(self, files: dict[str, bytes]) -> None:
        for path in self._written.keys() - files.keys():
            (self._root / path).unlink()
            del self._written[path]
        for path, data in files.items():
            if self._written.get(path) != data:
                (self._root / path).parent.mkdir(parents=True, exist_ok=True)
                (self._root / path).write_bytes(data)
                self._written[path] = data

    def _rows(self, options: dict[str, str]) -> list[TrueRow]:
        given = {"path": str(self._root), "columns": "offset,key,value"} | options
        parsed = ReadOptions.parse(given)
        return [
            TrueRow(*row.values())
            for split in plan_settled(IO, str(self._root), parsed)
            for arrow in read_planned(IO, split, parsed)
            for row in arrow.to_pylist()
        ]

    def _streamed(self) -> list[TrueRow]:
        parsed = ReadOptions.parse(
            {"path": str(self._root), "columns": "offset,key,value"}, is_stream=True
        )
        (horizon,) = LogWatch(IO, str(self._root), parsed).horizons().values()
        first = min(int(path.stem) for path in self._root.rglob("*.log"))
        directory = str(self._root / DIRECTORY)
        end = horizon.readable_offset
        stretch = Stretch(str(self._root), directory, "topic", 0, first, end)
        return [
            TrueRow(*row.values())
            for arrow in read_stretch(IO, stretch, parsed)
            for row in arrow.to_pylist()
        ]

    def _judge_fail(
        self,
        name: str,
        template: Template,
        case: Case,
        options: dict[str, str],
        *,
        is_sound: bool,
    ) -> Exception | None:
        truth = template.rows(options["isolationLevel"])
        try:
            rows = self._rows(options)
        except (CorruptLog, PlanError) as error:
            self._found.outcomes["error"] += 1
            if is_sound:
                self._fault(f"{name}: an error without damage: {error}")
            return error
        if rows == truth:
            self._found.outcomes["all records"] += 1
        elif could_be_whole(case.files, template.batches, has_gaps=template.has_gaps):
            self._found.outcomes["untold"] += 1
            self._found.untold[f"{template.kind} {' and '.join(case.classes)}"] += 1
        else:
            self._fault(f"{name}: {len(rows)} of {len(truth)} records without an error")
        return None

    def _judge_stream(self, name: str, template: Template, case: Case, *, is_sound: bool) -> None:
        truth = template.rows("read_uncommitted")
        try:
            rows = self._streamed()
        except (CorruptLog, PlanError) as error:
            if is_sound:
                self._fault(f"{name}: an error of the stream without damage: {error}")
            return
        if rows != truth and not could_be_whole(
            case.files, template.batches, has_gaps=template.has_gaps
        ):
            self._fault(f"{name}: {len(rows)} of {len(truth)} in the stream without an error")

    def _judge_skip(
        self,
        name: str,
        template: Template,
        case: Case,
        options: dict[str, str],
        warnings: _Warnings,
    ) -> None:
        truth = template.rows(options["isolationLevel"])
        rows = self._rows(options | {"onCorrupt": "skip"})
        lost, foreign = set(truth) - set(rows), set(rows) - set(truth)
        if options["isolationLevel"] == "read_committed":
            foreign -= set(template.rows("read_uncommitted"))
        is_open = could_be_whole(case.files, template.batches, has_gaps=template.has_gaps)
        if template.has_gaps:
            foreign = {row for row in foreign if not _may_have_moved(template, case, row)}
        if (foreign or len(set(rows)) < len(rows)) and not is_open:
            self._fault(f"{name}: skip gives {len(foreign)} records that were never written")
        if lost and not is_open:
            if not warnings.count:
                self._fault(f"{name}: skip loses {len(lost)} records without a warning")
            if options["isolationLevel"] == "read_uncommitted" and not MOVED & set(case.classes):
                self._judge_lost(name, template, case, lost)

    def _judge_lost(self, name: str, template: Template, case: Case, lost: set[TrueRow]) -> None:
        """Records that skip left out have to be those of batches that are not in their place."""
        kept = [
            batch
            for batch in template.batches
            if _is_in_place(template, case, batch) and not _is_in_doubt(template, case, batch)
        ]
        sound = {row for batch in kept for row in batch.rows}
        if lost & sound:
            offsets = sorted(row.offset for row in lost & sound)
            self._fault(f"{name}: skip loses sound records, offsets {offsets[0]} to {offsets[-1]}")

    def _judge_verify(
        self, name: str, template: Template, case: Case, error: Exception | None
    ) -> None:
        verifier = LocalVerifier(str(self._root), lambda *_: True, is_compacted=template.has_gaps)
        if error is not None and verifier.verify().is_sound:
            self._fault(f"{name}: verify finds nothing, and a read fails: {error}")

    def _fault(self, text: str) -> None:
        self._found.faults.append(text)


def _is_in_place(template: Template, case: Case, batch: TrueBatch) -> bool:
    """Whether the bytes of a batch are there, between those of the batches around it.

    Those may have another offset now: a batch behind one that was in front of it is not in place.
    Nor is one that changed places with a batch that was damaged, too: either may be the wrong one.
    """
    data = case.files[batch.path]
    own = [one for one in template.batches if one.path == batch.path]
    number = own.index(batch)
    at = _place(data, batch)
    if at < 0:
        return False
    if number and SWAPPED in case.classes:
        front = own[number - 1]
        if at == front.position and _place(data, front) < 0:
            return False
    around = (
        [_place(data, one) for one in own[:number]],
        [_place_of_content(data, one, own) for one in own[number + 1 :]],
    )
    return all(one < at for one in around[0]) and all(not 0 <= one < at for one in around[1])


def _is_in_doubt(template: Template, case: Case, batch: TrueBatch) -> bool:
    """Whether the offset of a batch, which no checksum covers, has nothing that confirms it.

    In a log without gaps that is one with no neighbours: the batch in front of it is damaged, its
    offsets too, and it is the last one, or what came behind it in its file was cut off or has
    another offset now, one that it could have. In a log with gaps, the batches beside one with
    another offset: either may be the wrong one.
    """
    number = template.batches.index(batch)
    around = template.batches[max(number - 1, 0) : number + 2]
    if not template.has_gaps:
        is_last = number + 1 == len(template.batches)
        is_cut_off = case.files[batch.path].endswith(batch.data)
        is_alone = is_last or is_cut_off or _has_moved(case, around[-1], template)
        fronts = template.batches[max(number - 2, 0) : number]
        return is_alone and not _are_followed(template, case, fronts)
    return any(_has_moved(case, one) for one in around)


def _are_followed(template: Template, case: Case, fronts: list[TrueBatch]) -> bool:
    """Whether what is in front of a batch tells its offset.

    Either the one in front is sound, or it has the right offsets still, behind one that is sound.
    """
    if not fronts or _is_in_place(template, case, fronts[-1]):
        return True
    front = fronts[-1]
    given = case.files[front.path][front.position : front.position + HEADER.size]
    is_right = _OFFSETS(given) == _OFFSETS(front.data)
    return is_right and all(_is_in_place(template, case, one) for one in fronts[:-1])


def _has_moved(case: Case, batch: TrueBatch, template: Template | None = None) -> bool:
    """Whether the bytes of a batch are there but for its offset.

    Args:
        case: its log.
        batch: that batch.
        template: given, the other offset has to be one in front of the next segment.
    """
    data = case.files[batch.path]
    at = data.find(batch.data[_CONTENT:])
    if at < 0 or data[at - _CONTENT : at - 8] == batch.data[:8]:
        return False
    bases = [base for base, path in segments_of(template.files if template else {})]
    limit = min((base for base in bases if base > batch.last_offset), default=1 << 63)
    offset = int.from_bytes(data[at - _CONTENT : at - 8], "big", signed=True)
    return offset + batch.last_offset - batch.base_offset < limit


def _may_have_moved(template: Template, case: Case, row: TrueRow) -> bool:
    """Whether a row is one of a batch that has another offset now."""
    return any(
        (row.key, row.value) == (one.key, one.value) and _has_moved(case, batch)
        for batch in template.batches
        for one in batch.rows
    )


def _place(data: bytes, batch: TrueBatch) -> int:
    if data[batch.position : batch.end] == batch.data:
        return batch.position
    return data.find(batch.data)


def _place_of_content(data: bytes, batch: TrueBatch, all_batches: Sequence[TrueBatch]) -> int:
    """Where a batch is, with its own offset or with one that no batch of this content has."""
    place = _place(data, batch)
    if place >= 0:
        return place
    content = batch.data[_CONTENT:]
    twins = [one.data for one in all_batches if one.data[_CONTENT:] == content]
    at = data.find(content)
    while at >= 0 and data[at - _CONTENT : at + len(content)] in twins:
        at = data.find(content, at + 1)
    return at - _CONTENT


def run(seed: int, cases: int, folder: Path) -> Found:
    """Damage and read; a case can be done again alone, by its number.

    Args:
        seed: of chance.
        cases: how many.
        folder: an empty one.
    """
    found = Found()
    templates = make_templates(folder / "templates")
    reader = Reader(folder / "damaged", found)
    judge_all(seed, cases, templates, reader, found)
    shutil.rmtree(folder / "templates")
    return found


def main() -> int:
    """Run from the command line."""
    logger.propagate = False
    return seeded_main(run, __doc__, count="cases", default=20_000)


if __name__ == "__main__":
    sys.exit(main())
