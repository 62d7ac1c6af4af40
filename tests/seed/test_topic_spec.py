import pytest

from broker_lite.control.topics.topic_rules import NewTopic
from broker_lite.errors import SettingsError
from broker_lite.seed.topic_spec import (
    TopicSpec,
    parse_spec,
    parse_spec_lines,
    parse_specs,
    spec_text,
)


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("orders", NewTopic("orders")),
        ("orders:", NewTopic("orders")),
        ("orders:3", NewTopic("orders", 3)),
        ("orders:0", NewTopic("orders", 0)),
        ("orders::segment.ms=1", NewTopic("orders", configs=(("segment.ms", "1"),))),
        (
            "o:2:cleanup.policy=[compact,delete],segment.ms=60000",
            NewTopic(
                "o", 2, configs=(("cleanup.policy", "compact,delete"), ("segment.ms", "60000"))
            ),
        ),
        ("o:2:a=b=c,d=", NewTopic("o", 2, configs=(("a", "b=c"), ("d", "")))),
        ("o:2:a=x:y", NewTopic("o", 2, configs=(("a", "x:y"),))),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_forms(text: str, topic: NewTopic) -> None:
    assert parse_spec(text, "--topic") == TopicSpec(topic, "--topic")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a:x", "a:x: x is no number of partitions; write NAME:PARTITIONS:CONFIG=VALUE,..."),
        ("a:-1", "-1 is no number of partitions"),
        ("a:²", "² is no number of partitions"),
        ("a:9999999999", "9999999999 is no number of partitions"),
        ("a:1:compact", "compact is no CONFIG=VALUE; a value with commas stands in brackets"),
        ("a:1:cleanup.policy=compact,delete", "delete is no CONFIG=VALUE"),
    ],
)
def test_what_is_none(text: str, reason: str) -> None:
    with pytest.raises(SettingsError) as caught:
        parse_spec(text, "--topic")
    assert str(caught.value).startswith(f"--topic: {text}: ")
    assert reason in str(caught.value)


def test_many_in_one_text() -> None:
    text = "a:1 b;c:2:cleanup.policy=[compact, delete]\n\td ; ;\n"
    specs = parse_specs(text, "KAFKA_BROKER_LITE_TOPICS")
    assert [spec.topic.name for spec in specs] == ["a", "b", "c", "d"]
    assert specs[2].topic.configs == (("cleanup.policy", "compact, delete"),)
    assert {spec.origin for spec in specs} == {"KAFKA_BROKER_LITE_TOPICS"}


def test_a_line_each() -> None:
    specs = parse_spec_lines("# ours\na:1\r\n\n  b:2\n#c\n", "topics.txt")
    assert [(spec.topic.name, spec.origin) for spec in specs] == [
        ("a", "topics.txt:2"),
        ("b", "topics.txt:4"),
    ]


@pytest.mark.parametrize(
    "configs",
    [
        {},
        {"segment.ms": "60000"},
        {"cleanup.policy": "compact,delete", "segment.ms": "1", "a": "", "b": "x=y:z"},
        {"a": "[x]", "b": "[x,y]", "c": "[x", "d": "x]"},
    ],
    ids=lambda configs: ",".join(configs) or "none",
)
def test_a_written_topic_is_read_as_it_was(configs: dict[str, str]) -> None:
    text = spec_text("orders", 3, configs)
    assert parse_spec(text, "").topic == NewTopic(
        "orders", 3, configs=tuple(sorted(configs.items()))
    )
