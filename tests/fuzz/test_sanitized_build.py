"""What is taken for a report of a sanitizer, and how such a broker is started."""

from pathlib import Path

from tests.fuzz.sanitized_build import program, reports


def test_reports_are_found_in_a_log() -> None:
    log = """ready
==7==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x1
    #0 0x2 in walk
broker_lite/record/loops/scan.c:7:3: runtime error: signed integer overflow
a message of a broker
"""
    assert [line[:9] for line in reports(log)] == ["==7==ERRO", "broker_li"]


def test_the_build_is_found_before_the_working_tree() -> None:
    words = program(Path("somewhere"))
    assert "PYTHONPATH=somewhere" in words
    assert words[-3:] == ("-P", "-m", "broker_lite")
