"""Which clients push what; ids are those that a Kafka 4.3.1 computed."""

import pytest

from broker_lite.control.telemetry.subscription import (
    ATTRIBUTES,
    Configured,
    Search,
    Wanted,
    check_subscription,
    subscription_id,
)
from broker_lite.errors import BrokerError, ErrorCode

CLIENT = dict(zip(ATTRIBUTES, ("id", "app-1", "soft", "1.2", "127.0.0.1", "5000"), strict=True))


@pytest.mark.parametrize(
    ("match", "is_match"),
    [
        ("", True),
        ("client_id=app-.*", True),
        ("client_id=app", False),
        ("client_id=pp-1", False),
        (" client_id = app-1 , client_source_port=5000", True),
        ("client_id=app-1,client_source_port=5001", False),
        ("client_software_name=soft,client_software_version=1\\.2", True),
        ("client_source_address=127\\.0\\.0\\.[0-9]", True),
        ("client_instance_id=\\p{Ll}+", True),
        ("client_id=nope,client_id=app-1", True),
    ],
)
def test_p153_whom_a_subscription_is_for(match: str, is_match: bool) -> None:
    assert check_subscription("s", {"match": match}).is_for(CLIENT) == is_match


def test_p153_a_value_that_is_missing_or_too_long_matches_nothing() -> None:
    every = check_subscription("s", {"match": "client_id=.*"})
    assert every.is_for({"client_id": "a" * 1000})
    assert not every.is_for({"client_id": "a" * 1001})
    assert not every.is_for({})


@pytest.mark.parametrize(
    "match",
    [
        "x=1",
        "client_id",
        "client_id=",
        "client_id=a=b",
        "client_id=[",
        "client_id=(?!a)b",
        "client_id=(a)\\1",
        "client_id=(a{100}){10}(b{100}){20}",
    ],
)
def test_p132_an_illegal_pattern(match: str) -> None:
    with pytest.raises(BrokerError) as caught:
        check_subscription("s", {"match": match})
    assert caught.value.code is ErrorCode.INVALID_CONFIG
    assert caught.value.message == f"Illegal client matching pattern: {match}"


class Scene:
    """Subscriptions that can be changed."""

    def __init__(self, **configs: dict[str, str]) -> None:
        self.configs = configs
        self.changes = 0
        self.configured = Configured(
            lambda: self.changes, lambda: self.configs, lambda name: self.configs.get(name, {})
        )

    def wanted(self) -> Wanted:
        search = Search(self.configured, CLIENT)
        assert search.version == self.changes
        for _ in search:
            pass
        return search.wanted


ONE = {"metrics": "b,a", "interval.ms": "5000"}
TWO = {"metrics": "c,a"}
OTHER = {"metrics": "*", "match": "client_id=nobody"}
EVERYTHING = {"metrics": "d,*"}


def test_p153_subscriptions_together() -> None:
    assert Scene().wanted() == Wanted((), 300_000)
    assert Scene(two=TWO, one=ONE, other=OTHER).wanted() == Wanted(("a", "b", "c"), 5000)
    assert Scene(two=TWO, everything=EVERYTHING).wanted() == Wanted(("*",), 300_000)


@pytest.mark.parametrize(
    ("instance", "wanted", "number"),
    [
        ("00000000000000000000000000000001", Wanted((), 300_000), -725132321),
        ("acd79a1f85904a88bfe1f3df09940904", Wanted(("a", "x.a", "x.b"), 300), -227403135),
    ],
)
def test_p153_an_id_is_kafkas(instance: str, wanted: Wanted, number: int) -> None:
    assert subscription_id(wanted, bytes.fromhex(instance)) == number


def test_subscriptions_are_compiled_once_for_each_change() -> None:
    scene = Scene(s=ONE, t=TWO)
    before = scene.configured.get("s")
    assert before is not None
    assert scene.wanted().metrics == ("a", "b", "c")
    scene.configs["t"] = {"metrics": "x"}
    assert scene.wanted().metrics == ("a", "b", "x")
    assert scene.configured.get("s") is before
    del scene.configs["s"]
    assert scene.wanted().metrics == ("x",)
    assert scene.configured.get("s") is None


def test_a_search_goes_on_when_subscriptions_change() -> None:
    """Its version is the old one, so that the next request of the client searches again."""
    scene = Scene(s=ONE, t=TWO)
    search = Search(scene.configured, CLIENT)
    steps = iter(search)
    next(steps)
    del scene.configs["t"]
    scene.changes += 1
    assert list(steps) == [None]
    assert search.wanted.metrics == ("a", "b")
    assert search.version == 0


def test_a_subscription_that_only_a_kafka_could_use(caplog: pytest.LogCaptureFixture) -> None:
    scene = Scene(theirs={"match": "client_id=(?!a)b"}, ours={"metrics": "b"})
    assert scene.wanted().metrics == ("b",)
    assert "'theirs' to client metrics is not used: " in caplog.text
