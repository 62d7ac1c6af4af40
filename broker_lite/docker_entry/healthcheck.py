"""The image's health check: sends an ApiVersions request to the broker of the same container.

Of several brokers one has to answer: a test may let the others hang or crash.

It runs very often, by its path and without `site`, so it imports only modules that are built into
the interpreter. The broker writes its address to shared memory, which a container can write even if
the rest of its file system is read-only.
"""

import _socket
import os
import sys

_ADDRESS_FILE = "/dev/shm/broker-lite.address"  # noqa: S108 - a wrong address only fails the check
_DEFAULT_ADDRESS = "127.0.0.1:9092"
# for a broker that listens at every address; without IPv6 there is no ::1, but a socket at :: works
_LOOPBACK = {"0.0.0.0": "127.0.0.1", "::": "127.0.0.1"}  # noqa: S104 - not bound here
# in front of an address where TLS is spoken, which cannot be asked for APIs here
_TLS = "tls:"
_TIMEOUT_S = 2.5
_CORRELATION_ID = b"\x00\x00\x00\x01"
# size, ApiVersions, version 0, correlation id, no client id
_REQUEST = b"\x00\x00\x00\x0a\x00\x12\x00\x00" + _CORRELATION_ID + b"\xff\xff"
# correlation id, error code 0; the size in front of them varies
_ANSWER = _CORRELATION_ID + b"\x00\x00"


def tell(address: str, path: str = _ADDRESS_FILE) -> bool:
    """Write HOST:PORT of a ready broker, or of several with commas, for the health check.

    Returns:
        False if it cannot be written; then the health check asks the default port.
    """
    try:
        with open(path, "w", encoding="ascii") as file:
            file.write(address)
    except OSError:
        return False
    return True


def ask(address: str, timeout_s: float) -> None:
    """Ask the broker at HOST:PORT for its APIs.

    Where it speaks TLS, as in tls:HOST:PORT, it only has to notice that a client has gone.

    Raises:
        OSError: there is no broker, or its response is wrong.
    """
    is_tls = address.startswith(_TLS)
    host, _, port = address.removeprefix(_TLS).rpartition(":")
    host = host.strip("[]")
    host = _LOOPBACK.get(host, host)
    family = _socket.AF_INET6 if ":" in host else _socket.AF_INET
    connection = _socket.socket(family, _socket.SOCK_STREAM)
    try:
        connection.settimeout(timeout_s)
        connection.connect((host, int(port)))
        if is_tls:
            connection.shutdown(_socket.SHUT_WR)
            connection.recv(1)
            return
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
    """Print one line if no broker responds.

    Returns:
        Docker's exit code: 0 for healthy, 1 for unhealthy.
    """
    try:
        with open(path, encoding="ascii") as file:
            addresses = file.read()
    except FileNotFoundError:
        addresses = _DEFAULT_ADDRESS
    *others, last = addresses.split(",")
    left_s = _TIMEOUT_S
    for address in others:
        left_s /= 2  # also if it answers sooner
        try:
            ask(address, left_s)
        except OSError:
            continue
        return 0
    try:
        ask(last, left_s)
    except OSError as error:
        os.write(1, f"no answer from {addresses}: {error}\n".encode())
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
