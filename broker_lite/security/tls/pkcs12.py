"""A child process that reads a PKCS12 store and writes PEM: `python -m`, see the module stores.

Standard input is the length of the password (4 bytes), the password and the store. Standard output
is the name of the private key as JSON, null if there is no key; and then PEM: the key and the
certificates. An error is one line on standard error, and the exit code 3.
"""

import json
import sys
from typing import Final

_LENGTH_BYTES: Final = 4
_TOLD: Final = 3


def read(data: bytes) -> bytes:
    """Read password and store, as in standard input; return what is written.

    Raises:
        ValueError: the password is wrong, or these are not the bytes of a store.
        ImportError: the library is not installed.
    """
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
        pkcs12,
    )

    start = _LENGTH_BYTES + int.from_bytes(data[:_LENGTH_BYTES], "big")
    password = data[_LENGTH_BYTES:start] or None
    store = pkcs12.load_pkcs12(data[start:], password)
    alias = None
    if store.key is not None:
        alias = "1"  # Java's name for a key without one
        if store.cert is not None and store.cert.friendly_name:
            alias = store.cert.friendly_name.decode("utf-8", "replace").lower()
    parts = [json.dumps(alias).encode(), b"\n"]
    if store.key is not None:
        parts.append(store.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    certificates = [store.cert] if store.cert is not None else []
    parts += [
        one.certificate.public_bytes(Encoding.PEM)
        for one in (*certificates, *store.additional_certs)
    ]
    return b"".join(parts)


def main() -> int:
    """Read from standard input, write to standard output; return the exit code."""
    try:
        found = read(sys.stdin.buffer.read())
    except ImportError:
        sys.stderr.write("PKCS12 needs another package: pip install 'broker-lite[tls]'\n")
        return _TOLD
    except ValueError:
        sys.stderr.write("its password is wrong, or it is no PKCS12 store\n")
        return _TOLD
    sys.stdout.buffer.write(found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
