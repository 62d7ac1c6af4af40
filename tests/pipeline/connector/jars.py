"""Spark's own Kafka connector, fetched once through Maven and kept in the user's cache.

PySpark brings no connector. It is fetched as the version that CONNECTOR_VERSION says, the newest
that the public repository has; it runs in the PySpark versions that the extra `spark` allows.

One of its dependencies, the provider of delegation tokens, may be missing from a repository that
has all the others. The connector refers to three classes of it; then, and only then, those in
`token_provider/` take their place. They know no delegation tokens, which a test on the loopback
has no use for, and are no part of what is installed.
"""

import os
import shutil
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from tests.support.toolchain import lacking, require, user_cache

CONNECTOR_VERSION: Final = "4.2.0"
_HERE: Final = Path(__file__).parent
_TOKEN_PROVIDER: Final = "spark-token-provider-kafka-0-10_2.13"


def connector_jars(version: str = CONNECTOR_VERSION) -> list[Path]:
    """The jars that `format("kafka")` needs beside PySpark's; fetched at the first call.

    Raises:
        RuntimeError: the connector could not be fetched; the text is what Maven said.
    """
    folder = user_cache(f"spark-connector-{version}")
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
            made = Path(temporary, "jars")
            _fetch(version, made)
            publish(made, folder)
    return sorted(folder.glob("*.jar"))


def require_connector(version: str = CONNECTOR_VERSION) -> list[Path]:
    """The same for a test; without them it is skipped, or fails when CI is set."""
    require("java", "javac", "mvn")
    try:
        return connector_jars(version)
    except RuntimeError as error:
        lacking(str(error))


def has_stand_in() -> bool:
    """Whether the classes in `token_provider/` stand in for the artifact."""
    return not any(jar.name.startswith(_TOKEN_PROVIDER) for jar in connector_jars())


def _fetch(version: str, folder: Path) -> None:
    """Fill a new folder with the connector and what it needs."""
    said = _copy_dependencies(version, folder)
    if said:
        raise RuntimeError(f"the Kafka connector {version} was not fetched: {said}")
    if _copy_dependencies(version, folder, "--activate-profiles=token-provider"):
        _compile_stand_in(folder)


def _copy_dependencies(version: str, folder: Path, *arguments: str) -> str:
    """Let Maven copy what pom.xml names; returns the first line that it said if that failed."""
    goal = "dependency:copy-dependencies"
    options = [f"-Dconnector.version={version}", f"-DoutputDirectory={folder}"]
    command = ["mvn", "-q", "-B", "-f", str(_HERE / "pom.xml"), goal, *options, *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    said = (done.stdout + done.stderr).strip() or f"exit code {done.returncode}"
    return said.splitlines()[0] if done.returncode else ""


def _compile_stand_in(folder: Path) -> None:
    """Make a jar of the classes in `token_provider/`, compiled against PySpark's own jars."""
    sources = sorted(map(str, (_HERE / "token_provider").glob("*.java")))
    jar = folder / "token-provider-stand-in.jar"
    with tempfile.TemporaryDirectory() as classes:
        options = ["-Xlint:unchecked", "-Werror", "-d", classes, "-cp", f"{pyspark_jars()}/*"]
        subprocess.run(["javac", *options, *sources], check=True)
        subprocess.run(["jar", "--create", f"--file={jar}", "-C", classes, "."], check=True)


def pyspark_jars() -> Path:
    """The folder with the jars that the installed PySpark brings."""
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "jars"


def publish(made: Path, folder: Path) -> None:
    """Give the whole folder its name at once; another process may have been faster."""
    try:
        os.rename(made, folder)
    except OSError:
        if not folder.exists():
            raise
        shutil.rmtree(made)
