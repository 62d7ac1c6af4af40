"""broker_lite/wire/messages.pyi: what type checkers know of the messages, made from the schemas.

At run time `messages.MetadataRequest` is a MessageType, which makes the structs' classes when they
are used first. The stub shows it as the class of its root struct, with MessageType as its
metaclass: the same calls, the same attributes, and a name to annotate with.
"""

from collections.abc import Iterator

from broker_lite.wire import messages
from broker_lite.wire.schema import Field, catalog, parse, removed_catalog
from tests.tidy.project_files import ROOT

STUB = ROOT / "broker_lite" / "wire" / "messages.pyi"

_HEAD = '''\
"""Every message of the protocol, as type checkers see it.

Made by python -m tests.tidy.generate; messages.py says what it is at run time.
"""

from collections.abc import Generator, Mapping
from typing import Generic, TypeVar, dataclass_transform, overload

from broker_lite.wire.codegen import Layout
from broker_lite.wire.primitives import Buffer
from broker_lite.wire.schema import Field
from broker_lite.wire.structs import Struct

_M = TypeVar("_M", bound=Struct)
_R_co = TypeVar("_R_co", bound=Struct, covariant=True)

# Self types that are narrower than their class are what mypy calls misc: the first overloads are
# for messages that are known, whose struct they tell, the second ones for any.
class MessageType(type):
    name: str
    api_key: int | None
    @property
    def min_version(self) -> int: ...
    @property
    def max_version(self) -> int: ...
    @property
    def flexible_from(self) -> int | None: ...
    @property
    def listeners(self) -> tuple[str, ...]: ...
    @overload
    def decode(  # type: ignore[misc]
        cls: type[_M], data: Buffer, version: int, position: int = 0
    ) -> tuple[_M, int]: ...
    @overload
    def decode(self, data: Buffer, version: int, position: int = 0) -> tuple[Struct, int]: ...
    @overload
    def encode(  # type: ignore[misc]
        cls: type[_M], value: _M, version: int
    ) -> bytes: ...
    @overload
    def encode(self, value: Struct, version: int) -> bytes: ...
    @overload
    def decode_slices(  # type: ignore[misc]
        cls: type[_M], data: Buffer, version: int, position: int, elements_max: int
    ) -> Generator[None, None, tuple[_M, int]]: ...
    @overload
    def decode_slices(
        self, data: Buffer, version: int, position: int, elements_max: int
    ) -> Generator[None, None, tuple[Struct, int]]: ...
    @overload
    def encode_slices(  # type: ignore[misc]
        cls: type[_M], value: _M, version: int
    ) -> Generator[bytes, None, None]: ...
    @overload
    def encode_slices(self, value: Struct, version: int) -> Generator[bytes, None, None]: ...
    def struct_slices(self, value: Struct, version: int) -> Generator[bytes, None, None]: ...
    @property
    def structs(self) -> Mapping[str, tuple[Field, ...]]: ...
    def layout(self, version: int) -> Layout | None: ...

def message(name: str) -> MessageType: ...
def by_api(api_key: int) -> tuple[MessageType, MessageType]: ...
def metadata_record(api_key: int) -> MessageType: ...
def coordinator_record(api_key: int, *, is_key: bool = False) -> MessageType: ...

@dataclass_transform(kw_only_default=True, eq_default=False)
class _Struct(Struct):
    unknown_tags: list[tuple[int, bytes]] | None = ...

class Message(_Struct, metaclass=MessageType):
    """The root struct of any message; for annotations only."""

class Request(Message, Generic[_R_co]):
    """Any request that is answered by an _R_co; for annotations only."""
'''

_TYPES = {
    "bool": "bool",
    "bytes": "bytes",
    "float64": "float",
    "records": "Buffer",
    "string": "str",
    "uuid": "bytes",
    **dict.fromkeys(("int8", "int16", "int32", "int64", "uint16"), "int"),
}


def message_stubs() -> str:
    """The text of the stub."""
    # a base that comes later would leave mypy without the structs in its class: responses first
    names = sorted(catalog(), key=lambda name: (_base(name) != "Message", name))
    lines = (line for name in names for line in _message(name))
    return "\n".join([_HEAD, *lines])


def _message(name: str) -> Iterator[str]:
    structs = messages.message(name).structs
    nullable = _nullable(name)
    yield f"class {name}({_base(name)}):"
    for struct in (*filter(name.__ne__, structs), name):  # its own fields come last
        indent = "    "
        if struct != name:
            yield f"    class {struct}(_Struct):"
            indent = "        "
        for field in structs[struct]:
            null = " | None" if (struct, field.name) in nullable else ""
            yield f"{indent}{field.attribute}: {_annotation(name, field)}{null} = ..."
        if not structs[struct]:
            yield f"{indent}..."
        yield ""


def _base(name: str) -> str:
    """A request knows its response."""
    response = name.removesuffix("Request") + "Response"
    is_request = catalog()[name].type == "request"
    return f"Request[{response}]" if is_request and response in catalog() else "Message"


def _nullable(name: str) -> set[tuple[str, str]]:
    """The fields, with their structs, that can be null in a version of today or a dropped one."""
    entries = (catalog()[name], removed_catalog().get(name))
    return {
        (struct, field.name)
        for entry in entries
        if entry is not None
        for struct, fields in parse(entry).structs.items()
        for field in fields
        if field.nullable or field.default is None
    }


def _annotation(name: str, field: Field) -> str:
    element = f"{name}.{field.element_type}" if field.is_struct else _TYPES[field.element_type]
    return f"list[{element}]" if field.is_array else element
