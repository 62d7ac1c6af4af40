"""Descriptors of Protobuf schemas.

A registry answers the text of a .proto, which protoc compiles: that of grpcio-tools, Google's own
as a wheel, in a process of its own, so that what it says about an error can be read. Clients in
Python register a serialized descriptor, in base64; where a registry gives that back, no compiler is
needed.
"""

import base64
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import as_file, files
from pathlib import Path, PurePosixPath
from typing import Any, Final

from broker_lite.pipeline.registry.errors import UnusableSchema
from broker_lite.pipeline.registry.extras import needed
from broker_lite.pipeline.registry.settings import StoredSchema

MAIN: Final = "the_schema.proto"
COMPILED_MAX: Final = 64
COMPILER_TIMEOUT_S: Final = 60
TEXT_MAX: Final = 300

_BUILT_IN: Final = (
    "any",
    "api",
    "descriptor",
    "duration",
    "empty",
    "field_mask",
    "source_context",
    "struct",
    "timestamp",
    "type",
    "wrappers",
)

FileDescriptorProto = Any
"""A google.protobuf.descriptor_pb2.FileDescriptorProto."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """A compiled schema.

    Attributes:
        pool: a DescriptorPool with all its types.
        names: the full name of each message, by the path of its indexes.
    """

    pool: Any
    names: Mapping[tuple[int, ...], str]


@lru_cache(maxsize=COMPILED_MAX)
def compiled(schema: StoredSchema) -> Compiled:
    """Compile a schema with what it imports.

    Raises:
        UnusableSchema: it is no Protobuf schema; the text has protoc's first line.
        MissingExtra: a library is not installed.
    """
    main = _descriptor_of(schema.text)
    if main is None:
        files = _by_protoc(schema)
        main = files[-1]
    else:
        files = [*_built_in(), *_serialized(schema.references), main]
    pool = needed("google.protobuf.descriptor_pool").DescriptorPool()
    try:
        for file in files:
            pool.AddSerializedFile(file.SerializeToString())
        names = dict(_names((), main.message_type, main.package))
        for name in names.values():
            pool.FindMessageTypeByName(name)
    except (TypeError, KeyError, ValueError) as error:
        raise UnusableSchema(f"no Protobuf schema: {_one_line(str(error))}") from error
    return Compiled(pool, names)


def _names(
    path: tuple[int, ...], messages: Iterable[Any], scope: str
) -> Iterable[tuple[tuple[int, ...], str]]:
    for index, message in enumerate(messages):
        name = f"{scope}.{message.name}" if scope else message.name
        yield (*path, index), name
        yield from _names((*path, index), message.nested_type, name)


def _descriptor_of(text: str) -> FileDescriptorProto | None:
    """Return the descriptor that a text has in base64; None if it is the text of a .proto."""
    made = needed("google.protobuf.descriptor_pb2").FileDescriptorProto()
    try:
        made.ParseFromString(base64.b64decode(text, validate=True))
    except (ValueError, needed("google.protobuf.message").DecodeError):
        return None
    return made if made.name else None


def _serialized(references: Iterable[tuple[str, str]]) -> list[FileDescriptorProto]:
    found = []
    for name, text in references:
        file = _descriptor_of(text)
        if file is None:
            raise UnusableSchema(f"{name} is a text, and the schema that imports it a descriptor")
        file.name = name
        found.append(file)
    return found


def _built_in() -> Iterable[FileDescriptorProto]:
    made = needed("google.protobuf.descriptor_pb2").FileDescriptorProto
    left = [needed(f"google.protobuf.{name}_pb2").DESCRIPTOR for name in _BUILT_IN]
    added: set[str] = set()
    while left:  # each after those that it imports
        file = next(each for each in left if all(d.name in added for d in each.dependencies))
        left.remove(file)
        added.add(file.name)
        yield made.FromString(file.serialized_pb)


def _by_protoc(schema: StoredSchema) -> list[FileDescriptorProto]:
    """Return the descriptors of a text and all that it imports, its own as the last."""
    needed("grpc_tools")
    descriptors = needed("google.protobuf.descriptor_pb2").FileDescriptorSet
    with (
        tempfile.TemporaryDirectory() as folder,
        as_file(files("grpc_tools") / "_proto") as built_in,
    ):
        root, out = Path(folder, "in"), Path(folder, "out")
        for name, text in (*schema.references, (MAIN, schema.text)):
            path = _inside(root, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        _run_protoc(root, str(built_in), out)
        return list(descriptors.FromString(out.read_bytes()).file)


def _inside(root: Path, name: str) -> Path:
    pure = PurePosixPath(name)
    if pure.is_absolute() or ".." in pure.parts or not pure.parts or "\0" in name:
        raise UnusableSchema(f"{name!r} is no name of a .proto that can be imported")
    return root / pure


def _run_protoc(root: Path, built_in: str, out: Path) -> None:
    command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{root}", f"-I{built_in}"]
    command += ["--include_imports", f"--descriptor_set_out={out}", MAIN]
    try:
        ran = subprocess.run(  # noqa: S603, the names of files are checked
            command, capture_output=True, timeout=COMPILER_TIMEOUT_S, check=False, text=True
        )
    except subprocess.TimeoutExpired as error:
        raise UnusableSchema(f"protoc was not done within {COMPILER_TIMEOUT_S} s") from error
    if ran.returncode or not out.exists():
        told = ran.stderr.replace(f"{root}/", "").splitlines()
        # Warnings and lines about its own log may come before the error.
        errors = [line for line in told if ".proto:" in line and "warning:" not in line]
        reason = (errors or told or [f"protoc ended with {ran.returncode}"])[0]
        raise UnusableSchema(f"no Protobuf schema: {_one_line(reason)}")


def _one_line(text: str) -> str:
    return " ".join(text.split())[:TEXT_MAX]
