"""The classes of decoded messages: one slotted class per struct, over all its versions."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Final

from broker_lite.wire.schema import Field

# means "not given", because every other value, also None, is a valid argument
_ABSENT: Final = object()


class Struct:
    """A struct of a message: keyword-only arguments, with the schema's defaults.

    The unknown tagged fields of a decoded struct are in unknown_tags (None if there are none), and
    they are encoded again.
    """

    __slots__ = ("unknown_tags",)
    __hash__ = None  # type: ignore[assignment]

    fields: ClassVar[tuple[str, ...]] = ()
    unknown_tags: list[tuple[int, bytes]] | None

    def __eq__(self, other: object) -> bool:  # type: ignore[explicit-override]
        if type(other) is not type(self):
            return NotImplemented
        return (self.unknown_tags or None) == (other.unknown_tags or None) and all(
            getattr(self, name) == getattr(other, name) for name in self.fields
        )

    def __repr__(self) -> str:  # type: ignore[explicit-override]
        values = [f"{name}={getattr(self, name)!r}" for name in self.fields]
        if self.unknown_tags:
            values.append(f"unknown_tags={self.unknown_tags!r}")
        return f"{type(self).__name__}({', '.join(values)})"


class EncodedElements(list[bytes]):
    """The elements of an array of a root struct that are encoded already, each as one piece.

    Encoders take it in place of the structs.
    """

    __slots__ = ()


def make_struct_classes(structs: Mapping[str, Sequence[Field]]) -> dict[str, type[Struct]]:
    """Make the classes of all structs of one message.

    Args:
        structs: the fields of each struct, see MessageSchema.structs.

    Returns:
        The classes by struct name.
    """
    source: list[str] = []
    for name, fields in structs.items():
        source += _constructor_source(name, fields)
    namespace: dict[str, Any] = {"_ABSENT": _ABSENT}
    # Compile first: if Ctrl-C comes while exec() compiles a text, the interpreter remembers it, and
    # ends by the signal later even if the KeyboardInterrupt was handled.
    code = compile("\n".join(source), "<structs>", "exec", dont_inherit=True)
    exec(code, namespace)  # noqa: S102 - the text is made from our own data files
    classes = {
        name: _make_class(name, fields, namespace[f"init_{name}"])
        for name, fields in structs.items()
    }
    namespace.update({f"class_{name}": struct_class for name, struct_class in classes.items()})
    return classes


def _make_class(
    name: str, fields: Sequence[Field], constructor: Callable[..., None]
) -> type[Struct]:
    names = tuple(field.attribute for field in fields)
    constructor.__name__ = "__init__"
    return type(name, (Struct,), {"__slots__": names, "fields": names, "__init__": constructor})


def _constructor_source(name: str, fields: Sequence[Field]) -> list[str]:
    parameters = []
    body = []
    for field in fields:
        attribute = field.attribute
        if field.default == ():
            fresh = fresh_default(field, f"class_{field.element_type}")
            parameters.append(f"{attribute}=_ABSENT")
            body.append(
                f"    self.{attribute} = {fresh} if {attribute} is _ABSENT else {attribute}"
            )
        else:
            parameters.append(f"{attribute}={field.default!r}")
            body.append(f"    self.{attribute} = {attribute}")
    parameters.append("unknown_tags=None")
    body.append("    self.unknown_tags = unknown_tags")
    return [f"def init_{name}(self, *, {', '.join(parameters)}):", *body]


def fresh_default(field: Field, class_name: str) -> str:
    """Return the Python expression that makes a field's default; class_name is its struct."""
    if field.default == ():
        return "[]" if field.is_array else f"{class_name}()"
    return repr(field.default)
