"""The description of this API for programs."""

import msgspec

from broker_lite.testbench.control.resource import Call, Raw, Resource

_JSON = "application/json"


async def describe(_call: Call) -> Raw:
    """Describe all resources, as an OpenAPI 3.1 document."""
    from broker_lite.testbench.control.table import RESOURCES
    from broker_lite.testbench.http.openapi import document

    return Raw(_JSON, msgspec.json.encode(document(RESOURCES)))


RESOURCES = (Resource("GET", "/openapi.json", describe, answer=Raw),)
