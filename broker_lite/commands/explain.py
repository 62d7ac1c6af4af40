"""`broker-lite explain`: list the fields of a frame or batch, and mark what the broker refuses.

The exit code is 1 if something is refused.
"""

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from broker_lite.commands.log.files import LogFile
from broker_lite.errors import SettingsError
from broker_lite.explain import (
    CannotExplain,
    Explanation,
    Field,
    Limits,
    Refused,
    State,
    explain_batch,
    explain_frame,
)
from broker_lite.explain.kinds import (
    BATCH,
    REQUEST,
    api_of,
    from_base64,
    from_hex,
    guess_kind,
    is_hex,
)
from broker_lite.log.files.names import LOG_SUFFIX
from broker_lite.log.validate.validated import ValidationConfig
from broker_lite.record.batch import LOG_OVERHEAD
from broker_lite.wire.primitives import ZERO_UUID

_RESPONSE: Final = "response"
_SEGMENT: Final = "segment"
_STANDARD_INPUT: Final = "-"
_INPUT_BYTES_MAX: Final = 256 << 20
_TOPIC: Final = "topic"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of the command."""
    parser.add_argument("file", metavar="FILE", help="a file, - for standard input")
    parser.add_argument(
        "--kind", choices=[REQUEST, _RESPONSE, BATCH, _SEGMENT], help="what it is [guessed]"
    )
    parser.add_argument(
        "--response", metavar="API:VERSION", help="it is a response, such as Fetch:13"
    )
    parser.add_argument(
        "--size-prefix",
        choices=["yes", "no"],
        help="whether the size of a frame is there [guessed]",
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--hex", action="store_true", help="it is hex text [if it looks so]")
    form.add_argument("--base64", action="store_true", help="it is base64 text")
    place = parser.add_mutually_exclusive_group()
    place.add_argument(
        "--position", type=int, metavar="N", help="the batch at this byte of a segment [0]"
    )
    place.add_argument("--offset", type=int, metavar="N", help="the batch that has this offset")
    place.add_argument("--all", action="store_true", help="all batches of a segment")
    parser.add_argument(
        "--produced",
        action="store_true",
        help="judge the batch of a segment as if a producer sent it, with base offset 0",
    )
    parser.add_argument(
        "--topic-config",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a config of the topic that a producer sends to, such as cleanup.policy=compact",
    )
    parser.add_argument("--json", action="store_true", help="print a JSON object for each")
    limits = Limits()
    parser.add_argument(
        "--fields-max",
        type=int,
        default=limits.fields_max,
        metavar="N",
        help=f"list at most so many fields [{limits.fields_max}]",
    )
    parser.add_argument(
        "--value-max",
        type=int,
        default=limits.value_bytes_max,
        metavar="N",
        help=f"show at most so many bytes of a value [{limits.value_bytes_max}]",
    )


def run(options: argparse.Namespace) -> int:
    """Print the explanations; 1 if something is refused."""
    has_refused = False
    try:
        for explanation in _explanations(options):
            has_refused = has_refused or explanation.refused is not None
            if options.json:
                print(json.dumps(explanation.as_json(), ensure_ascii=False))
            else:
                for line in table_lines(explanation):
                    print(line)
    except CannotExplain as error:
        raise SettingsError(f"{options.file}: {error}") from error
    return int(has_refused)


def _explanations(options: argparse.Namespace) -> Iterator[Explanation]:
    limits = Limits(options.fields_max, options.value_max)
    config = _config(options.topic_config)
    if _is_segment(options):
        for position, data in _batches(options):
            yield explain_batch(
                data,
                config,
                stored=not options.produced,
                at_offset_0=options.produced,
                position=position,
                limits=limits,
            )
        return
    data = _plain(_read(options.file), options)
    kind = options.kind or (_RESPONSE if options.response else guess_kind(data))
    if kind == BATCH:
        yield explain_batch(data, config, limits=limits)
        return
    if kind == _RESPONSE and not options.response:
        raise CannotExplain("of which API is the response? --response API:VERSION tells it")
    yield explain_frame(
        data,
        response_of=api_of(options.response) if kind == _RESPONSE else None,
        config=config,
        has_size=None if options.size_prefix is None else options.size_prefix == "yes",
        limits=limits,
    )


def _is_segment(options: argparse.Namespace) -> bool:
    if options.kind is not None:
        return bool(options.kind == _SEGMENT)
    has_place = options.position is not None or options.offset is not None or options.all
    is_text = options.hex or options.base64
    is_log = options.file.endswith(LOG_SUFFIX) and not is_text and not options.response
    return bool(has_place or is_log)


def _config(texts: Sequence[str]) -> ValidationConfig | None:
    """Return the configuration of a topic with these configs, None without any.

    Raises:
        SettingsError: a config has no value, or a wrong one.
    """
    if not texts:
        return None
    # Imported late: the settings take a third of the time of the command.
    from broker_lite.control.metadata.topic import Topic
    from broker_lite.control.topics.topic_configs import TopicConfigs
    from broker_lite.settings import TOPIC_SETTINGS, InvalidValue, Settings

    pairs = [text.partition("=") for text in texts]
    if without := [name for name, equals, _ in pairs if not equals]:
        raise SettingsError(f"--topic-config {without[0]}: write NAME=VALUE")
    overrides = {name: value for name, _, value in pairs}
    if unknown := overrides.keys() - TOPIC_SETTINGS.keys():
        raise SettingsError(f"--topic-config: topics have no config {min(unknown)!r}")
    topic = Topic(name=_TOPIC, topic_id=ZERO_UUID, partitions=(), overrides=overrides)
    try:
        return TopicConfigs(Settings()).validation_config(topic)
    except InvalidValue as error:
        raise SettingsError(f"--topic-config: {error}") from error


def _plain(data: bytes, options: argparse.Namespace) -> bytes:
    if options.base64:
        return from_base64(data)
    return from_hex(data) if options.hex or is_hex(data) else data


def _read(name: str) -> bytes:
    if name == _STANDARD_INPUT:
        data = sys.stdin.buffer.read(_INPUT_BYTES_MAX + 1)
    else:
        data = _read_at(name, 0, _INPUT_BYTES_MAX + 1)
    if len(data) > _INPUT_BYTES_MAX:
        raise CannotExplain(f"more than {_INPUT_BYTES_MAX:,} bytes are no frame and no batch")
    return data


def _read_at(name: str, position: int, size: int) -> bytes:
    try:
        with open(name, "rb") as file:
            if position:
                file.seek(position)
            return file.read(size)
    except OSError as error:
        raise SettingsError(f"{name}: {error.strerror}") from error


def _batches(options: argparse.Namespace) -> Iterator[tuple[int, bytes]]:
    """Yield the wanted batches of a segment, each with its position.

    Raises:
        CannotExplain: there is no such position or offset.
    """
    if options.offset is None and not options.all:
        position = options.position or 0
        yield position, _batch_at(options.file, position)
        return
    file = LogFile(Path(options.file), lambda _: None)
    try:
        for found in file.entries():
            batch = found.batch
            if options.all or batch.last_offset >= options.offset:
                data = batch.buffer[batch.position : batch.position + batch.size_bytes]
                yield found.position, bytes(data)
                if not options.all:
                    return
        size_bytes = os.path.getsize(options.file)
    except OSError as error:
        raise SettingsError(f"{options.file}: {error.strerror}") from error
    if not options.all:
        raise CannotExplain(f"no batch has the offset {options.offset}")
    if file.end < size_bytes:
        yield file.end, _read_at(options.file, file.end, _INPUT_BYTES_MAX)


def _batch_at(name: str, position: int) -> bytes:
    """Read a batch, or what there is of it."""
    if position < 0:
        raise CannotExplain(f"{position} is no position in a file")
    head = _read_at(name, position, LOG_OVERHEAD)
    if not head:
        raise CannotExplain(f"the file ends before position {position}")
    length = int.from_bytes(head[8:], "big", signed=True) if len(head) == LOG_OVERHEAD else 0
    rest = min(max(length, 0), _INPUT_BYTES_MAX)
    return head + _read_at(name, position + LOG_OVERHEAD, max(rest, LOG_OVERHEAD))


def table_lines(explanation: Explanation) -> Iterator[str]:
    """Yield the lines for a person: the fields, the refusals, the notes."""
    yield f"{explanation.kind}"
    yield from _field_lines(explanation.fields)
    for part in explanation.parts:
        yield ""
        yield f"{part.of}: {part.size} bytes when decompressed ({part.codec})"
        yield from _field_lines(part.fields)
    yield ""
    for refused in explanation.refusals:
        yield _refusal(refused)
    if not explanation.refusals:
        yield "nothing is refused"
    yield from explanation.notes


def _field_lines(fields: Sequence[Field]) -> Iterator[str]:
    rows = [
        (str(each.offset), str(each.size), each.type, each.path, _value_text(each))
        for each in fields
    ]
    head = ("offset", "size", "type", "field", "value")
    widths = [max(len(row[index]) for row in (head, *rows)) for index in range(len(head) - 1)]
    yield "  ".join([*_aligned(head, widths), head[-1]])
    for row, each in zip(rows, fields, strict=True):
        yield "  ".join([*_aligned(row, widths), row[-1]]).rstrip()
        if each.refused is not None:
            yield f"{'':>{widths[0]}}  ^ {_expectation(each.refused)}"


def _aligned(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    """Return all cells but the last: numbers to the right, texts to the left."""
    numbers = [text.rjust(width) for text, width in zip(row[:2], widths[:2], strict=True)]
    texts = [text.ljust(width) for text, width in zip(row[2:4], widths[2:], strict=True)]
    return numbers + texts


def _value_text(field: Field) -> str:
    value = field.value
    words = []
    if field.form == "hex":
        words.append(f"0x{value}" if value else "")
    elif isinstance(value, str):
        words.append(json.dumps(value, ensure_ascii=not value.isprintable()))
    elif value is not None:
        words.append(str(value))
    if field.left_out:
        words.append(f"... {field.left_out} more")
    if field.state is State.UNREADABLE:
        words.append(f"(unreadable; expected {field.note})")
    elif field.note and (field.refused is None or field.refused.expected != field.note):
        words.append(f"({field.note})")
    if field.state not in (State.READ, State.UNREADABLE):
        words.append(f"[{field.state.value}]")
    return " ".join(words)


def _expectation(refused: Refused) -> str:
    words = [f"{refused.rule}: {refused.text}"]
    if refused.expected is not None:
        words.append(f"expected {refused.expected}")
    if refused.got is not None:
        words.append(f"got {refused.got}")
    return "; ".join(words)


def _refusal(refused: Refused) -> str:
    answer = (
        "a reader finds an error" if refused.error is None else f"{refused.error} ({refused.code})"
    )
    if refused.error is None and refused.rule.startswith("P"):
        answer = "the connection is closed"
    place = "" if refused.path is None else f" at {refused.path}"
    return f"refused{place}: {answer}: {refused.rule}: {refused.text}"
