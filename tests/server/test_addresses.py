"""Where each broker of a process listens, and what its clients are told."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_lite.errors import SettingsError
from broker_lite.server.addresses import addresses_by_node
from broker_lite.server.listener import ListenerAddress
from broker_lite.settings import Given, Settings


def addresses(brokers: int = 3, **texts: str) -> dict[int, list[ListenerAddress]]:
    texts["broker_lite_brokers"] = str(brokers)
    given_texts = {name.replace("_", "."): Given(text, "test") for name, text in texts.items()}
    found = addresses_by_node(Settings(given_texts))
    return {node_id: list(each) for node_id, each in found.items()}


def ports(**texts: str) -> dict[int, list[int]]:
    found = addresses(**texts)
    return {node_id: [one.port for one in each] for node_id, each in found.items()}


def refusal(brokers: int = 3, **texts: str) -> str:
    with pytest.raises(SettingsError) as raised:
        addresses(brokers, **texts)
    return str(raised.value)


TWO = "PLAINTEXT://127.0.0.1:9092,EXTERNAL://127.0.0.1:19092"
MAP = "PLAINTEXT:PLAINTEXT,EXTERNAL:PLAINTEXT"
TWO_LISTENERS = {"listeners": TWO, "listener_security_protocol_map": MAP}


def test_one_broker_listens_where_the_settings_say() -> None:
    (one,) = addresses(1)[1]
    assert (one.info.name, one.host, one.port) == ("PLAINTEXT", "127.0.0.1", 9092)


def test_further_brokers_have_the_next_ports() -> None:
    assert ports() == {1: [9092], 2: [9093], 3: [9094]}
    assert ports(node_id="7", listeners="PLAINTEXT://127.0.0.1:100") == {
        7: [100],
        8: [101],
        9: [102],
    }


def test_each_listener_has_its_ports() -> None:
    assert ports(**TWO_LISTENERS) == {1: [9092, 19092], 2: [9093, 19093], 3: [9094, 19094]}


def test_port_0_is_a_free_one_for_each() -> None:
    assert ports(listeners="PLAINTEXT://127.0.0.1:0") == {1: [0], 2: [0], 3: [0]}


def test_advertised_ports_are_side_by_side_too() -> None:
    found = addresses(advertised_listeners="PLAINTEXT://broker.example:29092")
    told = [(one.info.advertised_host, one.info.advertised_port) for (one,) in found.values()]
    assert told == [("broker.example", 29092), ("broker.example", 29093), ("broker.example", 29094)]


def test_without_an_advertised_port_clients_are_told_where_they_are() -> None:
    found = addresses()
    assert [one.info.advertised_port for (one,) in found.values()] == [None, None, None]


def test_ports_of_the_gateway_are_side_by_side_too() -> None:
    found = addresses(broker_lite_gateway_advertised="localhost:39092")
    told = [(one.info.gateway_host, one.info.gateway_port) for (one,) in found.values()]
    assert told == [("localhost", 39092), ("localhost", 39093), ("localhost", 39094)]


def test_the_port_of_each_broker_may_be_said() -> None:
    assert ports(broker_lite_ports="5,0,7") == {1: [5], 2: [0], 3: [7]}
    assert ports(broker_lite_ports="0, 0 ,0") == {1: [0], 2: [0], 3: [0]}
    # The other listeners stay side by side.
    assert ports(broker_lite_ports="5,6,7", **TWO_LISTENERS) == {
        1: [5, 19092],
        2: [6, 19093],
        3: [7, 19094],
    }


@pytest.mark.parametrize("texts", ["5", "5,6", "5,6,7,8"])
def test_each_broker_needs_a_port(texts: str) -> None:
    count = len(texts.split(","))
    assert refusal(broker_lite_ports=texts) == f"broker.lite.ports: {count} ports for 3 brokers"


@pytest.mark.parametrize(
    "texts", ["5,x,7", "5,-1,7", "5,65536,7", "5,1.5,7", "5,,7", "5,²,7", "5,000000,7"]
)
def test_a_port_is_a_number(texts: str) -> None:
    assert refusal(broker_lite_ports=texts) == f"broker.lite.ports: {texts!r} are not port numbers"


def test_there_is_an_end_of_ports() -> None:
    assert ports(listeners="PLAINTEXT://127.0.0.1:65533")[3] == [65535]
    text = refusal(listeners="PLAINTEXT://127.0.0.1:65534")
    assert text == "listener PLAINTEXT of broker 3: there is no port 65536"


def test_two_brokers_cannot_have_one_port() -> None:
    close = TWO.replace("19092", "9094")
    text = refusal(listeners=close, listener_security_protocol_map=MAP)
    assert text == (
        "listener PLAINTEXT of broker 3: port 9094 is that of listener EXTERNAL of broker 1"
    )
    assert refusal(broker_lite_ports="5,6,5") == (
        "listener PLAINTEXT of broker 3: port 5 is that of listener PLAINTEXT of broker 1"
    )


def test_one_port_of_two_hosts_is_no_conflict() -> None:
    hosts = "PLAINTEXT://127.0.0.1:9092,EXTERNAL://127.0.0.2:9092"
    found = ports(listeners=hosts, listener_security_protocol_map=MAP)
    assert found == {1: [9092, 9092], 2: [9093, 9093], 3: [9094, 9094]}


@given(st.integers(1, 9), st.integers(0, 65_535), st.integers(1, 5))
def test_whatever_is_said_ports_are_distinct_and_there(
    node_id: int, port: int, brokers: int
) -> None:
    listeners = f"PLAINTEXT://127.0.0.1:{port}"
    try:
        found = addresses(brokers, listeners=listeners, node_id=str(node_id))
    except SettingsError:
        assert port + brokers - 1 > 65_535
        return
    assert list(found) == list(range(node_id, node_id + brokers))
    taken = [one.port for each in found.values() for one in each]
    assert taken == ([0] * brokers if port == 0 else list(range(port, port + brokers)))
