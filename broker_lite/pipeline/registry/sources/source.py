"""What a source of schemas has to offer, and which one serves a location."""

from typing import Protocol

from broker_lite.pipeline.registry.settings import RegistrySettings, StoredSchema


class SchemaSource(Protocol):
    """Has schemas, each with everything that it refers to."""

    def by_id(self, schema_id: int) -> StoredSchema:
        """Return the schema of an id.

        Raises:
            UnknownSchema: there is none.
            RegistryDown: the source does not answer.
            UnusableSchema: what it answers is no schema.
        """
        ...

    def latest(self, subject: str) -> StoredSchema:
        """Return the latest schema of a subject; raises as by_id()."""
        ...


def source_of(settings: RegistrySettings) -> SchemaSource:
    """Return the source of a location; nothing is opened yet."""
    # Imported here, so that a folder needs no HTTP.
    if settings.is_url:
        from broker_lite.pipeline.registry.sources.http_source import HttpSource

        return HttpSource(settings)
    from broker_lite.pipeline.registry.sources.folder_source import FolderSource

    return FolderSource(settings.location)
