"""ApiVersions (18): which APIs and features this broker has.

The answer lists the APIs that this listener offers: `context.apis`. The dispatcher answers a
request whose version is above ours (P-45).

- v1 adds throttle_time_ms.
- v3 is flexible except for the response's header (P-43). It adds the client's name (KIP-511) and
  the features (KIP-584), but not the features whose lowest level is 0 (KAFKA-17011).
- v4 adds the features whose lowest level is 0.
- v5 checks the cluster id and node id that the client expects (KIP-1242).

Not done: zk_migration_ready, which no broker without ZooKeeper sets.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from broker_lite.control.cluster.features import tells_features
from broker_lite.errors import ErrorCode
from broker_lite.handler.codec import decode, encode
from broker_lite.handler.context import Api, HandlerContext, Parts, Request
from broker_lite.wire import messages

_PRODUCE_KEY: Final = 0
_NAME_SINCE: Final = 3
_ZERO_MINIMUM_SINCE: Final = 4
_CLUSTER_CHECK_SINCE: Final = 5
_NO_NODE: Final = -1
_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


async def handle(context: HandlerContext, request: Request) -> Parts:
    """Answer which APIs and features this broker has.

    Rule: P-46 to P-49.
    """
    body = decode(messages.ApiVersionsRequest, request)
    error = _check(context, body, request.api_version)
    if request.api_version >= _NAME_SINCE and error is not ErrorCode.INVALID_REQUEST:
        context.software = f"{body.client_software_name} {body.client_software_version}"
    if error is not ErrorCode.NONE:
        refusal = messages.ApiVersionsResponse(error_code=int(error))
        return encode(messages.ApiVersionsResponse, refusal, request)
    return encode(messages.ApiVersionsResponse, _response(context, request.api_version), request)


def _check(context: HandlerContext, body: messages.ApiVersionsRequest, version: int) -> ErrorCode:
    """Return the error in what the client says about itself or about the broker that it expects.

    Rule: P-47 (ApiVersionsRequest.isValid), P-48.
    """
    if version >= _NAME_SINCE and not (
        _SOFTWARE.fullmatch(body.client_software_name)
        and _SOFTWARE.fullmatch(body.client_software_version)
    ):
        return ErrorCode.INVALID_REQUEST
    if version >= _CLUSTER_CHECK_SINCE:
        if (body.cluster_id is None) != (body.node_id == _NO_NODE):
            return ErrorCode.INVALID_REQUEST
        expected = (context.cluster.cluster_id, context.node_id)
        if body.cluster_id is not None and (body.cluster_id, body.node_id) != expected:
            return ErrorCode.REBOOTSTRAP_REQUIRED
    return ErrorCode.NONE


def _response(context: HandlerContext, version: int) -> messages.ApiVersionsResponse:
    response = messages.ApiVersionsResponse(api_keys=_api_keys(context.apis))
    if version >= _NAME_SINCE and tells_features(context.settings.emulate):
        _add_features(response, context, version)
    return response


def _api_keys(apis: Mapping[int, Api]) -> list[Any]:
    """Return the ranges of versions, ascending by key.

    The range of Produce always starts at 0, even if version 0 is not served. Otherwise an old
    librdkafka turns features off (KAFKA-18659).

    Rule: P-49, P-50.
    """
    entry = messages.ApiVersionsResponse.ApiVersion
    return [
        entry(
            api_key=key,
            min_version=0 if key == _PRODUCE_KEY else api.min_version,
            max_version=api.max_version,
        )
        for key, api in sorted(apis.items())
    ]


def _add_features(
    response: messages.ApiVersionsResponse, context: HandlerContext, version: int
) -> None:
    """Add the features that brokers of the emulated release know.

    A data directory may come from a Kafka whose feature level is above the levels that are served
    here. Then the answer names the highest level that is served.

    Rule: P-52, P-53.
    See: P-54.
    """
    cluster = context.cluster
    features = cluster.supported_features_of(context.node_id)
    supported = messages.ApiVersionsResponse.SupportedFeatureKey
    finalized = messages.ApiVersionsResponse.FinalizedFeatureKey
    response.supported_features = [
        supported(name=name, min_version=feature.min_level, max_version=feature.max_level)
        for name, feature in features.items()
        if feature.min_level > 0 or version >= _ZERO_MINIMUM_SINCE
    ]
    response.finalized_features_epoch = cluster.features_epoch
    told = {
        name: min(cluster.features.get(name, 0), feature.max_level)
        for name, feature in features.items()
    }
    response.finalized_features = [
        finalized(name=name, min_version_level=level, max_version_level=level)
        for name, level in told.items()
        if level > 0
    ]
