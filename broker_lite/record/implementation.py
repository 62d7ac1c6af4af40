"""Which of its two forms the record scan has in this process."""

from broker_lite.record import scan


def scan_implementation() -> str:
    """Give "native" when scan.py was compiled in place, "python" when it runs as it is."""
    return "python" if str(scan.__file__).endswith((".py", ".pyc")) else "native"
