"""Which form of what can be compiled runs."""

import types

import pytest

from broker_lite.record import batch, implementation, implementations
from broker_lite.record.loops import scan


def test_it_says_what_was_imported() -> None:
    scan_form, path_form = (
        "python" if str(module.__file__).endswith(".py") else "native" for module in (scan, batch)
    )
    assert implementations() == f"scan: {scan_form}, request path: {path_form}"


@pytest.mark.parametrize(
    ("file", "expected"), [("scan.py", "python"), ("scan.cpython-311.so", "native")]
)
def test_by_file(monkeypatch: pytest.MonkeyPatch, file: str, expected: str) -> None:
    monkeypatch.setattr(implementation, "scan", types.SimpleNamespace(__file__=file))
    assert implementations().startswith(f"scan: {expected}, ")
