"""The error of a caller of the test bench, in one line."""


class ControlError(Exception):
    """A call of the test bench that cannot be done.

    Attributes:
        status: as HTTP has it: 400, 404, 408, 409.
        text: one line.
        at: the place in what the caller sent, as "rules[0].error"; empty if it is no single one.
    """

    def __init__(self, status: int, text: str, at: str = "") -> None:
        super().__init__(f"{at}: {text}" if at else text)
        self.status = status
        self.text = text
        self.at = at
