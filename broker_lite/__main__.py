"""`python -m broker_lite` is `broker-lite`."""

import sys

from broker_lite.cli import main

if __name__ == "__main__":
    sys.exit(main())
