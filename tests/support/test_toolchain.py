from pathlib import Path

import pytest

from tests.support.toolchain import require, user_cache

MISSING = "no-such-program-anywhere"


def test_present() -> None:
    require("sh")


def test_missing_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match=f"toolchain missing: {MISSING}$"):
        require("sh", MISSING)


def test_missing_fails_under_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "1")
    with pytest.raises(pytest.fail.Exception, match="nothing is skipped"):
        require(MISSING)


def test_cache_is_where_the_user_wants_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert user_cache("jars") == tmp_path / "broker-lite" / "jars"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert user_cache("jars") == tmp_path / ".cache" / "broker-lite" / "jars"
