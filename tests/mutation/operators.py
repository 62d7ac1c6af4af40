"""Small changes to a module that a test should notice: what a slip of the keyboard would do.

Each mutation is one change of the syntax tree. They are numbered in the order of the source, so a
number names the same one again as long as the module is the same. What no test has to notice is
left alone: annotations, asserts, log lines, texts, what only type checkers read, and sizes and
times that somebody chose for speed or against harm, where one more or less is as good.
"""

import ast
import copy
import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

_COMPARISONS: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_ARITHMETIC: Final[dict[type[ast.operator], type[ast.operator]]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
_NOT_RUN: Final = frozenset(("annotation", "returns", "decorator_list", "type_params"))
_LOGGERS: Final = ("logger.", "logging.", "_log.")
_CHOSEN: Final = re.compile(r"_(MIN|MAX|BYTES|AT_A_TIME|S|MS|NS|SECONDS|ITEMS|SLOTS|COUNT)$")
_CHOSEN_MIN: Final = 8

Replace = Callable[[ast.AST], None]


class Mutation(NamedTuple):
    """One change.

    Attributes:
        line: where it is.
        before: the source that is changed.
        after: what it becomes.
        apply: change the tree that this was made from.
    """

    line: int
    before: str
    after: str
    apply: Callable[[], None]


def mutations(tree: ast.Module) -> list[Mutation]:
    """All mutations of a module, in the order of its source."""
    return [found for node, replace in _places(tree) for found in _of_node(node, replace)]


def mutated(source: str, number: int) -> str:
    """The text of a module after one mutation; comments are lost."""
    tree = ast.parse(source)
    mutations(tree)[number].apply()
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def _places(node: ast.AST) -> Iterator[tuple[ast.AST, Replace]]:
    """Every node that may be changed, with what puts another one in its place."""
    for field, value in ast.iter_fields(node):
        if field in _NOT_RUN:
            continue
        if isinstance(value, list):
            children = [
                (child, _item_setter(value, at))
                for at, child in enumerate(value)
                if isinstance(child, ast.AST)
            ]
        elif isinstance(value, ast.AST):
            children = [(value, _field_setter(node, field))]
        else:
            continue
        for child, replace in children:
            if not _is_left_alone(child):
                yield child, replace
                yield from _places(child)


def _item_setter(items: list[ast.AST], at: int) -> Replace:
    def replace(node: ast.AST) -> None:
        items[at] = node

    return replace


def _field_setter(parent: ast.AST, field: str) -> Replace:
    return lambda node: setattr(parent, field, node)


def _is_left_alone(node: ast.AST) -> bool:
    match node:
        case ast.Assert() | ast.Import() | ast.ImportFrom() | ast.JoinedStr():
            return True
        case ast.Expr(value=ast.Constant()):  # a docstring
            return True
        case ast.Expr(value=ast.Call(func=called)):
            return ast.unparse(called).startswith(_LOGGERS)
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
        case ast.Assign(targets=[ast.Name(id=name)]):
            return name == "__slots__" or name == "logger"
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
            return _CHOSEN.search(name) is not None and _is_chosen(value)
        case ast.FunctionDef(name="__repr__"):
            return True
    return False


def _is_chosen(value: ast.expr) -> bool:
    """Whether it is a number, or made of numbers, and of a size that one more does not change."""
    parts = list(ast.walk(value))
    numbers = [part.value for part in parts if isinstance(part, ast.Constant)]
    return not any(isinstance(part, ast.Name | ast.Call) for part in parts) and all(
        isinstance(number, int | float) and number >= _CHOSEN_MIN for number in numbers[-1:]
    )


def _of_node(node: ast.AST, replace: Replace) -> Iterator[Mutation]:
    if isinstance(node, ast.stmt):
        yield from _of_statement(node, replace)
    elif isinstance(node, ast.expr):
        for other in _instead_of(node):
            yield _mutation(node, other, replace)


def _of_statement(node: ast.stmt, replace: Replace) -> Iterator[Mutation]:
    match node:
        case ast.If(test=test) | ast.While(test=test) if not isinstance(test, ast.Constant):
            yield _mutation(test, _negated(test), _field_setter(node, "test"))
        case ast.Expr(value=ast.Call() | ast.Await()) | ast.Raise():
            yield _mutation(node, ast.Pass(), replace)
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield _mutation(node, ast.Return(ast.Constant(None)), replace)
        case ast.AugAssign(op=op) if type(op) in _ARITHMETIC:
            changed = copy.copy(node)
            changed.op = _ARITHMETIC[type(op)]()
            yield _mutation(node, changed, replace)
        case ast.Break():
            yield _mutation(node, ast.Continue(), replace)
        case ast.Continue():
            yield _mutation(node, ast.Break(), replace)


def _instead_of(node: ast.expr) -> Iterator[ast.expr]:
    match node:
        case ast.Compare(left=left, ops=ops, comparators=comparators):
            for at, op in enumerate(ops):
                others = [*ops[:at], _COMPARISONS[type(op)](), *ops[at + 1 :]]
                yield ast.Compare(left, others, comparators)
        case ast.BoolOp(op=op, values=values):
            yield ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield operand
        case ast.IfExp(test=test, body=body, orelse=other):
            yield ast.IfExp(_negated(test), body, other)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
            yield ast.BinOp(left, _ARITHMETIC[type(op)](), right)
        case ast.Constant(value=bool() as value):
            yield ast.Constant(not value)
        case ast.Constant(value=int() as value):
            yield ast.Constant(value + 1)
            yield ast.Constant(value - 1)


def _mutation(node: ast.expr | ast.stmt, other: ast.AST, replace: Replace) -> Mutation:
    after = ast.unparse(ast.fix_missing_locations(copy.deepcopy(other)))
    return Mutation(node.lineno, ast.unparse(node), after, lambda: replace(other))


def _negated(test: ast.expr) -> ast.expr:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return test.operand
    return ast.UnaryOp(ast.Not(), test)
