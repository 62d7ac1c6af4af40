"""Clients of other languages, each a small program of its own: Java, franz-go, kafkajs."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.support.reference_kafka import jars
from tests.support.toolchain import require

pytestmark = pytest.mark.client
HERE = Path(__file__).parent
TIMEOUT_S = 240


def run(*command: str, folder: Path, environment: dict[str, str] | None = None) -> str:
    """Run one program and return what it printed."""
    done = subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        env={**os.environ, **(environment or {})},
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


def test_java(bootstrap: str, topic: str) -> None:
    require("java", "mvn")
    program = ("Conformance.java", bootstrap, topic)
    printed = run("java", "-Xmx512m", "-cp", f"{jars()}/*", *program, folder=HERE / "java")
    assert "all steps passed" in printed


def test_franz_go(bootstrap: str, topic: str, tmp_path: Path) -> None:
    require("go")
    run("go", "build", "-o", str(tmp_path / "conformance"), ".", folder=HERE / "go")
    printed = run(str(tmp_path / "conformance"), bootstrap, topic, folder=HERE / "go")
    assert "all steps passed" in printed


def test_kafkajs(bootstrap: str, topic: str) -> None:
    require("node", "npm")
    run("npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", folder=HERE / "node")
    printed = run("node", "main.js", bootstrap, topic, folder=HERE / "node")
    assert "all steps passed" in printed
