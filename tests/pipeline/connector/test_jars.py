"""The connector is fetched whole or not at all, and a missing one is never passed over in CI."""

import zipfile
from pathlib import Path

import pytest

from tests.pipeline.connector import jars
from tests.pipeline.connector.jars import connector_jars, has_stand_in
from tests.support.toolchain import MISSING, require

UNKNOWN_VERSION = "0.0.0"


@pytest.fixture(autouse=True)
def _tools() -> None:
    require("java", "javac", "mvn")


def classes_of(folder: list[Path]) -> set[str]:
    return {name for jar in folder for name in zipfile.ZipFile(jar).namelist()}


def test_all_that_the_connector_refers_to_is_there() -> None:
    classes = classes_of(connector_jars())
    assert "org/apache/spark/sql/kafka010/KafkaSourceProvider.class" in classes
    assert "org/apache/kafka/clients/consumer/KafkaConsumer.class" in classes
    assert "org/apache/commons/pool2/ObjectPool.class" in classes
    for name in ("KafkaConfigUpdater", "KafkaRedactionUtil$", "KafkaTokenUtil$"):
        assert f"org/apache/spark/kafka010/{name}.class" in classes


def test_the_stand_in_keeps_to_what_is_missing() -> None:
    token_provider = [jar for jar in connector_jars() if "token-provider" in jar.name]
    assert len(token_provider) == 1
    if has_stand_in():
        packages = {name.rpartition("/")[0] for name in classes_of(token_provider)}
        assert {p for p in packages if p.startswith("org/")} >= {"org/apache/spark/kafka010"}
        assert len([n for n in classes_of(token_provider) if n.endswith(".class")]) == 3


@pytest.mark.slow
def test_what_cannot_be_fetched_fails_in_ci(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("CI", "1")
    said = f"^{MISSING}the Kafka connector {UNKNOWN_VERSION} was not fetched: .*ERROR.*CI is set"
    with pytest.raises(pytest.fail.Exception, match=said):
        jars.require_connector(UNKNOWN_VERSION)
    assert list((tmp_path / "broker-lite").iterdir()) == []


def test_a_slower_process_leaves_what_is_there(tmp_path: Path) -> None:
    made, folder = tmp_path / "made", tmp_path / "folder"
    for path in (made, folder):
        path.mkdir()
        (path / "a.jar").write_text(path.name)
    jars.publish(made, folder)
    assert (folder / "a.jar").read_text() == "folder"
    assert not made.exists()
