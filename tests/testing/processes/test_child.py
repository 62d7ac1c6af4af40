"""What a forked process makes of a plan.

Also tests: broker_lite.testing.processes.plan.
"""

from pathlib import Path

import pytest

from broker_lite.errors import SettingsError
from broker_lite.testing.processes.child import plan_settings, warm_up
from broker_lite.testing.processes.plan import Plan


def plan(settings: dict[str, str], **changes: object) -> Plan:
    return Plan(settings, None, None, None, [], "data", True, "log")._replace(**changes)  # type: ignore[arg-type]


def test_settings_are_stronger_than_the_file(tmp_path: Path) -> None:
    config = tmp_path / "server.properties"
    config.write_text("num.partitions=2\nlog.dirs=elsewhere\nnode.id=5\n")
    settings = plan_settings(plan({"num.partitions": "3"}, config=str(config)))
    assert (settings.num_partitions, settings.node_id) == (3, 5)
    assert list(settings.log_dirs) == ["data"]
    assert settings.origin_of("num.partitions") == "settings"


def test_host_and_port_are_those_of_the_first_listener() -> None:
    settings = plan_settings(plan({}, host="127.0.0.1", port=0))
    assert list(settings.listeners) == ["PLAINTEXT://127.0.0.1:0"]


def test_the_environment_has_no_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_NUM_PARTITIONS", "9")
    assert plan_settings(plan({})).num_partitions == 1


def test_a_fault_names_its_source() -> None:
    with pytest.raises(SettingsError, match=r"settings: unknown setting no\.such"):
        plan_settings(plan({"no.such": "1"}))


def test_what_is_warmed_up_leaves_a_directory_to_remove(tmp_path: Path) -> None:
    warm_up(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["warm-up"]
