"""The image's health check: asks the broker of the same container which APIs it answers.

It runs again and again, by its path and without site: so it imports nothing but modules that are
part of the interpreter. The broker leaves the address at which it listens in shared memory, which a
container has and may write even where the rest of its file system is read-only.
"""

import _socket
import os
import sys

_ADDRESS_FILE = "/dev/shm/broker-lite.address"  # noqa: S108 - nothing that is trusted blindly
_DEFAULT_ADDRESS = "127.0.0.1:9092"
# of a broker at every address; where IPv6 is switched off there is no ::1, and yet a socket at ::
_LOOPBACK = {"0.0.0.0": "127.0.0.1", "::": "127.0.0.1"}  # noqa: S104 - not listened on
_TIMEOUT_S = 2.5
_CORRELATION_ID = b"\x00\x00\x00\x01"
# size, ApiVersions, version 0, correlation id, no client id
_REQUEST = b"\x00\x00\x00\x0a\x00\x12\x00\x00" + _CORRELATION_ID + b"\xff\xff"
# correlation id, error code 0; the size before them differs
_ANSWER = _CORRELATION_ID + b"\x00\x00"


def tell(address: str, path: str = _ADDRESS_FILE) -> bool:
    """Leave HOST:PORT of a broker that is ready for the health check.

    Returns:
        False if it cannot be left there: then the default port is what is asked.
    """
    try:
        with open(path, "w", encoding="ascii") as file:
            file.write(address)
    except OSError:
        return False
    return True


def ask(host: str, port: int) -> None:
    """Ask a broker for its APIs.

    Raises:
        OSError: there is none, or it does not answer as a broker does.
    """
    family = _socket.AF_INET6 if ":" in host else _socket.AF_INET
    connection = _socket.socket(family, _socket.SOCK_STREAM)
    try:
        connection.settimeout(_TIMEOUT_S)
        connection.connect((host, port))
        connection.sendall(_REQUEST)
        answer = b""
        while len(answer) < 4 + len(_ANSWER):
            chunk = connection.recv(4 + len(_ANSWER) - len(answer))
            if not chunk:
                raise OSError("it closed the connection")
            answer += chunk
    finally:
        connection.close()
    if answer[4:] != _ANSWER:
        raise OSError(f"it answered {answer.hex()}")


def main(path: str = _ADDRESS_FILE) -> int:
    """Print one line if the broker does not answer.

    Returns:
        The exit code as Docker wants it: 0 for healthy, 1 for not.
    """
    try:
        with open(path, encoding="ascii") as file:
            address = file.read()
    except FileNotFoundError:
        address = _DEFAULT_ADDRESS
    host, _, port = address.rpartition(":")
    host = host.strip("[]")
    try:
        ask(_LOOPBACK.get(host, host), int(port))
    except OSError as error:
        os.write(1, f"no answer from {address}: {error}\n".encode())
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
