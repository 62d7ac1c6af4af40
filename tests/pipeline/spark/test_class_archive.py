"""The archive of classes: who makes it, who uses it, and what is left when that breaks off."""

import os
import subprocess
from pathlib import Path

import pytest
from pyspark import SparkContext

from broker_lite.pipeline.spark.class_archive import (
    ArchiveError,
    ClassArchive,
    class_archive,
    end_java_and_publish,
    nothing_left_of,
)
from broker_lite.pipeline.spark.java import Java
from broker_lite.pipeline.spark.running import Signals, Stopped

JAVA = Java(Path("/java"), "17.0.1+5-Some Build")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of this user's cache, which is empty."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "broker-lite"


def test_one_java_writes_what_others_use(cache: Path) -> None:
    first = class_archive(JAVA, "4.3.0")
    assert first is not None
    assert first.path == cache / "spark-classes-17.0.1+5-Some_Build-4.3.0.jsa"
    assert f"-XX:ArchiveClassesAtExit={first.unfinished}" in first.make_options()

    first.unfinished.write_bytes(b"classes")
    first.path.with_suffix(".1.part").write_bytes(b"of a process that was killed")
    assert not first.is_there
    first.publish()
    assert list(cache.iterdir()) == [first.path]
    assert f"-XX:SharedArchiveFile={first.path}" in first.use_options()


class Gateway:
    """What PySpark knows of a Java: here, a shell that reads its input to the end."""

    def __init__(self, script: str, *words: object) -> None:
        command = ["/bin/sh", "-c", script, "java", *map(str, words)]
        self.proc = subprocess.Popen(command, stdin=subprocess.PIPE)

    def shutdown(self) -> None:
        """Close the connections; there are none."""


def ended(monkeypatch: pytest.MonkeyPatch, script: str, archive: ClassArchive) -> Gateway:
    gateway = Gateway(script, archive.unfinished)
    monkeypatch.setattr(SparkContext, "_gateway", gateway)
    with nothing_left_of(archive):
        end_java_and_publish(archive)
    return gateway


def test_java_writes_it_when_it_ends(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = class_archive(JAVA, "4.3.0")
    assert archive is not None
    ended(monkeypatch, 'cat; printf classes > "$1"', archive)
    assert [(path, path.read_bytes()) for path in cache.iterdir()] == [(archive.path, b"classes")]


@pytest.mark.parametrize(
    ("script", "text"),
    [
        ('cat; printf half > "$1"; exit 1', "Java ended with code 1 and wrote no archive"),
        ('cat; printf half > "$1"; kill -9 $$', "Java ended with code -9"),
        ("cat", "No such file or directory"),
    ],
    ids=["failed", "killed", "nothing"],
)
def test_a_java_that_was_broken_off_leaves_things_as_they_were(
    cache: Path, monkeypatch: pytest.MonkeyPatch, script: str, text: str
) -> None:
    archive = class_archive(JAVA, "4.3.0")
    assert archive is not None
    archive.path.write_bytes(b"classes")
    with pytest.raises(ArchiveError, match=text):
        ended(monkeypatch, script, archive)
    assert [(path, path.read_bytes()) for path in cache.iterdir()] == [(archive.path, b"classes")]


def test_a_signal_while_java_writes_leaves_nothing(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = class_archive(JAVA, "4.3.0")
    assert archive is not None
    script = f'cat; printf half > "$1"; kill -INT {os.getpid()}; exec tail -f /dev/null'
    gateway = Gateway(script, archive.unfinished)
    monkeypatch.setattr(SparkContext, "_gateway", gateway)
    with pytest.raises(Stopped), nothing_left_of(archive), Signals():
        end_java_and_publish(archive)
    assert gateway.proc.poll() is not None
    assert list(cache.iterdir()) == []


def test_without_a_java_of_its_own(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = class_archive(JAVA, "4.3.0")
    assert archive is not None
    monkeypatch.setattr(SparkContext, "_gateway", None)
    with pytest.raises(ArchiveError, match="another process started Java"):
        end_java_and_publish(archive)


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
