"""Fetch a small document over http or https, for a thread that may wait."""

import http.client
import ssl
import time
import urllib.error
import urllib.request
from email.message import Message
from typing import IO, Final
from urllib.parse import urlsplit

_WAIT_S: Final = 10
_ALL_S: Final = 30
_CHUNK_BYTES: Final = 16 * 1024


class _SameProtocol(urllib.request.HTTPRedirectHandler):
    """Follows redirects that keep the protocol: an answer must not lead from https to http."""

    def redirect_request(  # type: ignore[explicit-override]
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: Message,
        newurl: str,
    ) -> urllib.request.Request | None:
        if urlsplit(newurl).scheme.lower() != req.type:
            raise ValueError("it is redirected to another protocol")
        return super().redirect_request(req, fp, code, msg, headers, newurl)  # type: ignore[arg-type]


def fetch(url: str, bytes_max: int) -> bytes:
    """Return what is at a URL.

    Certificates are checked by the CAs of the machine, or those of the variable SSL_CERT_FILE.

    Raises:
        OSError: it cannot be reached, or answers with an error.
        ValueError: the URL is none, or the answer is too long, too slow, or no HTTP.
    """
    if urlsplit(url).scheme.lower() not in ("http", "https"):
        raise ValueError("it is no URL of http or https")
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(context=ssl.create_default_context()),
        urllib.request.HTTPErrorProcessor(),
        urllib.request.HTTPDefaultErrorHandler(),
        _SameProtocol(),
    ):
        opener.add_handler(handler)
    request = urllib.request.Request(url, headers={"Accept": "application/json"})  # noqa: S310 - the opener has no handler for files
    ends_s = time.monotonic() + _ALL_S
    data = bytearray()
    try:
        with opener.open(request, timeout=_WAIT_S) as answer:
            while chunk := answer.read1(_CHUNK_BYTES):
                data += chunk
                if len(data) > bytes_max:
                    raise ValueError(f"it has more than {bytes_max} bytes")
                if time.monotonic() > ends_s:
                    raise ValueError(f"it takes more than {_ALL_S} s")
    except urllib.error.HTTPError as error:
        error.close()
        raise ValueError(f"the answer is HTTP {error.code}") from None
    except http.client.HTTPException as error:
        raise ValueError(f"the answer is no HTTP ({type(error).__name__})") from None
    return bytes(data)
