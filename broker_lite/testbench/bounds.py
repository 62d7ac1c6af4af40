"""What a request of the control API may give at most; numbers stand in the OpenAPI document, too.

msgspec reads integers of any size. What goes into a clock, a wait or a list has bounds here.
"""

from typing import Annotated, Final

from msgspec import Meta

LISTED_MAX: Final = 10_000
JSON_BYTES_MAX: Final = 1024 * 1024
"""A JSON text is read in one go: a megabyte takes some 40 ms."""
TIMEOUT_MS_MAX: Final = 3_600_000
_TEN_YEARS_MS: Final = 10 * 365 * 24 * 3_600_000

Limit = Annotated[int, Meta(ge=1, le=LISTED_MAX)]
"""How many elements one answer may have."""

TimeoutMs = Annotated[float, Meta(ge=0, le=TIMEOUT_MS_MAX)]
"""How long a caller waits at most; 0 looks once."""

AdvanceMs = Annotated[int, Meta(ge=0, le=_TEN_YEARS_MS)]
"""How far a clock goes forward."""
