import os
import subprocess
import sys
from pathlib import Path

import pytest

from broker_lite.pipeline.spark.class_archive import class_archive
from broker_lite.pipeline.spark.java import Java

JAVA = Java(Path("/java"), "17.0.1+5-Some Build")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of this user's cache, which is empty."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "broker-lite"


def test_the_first_session_writes_what_the_second_uses(cache: Path) -> None:
    first = class_archive(JAVA, "4.3.0")
    assert first is not None
    assert first.path == cache / "spark-classes-17.0.1+5-Some_Build-4.3.0.jsa"
    assert f"-XX:ArchiveClassesAtExit={first.unfinished}" in first.java_options()

    first.unfinished.write_bytes(b"classes")
    first.path.with_suffix(".1.part").write_bytes(b"of a session that was killed")
    assert not first.is_there
    first.publish()
    assert list(cache.iterdir()) == [first.path]
    assert f"-XX:SharedArchiveFile={first.path}" in first.java_options()


def test_a_java_that_wrote_nothing_leaves_things_as_they_are(cache: Path) -> None:
    archive = class_archive(JAVA, "4.3.0")
    assert archive is not None
    archive.publish()
    assert list(cache.iterdir()) == []


def test_versions_have_archives_of_their_own(cache: Path) -> None:
    names = {
        class_archive(java, pyspark) for java in (JAVA, Java(JAVA.home, "21")) for pyspark in "ab"
    }
    assert len(names) == 4


def test_without_a_cache_there_is_no_archive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "file"
    file.touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(file))
    assert class_archive(JAVA) is None


@pytest.mark.slow
def test_a_session_leaves_an_archive(cache: Path) -> None:
    program = (
        "from broker_lite.pipeline.spark.session import session\n"
        "session('archive', 'local[1]', quick_start=True).range(1).count()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env=os.environ, capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 0, done.stderr
    (archive,) = cache.iterdir()
    assert archive.suffix == ".jsa"
    assert archive.stat().st_size > 10 << 20
