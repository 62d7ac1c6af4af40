"""S-10, S-11, S-18, S-70: what else knows that a log was longer."""

from pathlib import Path

import pytest

from broker_lite.pipeline.files.witnesses import indexed_end, witnessed_end
from tests.pipeline.files.filled import IO, fill, log_of
from tests.pipeline.support import cut


def forget(root: Path, *suffixes: str) -> None:
    for suffix in suffixes:
        for path in root.glob(f"topic-0/*{suffix}"):
            path.unlink()


def test_a_whole_log_has_none(tmp_path: Path) -> None:
    fill(tmp_path, segment_bytes=1 << 20)
    assert witnessed_end(IO, log_of(tmp_path), 200) is None
    assert witnessed_end(IO, log_of(tmp_path)._replace(segments=()), 0) is None


@pytest.mark.parametrize(
    ("gone", "rule"),
    [
        pytest.param((), "S-18", id="S-18"),
        pytest.param((".snapshot",), "S-10", id="S-10"),
        pytest.param((".snapshot", ".timeindex"), "S-10", id="S-10 alone"),
        pytest.param((".snapshot", ".index"), "S-11", id="S-11 alone"),
        pytest.param((".snapshot", ".index", ".timeindex"), None, id="none"),
    ],
)
@pytest.mark.parametrize("size_bytes", [0, 2460])
def test_a_log_that_was_cut(
    tmp_path: Path, gone: tuple[str, ...], rule: str | None, size_bytes: int
) -> None:
    fill(tmp_path, segment_bytes=1 << 20)
    cut(Path(log_of(tmp_path).segments[0].log_path), size_bytes)
    forget(tmp_path, *gone)
    found = witnessed_end(IO, log_of(tmp_path), size_bytes // 246 * 5)
    assert (found and found.rule) == rule


def test_s_70_a_recovery_point(tmp_path: Path) -> None:
    fill(tmp_path)
    found = witnessed_end(IO, log_of(tmp_path)._replace(recovery_point=201), 200)
    assert found is not None
    assert (found.next_offset, found.rule) == (201, "S-70")


@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
def test_s_10_a_wrong_entry_alone_is_not_believed(tmp_path: Path, suffix: str) -> None:
    fill(tmp_path, segment_bytes=1 << 20)
    segment = log_of(tmp_path).segments[0]
    path = Path(segment.stem + suffix)
    data = bytearray(path.read_bytes())
    data[-8 if suffix == ".index" else -4] = 1
    path.write_bytes(data)
    assert indexed_end(IO, segment, 200) is None
