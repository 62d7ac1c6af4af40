"""Commands that read what somebody types."""

from tests.support.measured_children import measured_children

__all__ = ["measured_children"]
