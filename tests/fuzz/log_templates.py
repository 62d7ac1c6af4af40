"""The undamaged logs whose copies are damaged."""

import random
from pathlib import Path
from typing import Final, NamedTuple

from tests.fuzz.log_reference import TrueBatch, TrueRow, batches_of, committed
from tests.pipeline.stream_support import compaction
from tests.pipeline.support import NewRecord, Partition

KINDS: Final = ("broker's", "copy", "compacted")


class Template(NamedTuple):
    """An undamaged log.

    Attributes:
        has_gaps: whether its readers have to expect that offsets are missing.
    """

    kind: str
    files: dict[str, bytes]
    batches: list[TrueBatch]
    has_gaps: bool

    def rows(self, isolation: str) -> list[TrueRow]:
        """The records of it."""
        if isolation == "read_committed":
            return committed(self.batches)
        return [row for batch in self.batches for row in batch.rows]


def make_templates(folder: Path) -> list[Template]:
    """Write the logs that are damaged: of a broker's directory, copied alone, and compacted."""
    templates = []
    for kind in KINDS:
        root = folder / kind
        _write_log(root)
        if kind == "compacted":
            for step in compaction(root, lambda offset: offset // 9 % 3 == 0):
                step()
            for path in root.rglob("*.deleted"):
                path.unlink()
        if kind != "copy":
            _write_checkpoints(root, is_compacted=kind == "compacted")
        paths = (path for path in root.rglob("*") if path.is_file())
        files = {str(path.relative_to(root)): path.read_bytes() for path in paths}
        templates.append(Template(kind, files, batches_of(files), kind != "broker's"))
    return templates


def _write_log(root: Path) -> None:
    """Three segments: large batches and small ones, plain and compressed, and transactions."""
    source = random.Random(7)
    with Partition(root, segment_bytes=16_000, index_interval_bytes=1500) as partition:
        number, segments = 0, partition.log.segments
        while len(segments.all) < 3 or segments.active.size_bytes < 9000:
            count = source.choice((1, 3, 9))
            size_bytes = source.choice((0, 20, 300, 1500))
            records = [
                NewRecord(b"%06d" % source.randrange(40), source.randbytes(size_bytes))
                for _ in range(count)
            ]
            producer_id = source.choice((-1, 7, 8))
            is_transactional = producer_id == 8
            codec = source.choice((0, 0, 1))
            partition.append(
                records, codec=codec, producer_id=producer_id, is_transactional=is_transactional
            )
            if is_transactional and source.random() < 0.7:
                partition.end_transaction(8, commit=source.random() < 0.5)
            number += 1
        partition.end_transaction(8, commit=True)


def _write_checkpoints(root: Path, *, is_compacted: bool) -> None:
    end = max(int(path.stem) for path in root.rglob("*.snapshot"))
    (root / "meta.properties").write_text("version=1\nnode.id=1\ncluster.id=x\n")
    (root / "recovery-point-offset-checkpoint").write_text(f"0\n1\ntopic 0 {end}\n")
    (root / ".kafka_cleanshutdown").write_text('{"version":0,"brokerEpoch":1}')
    cleaned = f"0\n1\ntopic 0 {end}\n" if is_compacted else "0\n0\n"
    (root / "cleaner-offset-checkpoint").write_text(cleaned)
