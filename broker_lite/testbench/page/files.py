"""The files of the page, and what browsers are told about them."""

import base64
import hashlib
import re
from functools import cache
from importlib.resources import files
from pathlib import PurePosixPath
from typing import Final, NamedTuple

_HOME: Final = "index.html"
_FOLDER: Final = "/page/"
_TYPES: Final = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}
_IMPORT_MAP: Final = re.compile(rb'<script type="importmap">(.*?)</script>', re.DOTALL)


class PageFile(NamedTuple):
    """One file.

    Attributes:
        data: its bytes.
        media_type: of them.
        tag: changes with the bytes.
    """

    data: bytes
    media_type: str
    tag: str


def is_page(path: str) -> bool:
    """Whether a path is about the page, and not about the control API."""
    return path == "/" or path.startswith(_FOLDER)


def page_file(path: str) -> PageFile | None:
    """Return the file of a path; None if there is none.

    Args:
        path: "/" for the page itself.
    """
    return _all_files().get(path)


@cache
def policy() -> str:
    """Return the content security policy: scripts and styles of the page only, no other host.

    The import map has to be in the page itself, so the policy names its hash.
    """
    found = _IMPORT_MAP.search(_all_files()["/"].data)
    assert found is not None
    digest = base64.b64encode(hashlib.sha256(found[1]).digest()).decode()
    return (
        f"default-src 'none'; script-src 'self' 'sha256-{digest}'; style-src 'self'; "
        "connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    )


@cache
def _all_files() -> dict[str, PageFile]:
    """Return all files by path; the names in the package decide, so no path can lead elsewhere."""
    static = files(__package__) / "static"
    found: dict[str, PageFile] = {}
    for folder in ("", "vendor/"):
        for each in (static / folder).iterdir():
            media_type = _TYPES.get(PurePosixPath(each.name).suffix)
            if media_type is not None:
                data = each.read_bytes()
                tag = f'"{hashlib.sha256(data).hexdigest()[:16]}"'
                path = "/" if folder + each.name == _HOME else f"{_FOLDER}{folder}{each.name}"
                found[path] = PageFile(data, media_type, tag)
    return found
