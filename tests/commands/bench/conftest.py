"""Load from several processes."""

from tests.support.measured_children import measured_children

__all__ = ["measured_children"]
