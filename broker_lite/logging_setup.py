"""Set up the broker's log on standard error, as text or as one JSON object per line.

A message is an event and its facts: `logger.info("segment rolled topic=%s partition=%d", ...)`. In
JSON, each fact becomes a field.
"""

import json
import logging
import re
import sys
from datetime import UTC, datetime
from typing import Any, Final, TextIO

LEVELS: Final = ("debug", "info", "warning", "error")
FORMATS: Final = ("text", "json")

_FACT: Final = re.compile(r"(\w+)=%[-+#0-9.]*[a-z]")


class TextFormatter(logging.Formatter):
    """Formats a message as one line, with a traceback below it."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s %(message)s")
        self.default_msec_format = "%s.%03d"


class JsonFormatter(logging.Formatter):
    """Formats a message as a JSON object: time, level, logger, event, facts, traceback."""

    def format(self, record: logging.LogRecord) -> str:  # type: ignore[explicit-override]
        """Return a message as one JSON object."""
        moment = datetime.fromtimestamp(record.created, UTC)
        event, facts = split_facts(record)
        entry: dict[str, Any] = {
            **getattr(record, "facts", {}),  # for messages that are a whole sentence
            **facts,
            "time": moment.isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": event,
        }
        if record.exc_info:
            entry["traceback"] = self.formatException(record.exc_info)
        return json.dumps(entry, default=str)


def split_facts(record: logging.LogRecord) -> tuple[str, dict[str, Any]]:
    """Split a message into its event and its facts by name.

    A message of another form than `event name=%s name=%s` is an event without facts.
    """
    template = str(record.msg)
    first = _FACT.search(template)
    args = record.args
    if first is None or not isinstance(args, tuple):
        return record.getMessage(), {}
    names = _FACT.findall(template)
    rest = _FACT.sub("", template)
    if len(names) != len(args) or "%" in rest or rest.strip() != template[: first.start()].strip():
        return record.getMessage(), {}
    return rest.strip(), dict(zip(names, args, strict=True))


def set_up(level: str, form: str, stream: TextIO | None = None) -> None:
    """Send the broker's messages to a stream.

    Args:
        level: one of LEVELS; messages below it are dropped.
        form: one of FORMATS.
        stream: None means standard error.
    """
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter() if form == "json" else TextFormatter())
    root = logging.getLogger("broker_lite")
    for old in list(root.handlers):
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(level.upper())
    root.propagate = False
