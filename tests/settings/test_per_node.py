"""The settings of each broker of a process."""

import pytest

from broker_lite.settings import Given, Settings
from broker_lite.settings.per_node import releases, settings_of_node, settings_of_process


def given(**texts: str) -> Settings:
    return Settings({name.replace("_", "."): Given(text, "file") for name, text in texts.items()})


def test_one_broker_has_the_given_settings() -> None:
    settings = given(node_id="7", broker_rack="r")
    assert settings_of_node(settings, 0) is settings


def test_each_broker_has_its_id_and_its_ports() -> None:
    settings = given(
        broker_lite_brokers="3",
        node_id="7",
        listeners="PLAINTEXT://127.0.0.1:9092,OTHER://[::1]:0",
        advertised_listeners="PLAINTEXT://h:19092",
    )
    first, third = settings_of_node(settings, 0), settings_of_node(settings, 2)
    assert (first.node_id, first.broker_id, first.listeners) == (7, 7, settings.listeners)
    assert (third.node_id, third.broker_id) == (9, 9)
    assert third.listeners == ("PLAINTEXT://127.0.0.1:9094", "OTHER://[::1]:0")
    assert third.advertised_listeners == ("PLAINTEXT://h:19094",)
    assert third.origin_of("node.id") == "file"


def test_ports_that_nobody_has_set() -> None:
    second = settings_of_node(given(broker_lite_brokers="2"), 1)
    assert second.listeners == ("PLAINTEXT://127.0.0.1:9093",)
    assert second.advertised_listeners is None


def test_ports_that_are_not_side_by_side() -> None:
    settings = given(
        broker_lite_brokers="2",
        broker_lite_ports="7000,7010",
        listeners="CONTROLLER://:1,A://h:2,B://h:3",
    )
    first, second = settings_of_node(settings, 0), settings_of_node(settings, 1)
    assert first.listeners == ("CONTROLLER://:1", "A://h:7000", "B://h:3")
    assert second.listeners == ("CONTROLLER://:2", "A://h:7010", "B://h:4")


def test_racks_are_given_in_turns() -> None:
    settings = given(broker_lite_brokers="4", broker_lite_racks="a, a,b", broker_rack="r")
    racks = [settings_of_node(settings, step).broker_rack for step in range(4)]
    assert racks == ["a", "a", "b", "a"]
    settings = given(broker_lite_brokers="3", broker_lite_racks="a,,b", broker_rack="r")
    racks = [settings_of_node(settings, step).broker_rack for step in range(3)]
    assert racks == ["a", None, "b"]
    assert settings_of_node(given(broker_lite_brokers="2", broker_rack="r"), 1).broker_rack == "r"


@pytest.mark.parametrize(
    ("text", "found"),
    [("3.9,4.3,3.9", ["3.9", "4.3", "3.9"]), ("2.8", ["2.8"] * 3), ("", ["4.3"] * 3)],
)
def test_the_release_of_each_broker(text: str, found: list[str]) -> None:
    texts = {"emulate": text} if text else {}
    settings = given(broker_lite_brokers="3", **texts)
    assert list(releases(settings)) == found
    assert [settings_of_node(settings, step).emulate for step in range(3)] == found


def test_a_process_knows_nothing_of_the_others() -> None:
    settings = given(
        broker_lite_processes="3",
        broker_lite_racks="a,b",
        broker_lite_ports="9092,9192,9292",
        node_id="7",
        num_partitions="5",
    )
    third = settings_of_process(settings, 2)
    assert (third.node_id, third.broker_rack, third.num_partitions) == (9, "a", 5)
    assert (third.process_count, third.broker_count) == (1, 1)
    assert third.listeners == ("PLAINTEXT://127.0.0.1:9292",)
    assert not third.broker_lite_racks
    assert not third.broker_lite_ports
    assert settings_of_node(third, 0) is third
    assert settings_of_node(settings, 1).origin_of("node.id") == "file"
