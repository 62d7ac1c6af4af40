import pytest

from broker_lite.pipeline.registry.settings import RegistrySettings
from broker_lite.pipeline.registry.sources.folder_source import FolderSource
from broker_lite.pipeline.registry.sources.http_source import HttpSource
from broker_lite.pipeline.registry.sources.source import source_of


@pytest.mark.parametrize(
    ("location", "kind"), [("http://localhost:8081", HttpSource), ("schemas", FolderSource)]
)
def test_which_source_serves_a_location(location: str, kind: type) -> None:
    assert isinstance(source_of(RegistrySettings(location=location)), kind)
