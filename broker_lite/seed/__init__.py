"""What is there when a broker is ready: topics and records that its settings ask for.

In: settings, and the files they name. Out: topics in a cluster and records in its logs, written
before the first client is served. A person's error is a SettingsError that names file, line and
field.
"""

from broker_lite.seed.apply import apply

__all__ = ["apply"]
