import io
import json
import logging

import pytest

from broker_lite import logging_setup


def _written(form: str, message: str, *args: object, level: str = "info") -> str:
    stream = io.StringIO()
    logging_setup.set_up(level, form, stream)
    logging.getLogger("broker_lite.log").info(message, *args)
    return stream.getvalue()


def test_text() -> None:
    line = _written("text", "segment rolled topic=%s partition=%d", "t", 3)
    assert line.endswith(" INFO broker_lite.log segment rolled topic=t partition=3\n")


def test_json_has_a_field_for_each_fact() -> None:
    entry = json.loads(_written("json", "segment rolled topic=%s partition=%d", "t", 3))
    time = entry.pop("time")
    assert time.endswith("+00:00")
    assert entry == {
        "level": "info",
        "logger": "broker_lite.log",
        "event": "segment rolled",
        "topic": "t",
        "partition": 3,
    }


@pytest.mark.parametrize(
    ("message", "args", "event"),
    [
        ("plain", (), "plain"),
        ("closing %s: %s", ("a", "b"), "closing a: b"),
        ("lost topic=%s-%d", ("t", 1), "lost topic=t-1"),
        ("done in=%d ms", (5,), "done in=5 ms"),
        ("by name=%(name)s", ({"name": "n"},), "by name=n"),
    ],
)
def test_json_of_other_messages_is_all_event(
    message: str, args: tuple[object, ...], event: str
) -> None:
    entry = json.loads(_written("json", message, *args))
    assert entry["event"] == event
    assert set(entry) == {"time", "level", "logger", "event"}


def test_facts_do_not_hide_the_frame() -> None:
    entry = json.loads(_written("json", "opened time=%s path=%s", "x", {1}))
    assert entry["event"] == "opened"
    assert entry["time"] != "x"
    assert entry["path"] == "{1}"


def test_traceback() -> None:
    stream = io.StringIO()
    logging_setup.set_up("info", "json", stream)
    try:
        raise ValueError("no")
    except ValueError:
        logging.getLogger("broker_lite").exception("failed")
    assert "ValueError: no" in json.loads(stream.getvalue())["traceback"]


def test_level() -> None:
    assert _written("text", "quiet", level="warning") == ""
