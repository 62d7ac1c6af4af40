"""The journal by the control API at a real broker, over its socket and over HTTP."""

import json
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest

from broker_lite.errors import ClientError
from broker_lite.testing import Broker, BrokerFailed


@pytest.fixture(scope="module")
def running() -> Iterator[Broker]:
    with Broker({"broker.lite.control": "127.0.0.1:0"}, topics=["t", "u"]) as started:
        yield started


@pytest.fixture
def broker(running: Broker) -> Broker:
    running.control("PUT", "/v1/requests/recording", {"recording": "headers"})
    running.control("DELETE", "/v1/requests")
    return running


def requests(broker: Broker, query: str = "") -> list[dict[str, object]]:
    found = broker.control("GET", f"/v1/requests{query}")
    assert isinstance(found, list)
    return found


def test_what_was_asked_and_answered(broker: Broker) -> None:
    broker.produce("t", "a", "b")
    [found] = requests(broker, "?keys=Produce&topic=t&client_id=broker-lite")
    assert (found["api"], found["topics"], found["ended"]) == ("Produce", ["t"], "answered")
    assert "t[0] 2 records" in str(found["line"])
    detail = broker.control("GET", f"/v1/requests/{found['id']}")
    assert isinstance(detail, dict)
    [topic] = detail["request"]["topic_data"]
    assert topic["partition_data"][0]["index"] == 0
    [answered] = detail["answer"]["responses"]
    assert answered["partition_responses"][0]["error"] == "NONE"
    assert requests(broker, "?topic=other") == []
    lines = broker.control("GET", "/v1/requests/lines?count=1")
    assert isinstance(lines, list)
    assert len(lines) == 1


def test_requests_by_any_selector(broker: Broker) -> None:
    for topic in ("t", "u", "t"):
        broker.produce(topic, "a")

    def find(**sought: object) -> list[str]:
        found = broker.control("POST", "/v1/requests/find", sought)
        assert isinstance(found, list)
        return [each["id"] for each in found]

    of_t = find(match={"keys": ["Produce"], "topic": "t", "where": {"acks": -1}})
    assert len(of_t) == 2
    assert find(match={"where": {"acks": 1}, "keys": ["Produce"]}) == []
    assert find(match={"keys": ["Produce"]}, after=of_t[0], limit=1) not in ([], of_t[1:])
    assert find(errors=True) == []
    with pytest.raises(BrokerFailed, match=r"match\.topics|unknown field `topics`"):
        find(match={"topics": "t"})


def test_requests_in_order(broker: Broker) -> None:
    broker.produce("t", "a")
    broker.produce("u", "b")
    produces = [{"keys": ["Produce"], "topic": name} for name in ("t", "u")]
    told = broker.control("POST", "/v1/requests/match", {"requests": produces, "others_ok": None})
    assert isinstance(told, dict)
    assert told["matched"] == 2
    told = broker.control(
        "POST", "/v1/requests/match", {"requests": produces[::-1], "others_ok": None}
    )
    assert isinstance(told, dict)
    assert told["matched"] == 1
    assert "expected 2. Produce topic 't'" in told["first_difference"]["text"]


def test_a_wait_ends_when_the_request_is_answered(broker: Broker) -> None:
    last = broker.control("GET", "/v1/requests/recording")
    assert isinstance(last, dict)
    later = threading.Timer(0.05, broker.produce, ("t", "x"))
    later.start()
    wanted = {"match": {"keys": ["Produce"], "topic": "t"}, "after": last["last"]}
    later.join()
    found = broker.control("POST", "/v1/requests/wait", wanted)
    assert isinstance(found, list)
    assert [each["api"] for each in found] == ["Produce"]
    with pytest.raises(BrokerFailed, match="0 of 1 requests came in time"):
        broker.control("POST", "/v1/requests/wait", {"timeout_ms": 1, "match": {"topic": "q"}})


def test_bodies_have_their_bytes(broker: Broker) -> None:
    broker.control("PUT", "/v1/requests/recording", {"recording": "bodies", "keys": ["Produce"]})
    broker.produce("t", "x" * 10_000)
    [found] = requests(broker)
    url = url_of(broker)
    with urllib.request.urlopen(f"{url}/v1/requests/{found['id']}/request", timeout=20) as answer:
        frame = answer.read()
    assert len(frame) == found["request_bytes"]
    assert int.from_bytes(frame[:4], "big") == len(frame) - 4


def test_requests_are_followed_over_http(broker: Broker) -> None:
    url = f"{url_of(broker)}/v1/requests/follow?keys=Produce&after=r0"
    broker.produce("t", "x")
    with urllib.request.urlopen(url, timeout=20) as events:
        assert events.headers["Content-Type"] == "text/event-stream"
        assert events.readline().startswith(b"id: r")
        told = json.loads(events.readline().removeprefix(b"data: "))
    assert told["api"] == "Produce"
    broker.produce("t", "y")  # nobody listens any more
    assert requests(broker, "?keys=Produce")[-1]["ended"] == "answered"


@pytest.mark.parametrize(
    ("recording", "query", "status", "at"),
    [
        ({"recording": "headers"}, "keys=Nope", 400, "keys[0]"),
        ({"recording": "headers"}, "nodes=x", 400, "?nodes"),
        ({"recording": "headers"}, "after=x", 400, "?after"),
        ({"recording": "headers", "keys": ["Fetch"]}, "keys=Produce", 409, "?keys"),
        ({"recording": "off"}, "keys=Produce", 409, None),
        ({"recording": "off"}, "after=r0", 409, None),
    ],
)
def test_a_follower_that_nothing_would_be_told_is_refused(
    broker: Broker, recording: dict[str, object], query: str, status: int, at: str | None
) -> None:
    broker.control("PUT", "/v1/requests/recording", recording)
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(f"{url_of(broker)}/v1/requests/follow?{query}", timeout=20)
    with caught.value as answer:
        assert (answer.status, json.load(answer).get("at")) == (status, at)


def url_of(broker: Broker) -> str:
    return next(
        line.partition("control API at ")[2]
        for line in broker.log.splitlines()
        if "control API at " in line
    )


def test_the_journal_sees_which_fault_acted(broker: Broker) -> None:
    rule = {"id": "late", "keys": ["Produce"], "error": "REQUEST_TIMED_OUT"}
    broker.control("POST", "/v1/faults", rule)
    with pytest.raises(ClientError, match="fault late of the test bench"):
        broker.produce("t", "x")
    broker.produce("t", "y")
    found = requests(broker, "?keys=Produce")
    assert [each.get("errors", []) for each in found] == [["REQUEST_TIMED_OUT"], []]
    assert found[0]["rules"] == ["late"]
    assert len(requests(broker, "?errors=true")) == 1
    broker.control("DELETE", "/v1/faults")


def test_habits(broker: Broker) -> None:
    assert isinstance(broker.control("GET", "/v1/requests/lint"), list)


def test_nothing_is_recorded_when_it_is_off(broker: Broker) -> None:
    told = broker.control("PUT", "/v1/requests/recording", {"recording": "off"})
    assert isinstance(told, dict)
    broker.produce("t", "x")
    assert requests(broker) == []
    with pytest.raises(BrokerFailed, match="are not recorded"):
        broker.control("POST", "/v1/requests/wait", {"timeout_ms": 1})


@pytest.mark.parametrize(
    ("method", "path", "body", "text"),
    [
        ("GET", "/v1/requests/r999999", None, "no r999999 yet"),
        ("GET", "/v1/requests/x", None, "'x' is no id of a request"),
        ("GET", "/v1/requests?limit=0", None, "Expected `int` >= 1"),
        ("GET", "/v1/requests?nodes=1,x", None, "'1,x' is no list of numbers"),
        ("GET", "/v1/requests?keys=Produse", None, "Produse"),
        ("GET", "/v1/requests/lines?count=0", None, "Expected `int` >= 1"),
        ("PUT", "/v1/requests/recording", {"recording": "all"}, "Invalid enum value 'all'"),
        ("PUT", "/v1/requests/recording", {"keep": 0}, "keep is not between"),
        ("POST", "/v1/requests/match", {"requests": [{"key": 1}]}, "unknown field `key`"),
        ("POST", "/v1/requests/wait", {"count": 0}, "count is not between"),
    ],
)
def test_what_is_wrong_is_told(
    broker: Broker, method: str, path: str, body: object, text: str
) -> None:
    with pytest.raises(BrokerFailed) as caught:
        broker.control(method, path, body)
    assert text in str(caught.value)
