"""One script on one cluster: what is sent to which broker, and what comes back."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Final

from broker_lite.wire import messages
from tests.differential.cluster import Clients, Cluster, Pending
from tests.differential.cluster_addressees import Addressees
from tests.differential.cluster_looks import look
from tests.differential.cluster_requests import CLUSTER_REQUESTS, Known, Led
from tests.differential.cluster_settling import (
    METADATA_VERSION,
    NotSettled,
    Settling,
    first_epochs,
)
from tests.differential.cluster_views import Views
from tests.differential.coordinator_memory import Memory
from tests.differential.coordinator_scene import TRANSACTIONAL_IDS, codes_of
from tests.differential.coordinator_sequence import Step
from tests.differential.coordinator_views import Plain
from tests.differential.group_requests import GROUP_REQUESTS
from tests.differential.kafka_cluster import NODE_IDS
from tests.differential.transaction_requests import TRANSACTION_REQUESTS
from tests.support.raw_client import Closed

RETRY_TIMEOUT_S: Final = 20.0
POLL_S: Final = 0.02
NODE_STEPS: Final = frozenset(
    {"Kill", "Stop", "Pause", "Resume", "Start", "EndSessions", "Unregister"}
)
_LOADING: Final = frozenset({14, 15})
_NOT_COORDINATOR: Final = 16
_CHANGES_TOPICS: Final = frozenset({"CreateTopics", "CreatePartitions", "DeleteTopics"})
_SETTLES: Final = _CHANGES_TOPICS | {
    *("Produce", "DeleteRecords", "EndTxn", "InitProducerId", "WriteTxnMarkers"),
    *("ElectLeaders", "AlterPartitionReassignments", "IncrementalAlterConfigs"),
}
_ENDS_TRANSACTIONS: Final = frozenset({"EndTxn", "InitProducerId"})
_CREATED: Final = 0
_MIN_ISR: Final = "min.insync.replicas"


class Scene:
    """One script on one cluster, whose brokers all run at the start and at the end.

    Args:
        tag: in front of all names of the script.
        start_ms: the time of its first records.
    """

    def __init__(self, cluster: Cluster, clients: Clients, tag: str, start_ms: int) -> None:
        self.name = cluster.name
        self._cluster = cluster
        self._clients = clients
        self._states = dict.fromkeys(NODE_IDS, "up")
        self._min_isr: dict[str, int] = {}
        self._cleared: set[str] = set()
        self._memory = Memory(tag, {})
        self._known = Known(start_ms)
        self._views = Views(cluster.addresses, self._memory.names, first_epochs(clients))
        self._addressees = Addressees(clients, self._memory, self._known)
        self._pending: list[Pending] = []
        # brokers that are gone have not been missed yet
        self._is_early = False

    @property
    def up(self) -> list[int]:
        """The brokers that run."""
        return [node_id for node_id, state in self._states.items() if state == "up"]

    def share_topics(self, topic_ids: Mapping[str, bytes]) -> None:
        """Take the ids of topics that are no script's own."""
        for name, topic_id in topic_ids.items():
            self._memory.learn_topic(name, topic_id)

    def take(self, step: Step) -> Plain:
        """Take one step, and return what came of it."""
        if step.api in NODE_STEPS:
            return self._change_node(step)
        self._refresh()
        if step.api == "Look":
            return look(self._clients, self.up, self._topics(), self._memory.names, self._views)
        node_id = self._addressees.find(step.args["at"], self.up)
        if self._states[node_id] == "paused":
            return {"at": node_id, "answer": "paused"}
        if step.args.get("pending"):
            return {"at": node_id, "answer": self._begin(step, node_id)}
        answer = self._answer(step, node_id)
        if answer is not None and not isinstance(answer, str):
            self._learn(step, answer)
        if step.api in _SETTLES and not self._is_early:
            self._settle(step)
        view = answer if answer is None or isinstance(answer, str) else self._view(step, answer)
        return {"at": node_id, "answer": view}

    def finish(self) -> str | None:
        """Bring all brokers back, give the leaders back, and remove the script's topics.

        Returns:
            In what the cluster had not settled before its topics were removed, None if it had.

        Raises:
            NotSettled: the cluster does not become as it was.
        """
        for pending in self._pending:
            pending.close()
        for node_id, state in self._states.items():
            if state == "paused":
                self._cluster.resume(node_id)
            elif state == "down":
                self._cluster.start(node_id)
            self._states[node_id] = "up"
        missing = None
        try:
            self._wait()
        except NotSettled as error:
            missing = f"{self.name} does not settle: {error}"
        self._cluster.elect_preferred()
        if names := self._removable():
            request = messages.DeleteTopicsRequest(topic_names=names, timeout_ms=10_000)
            self._clients.ask(NODE_IDS[0], request, 5)
        self._min_isr = {}
        self._wait()
        return missing

    def _removable(self) -> list[str]:
        """The topics of the script whose eligible leaders Kafka forgets with them.

        Its controller keeps in mind what ClearElrRecord took away, and those that are there when a
        topic is removed. When such a broker registers after a crash, the controller fails over and
        over: "Topic ID ... existed in isrMembers, but not in the topics map."
        """
        kind = messages.DescribeTopicPartitionsRequest
        request = kind(
            topics=[kind.TopicRequest(name=name) for name in self._min_isr],
            response_partition_limit=2000,
        )
        if not self._min_isr:
            return []
        answer = self._clients.ask(NODE_IDS[0], request, 0)
        return [
            topic.name
            for topic in answer.topics
            if not topic.error_code
            and topic.name not in self._cleared
            and not any(row.eligible_leader_replicas for row in topic.partitions)
        ]

    # -- brokers

    def _change_node(self, step: Step) -> Plain:
        if step.api == "EndSessions":
            self._cluster.let_sessions_end()
            self._is_early = False
            self._wait()
            return self._end_pending()
        node_id = step.args["node"]
        self._clients.forget(node_id)
        if step.api == "Unregister":
            request = messages.UnregisterBrokerRequest(broker_id=node_id)
            return self._views.of(self._clients.ask(self.up[0], request, 0))
        change, state = {
            "Kill": (self._cluster.kill, "down"),
            "Stop": (self._cluster.stop, "down"),
            "Pause": (self._cluster.pause, "paused"),
            "Resume": (self._cluster.resume, "up"),
            "Start": (self._cluster.start, "up"),
        }[step.api]
        change(node_id)
        self._states[node_id] = state
        if step.args.get("early"):
            self._is_early = True
            return None
        if step.api in ("Kill", "Pause"):
            self._cluster.let_sessions_end()
        self._wait()
        return None

    def _wait(self) -> None:
        if self.up:
            Settling(self._clients, self.up, self._min_isr).wait()

    # -- requests

    def _request(self, step: Step) -> Any:
        if step.api in CLUSTER_REQUESTS and "id" not in step.args:
            return CLUSTER_REQUESTS[step.api](step, self._memory, self._known)
        build: Callable[..., Any] = {**GROUP_REQUESTS, **TRANSACTION_REQUESTS}[step.api]
        return build(step, self._memory)

    def _begin(self, step: Step, node_id: int) -> str:
        """Send a request whose answer is only waited for when the sessions have ended."""
        try:
            pending = self._clients.begin(node_id, self._request(step), step.version)
        except ConnectionRefusedError:
            return "refused"
        self._pending.append(pending)
        return "pending"

    def _end_pending(self) -> Plain:
        """What came of the requests that waited."""
        ended, self._pending = self._pending, []
        if not ended:
            return None
        found: list[Plain] = []
        for pending in ended:
            try:
                found.append(self._views.of(pending.end()))
            except (Closed, TimeoutError) as error:
                found.append(type(error).__name__)
        # what they wrote may have to be copied yet
        self._wait()
        return found

    def _answer(self, step: Step, node_id: int) -> Any:
        request = self._request(step)
        try:
            if step.api == "Produce" and step.args["acks"] == 0:
                self._clients.send_without_answer(node_id, request, step.version)
                return "no answer, still open"
            return self._ask_until_loaded(step, node_id, request)
        except ConnectionRefusedError:
            return "refused"
        except Closed:
            return "closed"
        except TimeoutError:
            return "silent"

    def _ask_until_loaded(self, step: Step, node_id: int, request: Any) -> Any:
        """Ask, and again while the coordinator is being loaded or looked for."""
        deadline = time.monotonic() + RETRY_TIMEOUT_S
        waits = self._addressees.is_coordinator(step.args["at"])
        while True:
            answer = self._clients.ask(node_id, request, step.version)
            codes = codes_of(answer)
            # with several keys those of other coordinators are answered so for good
            is_passing = codes & _LOADING or (waits and codes == {_NOT_COORDINATOR})
            if step.api == "FindCoordinator" or not is_passing or time.monotonic() > deadline:
                return answer
            time.sleep(POLL_S)
            if waits:
                node_id = self._addressees.find(step.args["at"], self.up)

    def _view(self, step: Step, answer: Any) -> Plain:
        own = self._memory.tag
        if step.api == "ListGroups":
            answer.groups = [row for row in answer.groups if row.group_id.startswith(own)]
        elif step.api == "ListTransactions":
            answer.transaction_states = [
                row for row in answer.transaction_states if row.transactional_id.startswith(own)
            ]
        elif step.api == "Metadata":
            answer.topics = [
                row for row in answer.topics if row.name is None or row.name.startswith(own)
            ]
        elif step.api == "ElectLeaders":
            rows = answer.replica_election_results
            answer.replica_election_results = [row for row in rows if row.topic.startswith(own)]
        return self._views.of(answer)

    # -- what is known

    def _topics(self) -> list[str]:
        return sorted(self._min_isr)

    def _learn(self, step: Step, answer: Any) -> None:
        if step.api == "CreateTopics" and not step.args["validate"]:
            configs = {name: dict(rest[-1]) for name, *rest in step.args["topics"]}
            created = [row.name for row in answer.topics if row.error_code == _CREATED]
            for name, config in configs.items():
                if self._memory.topic(name) in created:
                    self._min_isr[self._memory.topic(name)] = int(config.get(_MIN_ISR, "1"))
        elif step.api == "IncrementalAlterConfigs":
            name, key, value = step.args["config"]
            if key == _MIN_ISR and answer.responses[0].error_code == 0:
                self._cleared.add(self._memory.topic(name))
                # a smaller one counts for the high watermark from the next append on only
                topic = self._memory.topic(name)
                self._min_isr[topic] = max(self._min_isr.get(topic, 1), int(value or 1))
        elif step.api == "DeleteTopics":
            for name in step.args["topics"]:
                self._min_isr.pop(self._memory.topic(name), None)
        elif step.api not in CLUSTER_REQUESTS or "id" in step.args:
            self._memory.learn(step, answer)

    def _settle(self, step: Step) -> None:
        if step.api in _ENDS_TRANSACTIONS:
            self._wait_for_transactions()
        self._wait()
        if step.api in _CHANGES_TOPICS:
            self._refresh()

    def _wait_for_transactions(self) -> None:
        """Wait until no transaction of the script is being ended (T-50)."""
        kind = messages.DescribeTransactionsRequest
        deadline = time.monotonic() + RETRY_TIMEOUT_S
        for name in TRANSACTIONAL_IDS:
            key = self._memory.own(name)
            with _in_time(deadline) as is_late:
                while not is_late():
                    node_id = self._addressees.find(("coordinator", 1, name), self.up)
                    answer = self._clients.ask(node_id, kind(transactional_ids=[key]), 0)
                    (state,) = answer.transaction_states
                    is_loaded = state.error_code not in (14, 15, 16)
                    if is_loaded and not state.transaction_state.startswith("Prepare"):
                        break
                    time.sleep(POLL_S)

    def _refresh(self) -> None:
        """Ask for the leaders of the script's topics."""
        kind = messages.MetadataRequest
        topics = [kind.MetadataRequestTopic(name=name) for name in self._min_isr]
        request = kind(topics=topics, allow_auto_topic_creation=False)
        with suppress(Closed):
            answer = self._clients.ask(self.up[0], request, METADATA_VERSION)
            self._known.partitions = {
                (topic.name.removeprefix(self._memory.tag), row.partition_index): Led(
                    row.leader_id, row.leader_epoch, tuple(row.replica_nodes)
                )
                for topic in answer.topics
                if topic.error_code == 0
                for row in topic.partitions
            }
            for topic in answer.topics:
                if topic.error_code == 0:
                    self._memory.learn_topic(
                        topic.name.removeprefix(self._memory.tag), topic.topic_id
                    )


@contextmanager
def _in_time(deadline: float) -> Iterator[Callable[[], bool]]:
    """Tell whether a deadline has passed, and fail then."""
    yield lambda: time.monotonic() > deadline
    if time.monotonic() > deadline:
        raise NotSettled("a transaction is still being ended")
