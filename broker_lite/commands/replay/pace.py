"""When the records of a replay are due: at the gaps of their times, faster, or at a fixed rate."""

import re
from typing import Final

from broker_lite.commands.replay.merging import NO_TIME
from broker_lite.errors import SettingsError

_RATE: Final = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)(x|/s)")


class Pace:
    """Says when each record is due, in seconds since the first one.

    Args:
        text: `original`, `2x` (gaps of half the length), `10000/s` or `max`.
        longest_gap_ms: of time between two records; what is longer counts as so long. None for no
            limit.

    Raises:
        SettingsError: the text is none of these.
    """

    def __init__(self, text: str, longest_gap_ms: int | None = None) -> None:
        match = _RATE.fullmatch("1x" if text == "original" else text)
        number = float(match[1]) if match is not None else 0.0
        if text != "max" and not number:
            raise SettingsError(f"--rate {text}: original, 2x, 10000/s or max is expected")
        self.is_unlimited = text == "max"
        self._step_s = 1 / number if match is not None and match[2] == "/s" else None
        self._ms_per_s = 1000 * number
        self._longest_gap_ms = longest_gap_ms
        self._latest_ms = NO_TIME
        self._passed_ms = 0
        self._count = 0

    def due_s(self, due_ms: int) -> float:
        """Return when the next record is due.

        Args:
            due_ms: its time, not below that of the record in front of it.
        """
        if self.is_unlimited:
            return 0.0
        if self._step_s is not None:
            self._count += 1
            return (self._count - 1) * self._step_s
        if self._latest_ms != NO_TIME:
            gap_ms = due_ms - self._latest_ms
            if self._longest_gap_ms is not None and gap_ms > self._longest_gap_ms:
                gap_ms = self._longest_gap_ms
            self._passed_ms += gap_ms
        self._latest_ms = due_ms
        return self._passed_ms / self._ms_per_s
