"""The files that a load writes."""

from pathlib import Path

from broker_lite.errors import ClientError, SettingsError


def check_writable(flag: str, path: Path) -> None:
    """Find out before the run whether a file can be written; a new one is not left behind.

    Raises:
        SettingsError: it cannot.
    """
    is_new = not path.exists()
    try:
        path.touch()
        if is_new:
            path.unlink()
    except OSError as error:
        raise SettingsError(f"{flag} {path}: {error.strerror}") from error


def write(flag: str, path: Path, text: str) -> None:
    """Write a file.

    Raises:
        ClientError: it cannot be written.
    """
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ClientError(f"{flag} {path}: {error.strerror}") from error
