"""Programs that some tests need and that a machine may lack.

A test that lacks one is skipped on a user's machine, with one loud line at the end of the run, and
fails when CI is set: there, nothing may be left out unseen.
"""

import os
import shutil
from pathlib import Path
from typing import NoReturn

import pytest

MISSING = "toolchain missing: "
"""How the reason of such a skip begins; tests/conftest.py looks for it."""


def require(*programs: str) -> None:
    """Go on only if all programs are found on PATH."""
    missing = [program for program in programs if shutil.which(program) is None]
    if missing:
        lacking(", ".join(missing))


def lacking(what: str) -> NoReturn:
    """End the test, because this machine lacks something: skipped, or failed when CI is set."""
    reason = MISSING + what
    if os.environ.get("CI"):
        pytest.fail(f"{reason} (CI is set, so nothing is skipped)", pytrace=False)
    pytest.skip(reason)


def user_cache(name: str) -> Path:
    """A folder for what is fetched or built once for all runs, in the user's cache."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    return cache / "broker-lite" / name
