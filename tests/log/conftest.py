"""Fixtures of the log's tests."""

from tests.support.disk import disk

__all__ = ["disk"]
