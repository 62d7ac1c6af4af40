import stat
from pathlib import Path

import pytest

from broker_lite.pipeline.spark.user_cache import publish, user_cache


def test_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert user_cache("x", {"XDG_CACHE_HOME": str(tmp_path)}) == tmp_path / "broker-lite" / "x"
    monkeypatch.setenv("HOME", str(tmp_path))
    assert user_cache("x", {}) == tmp_path / ".cache" / "broker-lite" / "x"


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file"
    for data in (b"one", b"two"):
        publish(path, data, mode=0o755)
        assert path.read_bytes() == data
    assert stat.S_IMODE(path.stat().st_mode) == 0o755
    assert list(path.parent.iterdir()) == [path]


def test_what_cannot_be_published_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.mkdir()
    with pytest.raises(IsADirectoryError):
        publish(path, b"data", mode=0o644)
    assert list(tmp_path.iterdir()) == [path]
