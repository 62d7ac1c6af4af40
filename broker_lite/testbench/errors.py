"""What the control API answers when it cannot do what it is told."""

from collections.abc import Sequence


class ControlError(Exception):
    """A request of the control API is wrong, or cannot be carried out now.

    Attributes:
        status: the HTTP status: 400, 401, 404, 405, 408, 409, 413 or 503.
        text: one line for a person.
        at: the place in the request that is wrong, such as "rules[0].error"; may be empty.
        found: what is there instead, for a wait that timed out.
        allowed: the methods that a path has, for 405.
    """

    def __init__(
        self,
        status: int,
        text: str,
        at: str = "",
        found: object = None,
        *,
        allowed: Sequence[str] = (),
    ) -> None:
        super().__init__(text)
        self.status = status
        self.text = text
        self.at = at
        self.found = found
        self.allowed = allowed
