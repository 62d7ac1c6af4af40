"""A child process that reads a PKCS12 store and writes PEM: `python -m`, see the module stores.

Standard input is the length of the password (4 bytes), the password and the store. Standard output
is PEM: the private key, if there is one, and the certificates. An error is one line on standard
error, and the exit code 1.
"""

import sys
from typing import Final

_LENGTH_BYTES: Final = 4


def to_pem(data: bytes) -> bytes:
    """Read password and store, as in standard input.

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
    parts = []
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
        pem = to_pem(sys.stdin.buffer.read())
    except ImportError:
        sys.stderr.write("PKCS12 needs another package: pip install 'broker-lite[tls]'\n")
        return 1
    except ValueError:
        sys.stderr.write("its password is wrong, or it is no PKCS12 store\n")
        return 1
    sys.stdout.buffer.write(pem)
    return 0


if __name__ == "__main__":
    sys.exit(main())
