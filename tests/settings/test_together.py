"""What settings ask of each other."""

import pytest

from broker_lite.settings import Given, InvalidValue, Settings
from broker_lite.settings.together import STANDARD_AUTHORIZER


@pytest.mark.parametrize(
    ("texts", "reason"),
    [
        ({"log.roll.ms": "0"}, "log.roll.ms must be greater than or equal to 1"),
        ({"log.roll.jitter.ms": "-1"}, "log.roll.jitter.ms must be greater than or equal to 0"),
        (
            {"log.retention.ms": "0"},
            "log.retention.ms must be unlimited (-1) or, greater than or equal to 1",
        ),
        ({"log.cleaner.threads": "0"}, "log.cleaner.threads must be greater than or equal to 1"),
        (
            {"log.cleaner.threads": "128"},
            "log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread.",
        ),
        (
            {"queued.max.request.bytes": "5"},
            "queued.max.request.bytes must be larger or equal to socket.request.max.bytes",
        ),
        (
            {"cordoned.log.dirs": "/a,/b,/c", "log.dirs": "/b"},
            "All entries in cordoned.log.dirs must be present in log.dirs or log.dir."
            " Missing entries : /a, /c",
        ),
        (
            {"cordoned.log.dirs": "/a", "log.dir": "/b"},
            "All entries in cordoned.log.dirs must be present in log.dirs or log.dir."
            " Missing entries : /a",
        ),
        (
            {"cordoned.log.dirs": "/a"},
            "All entries in cordoned.log.dirs must be present in log.dirs or log.dir."
            " Missing entries : /a",
        ),
    ],
)
def test_what_does_not_go_together(texts: dict[str, str], reason: str) -> None:
    with pytest.raises(InvalidValue) as refused:
        Settings({name: Given(text, "test") for name, text in texts.items()})
    assert str(refused.value) == f"requirement failed: {reason}"


def test_what_goes_together() -> None:
    texts = {"log.roll.ms": "1", "cordoned.log.dirs": "/a", "log.dirs": "/a"}
    assert Settings({name: Given(text, "test") for name, text in texts.items()}).log_roll_ms == 1


@pytest.mark.parametrize(
    ("emulate", "brokers", "told"),
    [("3.9,4.3", "3", "2 releases and 3 brokers"), ("3.9,4.3", "1", "2 releases and 1 broker;")],
)
def test_one_release_for_all_brokers_or_one_for_each(emulate: str, brokers: str, told: str) -> None:
    texts = {"emulate": emulate, "broker.lite.brokers": brokers}
    with pytest.raises(InvalidValue, match=f"^emulate: there are {told}"):
        Settings({name: Given(text, "test") for name, text in texts.items()})


def test_each_of_several_processes_has_one_broker() -> None:
    texts = {"broker.lite.brokers": "2", "broker.lite.processes": "2"}
    with pytest.raises(InvalidValue, match=r"^broker\.lite\.processes: with several processes"):
        Settings({name: Given(text, "test") for name, text in texts.items()})
    texts = {"emulate": "3.9,4.3", "broker.lite.processes": "2"}
    settings = Settings({name: Given(text, "test") for name, text in texts.items()})
    assert (settings.process_count, settings.broker_count) == (2, 2)


@pytest.mark.parametrize("processes", ["2", "auto"])
def test_a_seed_is_for_one_process(processes: str) -> None:
    texts = {"broker.lite.seed.file": "records.jsonl", "broker.lite.processes": processes}
    with pytest.raises(InvalidValue, match=r"^broker\.lite\.seed\.file: the records of a file"):
        Settings({name: Given(text, "test") for name, text in texts.items()})


def test_who_asks_for_an_unknown_authorizer_is_not_left_open() -> None:
    name = "kafka.security.authorizer.AclAuthorizer"  # of Kafka 3
    told = f"^authorizer.class.name: there is no class {name}; write org.apache.kafka.metadata"
    with pytest.raises(InvalidValue, match=told):
        Settings({"authorizer.class.name": Given(name, "test")})
    for known in ("", STANDARD_AUTHORIZER):
        settings = Settings({"authorizer.class.name": Given(known, "test")})
        assert settings.authorizer_class_name == known
