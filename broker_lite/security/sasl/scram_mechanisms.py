"""The mechanisms of SCRAM, and what is required of a credential for one of them."""

from collections.abc import Mapping
from typing import Final

SCRAM_MECHANISMS: Final[Mapping[str, int]] = {"SCRAM-SHA-256": 1, "SCRAM-SHA-512": 2}
"""Their numbers in requests and in the metadata log, by name."""
HASHES: Final[Mapping[int, str]] = {1: "sha256", 2: "sha512"}
"""Names of hash functions, by the number of the mechanism."""
ITERATIONS_MIN: Final = 4096
