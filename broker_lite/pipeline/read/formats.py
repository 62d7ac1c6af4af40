"""The options that make columns of messages: key.…, value.… and schema.registry.…."""

from typing import Final

from broker_lite.pipeline.read import option_values
from broker_lite.pipeline.read.option_values import Given, OptionError
from broker_lite.pipeline.registry.settings import (
    RETRIES,
    TIMEOUT_MS,
    ColumnFormat,
    Format,
    RegistrySettings,
    StoredSchema,
    checked_location,
    user_info,
)

COLUMNS: Final = ("key", "value")
FORMAT_OPTIONS: Final = (
    "key.format",
    "key.schema",
    "key.schema.id",
    "key.subject",
    "key.message",
    "value.format",
    "value.schema",
    "value.schema.id",
    "value.subject",
    "value.message",
    "schema.registry",
    "schema.registry.basic.auth.user.info",
    "schema.registry.timeout",
    "schema.registry.retries",
)

_USER_INFO: Final = "schema.registry.basic.auth.user.info"
_RETRIES_MAX: Final = 100


def column_formats(given: Given) -> tuple[tuple[str, ColumnFormat], ...]:
    """Return the columns that are decoded, and how.

    Raises:
        OptionError: an option is wrong, is missing, or has no meaning without another.
    """
    chosen = {name: given.choice(f"{name}.format", Format.RAW) for name in COLUMNS}
    for name, found in chosen.items():
        _check_needless(given, name, found)
    decoded = {name: found for name, found in chosen.items() if found is not Format.RAW}
    if not decoded:
        for option in FORMAT_OPTIONS:
            if option.startswith("schema.registry") and option in given:
                raise OptionError(f"option {option}: value.format or key.format is needed with it")
        return ()
    registry = _registry(given)
    return tuple(
        (name, _column_format(given, name, found, registry)) for name, found in decoded.items()
    )


def _check_needless(given: Given, name: str, found: Format) -> None:
    for part in ("schema", "schema.id", "subject", "message"):
        option = f"{name}.{part}"
        if option in given and found is Format.RAW:
            raise given.error(option, f"{name}.format is needed with it")
    if f"{name}.message" in given and found is not Format.PROTOBUF:
        raise given.error(f"{name}.message", f"only {name}.format=protobuf has messages")


def _registry(given: Given) -> RegistrySettings:
    location = given.parsed("schema.registry", checked_location)
    if location is None:
        raise OptionError(
            "option schema.registry: the URL of a registry or a folder of schemas is needed"
        )
    try:
        credentials = user_info(given.text(_USER_INFO))
    except ValueError as error:
        raise OptionError(f"option {_USER_INFO}: {error}") from error
    retries = given.parsed("schema.registry.retries", _retries)
    return RegistrySettings(
        location=location,
        user_info=credentials,
        timeout_ms=given.parsed("schema.registry.timeout", option_values.duration_ms) or TIMEOUT_MS,
        retries=RETRIES if retries is None else retries,
    )


def _retries(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or int(text) > _RETRIES_MAX:
        raise ValueError(f"a whole number from 0 to {_RETRIES_MAX} is allowed")
    return int(text)


def _column_format(
    given: Given, name: str, found: Format, registry: RegistrySettings
) -> ColumnFormat:
    text = given.text(f"{name}.schema")
    schema_id = given.count(f"{name}.schema.id")
    subject = given.text(f"{name}.subject")
    if sum(each is not None for each in (text, schema_id, subject)) > 1:
        raise OptionError(
            f"options {name}.schema, {name}.schema.id, {name}.subject: only one of them can be"
            " given"
        )
    if text is None and schema_id is None and subject is None:
        subject = _subject(given, name)
    return ColumnFormat(
        format=found,
        registry=registry,
        schema=None if text is None else StoredSchema(found, text),
        schema_id=schema_id,
        subject=subject,
        message=given.text(f"{name}.message"),
    )


def _subject(given: Given, name: str) -> str:
    """Return the subject of the one topic, named as clients name it by default."""
    topics = given.parsed("subscribe", option_values.names) or ()
    if len(set(topics)) != 1:
        raise OptionError(
            f"option {name}.format: {name}.schema, {name}.schema.id or {name}.subject is needed"
            " with it, unless subscribe names one topic"
        )
    return f"{topics[0]}-{name}"
