"""Where schemas come from, and what is wanted of a column: plain values, which travel to workers.

Names and defaults follow the clients of Confluent's Schema Registry where these have them.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final
from urllib.parse import urlsplit

USER_INFO_VARIABLE: Final = "SCHEMA_REGISTRY_BASIC_AUTH_USER_INFO"
TIMEOUT_MS: Final = 10_000
RETRIES: Final = 3


class Format(StrEnum):
    """How the bytes of a column are encoded."""

    RAW = "raw"
    AVRO = "avro"
    PROTOBUF = "protobuf"


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistrySettings:
    """How to reach schemas.

    Attributes:
        location: http or https URL of a registry, or the path of a folder.
        user_info: USER:PASSWORD for basic authentication, empty for none; left out of the repr.
        timeout_ms: to connect, and then again from the request to the last byte of its answer.
        retries: further requests after one that failed for a reason that may pass.
    """

    location: str
    user_info: str = field(default="", repr=False)
    timeout_ms: int = TIMEOUT_MS
    retries: int = RETRIES

    @property
    def is_url(self) -> bool:
        """Tell whether schemas come over HTTP."""
        return self.location.lower().startswith(("http://", "https://"))


@dataclass(frozen=True, slots=True)
class StoredSchema:
    """A schema with everything that it refers to.

    Attributes:
        format: of its messages; RAW stands for a format that cannot be read, as JSON.
        text: as the registry has it.
        references: name and text of each schema that it refers to, those without references first.
    """

    format: Format
    text: str
    references: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnFormat:
    """How one column of messages is read.

    Attributes:
        format: AVRO or PROTOBUF.
        schema: of the result; None until the schema by `schema_id` or of `subject` was asked for.
        schema_id: id of the result's schema, None if it is not named so.
        subject: whose latest schema is the result's, None if it is not named so.
        message: full name of the Protobuf message, None for the first of the schema.
    """

    format: Format
    registry: RegistrySettings
    schema: StoredSchema | None = None
    schema_id: int | None = None
    subject: str | None = None
    message: str | None = None


def checked_location(text: str) -> str:
    """Return the URL or path of a registry.

    Raises:
        ValueError: it is empty, or has a password, which would show in errors and plans.
    """
    if not text:
        raise ValueError("the URL of a registry or a folder is needed")
    if text.lower().startswith(("http://", "https://")):
        try:
            url = urlsplit(text)
            is_usable = bool(url.hostname) and url.port != 0
        except ValueError:
            is_usable = False
        if not is_usable:
            raise ValueError("no URL")
        if "@" in url.netloc:
            raise ValueError("give USER:PASSWORD apart from the URL")
    elif "://" in text and not text.startswith("file://"):
        raise ValueError("http, https and folders are allowed")
    return text


def user_info(given: str | None, environment: Mapping[str, str] = os.environ) -> str:
    """Return USER:PASSWORD: as given, else from the environment, else empty.

    Raises:
        ValueError: there is no colon; the text does not repeat what may be a secret.
    """
    chosen = environment.get(USER_INFO_VARIABLE, "") if given is None else given
    if chosen and ":" not in chosen:
        place = USER_INFO_VARIABLE if given is None else "user info"
        raise ValueError(f"{place}: USER:PASSWORD is expected, and there is no colon")
    return chosen
