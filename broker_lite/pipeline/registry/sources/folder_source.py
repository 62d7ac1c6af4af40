"""A folder of schemas: 7.avsc or 7.proto is the schema of the id 7.

ID.avsc and ID.proto belong to ids, SUBJECT.avsc and SUBJECT.proto to subjects. An Avro schema that
uses a type without defining it finds it in FULL.NAME.avsc; a .proto finds its imports below the
folder by their paths.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from broker_lite.pipeline.registry.avro.schema import load_json, used_names
from broker_lite.pipeline.registry.errors import RegistryDown, UnknownSchema, UnusableSchema
from broker_lite.pipeline.registry.settings import Format, StoredSchema

SCHEMA_BYTES_MAX: Final = 8 << 20
REFERENCES_MAX: Final = 1_000
NESTING_MAX: Final = 100

_IMPORT: Final = re.compile(r'^\s*import\s+(?:public\s+|weak\s+)?"([^"]+)"\s*;', re.MULTILINE)
_BUILT_IN: Final = "google/protobuf/"


class FolderSource:
    """Reads schemas from files.

    Args:
        folder: its path.
    """

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder.removeprefix("file://"))

    def by_id(self, schema_id: int) -> StoredSchema:
        """Return the schema of an id; see SchemaSource."""
        return self._schema(str(schema_id))

    def latest(self, subject: str) -> StoredSchema:
        """Return the schema of a subject; see SchemaSource."""
        return self._schema(subject)

    def _schema(self, stem: str) -> StoredSchema:
        avro = self._text(f"{stem}.avsc")
        if avro is not None:
            return StoredSchema(Format.AVRO, avro, self._gathered(avro, self._avro_names))
        proto = self._text(f"{stem}.proto")
        if proto is not None:
            return StoredSchema(Format.PROTOBUF, proto, self._gathered(proto, self._imports))
        if not self._folder.is_dir():
            raise RegistryDown(f"there is no folder {self._folder}")
        raise UnknownSchema(f"{self._folder} has no {stem}.avsc or {stem}.proto")

    def _text(self, name: str) -> str | None:
        """Return the text of a file of the folder; None if there is none."""
        if "\0" in name:
            return None
        path = self._folder / name
        try:
            # A name with .. in it could lead anywhere.
            if not path.resolve().is_relative_to(self._folder.resolve()) or not path.is_file():
                return None
            if path.stat().st_size > SCHEMA_BYTES_MAX:
                raise UnusableSchema(f"{path} is larger than {SCHEMA_BYTES_MAX} bytes")
            return path.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise UnusableSchema(f"{path} is no UTF-8") from error
        except OSError as error:
            raise RegistryDown(f"{path}: {error}") from error

    def _gathered(
        self, text: str, uses: Callable[[str], Iterator[tuple[str, str]]]
    ) -> tuple[tuple[str, str], ...]:
        """Return all that a text refers to, directly or not, those without references first."""
        found: dict[str, str] = {}
        open_names: set[str] = set()

        def visit(text: str, depth: int) -> None:
            if depth == NESTING_MAX:
                raise UnusableSchema(f"its references are nested more than {NESTING_MAX} deep")
            for name, file in uses(text):
                if name in found or name in open_names:
                    continue
                used = self._text(file)
                if used is None:
                    raise UnusableSchema(
                        f"{file} is not in {self._folder}; the schema refers to it"
                    )
                if len(open_names) + len(found) >= REFERENCES_MAX:
                    raise UnusableSchema(f"it refers to more than {REFERENCES_MAX:,} schemas")
                open_names.add(name)
                visit(used, depth + 1)
                found[name] = used

        visit(text, 0)
        return tuple(found.items())

    def _avro_names(self, text: str) -> Iterator[tuple[str, str]]:
        for name in used_names(load_json(text, "the schema")):
            yield name, f"{name}.avsc"

    def _imports(self, text: str) -> Iterator[tuple[str, str]]:
        for path in _IMPORT.findall(text):
            if not path.startswith(_BUILT_IN):
                yield path, path
