"""What the control API answers when it cannot do what it is told."""


class ControlError(Exception):
    """A request of the control API is wrong, or cannot be carried out now.

    Attributes:
        status: the HTTP status: 400, 404, 408, 409, 413 or 503.
        text: one line for a person.
        at: the place in the request that is wrong, such as "rules[0].error"; may be empty.
        found: what is there instead, for a wait that timed out.
    """

    def __init__(self, status: int, text: str, at: str = "", found: object = None) -> None:
        super().__init__(text)
        self.status = status
        self.text = text
        self.at = at
        self.found = found
