"""Clients of other languages, each a small program of its own: Java, franz-go, kafkajs."""

import pytest

from tests.conformance.clients import HERE, Builds, run
from tests.support.toolchain import require

pytestmark = pytest.mark.client


def test_java(bootstrap: str, topic: str, builds: Builds) -> None:
    require("java", "javac", "mvn")
    printed = run(*builds.java(), "-Xmx512m", "Conformance", bootstrap, topic, folder=HERE)
    assert "all steps passed" in printed


def test_franz_go(bootstrap: str, topic: str, builds: Builds) -> None:
    require("go")
    printed = run(str(builds.go() / "conformance"), bootstrap, topic, folder=HERE)
    assert "all steps passed" in printed


def test_kafkajs(bootstrap: str, topic: str, builds: Builds) -> None:
    require("node", "npm")
    printed = run("node", str(builds.node() / "main.js"), bootstrap, topic, folder=HERE)
    assert "all steps passed" in printed
