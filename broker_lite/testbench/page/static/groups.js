// Groups with who has what and how far they are, and transactions.

import { useEffect, useRef, useState } from "preact/hooks";
import { Empty, Table, Told, Trouble, ask, clock, count, html, lasting, part, plain, useAction, usePolled } from "./base.js";
import { Chart } from "./chart.js";
import { InFlight } from "./groups-share.js";
import { Tasks } from "./groups-streams.js";

const EVERY_MS = 1000;
const KEPT = 600;

export function Groups({ rest }) {
  return rest.length ? html`<${Group} key=${rest[0]} name=${rest[0]} />` : html`<${Overview} />`;
}

const StateTag = ({ state }) => html`<span class=${`tag state ${/Rebalance|Assigning|Reconciling|Prepare|NotReady/.test(state) ? "busy" : /Stable|Ongoing/.test(state) ? "fine" : ""}`}>${state}</span>`;

function Overview() {
  const groups = usePolled("/v1/groups?limit=500", EVERY_MS);
  const transactions = usePolled("/v1/transactions?limit=500", EVERY_MS);
  const { told, run } = useAction();
  const abort = (id) =>
    run(`Abort ${plain(id, 40)}`, async () => {
      await ask("POST", `/v1/transactions/${part(id)}/abort`, {});
      await transactions.refresh();
    });
  return html`
    <h1>Groups</h1>
    <${Trouble} error=${groups.error} />
    ${groups.value && !groups.value.length
      ? html`<${Empty}><p>There is no group.</p><p>A consumer with a <code>group.id</code> that subscribes makes one.</p></${Empty}>`
      : html`
          <${Table} label="Groups" heads=${["Group", "State", "Type", "Epoch", "Coordinator"]}>
            ${(groups.value || []).map(
              (each) => html`
                <tr key=${each.group}>
                  <td><a href=${`#/groups/${part(each.group)}`}>${plain(each.group)}</a></td>
                  <td><${StateTag} state=${each.state} /></td>
                  <td>${each.type} ${each.protocol_type === "consumer" ? "" : plain(each.protocol_type)}</td>
                  <td class="number">${each.epoch}</td>
                  <td class="number">${each.coordinator}</td>
                </tr>
              `,
            )}
          </${Table}>
        `}
    <h2>Transactions</h2>
    <${Told} told=${told} />
    <${Trouble} error=${transactions.error} />
    ${transactions.value && !transactions.value.length
      ? html`<${Empty}><p>There is no transactional id.</p><p>A producer with a <code>transactional.id</code> that initializes its transactions makes one.</p></${Empty}>`
      : html`
          <${Table} label="Transactions" heads=${["Transactional id", "State", "Producer", "Open for", "Partitions", "Actions"]}>
            ${(transactions.value || []).map(
              (each) => html`
                <tr key=${each.id}>
                  <td>${plain(each.id)}</td>
                  <td><${StateTag} state=${each.state} /></td>
                  <td class="number">${each.producer_id}, epoch ${each.producer_epoch}</td>
                  <td class="number">${each.started_ms > 0 ? lasting(Math.max(0, Date.now() - each.started_ms)) : ""}</td>
                  <td class="wide">${Object.entries(each.topics).map(([topic, numbers]) => html`<span class="tag">${plain(topic, 60)} [${numbers.join(", ")}]</span> `)}</td>
                  <td><button type="button" onClick=${() => abort(each.id)} disabled=${each.state !== "Ongoing"} aria-label=${`Abort ${plain(each.id)}`}>Abort</button></td>
                </tr>
              `,
            )}
          </${Table}>
        `}
  `;
}

// The lag of each look since the page is open.
function useLags(value) {
  const kept = useRef({ times: [], lags: [] });
  const [data, setData] = useState([[], []]);
  useEffect(() => {
    if (!value) return;
    const { times, lags } = kept.current;
    times.push(Date.now() / 1000);
    lags.push(value.lag);
    if (times.length > KEPT) {
      times.shift();
      lags.shift();
    }
    setData([times.slice(), lags.slice()]);
  }, [value]);
  return data;
}

function Group({ name }) {
  const { value, error, refresh } = usePolled(`/v1/groups/${part(name)}`, EVERY_MS);
  const { told, run } = useAction();
  const data = useLags(value);
  const act = (text, method, path) =>
    run(text, async () => {
      await ask(method, `/v1/groups/${part(name)}${path}`, method === "POST" ? {} : undefined);
      await refresh();
    });
  return html`
    <p class="crumbs"><a href="#/groups">Groups</a></p>
    <h1>${plain(name, 249)}</h1>
    <${Trouble} error=${error} />
    ${value
      ? html`
          <p><${StateTag} state=${value.state} /> ${value.type} group, epoch ${value.epoch}, ${count(value.members.length, "member")}, ${count(value.assigned, "partition")} assigned, ${value.lag === null ? "lag not known" : `lag ${value.lag.toLocaleString("en")}`}</p>
          <p class="tools">
            <button type="button" onClick=${() => act("Rebalance", "POST", "/rebalance")} disabled=${!value.members.length}>Rebalance</button>
            <${Told} told=${told} />
          </p>
          ${value.type === "share" ? html`<${InFlight} name=${name} />` : value.type === "streams" ? html`<${Tasks} name=${name} />` : null}
          <${Assignment} group=${value} act=${act} />
          <${Chart} label="Lag since this page was opened" lines=${["records"]} data=${data} />
          <h2>Rebalances and their reasons</h2>
          ${value.history.length
            ? html`<ol class="history" aria-label="Steps, the newest first">${value.history
                .slice()
                .reverse()
                .map((each) => html`<li><span class="time">${clock(each.at_ms)}</span> <span class="tag">${value.type === "classic" ? "generation" : "epoch"} ${each.epoch}</span> ${plain(each.what, 400)}</li>`)}</ol>`
            : html`<p class="note">None since the broker was started, or others have taken their place.</p>`}
        `
      : null}
  `;
}

// A picture of who has what: a row for each partition, a column for each member.
function Assignment({ group, act }) {
  // members of a share group read from the same partitions; only who is shown is looked up
  const members = group.members.slice(0, 40);
  const holders = new Set();
  members.forEach((member, index) => Object.entries(member.assigned).forEach(([topic, numbers]) => numbers.forEach((number) => holders.add(`${topic}-${number} ${index}`))));
  const rows = new Map();
  for (const [topic, some] of Object.entries(group.offsets)) for (const [number, each] of Object.entries(some)) rows.set(`${topic}-${number}`, { topic, number: Number(number), ...each });
  group.members.forEach((member) => Object.entries(member.assigned).forEach(([topic, numbers]) => numbers.forEach((number) => rows.has(`${topic}-${number}`) || rows.set(`${topic}-${number}`, { topic, number, committed: null }))));
  const all = [...rows.entries()].sort(([, one], [, other]) => (one.topic < other.topic ? -1 : one.topic > other.topic ? 1 : one.number - other.number));
  if (!all.length && !members.length) return html`<${Empty}><p>The group has no members and no committed offsets.</p></${Empty}>`;
  return html`
    <h2>Who has what</h2>
    <${Table}
      label="Partitions and members"
      heads=${["Partition", group.type === "share" ? "Start" : "Committed", "End", "Lag", ...members.map((member, index) => html`<span class=${`member hue-${index % 8}`}>${plain(member.client_id || member.id, 24)}</span><small>${plain(member.id, 14)} ${member.host}</small><button type="button" onClick=${() => act(`Kick ${plain(member.client_id, 24)}`, "DELETE", `/members/${part(member.id)}`)} aria-label=${`Kick member ${plain(member.id)}`}>Kick</button>`)]}
    >
      ${all.slice(0, 500).map(
        ([key, each]) => html`
          <tr key=${key}>
            <th scope="row">${plain(each.topic, 60)} ${each.number}</th>
            <td class="number">${each.committed === null || each.committed === undefined ? "none" : each.committed.toLocaleString("en")}</td>
            <td class="number">${each.end === undefined ? "" : each.end.toLocaleString("en")}</td>
            <td class=${`number ${each.lag > 0 ? "lagging" : ""}`}>${each.lag === undefined ? "" : each.lag.toLocaleString("en")}</td>
            ${members.map((_, index) => html`<td class="cell">${holders.has(`${key} ${index}`) ? html`<span class=${`block hue-${index % 8}`}><span class="unseen">has it</span></span>` : ""}</td>`)}
          </tr>
        `,
      )}
    </${Table}>
    ${group.members.length > members.length ? html`<p class="note">${group.members.length - members.length} more members are not shown.</p>` : null}
  `;
}
