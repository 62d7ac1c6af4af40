"""`python -m broker_lite` is `broker-lite`."""

import sys
from typing import Final

_INTERRUPTED: Final = 130


def main() -> int:
    """Run the command line and return its exit code; Ctrl-C is heard from the first import on."""
    try:
        from broker_lite.cli import main as run

        return run()
    except KeyboardInterrupt:
        return _INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
