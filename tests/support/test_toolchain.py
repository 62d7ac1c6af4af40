import pytest

from tests.support.toolchain import require

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
