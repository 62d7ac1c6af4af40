"""Bytecode of the package, as pip writes it for everybody who installs broker-lite.

A checkout may have none, and where PYTHONDONTWRITEBYTECODE is set it gets none: then each start
compiles the sources, which takes 100 ms more.
"""

import compileall
from pathlib import Path

import broker_lite


def write_bytecode() -> None:
    """Write what is missing or stale."""
    compileall.compile_dir(Path(broker_lite.__file__).parent, quiet=1)
