"""The effective settings of each broker: its own, the dynamic ones of all, and its dynamic ones."""

from broker_lite.control.metadata.image import BROKER_RESOURCE, MetadataImage
from broker_lite.settings import Settings
from broker_lite.settings.per_node import settings_of_node

_ALL_BROKERS = ""


class NodeSettings:
    """Settings by node id; each is made when it is first asked for."""

    def __init__(self, settings: Settings, image: MetadataImage) -> None:
        """Remember what is needed.

        Args:
            settings: as given to the process, without dynamic ones.
            image: has the dynamic ones.
        """
        self._given = settings
        self._image = image
        self._static: dict[int, Settings] = {}
        self._effective: dict[int, Settings] = {}

    def of(self, node_id: int) -> Settings:
        """Return the settings of a broker of this process; the same object until they change."""
        found = self._effective.get(node_id)
        if found is None:
            found = self._effective[node_id] = self._make(node_id)
        return found

    def static(self, node_id: int) -> Settings:
        """Return the settings of a broker of this process without dynamic ones."""
        found = self._static.get(node_id)
        if found is None:
            step = node_id - self._given.node_id
            found = self._static[node_id] = settings_of_node(self._given, step)
        return found

    def forget(self) -> None:
        """Read the dynamic settings again when they are next asked for."""
        self._effective.clear()

    def _make(self, node_id: int) -> Settings:
        own = self._image.configs(BROKER_RESOURCE, str(node_id))
        common = self._image.configs(BROKER_RESOURCE, _ALL_BROKERS)
        static = self.static(node_id)
        return static.with_dynamic(own, common) if own or common else static
