"""UpdateFeatures (57): raise or lower the levels of features, as kafka-features does.

- v1 adds the upgrade type and validate_only (KIP-778); v2 has no result per feature (KIP-1022).

All changes are made or none. Open connections keep the features that ApiVersions has answered
(T-67).

Not done: timeout_ms, because the answer waits for nothing; allow_downgrade of v0, which Kafka
ignores, too.

Rule: T-67.
"""

from typing import Final

from broker_lite.control.cluster.features import FeatureUpdate, plan_features
from broker_lite.errors import BrokerError
from broker_lite.handler.authorized import check_cluster
from broker_lite.handler.codec import decode, encode
from broker_lite.handler.context import HandlerContext, Parts, Request
from broker_lite.handler.large import in_turns
from broker_lite.security.acls.acl import Operation
from broker_lite.wire import messages

_NONE_MESSAGE: Final = "NONE"


async def handle(context: HandlerContext, request: Request) -> Parts:
    """Change the levels of features.

    Rule: P-150.
    See: P-54, X-60.
    """
    body = decode(messages.UpdateFeaturesRequest, request)
    cluster = context.cluster
    updates = [
        FeatureUpdate(entry.feature, entry.max_version_level, entry.upgrade_type)
        async for entry in in_turns(body.feature_updates)
    ]
    # if a feature is named twice, its last update counts
    last = {update.name: update async for update in in_turns(updates)}
    response = messages.UpdateFeaturesResponse(error_message=None)
    try:
        check_cluster(context, Operation.ALTER)
        supported = {each: cluster.supported_features_of(each) for each in cluster.all_node_ids}
        changed = plan_features(
            cluster.features,
            list(last.values()),
            cluster.node_id,
            supported[cluster.node_id],
            supported,
        )
        if not body.validate_only:
            cluster.update_features(changed)
        result = messages.UpdateFeaturesResponse.UpdatableFeatureResult
        response.results = [  # v2 leaves them out
            result(feature=update.name, error_message=_NONE_MESSAGE)
            async for update in in_turns(updates)
        ]
    except BrokerError as error:
        response.error_code, response.error_message = error.code, error.message
    return encode(messages.UpdateFeaturesResponse, response, request)
