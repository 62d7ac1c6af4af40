"""Keeps the keys and certificates of a secured broker in its data directory.

A start with kept ones reads four small files. What is missing, damaged, soon to expire, or without
a name of this machine is made anew by a child process, with the kept CA as long as there is one:
clients that trust it go on.

All files can be read and written by their owner only.
"""

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from broker_lite.errors import SettingsError
from broker_lite.security.one_word.child import made_by_child
from broker_lite.security.one_word.names import names_of
from broker_lite.settings import Settings
from broker_lite.settings.sources.one_word import (
    CA_FILE,
    CLIENT_FILE,
    SERVER_FILE,
    USER,
    users_of,
)

KEPT_FILE: Final = "broker-lite-security.json"
"""All that is kept, in the data directory."""
_MODE: Final = 0o600
_FLAGS: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
_DAY_S: Final = 24 * 60 * 60
_KEPT_BYTES_MAX: Final = 16 * 1024 * 1024


class Kept(NamedTuple):
    """What is kept; `repr` shows nothing of it.

    Attributes:
        names: that the server's certificate has.
        expires_s: when the first certificate expires, in seconds since 1970.
        ca: PEM of the CA's certificate.
        ca_key: PEM of its private key.
        server: PEM of the server's private key and certificate.
        clients: by user, PEM as `pem` and PKCS12 in base64 as `p12`.
        truststore: PKCS12 of the CA's certificate, in base64.
        token_key: a private key for signatures of tokens, as a JWK.
    """

    names: list[str]
    expires_s: int
    ca: str
    ca_key: str
    server: str
    clients: Mapping[str, Mapping[str, str]]
    truststore: str
    token_key: Mapping[str, str]

    def __repr__(self) -> str:  # type: ignore[explicit-override]
        return "Kept()"


def prepare(
    settings: Settings, data_dir: Path, now_s: float, *, shared: Path | None = None
) -> None:
    """See to it that the data directory has the keys and certificates of a secured broker.

    Args:
        settings: with a word of security.
        data_dir: exists.
        now_s: seconds since 1970.
        shared: a directory from which several brokers take theirs, so that they are made once.

    Raises:
        SettingsError: they cannot be made or written; one line for a person.
    """
    names, users = names_of(settings), users_of(settings)
    kept = read_kept(data_dir)
    if kept is not None and _is_current(kept, names, users, now_s) and _has_files(data_dir, kept):
        return
    name = "broker.lite.security" if kept is None else str(data_dir / KEPT_FILE)
    common = None if shared is None or kept is not None else read_kept(shared)
    is_made = common is None or not _is_current(common, names, users, now_s)
    made = _made(name, kept, names, users) if is_made or common is None else common
    try:
        for name, text in _files(made).items():
            _write(data_dir / name, text)
        for folder in filter(None, (data_dir, shared if is_made else None)):
            _write(folder / KEPT_FILE, json.dumps(made._asdict()))
    except OSError as error:
        raise SettingsError(f"data directory {data_dir}: {error.strerror}") from error


def read_kept(data_dir: Path) -> Kept | None:
    """Return what a data directory has; None if that is nothing, or damaged.

    Raises:
        SettingsError: the file cannot be read.
    """
    try:
        with (data_dir / KEPT_FILE).open("rb") as file:
            data = file.read(_KEPT_BYTES_MAX)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SettingsError(f"{data_dir / KEPT_FILE}: {error.strerror}") from error
    try:
        return _checked(json.loads(data))
    except (ValueError, TypeError, RecursionError):
        return None


def _checked(value: dict[str, Any]) -> Kept:
    """Return what a file or the child says.

    Raises:
        TypeError: a part is missing, or is something else.
    """
    kept = Kept(**value)
    texts = (kept.ca, kept.ca_key, kept.server, kept.truststore, *kept.names)
    stores = (text for each in _dict(kept.clients).values() for text in _dict(each).values())
    if not isinstance(kept.expires_s, int) or not all(
        isinstance(text, str) for text in (*texts, *stores, *_dict(kept.token_key).values())
    ):
        raise TypeError
    return kept


def _dict(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError
    return value


def _is_current(kept: Kept, names: Iterable[str], users: Iterable[str], now_s: float) -> bool:
    return (
        set(names) <= set(kept.names)
        and set(users) <= kept.clients.keys()
        and now_s < kept.expires_s - _DAY_S
    )


def _files(kept: Kept) -> Mapping[str, str]:
    """Return what is written beside the one file, for people and for the listeners."""
    return {
        CA_FILE: kept.ca,
        SERVER_FILE: kept.server,
        CLIENT_FILE: kept.clients[USER.name]["pem"],
    }


def _has_files(data_dir: Path, kept: Kept) -> bool:
    try:
        return all(
            (data_dir / name).read_text("ascii") == text for name, text in _files(kept).items()
        )
    except (OSError, UnicodeDecodeError, KeyError):
        return False


def _made(name: str, kept: Kept | None, names: Iterable[str], users: Iterable[str]) -> Kept:
    """Let a child make all of it; `name` begins the line of an error.

    Raises:
        SettingsError: it cannot.
    """
    asked = {
        "names": sorted(names),
        "users": list(users),
        "ca": "" if kept is None else kept.ca,
        "ca_key": "" if kept is None else kept.ca_key,
        "token_key": {} if kept is None else kept.token_key,
    }
    return _checked(made_by_child(asked, name))


def _write(path: Path, text: str) -> None:
    """Write a file that its owner alone can read, all of it or nothing."""
    new = path.with_name(path.name + ".new")
    new.unlink(missing_ok=True)
    with os.fdopen(os.open(new, _FLAGS, _MODE), "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
