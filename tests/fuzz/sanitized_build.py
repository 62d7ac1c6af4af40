"""The compiled modules with sanitizers of addresses and undefined behaviour, in a scratch folder.

The working tree is not touched: what a build needs is copied, and built and installed elsewhere.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

_SUPPRESSIONS: Final = "suppressions"
_ROOT: Final = Path(__file__).parents[2]
_WANTED: Final = ("setup.py", "pyproject.toml", "README.md", "LICENSE", "NOTICE", "MANIFEST.in")
_FLAGS: Final = "-fsanitize=address,undefined -fsanitize-recover=all -fno-omit-frame-pointer -g -O1"
_ENVIRONMENT: Final = {
    # whatever Python allocates lies between guards, too
    "PYTHONMALLOC": "malloc",
    "ASAN_OPTIONS": "detect_leaks=0:halt_on_error=0:allocator_may_return_null=1",
}
# mypyc's own header tags small integers by a shift, negative ones too, which gcc defines
_NOT_OURS: Final = "shift-base:CPy.h\n"
REPORTS: Final = ("ERROR: AddressSanitizer", "runtime error:", "AddressSanitizer:DEADLYSIGNAL")


def build(folder: Path, *, records_only: bool = False) -> Path:
    """Build with sanitizers, and give the folder to import broker_lite from.

    Args:
        folder: empty; everything goes there.
        records_only: without what mypyc compiles, of which the build takes minutes.
    """
    source, site = folder / "source", folder / "site"
    ignored = shutil.ignore_patterns("*.so", "__pycache__")
    shutil.copytree(_ROOT / "broker_lite", source / "broker_lite", ignore=ignored)
    for name in _WANTED:
        shutil.copy(_ROOT / name, source / name)
    environment = {"BROKER_LITE_NATIVE": "require", "CFLAGS": _FLAGS, "LDFLAGS": _FLAGS}
    if records_only:
        environment["BROKER_LITE_COMPILERS"] = "cython"
    command = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    subprocess.run(
        [sys.executable, *command, "--target", str(site), str(source)],
        check=True,
        env={**os.environ, **environment},
    )
    (folder / _SUPPRESSIONS).write_text(_NOT_OURS, "ascii")
    return site


def program(site: Path) -> Sequence[str]:
    """How a broker of such a build is started."""
    libraries = " ".join(_library(name) for name in ("libasan.so", "libubsan.so"))
    suppressions = site.parent / _SUPPRESSIONS
    undefined = f"print_stacktrace=1:halt_on_error=0:suppressions={suppressions}"
    words = {
        **_ENVIRONMENT,
        "UBSAN_OPTIONS": undefined,
        "LD_PRELOAD": libraries,
        "PYTHONPATH": str(site),
    }
    # -P: the working tree, which may be the current directory, is not to be found first
    set_words = (f"{name}={value}" for name, value in words.items())
    return ("env", *set_words, sys.executable, "-P", "-m", "broker_lite")


def _library(name: str) -> str:
    compiler = os.environ.get("CC", "gcc")
    found = subprocess.run(
        [compiler, f"-print-file-name={name}"], check=True, capture_output=True, text=True
    )
    return found.stdout.strip()


def reports(log: str) -> list[str]:
    """The lines of a broker's output by which a sanitizer reports something."""
    return [line for line in log.splitlines() if any(mark in line for mark in REPORTS)]
