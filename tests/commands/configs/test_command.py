"""`configs`, with the flags and the words of kafka-configs.sh.

Also tests: broker_lite.commands.configs.entries.
"""

import re
from pathlib import Path

import pytest

from tests.support.command_line import CommandLine


@pytest.fixture
def configs(command: CommandLine, bootstrap: str) -> CommandLine:
    """The command with a broker's address."""
    return command.of("configs", "--bootstrap-server", bootstrap)


@pytest.fixture
def created(command: CommandLine, bootstrap: str, topic: str) -> str:
    """A topic that exists."""
    command.ok("topics", "--bootstrap-server", bootstrap, "--create", "--topic", topic)
    return topic


def test_set_and_removed_again(configs: CommandLine, created: str) -> None:
    entity = ("--entity-type", "topics", "--entity-name", created)
    title = f"Dynamic configs for topic {created} are:\n"
    assert configs.ok("--describe", *entity) == title
    added = ("--add-config", "retention.ms=5,cleanup.policy=[compact,delete]")
    completed = f"Completed updating config for topic {created}.\n"
    assert configs.ok("--alter", *entity, *added) == completed
    assert configs.ok("--describe", *entity) == title + (
        "  cleanup.policy=compact,delete sensitive=false synonyms="
        "{DYNAMIC_TOPIC_CONFIG:cleanup.policy=compact,delete,"
        " DEFAULT_CONFIG:log.cleanup.policy=delete}\n"
        "  retention.ms=5 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:retention.ms=5}\n"
    )
    assert configs.ok("--alter", *entity, "--delete-config", "retention.ms,cleanup.policy") == (
        completed
    )
    assert configs.ok("--describe", *entity) == title


def test_all_of_them(configs: CommandLine, created: str) -> None:
    printed = configs.ok("--describe", "--topic", created, "--all")
    first, *lines = printed.splitlines()
    assert first == f"All configs for topic {created} are:"
    names = [line.strip().partition("=")[0] for line in lines]
    assert names == sorted(names)
    assert {"cleanup.policy", "retention.ms", "segment.bytes"} <= set(names)


def test_every_topic(configs: CommandLine, created: str) -> None:
    printed = configs.ok("--describe", "--entity-type", "topics")
    assert f"Dynamic configs for topic {created} are:\n" in printed


def test_one_broker_and_all_of_them(configs: CommandLine) -> None:
    configs.ok("--alter", "--broker", "1", "--add-config", "log.retention.ms=77")
    assert configs.ok("--alter", "--broker-defaults", "--add-config", "log.retention.ms=78") == (
        "Completed updating default config for brokers in the cluster.\n"
    )
    one = (
        "Dynamic configs for broker 1 are:\n"
        "  log.retention.ms=77 sensitive=false synonyms={DYNAMIC_BROKER_CONFIG:log.retention.ms=77,"
        " DYNAMIC_DEFAULT_BROKER_CONFIG:log.retention.ms=78,"
        " DEFAULT_CONFIG:log.retention.hours=168}\n"
    )
    defaults = (
        "Default configs for brokers in the cluster are:\n"
        "  log.retention.ms=78 sensitive=false"
        " synonyms={DYNAMIC_DEFAULT_BROKER_CONFIG:log.retention.ms=78}\n"
        "  min.insync.replicas=1 sensitive=false"
        " synonyms={DYNAMIC_DEFAULT_BROKER_CONFIG:min.insync.replicas=1}\n"
    )
    assert configs.ok("--describe", "--broker", "1") == one
    assert configs.ok("--describe", "--entity-type", "brokers", "--entity-default") == defaults
    assert configs.ok("--describe", "--entity-type", "brokers") == one + defaults
    for which in (("--broker", "1"), ("--broker-defaults",)):
        configs.ok("--alter", *which, "--delete-config", "log.retention.ms")
    assert configs.ok("--describe", "--entity-type", "brokers").count("\n") == 3


def test_a_group(configs: CommandLine, topic: str) -> None:
    group = ("--group", f"group-of-{topic}")
    configs.ok("--alter", *group, "--add-config", "consumer.session.timeout.ms=46000")
    printed = configs.ok("--describe", *group)
    assert re.match(
        rf"Dynamic configs for group group-of-{topic} are:\n"
        r"  consumer\.session\.timeout\.ms=46000 sensitive=false"
        r" synonyms=\{DYNAMIC_GROUP_CONFIG:consumer\.session\.timeout\.ms=46000, DEFAULT_CONFIG:",
        printed,
    )
    assert printed in configs.ok("--describe", "--entity-type", "groups")


@pytest.mark.parametrize(
    ("flag", "words"),
    [
        ("--topic", "topic 'none'"),
        ("--broker", "broker '7'"),
        ("--broker-logger", "broker-logger '7'"),
        ("--group", "group 'none'"),
        ("--client-metrics", "client-metric 'none'"),
    ],
)
def test_what_does_not_exist(configs: CommandLine, flag: str, words: str) -> None:
    name = words.split("'")[1]
    assert configs.ok("--describe", flag, name) == (
        f"The {words} doesn't exist and doesn't have dynamic config.\n"
    )


def test_a_file_of_configs(configs: CommandLine, created: str, tmp_path: Path) -> None:
    (tmp_path / "add").write_text("retention.ms=1\nsegment.ms=2\n")
    added = ("--add-config-file", str(tmp_path / "add"), "--add-config", "retention.ms=3")
    configs.ok("--alter", "--topic", created, *added)
    printed = configs.ok("--describe", "--topic", created)
    assert re.findall(r"^  (\S+)", printed, re.MULTILINE) == ["retention.ms=3", "segment.ms=2"]


@pytest.mark.parametrize(
    ("added", "message"),
    [
        ("nope=1", "Unknown topic config name: nope"),
        ("retention.ms=x", "Invalid value x for configuration retention.ms"),
    ],
)
def test_what_the_broker_refuses(
    configs: CommandLine, created: str, added: str, message: str
) -> None:
    line = configs.fails("--alter", "--topic", created, "--add-config", added)
    assert line.startswith(f"1: {message}")


def test_client_metrics(configs: CommandLine) -> None:
    line = configs.fails("--alter", "--client-metrics", "x", "--add-config", "interval.ms=1")
    assert "interval must be between 100 and 3600000" in line
    added = "interval.ms=500,metrics=[a,b],match=[client_id=x.*,client_source_port=1]"
    configs.ok("--alter", "--client-metrics", "x", "--add-config", added)
    printed = configs.ok("--describe", "--client-metrics", "x")
    assert re.findall(r"^  (\S+)", printed, re.MULTILINE) == [
        "interval.ms=500",
        "match=client_id=x.*,client_source_port=1",
        "metrics=a,b",
    ]
    assert "synonyms={DYNAMIC_CLIENT_METRICS_CONFIG:interval.ms=500}" in printed
    configs.ok("--alter", "--client-metrics", "x", "--delete-config", "interval.ms,metrics,match")
    assert "doesn't exist" in configs.ok("--describe", "--client-metrics", "x")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "one of the arguments --describe --alter is required"),
        (("--describe",), "name one entity"),
        (("--describe", "--topic", "t", "--group", "g"), "name one entity"),
        (("--describe", "--entity-type", "nope"), "argument --entity-type: invalid choice"),
        (
            ("--describe", "--entity-type", "topics", "--entity-type", "groups"),
            "name one entity",
        ),
        (
            ("--describe", "--entity-type", "topics", "--entity-name", "t", "--entity-name", "u"),
            "name one entity",
        ),
        (
            ("--describe", "--entity-type", "topics", "--entity-default"),
            "topics have no defaults, only brokers do",
        ),
        (("--describe", "--broker", "x"), "--entity-name for brokers takes the number of a broker"),
        (("--alter", "--entity-type", "topics", "--add-config", "a=b"), "--alter needs --entity-"),
        (("--alter", "--topic", "t"), "--alter needs --add-config, --add-config-file or"),
    ],
)
def test_what_a_person_got_wrong(
    configs: CommandLine, arguments: tuple[str, ...], message: str
) -> None:
    assert configs.fails(*arguments).startswith(f"2: {message}")
