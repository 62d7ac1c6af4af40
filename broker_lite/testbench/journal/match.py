"""Compare the journal with what a test expects, in order; tell the first request that is wrong."""

from collections.abc import Callable, Iterable, Sequence
from typing import Generic, TypeVar

import msgspec

from broker_lite.testbench.journal.entry_facts import EntryFacts
from broker_lite.testbench.journal.journal import Journal
from broker_lite.testbench.journal.near import in_words, who
from broker_lite.testbench.journal.render import line
from broker_lite.testbench.selectors import Matcher, Selectors, api_keys
from broker_lite.testbench.turns import Turns

T = TypeVar("T")


class Difference(msgspec.Struct, omit_defaults=True, kw_only=True):
    """Where the journal first differs from what was expected.

    Attributes:
        position: which of the expected requests was not met, from 1 on.
        expected: it in words.
        after: the id of the request that met the expectation before it; left out for none.
        got: the id of the request that came instead; left out if none came.
        why: what of it is wrong.
        text: all of it in one line.
        diff: the expected requests line by line, beside those that came.
    """

    position: int
    expected: str
    text: str
    diff: str
    after: str | None = None
    got: str | None = None
    why: str = ""


class Comparison(msgspec.Struct, omit_defaults=True, kw_only=True):
    """How much of what was expected has come.

    Attributes:
        matched: how many of the expected requests.
        requests: the ids of the requests that met them.
        first_difference: left out if all have come in order.
    """

    matched: int
    requests: list[str] = []
    first_difference: Difference | None = None


class Comparer(Generic[T]):
    """Compares items with expectations in order, one item at a time."""

    def __init__(
        self, expected: Sequence[Callable[[T], bool]], is_other: Callable[[T], bool]
    ) -> None:
        """Expect the first.

        Args:
            expected: tests, one for each item that has to come, in order.
            is_other: a test for items that may come anywhere in between.
        """
        self._expected = expected
        self._is_other = is_other
        self.met: list[T] = []
        self.wrong: T | None = None

    def take(self, item: T) -> bool:
        """Compare the next item; return True if no further item counts."""
        if len(self.met) == len(self._expected):
            return True
        if self._expected[len(self.met)](item):
            self.met.append(item)
            return len(self.met) == len(self._expected)
        if self._is_other(item):
            return False
        self.wrong = item
        return True


class Comparing:
    """A comparison of the entries with what is expected, which can go on when more have come.

    What comes after the last expected request is not looked at.
    """

    def __init__(
        self,
        journal: Journal,
        expected: Sequence[Selectors],
        *,
        others_ok: Iterable[str | int] | None = (),
        after: int = 0,
    ) -> None:
        """Compare nothing yet.

        Args:
            journal: the journal.
            expected: the requests that have to come, in order.
            others_ok: APIs whose requests may come anywhere in between; None for all.
            after: the number of the entry after which to begin.

        Raises:
            ControlError: a selector is wrong.
        """
        self._journal = journal
        self._expected = expected
        self._matchers = [Matcher(each, f"[{number}]") for number, each in enumerate(expected)]
        others = api_keys(others_ok, "others_ok")
        self._comparer = Comparer[EntryFacts](
            [each.matches for each in self._matchers],
            lambda facts: others is None or facts.entry.api_key in others,
        )
        self._after = self._began = after
        self._is_over = False

    async def go_on(self) -> Comparison:
        """Compare the entries that have come since, one after the other; tell what is known now."""
        names = self._journal.topic_names()
        turns = Turns()
        for entry in [] if self._is_over else self._journal.entries(self._after):
            if self._is_over:
                break
            # another caller may have compared entries while this one let others run
            if entry.number > self._after:
                self._after = entry.number
                self._is_over = self._comparer.take(EntryFacts(entry, names))
            await turns.next()
        return self.told()

    def told(self) -> Comparison:
        """Tell what is known of the entries that were compared."""
        expected, met = self._expected, self._comparer.met
        told = Comparison(matched=len(met), requests=[facts.entry.id for facts in met])
        if len(met) < len(expected):
            wrong = self._comparer.wrong
            got = self._none_came() if wrong is None else line(wrong)
            told.first_difference = _difference(expected, self._matchers, met, wrong, got)
        return told

    def _none_came(self) -> str:
        """Tell what came in the place of a request that did not: nothing, or nobody looked."""
        if self._after > self._began:
            return "nothing more"
        recorded = self._journal.recording
        if recorded.recording == "off":
            return "nothing, as requests are not recorded"
        if recorded.keys is not None:
            return f"nothing, as only {', '.join(map(str, recorded.keys))} is recorded"
        return "no request"


async def match(
    journal: Journal,
    expected: Sequence[Selectors],
    *,
    others_ok: Iterable[str | int] | None = (),
    after: int = 0,
) -> Comparison:
    """Compare the entries with what is expected; see Comparing."""
    return await Comparing(journal, expected, others_ok=others_ok, after=after).go_on()


def described(selectors: Selectors) -> str:
    """Return selectors in words: Produce partitions [0]."""
    given = msgspec.to_builtins(selectors)
    keys = given.pop("keys", None)
    words = [" or ".join(map(str, keys)) if keys else "any request"]
    for name, value in given.items():
        if name == "where":
            words += [f"{path} {wanted!r}" for path, wanted in value.items()]
        else:
            words.append(f"{name} {value if isinstance(value, list) else repr(value)}")
    return " ".join(words)


def _difference(
    expected: Sequence[Selectors],
    matchers: Sequence[Matcher],
    met: Sequence[EntryFacts],
    wrong: EntryFacts | None,
    got: str,
) -> Difference:
    position = len(met)
    wanted = described(expected[position])
    after = met[-1].entry.id if met else None
    why = "" if wrong is None else in_words(matchers[position].mismatches(wrong))
    text = f"expected {position + 1}. {wanted}"
    text += f" after {after}" if after else ""
    text += f", got {got}" if wrong is None else f", got {who(wrong)}: {why}"
    lines = [
        f"  {number}. {described(each)}  =  {line(facts)}"
        for number, (each, facts) in enumerate(zip(expected, met, strict=False), 1)
    ]
    lines.append(f"- {position + 1}. {wanted}")
    lines.append(f"+ {got}  ({why})" if why else f"+ {got}")
    lines += [
        f"  {number}. {described(each)}  (not compared)"
        for number, each in enumerate(expected[position + 1 :], position + 2)
    ]
    return Difference(
        position=position + 1,
        expected=wanted,
        after=after,
        got=None if wrong is None else wrong.entry.id,
        why=why,
        text=text,
        diff="\n".join(lines),
    )
