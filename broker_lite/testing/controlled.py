"""What the commands of a broker under test have in common: the control API."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Final

WAIT: Final = timedelta(seconds=30)
"""How long a wait takes at most, if the test does not say."""


class Controlled:
    """A broker that the control API is sent to."""

    def control(
        self, method: str, path: str, body: object = None, *, wait: timedelta = timedelta()
    ) -> object:
        """Send a request of the control API, and return the body of its answer."""
        raise NotImplementedError

    def _control(
        self, method: str, path: str, body: object = None, *, wait: timedelta = timedelta()
    ) -> dict[str, object]:
        """Send a request whose answer is an object."""
        __tracebackhide__ = True
        return members(self.control(method, path, body, wait=wait))


def members(answer: object) -> dict[str, object]:
    """Return an answer that is an object."""
    assert isinstance(answer, dict)
    return answer


def elements(answer: object) -> list[object]:
    """Return an answer that is a list."""
    assert isinstance(answer, list)
    return answer


def in_ms(delta: timedelta) -> float:
    """Return a duration in ms."""
    return delta / timedelta(milliseconds=1)


def given(values: Mapping[str, object]) -> dict[str, object]:
    """Return the values without those that are None."""
    return {name: value for name, value in values.items() if value is not None}
