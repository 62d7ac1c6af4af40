// A request as a rule, as a test, and as a command that shows it.

const quoted = (text) => JSON.stringify(text);
const word = (name) => name.replace(/[^A-Za-z0-9]+/g, "_").toLowerCase();
const shell = (text) => `'${text.replaceAll("'", `'\\''`)}'`;

// What a rule about requests like this one selects by.
function selectors(request) {
  const found = {};
  if (request.client_id) found.client_id = request.client_id;
  if (request.topics && request.topics.length) [found.topic] = request.topics;
  else if (request.groups && request.groups.length) [found.group] = request.groups;
  else if (request.txn_ids && request.txn_ids.length) [found.txn_id] = request.txn_ids;
  return found;
}

// Names of clients and topics stand for themselves in a selector: * and ? would stand for others.
const literal = (text) => text.replace(/[*?]/g, "?");

const chosen = (request) => Object.fromEntries(Object.entries(selectors(request)).map(([name, text]) => [name, literal(text)]));

const ERRORS = {
  Produce: "NOT_LEADER_OR_FOLLOWER",
  Fetch: "NOT_LEADER_OR_FOLLOWER",
  ListOffsets: "NOT_LEADER_OR_FOLLOWER",
  Metadata: "LEADER_NOT_AVAILABLE",
  FindCoordinator: "COORDINATOR_NOT_AVAILABLE",
};

const actionOf = (request) => (request.errors && request.errors.length ? request.errors[0] : ERRORS[request.api] || "COORDINATOR_LOAD_IN_PROGRESS");

export function asRule(request) {
  return JSON.stringify({ keys: [request.api], ...chosen(request), error: actionOf(request), count: 1 }, null, 2);
}

export function asPytest(request) {
  const given = Object.entries(chosen(request));
  const names = [quoted(request.api), ...given.map(([name, text]) => `${name}=${quoted(text)}`)].join(", ");
  const wanted = quoted(actionOf(request));
  return [
    `def test_${word(request.api)}_is_refused_once(broker):`,
    `    with broker.fault(${names}, error=${wanted}) as fault:`,
    "        ...  # let the client do its work",
    "        fault.wait()",
    `    assert len(broker.requests(${names})) >= 2  # it tried again`,
    "",
  ].join("\n");
}

export function asCurl(request) {
  return `curl -s ${shell(`${location.origin}/v1/requests/${request.id}`)}`;
}

export function ruleAsCurl(rule) {
  return `curl -s -H 'Content-Type: application/json' ${shell(`${location.origin}/v1/faults`)} -d ${shell(JSON.stringify(rule))}`;
}

export function ruleAsPytest(rule) {
  const { keys, ...others } = rule;
  const python = (value) => JSON.stringify(value).replace(/\btrue\b/g, "True").replace(/\bfalse\b/g, "False").replace(/\bnull\b/g, "None");
  const names = Object.entries(others).map(([name, value]) => `${name}=${python(value)}`);
  return `with broker.fault(${[...(keys || []).map(quoted), ...names].join(", ")}) as fault:\n    ...  # let the client do its work\n`;
}
