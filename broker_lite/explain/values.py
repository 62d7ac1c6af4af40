"""Values as people read them: bytes as text or hex, moments with their date, flags by name."""

from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from broker_lite.record.batch import (
    CODEC_MASK,
    CONTROL_FLAG,
    DELETE_HORIZON_FLAG,
    LOG_APPEND_TIME_FLAG,
    TRANSACTIONAL_FLAG,
)
from broker_lite.record.codecs.compression import Codec

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_UTF8_BYTES_MAX: Final = 4
_SPACES: Final = str.maketrans("", "", "\n\r\t")
_FLAGS: Final = {
    TRANSACTIONAL_FLAG: "transactional",
    CONTROL_FLAG: "control",
    DELETE_HORIZON_FLAG: "delete horizon",
}
_UNUSED_FLAGS: Final = 0xFF80


class Shown(NamedTuple):
    """A value that may have been cut."""

    value: str
    form: str | None
    left_out: int


def shown_bytes(data: memoryview, bytes_max: int) -> Shown:
    """Return bytes as text if they are printable UTF-8, else as hex; cut if they are too long."""
    size = len(data)
    if size <= bytes_max:
        text = _printable(bytes(data))
        if text is not None:
            return Shown(text, "text", 0)
        return Shown(bytes(data).hex(), "hex", 0)
    # a character may be cut in two: up to three bytes less are shown then
    for end in range(bytes_max, max(bytes_max - _UTF8_BYTES_MAX, 0), -1):
        text = _printable(bytes(data[:end]))
        if text is not None:
            return Shown(text, "text", size - end)
    return Shown(bytes(data[:bytes_max]).hex(), "hex", size - bytes_max)


def shown_text(text: str, characters_max: int) -> Shown:
    """Return a text, cut if it is too long."""
    return Shown(text[:characters_max], None, max(0, len(text) - characters_max))


def _printable(data: bytes) -> str | None:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return text if text.translate(_SPACES).isprintable() else None


def moment(milliseconds: int) -> str:
    """Return a moment in UTC; nothing for -1 and what no calendar has."""
    if milliseconds == -1:
        return "none"
    try:
        found = _EPOCH + timedelta(milliseconds=milliseconds)
    except OverflowError:
        return ""
    return found.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def codec_name(codec: int) -> str:
    """Return the name of a codec, or say that there is none of this number."""
    try:
        return Codec(codec).name.lower()
    except ValueError:
        return f"no codec {codec}"


def attributes_text(attributes: int) -> str:
    """Return the codec, the timestamp type and the flags in the attributes of a batch."""
    words = [codec_name(attributes & CODEC_MASK), timestamp_type(attributes)]
    words += [name for flag, name in _FLAGS.items() if attributes & flag]
    if attributes & _UNUSED_FLAGS:
        words.append("unused bits")
    return ", ".join(words)


def timestamp_type(attributes: int) -> str:
    """Return whether the producer or the broker set the timestamps."""
    return "LogAppendTime" if attributes & LOG_APPEND_TIME_FLAG else "CreateTime"
