r"""A condition on a JSON value, in the query language JMESPath: `customer.id`, ``total > `10` ``.

It holds if the result is not one that JMESPath calls false: null, false, an empty text, list or
object. Names and texts that the value needs for that are looked for in bytes before anything is
decoded. JSON may write any character as `\uXXXX`, so bytes with such an escape are never passed
over.
"""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from broker_lite.errors import SettingsError

_ESCAPE: Final = b"\\u"
_LITERAL_CHARACTERS: Final = " -_.:@"
_PATHS: Final = frozenset(
    {
        "current",
        "field",
        "filter_projection",
        "flatten",
        "identity",
        "index",
        "index_expression",
        "projection",
        "slice",
        "subexpression",
        "value_projection",
    }
)
_Node = dict[str, Any]


class JsonCondition:
    """A compiled expression; it can be pickled.

    Attributes:
        expression: as the user wrote it.
        needed: texts that the bytes of every value for which it holds have.
    """

    def __init__(self, expression: str) -> None:
        """Compile an expression.

        Raises:
            SettingsError: it is not one.
        """
        # takes 40 ms to import, which commands without such a condition do not pay
        import jmespath
        from jmespath.exceptions import JMESPathError
        from jmespath.visitor import TreeInterpreter

        class Interpreter(TreeInterpreter):  # type: ignore[misc]
            """Compares a text with a number by null, as JMESPath's specification has it."""

            def visit_comparator(self, node: _Node, value: object) -> object:
                try:
                    return super().visit_comparator(node, value)
                except TypeError:
                    return None

        try:
            self._compiled = jmespath.compile(expression)
        except (JMESPathError, RecursionError) as error:
            reason = (str(error).splitlines() or ["it is empty"])[0]
            raise SettingsError(f"--json {expression}: no JMESPath expression: {reason}") from error
        self._interpreter = Interpreter()
        self._error = JMESPathError
        self._decode = msgspec.json.Decoder().decode
        self.expression = expression
        self.needed = tuple({text.encode() for text in _needed(self._compiled.parsed)})

    def __reduce__(self) -> tuple[type["JsonCondition"], tuple[str]]:  # type: ignore[explicit-override]
        return JsonCondition, (self.expression,)

    def __eq__(self, other: object) -> bool:  # type: ignore[explicit-override]
        return isinstance(other, JsonCondition) and other.expression == self.expression

    def __hash__(self) -> int:  # type: ignore[explicit-override]
        return hash(self.expression)

    def allows(self, content: bytes) -> bool:
        """Tell whether it can hold for a value within bytes."""
        return all(text in content for text in self.needed) or _ESCAPE in content

    def holds(self, value: bytes | None) -> bool:
        """Tell whether it holds for a value; never for one that is not JSON."""
        if value is None or not self.allows(value):
            return False
        try:
            result = self._interpreter.visit(self._compiled.parsed, self._decode(value))
        except (
            msgspec.DecodeError,
            RecursionError,
            ArithmeticError,
            TypeError,
            ValueError,
            self._error,
        ):
            return False  # no JSON, or of a type or a size that a function does not take
        return not (result is None or result is False or result in ("", [], {}))


def _needed(node: _Node) -> Iterator[str]:
    """Yield names and texts without which the result of an expression is null, false or empty.

    Only paths, comparisons of a path with a literal, and `&&` of these are looked into.
    """
    children = node["children"]
    if _is_path(node):
        yield from _names(node)
    elif node["type"] == "and_expression":
        for child in children:
            yield from _needed(child)
    elif node["type"] == "comparator" and node["value"] == "eq":
        paths = [each for each in children if _is_path(each)]
        literals = [each["value"] for each in children if each["type"] == "literal"]
        # a path to nothing may be an empty list, but no number and no text
        if paths and literals and isinstance(literals[0], str | int | float):
            yield from _names(paths[0])
            if isinstance(literals[0], str) and _is_plain(literals[0]):
                yield literals[0]


def _is_path(node: _Node) -> bool:
    """Tell whether a node only leads to values, and so to none if one of its names is missing."""
    return node["type"] in _PATHS and all(map(_is_path, _steps(node)))


def _names(path: _Node) -> Iterator[str]:
    if path["type"] == "field" and _is_plain(path["value"]):
        yield path["value"]
    for step in _steps(path):
        yield from _names(step)


def _steps(path: _Node) -> list[_Node]:
    """Return the parts of a path; the condition of a filter is none, nor are numbers of a slice."""
    children: list[_Node] = path["children"]
    if path["type"] == "slice":
        return []
    return children[:2] if path["type"] == "filter_projection" else children


def _is_plain(text: str) -> bool:
    """Tell whether JSON writes a text as it is, or with escapes of four digits."""
    return all(each.isascii() and (each.isalnum() or each in _LITERAL_CHARACTERS) for each in text)
