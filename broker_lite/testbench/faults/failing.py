"""The action `error`: an error for the whole request, or for what a rule chooses of it.

What fails is taken out of a request that writes; the handler does the rest, and the failed parts
are added to its answer. Of a request that reads, the handler's answer is changed. If the error is
told though the work was done (`applied`), the handler does all of it.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Final, NamedTuple, TypeAlias

from broker_lite.errors import ErrorCode
from broker_lite.handler.context import Parts, Request
from broker_lite.handler.error_elements import ElementMaker, Key, fields_of, key_of
from broker_lite.handler.error_places import ROWS, TOP_DEFAULTS, Level, Row
from broker_lite.testbench.facts import Facts, session_partitions
from broker_lite.testbench.faults.answers import Answer, changed_request, decoded_request
from broker_lite.testbench.faults.entities import OF_THE_WHOLE, PARTS_FIRST, named_by
from broker_lite.testbench.faults.problems import CannotApply
from broker_lite.testbench.faults.rules import Rule
from broker_lite.testbench.faults.wire_faults import FaultAnswer
from broker_lite.testbench.selectors import Matcher, Named
from broker_lite.wire import messages
from broker_lite.wire.structs import Struct

Run: TypeAlias = Callable[[Request], Awaitable[Parts | None]]

_ERROR: Final = "error_code"
_PRODUCE: Final = 0
_FETCH: Final = 1
_API_VERSIONS: Final = 18


class _Taken(NamedTuple):
    """What was taken out of a request: the keys of its levels, and its position in its array."""

    row: Row
    keys: tuple[Key, ...]
    position: int


class Failing:
    """One request that is answered with an error.

    Attributes:
        is_undone: the handler was not asked to do all of it.
    """

    def __init__(self, rule: Rule, matcher: Matcher, facts: Facts, text: str) -> None:
        """Note what is to fail.

        Args:
            rule: with an error.
            matcher: of the rule.
            facts: of the request.
            text: told as the error's message, where the answer has room for one.
        """
        assert rule.error_code is not None
        self._code: ErrorCode = rule.error_code
        self._rule = rule
        self._matcher = matcher
        self._facts = facts
        self._request = facts.request
        self._text = text
        self._name_of = facts.topic_name
        self.is_undone = not rule.is_applied

    async def answer(self, run: Run) -> Parts | None:
        """Answer the request.

        Args:
            run: calls the handler.

        Raises:
            CannotApply: this request, or its answer, has no place for the error.
        """
        key = self._request.api_key
        if key == _API_VERSIONS and self._code is ErrorCode.UNSUPPORTED_VERSION:
            return [_older_api_versions(self._request.api_version)]
        empty = Answer(self._request)
        rows = self._rows(empty)
        whole = self._is_whole(empty, rows)
        if whole:
            if self._rule.is_applied:
                _must_answer(await run(self._request))
            return self._whole(empty).encoded()
        if not rows:
            raise CannotApply(f"version {self._request.api_version} of its answer has no error")
        if key == _PRODUCE and getattr(self._facts.body, "acks", 1) == 0:
            return await self._unanswered(run, rows)
        if not self._rule.is_applied and rows[0].writes:
            return await self._without(run, rows)
        self.is_undone = False
        request = self._request
        if key == _FETCH:  # Kafka answers at once if a partition has an error
            body = decoded_request(request)
            body.max_wait_ms = 0  # type: ignore[attr-defined]
            request = changed_request(request, body)
        answer = Answer.of(request, await run(request))
        self._change(answer, rows)
        return answer.encoded()

    def _rows(self, empty: Answer) -> list[Row]:
        """Return the rows of the table that count for this request."""
        kind, _ = messages.by_api(self._request.api_key)
        layout = kind.layout(self._request.api_version)
        if layout is None:
            return []
        chosen = self._chosen()
        return [
            row
            for row in ROWS.get(self._request.api_key, ())
            for first in [row.levels[0].request]
            for outer in [next(level.response for level in row.levels if level.response)]
            if (not row.needs or row.needs in chosen)
            and row.unless not in chosen
            and (not first or layout.has_field(kind.name, first))
            and empty.has(empty.body, outer)
        ]

    def _chosen(self) -> set[str]:
        """Return what the rule chooses only some of."""
        if self._rule.top_level:
            return set()
        matcher = self._matcher
        of_each = {"topics": matcher.names_topics, "partitions": matcher.names_partitions}
        return {name for name, is_chosen in of_each.items() if is_chosen}

    def _is_whole(self, empty: Answer, rows: list[Row]) -> bool:
        """True if the error is that of the whole answer."""
        has_top = empty.has(empty.body, _ERROR)
        if self._rule.top_level or self._code in OF_THE_WHOLE:
            if not has_top and not any(row.unless == "topics" for row in rows):
                version = self._request.api_version
                raise CannotApply(f"version {version} of the answer has no error of the whole")
            return has_top
        if not rows:
            return has_top
        is_part = self._matcher.names_topics or self._request.api_key in PARTS_FIRST
        return has_top and not is_part

    def _whole(self, answer: Answer) -> Answer:
        defaults = TOP_DEFAULTS.get(self._request.api_key, {})
        for attribute, value in fields_of(answer.layout, answer.kind.name, defaults).items():
            setattr(answer.body, attribute, value)
        answer.set_error(answer.body, _ERROR, self._code, self._text)
        return answer

    # -- requests that write

    async def _without(self, run: Run, rows: list[Row]) -> Parts | None:
        """Let the handler do the rest of a request, and add what failed to its answer."""
        body, taken = self._rest(rows)
        if not _has_any(body, rows):
            answer = Answer(self._request)
        else:
            parts = await run(changed_request(self._request, body))
            if parts is None:
                return None
            answer = Answer.of(self._request, parts)
        for each in taken:
            self._add(answer, each)
        return answer.encoded()

    async def _unanswered(self, run: Run, rows: list[Row]) -> Parts:
        """Close the connection, which is all that a client is told of an error with acks=0.

        See: P-07.
        """
        body, _ = self._rest(rows)
        if self._rule.is_applied:
            await run(self._request)
        elif _has_any(body, rows):
            await run(changed_request(self._request, body))
        return FaultAnswer(f"{self._text} fails a Produce with acks=0", None).closing()

    def _rest(self, rows: list[Row]) -> tuple[Struct, list[_Taken]]:
        """Return the request without what fails, and what fails.

        Raises:
            CannotApply: nothing of it fails.
        """
        body = decoded_request(self._request)
        taken: list[_Taken] = []
        for row in rows:
            self._take(row, body, row.levels, Named(), (), taken)
        if not taken:
            raise CannotApply("the request names nothing that could fail")
        return body, taken

    def _take(
        self,
        row: Row,
        owner: Struct,
        levels: tuple[Level, ...],
        above: Named,
        keys: tuple[Key, ...],
        taken: list[_Taken],
    ) -> None:
        """Take what fails out of an array and the arrays in it."""
        level, rest = levels[0], levels[1:]
        elements = getattr(owner, level.request) or []
        kept = []
        for position, element in enumerate(elements):
            key = key_of(element, level.request_keys)
            named = named_by(level, above, key, self._name_of)
            if rest:
                before = len(taken)
                self._take(row, element, rest, named, (*keys, key), taken)
                if len(taken) == before or getattr(element, rest[0].request):
                    kept.append(element)
            elif self._matcher.chooses(named):
                taken.append(_Taken(row, (*keys, key), position))
            else:
                kept.append(element)
        if len(kept) < len(elements):
            setattr(owner, level.request, kept)

    def _add(self, answer: Answer, taken: _Taken) -> None:
        """Add what failed to the answer."""
        owner = answer.body
        levels = [level for level in taken.row.levels if level.response]
        keys = taken.keys[len(taken.keys) - len(levels) :]
        for level, key in zip(levels[:-1], keys[:-1], strict=True):
            owner = _find(owner, level, key) or _append(answer, owner, level, key)
        position = taken.position if taken.row.by_position else None
        self._fail(answer, taken.row, _append(answer, owner, levels[-1], keys[-1], position))

    def _fail(self, answer: Answer, row: Row, element: Struct) -> None:
        for attribute, value in row.defaults.items():
            answer.set(element, attribute, value)
        answer.set_error(element, row.error, self._code, self._text)

    # -- requests that read, or whose work is done all the same

    def _change(self, answer: Answer, rows: list[Row]) -> None:
        """Put the error where it belongs in a handler's answer."""
        changed = 0
        for row in rows:
            if row.by_position:
                changed += self._change_by_position(answer, row)
            else:
                levels = tuple(level for level in row.levels if level.response)
                changed += self._change_in(answer, row, answer.body, levels, Named())
        if self._request.api_key == _FETCH and not getattr(answer.body, _ERROR):
            changed += self._add_of_session(answer, rows[0])
            self._forget_told(answer)
        if not changed:
            raise CannotApply("the answer tells nothing of what should fail")

    def _change_in(
        self,
        answer: Answer,
        row: Row,
        owner: Struct,
        levels: tuple[Level, ...],
        above: Named,
    ) -> int:
        level, rest = levels[0], levels[1:]
        elements = getattr(owner, level.response) or []
        changed = 0
        for position, element in enumerate(elements):
            key = key_of(element, level.response_keys)
            named = named_by(level, above, key, self._name_of)
            if rest:
                changed += self._change_in(answer, row, element, rest, named)
            elif self._matcher.chooses(named):
                kept = {name: getattr(element, name, None) for name in level.response_keys}
                known = {name: kept[name] for name in kept if name in element.fields}
                elements[position] = type(element)(**known)
                self._fail(answer, row, elements[position])
                changed += 1
        return changed

    def _change_by_position(self, answer: Answer, row: Row) -> int:
        level = row.levels[0]
        wanted = getattr(decoded_request(self._request), level.request)
        elements = getattr(answer.body, level.response)
        changed = 0
        for position, each in enumerate(wanted[: len(elements)]):
            named = named_by(level, Named(), key_of(each, level.request_keys), self._name_of)
            if self._matcher.chooses(named):
                elements[position] = type(elements[position])()
                self._fail(answer, row, elements[position])
                changed += 1
        return changed

    def _forget_told(self, answer: Answer) -> None:
        """Let the fetch session forget what it told of partitions that fail instead."""
        session = self._facts.context.fetch_sessions.get(getattr(answer.body, "session_id", 0))
        topics: list[Any] = getattr(answer.body, "responses", [])
        for topic in topics if session is not None else ():
            for partition in topic.partitions:
                if session is not None and partition.error_code == self._code:
                    name = topic.topic_id if session.uses_topic_ids else topic.topic
                    session.partitions.tell_again(name, partition.partition_index)

    def _add_of_session(self, answer: Answer, row: Row) -> int:
        """Add the partitions that fail to an answer that leaves them out as unchanged."""
        topics, numbers = row.levels
        added = 0
        for topic, number in session_partitions(self._facts):
            key: Key = (topic, b"") if isinstance(topic, str) else ("", topic)
            named = named_by(topics, Named(partition=number), key, self._name_of)
            if not self._matcher.chooses(named):
                continue
            owner = _find(answer.body, topics, key) or _append(answer, answer.body, topics, key)
            if _find(owner, numbers, (number,)) is None:
                self._fail(answer, row, _append(answer, owner, numbers, (number,)))
                added += 1
        return added


def _older_api_versions(asked: int) -> bytes:
    """Return the answer of a broker that does not know a version of ApiVersions yet.

    It has version 0, and tells the versions that the broker knows.

    See: P-45.
    """
    kind = messages.ApiVersionsResponse
    known = kind.ApiVersion(api_key=_API_VERSIONS, max_version=max(0, asked - 1))
    code = int(ErrorCode.UNSUPPORTED_VERSION)
    return kind.encode(kind(error_code=code, api_keys=[known]), 0)


def _must_answer(parts: Parts | None) -> None:
    if parts is None:
        raise CannotApply("the request has no answer")


def _has_any(body: Struct, rows: list[Row]) -> bool:
    """True if something is left of a request."""
    return any(getattr(body, row.levels[0].request) for row in rows)


def _find(owner: Struct, level: Level, key: Key) -> Struct | None:
    """Return the element of an answer that has the same name; topics have a name or an id."""
    elements: list[Struct] = getattr(owner, level.response) or []
    for element in elements:
        found = key_of(element, level.response_keys)
        if level.kind != "topic":
            if found == key:
                return element
        elif any(map(_is_same_name, found, key)):
            return element
    return None


def _is_same_name(found: object, wanted: object) -> bool:
    """Compare names of topics, or ids; an empty one and the id of zeros are no names."""
    is_name = any(found) if isinstance(found, bytes) else bool(found)
    return is_name and found == wanted


def _append(
    answer: Answer, owner: Struct, level: Level, key: Key, position: int | None = None
) -> Struct:
    """Add an element with a name to an array of an answer, and return it."""
    made = ElementMaker(answer.layout, type(owner).__name__, level).make(key)
    if getattr(owner, level.response) is None:
        setattr(owner, level.response, [])
    elements = getattr(owner, level.response)
    elements.insert(len(elements) if position is None else position, made)
    return made
