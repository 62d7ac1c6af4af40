"""R-04: a walk over headers that goes on behind damage."""

from pathlib import Path

import pytest

from broker_lite.pipeline.files.sound_walk import walk_past_damage
from tests.pipeline.files.filled import IO, fill, log_of
from tests.pipeline.support import damage, write_segment


def walked(root: Path) -> list[int]:
    segment = log_of(root).segments[-1]
    with IO.open(segment.log_path) as file:
        return [one.base_offset for one in walk_past_damage(file, segment, 0, file.size_bytes)]


@pytest.mark.parametrize("byte", [8, 10, 16], ids=["R-04 length", "R-04 a bit", "R-02 magic"])
@pytest.mark.parametrize("number", [0, 3, 9])
def test_one_batch_is_left_out(tmp_path: Path, byte: int, number: int) -> None:
    places = fill(tmp_path, batches=10, segment_bytes=1 << 20)
    every = [base_offset for _, _, base_offset in places]
    assert walked(tmp_path) == every
    damage(Path(log_of(tmp_path).segments[0].log_path), places[number][1] + byte)
    assert walked(tmp_path) == every[:number] + every[number + 1 :]


def test_nothing_but_damage(tmp_path: Path) -> None:
    write_segment(tmp_path, b"no batch at all" * 20)
    assert walked(tmp_path) == []
    write_segment(tmp_path, b"")
    assert walked(tmp_path) == []
