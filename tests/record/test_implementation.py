"""Which form of the scan runs."""

import types

import pytest

from broker_lite.record import implementation, scan, scan_implementation


def test_it_says_what_was_imported() -> None:
    compiled = not str(scan.__file__).endswith(".py")
    assert scan_implementation() == ("native" if compiled else "python")


@pytest.mark.parametrize(
    ("file", "expected"), [("scan.py", "python"), ("scan.cpython-311.so", "native")]
)
def test_by_file(monkeypatch: pytest.MonkeyPatch, file: str, expected: str) -> None:
    monkeypatch.setattr(implementation, "scan", types.SimpleNamespace(__file__=file))
    assert scan_implementation() == expected
