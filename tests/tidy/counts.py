"""Print how large and how tidy the code is, in numbers to compare before and after a change.

python -m tests.tidy.counts

How things are counted:
lines           of modules in broker_lite by room; code is without comments, docstrings, blank lines
Any             the name in code by room, imports included
batch walkers   modules with a `while` loop that steps a position by a size, and that know of a
                batch's frame (its base offset, or how many bytes it has before the magic)
homes           modules that say `Rule:` of the rule; cited: with any mention of it
request path    modules whose functions run for one request on a warm connection, every one from
                its source (see request_path)
private         attributes with a leading underscore that tests use of something other than self or
                cls, imports of such names, and such names given to monkeypatch.setattr; public
                methods of NamedTuple, functions of the standard library and librdkafka's
                errors are none
setattr         calls of monkeypatch.setattr in tests
"""

import ast
import io
import json
import re
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.tidy.project_files import ROOT, python_files, text_of, tree_of
from tests.tidy.rules import implemented_in
from tests.tidy.specified import Rule, cited_in

_NO_CODE = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE),
    *(tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER),
}
_NOT_PRIVATE = {"_replace", "_asdict", "_fields", "_make", "_exit", "_getframe", "_jvm"}
_WITH_TEXT = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
_POSITION = re.compile(r"(?:^|[._])(?:position|at|end)$")
_SIZE = re.compile(r"(?:size_bytes|needed_bytes|\.length|\bend_position)$")
_FRAME = re.compile(r"\b(?:LOG_OVERHEAD|HEADER_SIZE_UP_TO_MAGIC|FRAME_MIN|base_offset)\b")


def room_of(path: Path) -> str:
    """The folder right below broker_lite, or the module itself."""
    return path.parts[1].removesuffix(".py")


def lines_by_room(paths: Iterable[Path]) -> dict[str, tuple[int, int]]:
    """Lines of code, and all lines."""
    code, every = Counter[str](), Counter[str]()
    for path in paths:
        code[room_of(path)] += code_lines(text_of(path), tree_of(path))
        every[room_of(path)] += text_of(path).count("\n")
    return {room: (code[room], every[room]) for room in sorted(every)}


def code_lines(text: str, tree: ast.Module) -> int:
    """How many lines hold something other than comments and docstrings."""
    found: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _NO_CODE:
            found.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(tree):
        has_text = isinstance(node, _WITH_TEXT)
        if has_text and ast.get_docstring(node, clean=False) is not None:
            docstring = node.body[0]
            found.difference_update(range(docstring.lineno, (docstring.end_lineno or 0) + 1))
    return len(found)


def any_by_room(paths: Iterable[Path]) -> Counter[str]:
    """How often the name Any stands in code."""
    found = Counter[str]()
    for path in paths:
        tokens = tokenize.generate_tokens(io.StringIO(text_of(path)).readline)
        found[room_of(path)] += sum(t.type == tokenize.NAME and t.string == "Any" for t in tokens)
    return found


def batch_walkers(paths: Iterable[Path]) -> list[str]:
    """Functions that step from batch to batch, one of each module."""
    found = {}
    for path in paths:
        if _FRAME.search(text_of(path)):
            for name in stepping(tree_of(path)):
                found.setdefault(path, f"{path.relative_to('broker_lite')} {name}")
    return list(found.values())


def stepping(tree: ast.Module) -> Iterator[str]:
    """The functions with a loop that steps by a size."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            loops = [node for node in ast.walk(function) if isinstance(node, ast.While)]
            if any(_is_step(node) for loop in loops for node in ast.walk(loop)):
                yield function.name


def _is_step(node: ast.AST) -> bool:
    """Whether it is `position += size`, `anything = position + size` or `position = its end`."""
    if isinstance(node, ast.AugAssign):
        parts = _sum_of(node.target) + _sum_of(node.value)
    elif isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp):
        parts = _sum_of(node.value)
    elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Attribute):
        parts = [ast.unparse(node.targets[0]), ast.unparse(node.value)]
    else:
        return False
    return any(map(_POSITION.search, parts)) and any(map(_SIZE.search, parts))


def _sum_of(node: ast.expr) -> list[str]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _sum_of(node.left) + _sum_of(node.right)
    return [ast.unparse(node)]


def rule_counts(paths: Iterable[Path]) -> tuple[Counter[int], Counter[int]]:
    """Of how many rules there is that number of homes, and of modules that cite them."""
    homes, cited = Counter[Rule](), Counter[Rule]()
    for path in paths:
        text = text_of(path)
        cited.update(set(cited_in(text)))
        homes.update(implemented_in(text))
    return Counter(homes[rule] for rule in cited), Counter(cited.values())


def private_uses(paths: Iterable[Path]) -> Counter[str]:
    """How often each file uses what is private to something else."""
    found = Counter[str]()
    for path in paths:
        found[str(path)] += private_uses_in(tree_of(path))
    return +found


def private_uses_in(tree: ast.AST) -> int:
    """How often a module uses what is private to something else."""
    return sum(map(_private_names, ast.walk(tree)))


def _private_names(node: ast.AST) -> int:
    if isinstance(node, ast.Attribute):
        is_own = ast.unparse(node.value) in ("self", "cls") or _is_of_a_client(node.value)
        return int(not is_own and _is_private(node.attr))
    if isinstance(node, ast.ImportFrom):
        return sum(_is_private(name.name) for name in node.names)
    if isinstance(node, ast.Call) and _is_setattr(node):
        texts = [each.value for each in node.args[:2] if isinstance(each, ast.Constant)]
        return sum(_is_private(str(text).rpartition(".")[2]) for text in texts)
    return 0


def _is_of_a_client(node: ast.expr) -> bool:
    """Whether it is the list of librdkafka's errors, whose own ones begin with an underscore."""
    return ast.unparse(node).endswith("KafkaError")


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name not in _NOT_PRIVATE


def setattr_calls(paths: Iterable[Path]) -> Counter[str]:
    """How often each file calls monkeypatch.setattr."""
    found = Counter[str]()
    for path in paths:
        calls = (node for node in ast.walk(tree_of(path)) if isinstance(node, ast.Call))
        found[str(path)] += sum(_is_setattr(call) for call in calls)
    return +found


def _is_setattr(call: ast.Call) -> bool:
    return (
        isinstance(call.func, ast.Attribute)
        and call.func.attr == "setattr"
        and ast.unparse(call.func.value) in ("monkeypatch", "patch")
    )


def request_paths() -> dict[str, list[str]]:
    """The modules that run for a request; see request_path, which needs a process of its own."""
    command = [sys.executable, "-m", "tests.tidy.request_path"]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, list[str]] = json.loads(done.stdout)
    return found


def report() -> Iterator[str]:
    """The lines that are printed."""
    package, tests = python_files("broker_lite"), python_files("tests")
    lines, anys = lines_by_room(package), any_by_room(package)
    yield f"{'room':20} {'code':>7} {'lines':>7} {'Any':>5}"
    for room, (code, every) in lines.items():
        yield f"{room:20} {code:7} {every:7} {anys[room]:5}"
    code_sum, line_sum = (sum(column) for column in zip(*lines.values(), strict=True))
    yield f"{'all':20} {code_sum:7} {line_sum:7} {anys.total():5}"
    folders = Counter(str(path.parent) for path in package if path.name != "__init__.py")
    large = [f"{name} {n}" for name, n in folders.most_common() if n > 20]
    yield f"folders with more than 20 modules: {len(large)} ({', '.join(large)})"
    walkers = batch_walkers(package)
    yield f"batch walkers: {len(walkers)} ({', '.join(walkers)})"
    homes, cited = rule_counts(package)
    yield f"homes per rule (homes: rules): {_histogram(homes)}"
    yield f"modules that cite a rule (modules: rules): {_histogram(cited)}"
    for name, modules in request_paths().items():
        yield f"modules on the path of a {name}: {len(modules)} ({', '.join(modules)})"
    yield f"private attributes used in tests: {_by_room(private_uses(tests))}"
    yield f"monkeypatch.setattr in tests: {_by_room(setattr_calls(tests))}"


def _histogram(counts: Counter[int]) -> str:
    return ", ".join(f"{key}: {counts[key]}" for key in sorted(counts))


def _by_room(by_file: Counter[str]) -> str:
    rooms = Counter[str]()
    for name, count in by_file.items():
        rooms[Path(name).parts[1]] += count
    return f"{rooms.total()} ({', '.join(f'{room} {n}' for room, n in rooms.most_common())})"


if __name__ == "__main__":
    for each in report():
        print(each)
