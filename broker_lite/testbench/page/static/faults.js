// Rules in force, ready-made ones, and scripts.

import { useState } from "preact/hooks";
import { CopyButton, Empty, Table, Told, Trouble, ask, html, part, plain, useAction, usePolled } from "./base.js";
import { ruleAsCurl, ruleAsPytest } from "./copies.js";

const READY = [
  ["Leader moved", "Two produce requests are told to look for the new leader.", { keys: ["Produce"], error: "NOT_LEADER_OR_FOLLOWER", count: 2 }],
  ["Lost acknowledgement", "Records are written, and the connection closes instead of an answer.", { keys: ["Produce"], drop: "after" }],
  ["Hold produce", "Produce requests wait until they are released.", { keys: ["Produce"], hold: true, count: -1 }],
  ["Slow broker", "Every answer comes 500 ms later.", { delay_ms: 500, count: -1 }],
  ["Throttled", "Answers of Produce and Fetch tell a throttle time of a second.", { keys: ["Produce", "Fetch"], throttle_ms: 1000, count: 10 }],
  ["Connection reset", "The next request of a client ends its connection by a reset.", { drop: "before", reset: true }],
  ["Broken batch", "A fetched batch has a wrong CRC.", { keys: ["Fetch"], poison: "bad-crc" }],
  ["Half an answer", "A Fetch answer ends after 40 bytes.", { keys: ["Fetch"], cut_at: 40 }],
  ["Coordinator loading", "The group coordinator is not ready, three times.", { keys: ["JoinGroup", "OffsetCommit", "OffsetFetch", "Heartbeat", "ConsumerGroupHeartbeat"], error: "COORDINATOR_LOAD_IN_PROGRESS", count: 3 }],
  ["Rebalance at a commit", "A commit is refused because the group rebalances.", { keys: ["OffsetCommit"], error: "REBALANCE_IN_PROGRESS" }],
  ["Fenced producer", "A transaction ends because another producer has the id.", { keys: ["EndTxn"], error: "PRODUCER_FENCED" }],
  ["Disk full", "The next batch cannot be written.", { disk: "write", errno: "ENOSPC" }],
];

export function Faults() {
  const faults = usePolled("/v1/faults", 1000);
  const scripts = usePolled("/v1/scripts", 2000);
  const { told, run } = useAction();
  const [text, setText] = useState("");
  const change = (what, method, path, body) =>
    run(what, async () => {
      await ask(method, path, body);
      await faults.refresh();
      await scripts.refresh();
    });
  const all = faults.value || [];
  const put = (event) => {
    event.preventDefault();
    run("Put in force", async () => {
      await ask("POST", "/v1/faults", JSON.parse(text));
      await faults.refresh();
    });
  };
  return html`
    <h1>Faults</h1>
    <div class="bar">
      <button type="button" onClick=${() => change("Remove all", "DELETE", "/v1/faults")} disabled=${!all.length && !(scripts.value || []).length}>Remove all</button>
      <${Told} told=${told} />
    </div>
    <${Trouble} error=${faults.error} />
    ${faults.value && !all.length
      ? html`<${Empty}><p>No rule is in force: the broker does as Kafka would.</p><p>Take a ready-made one below, or copy a request of <a href="#/live">Live</a> as a rule.</p></${Empty}>`
      : html`
          <${Table} label="Rules in their order" heads=${["Rule", "What it does", "Hits", "Left", "Held", "Actions"]}>
            ${all.map((each) => html`<${RuleRow} key=${each.id} fault=${each} change=${change} />`)}
          </${Table}>
        `}
    <h2>Ready-made</h2>
    <ul class="cards">
      ${READY.map(
        ([name, what, rule]) => html`
          <li>
            <h3>${name}</h3>
            <p>${what}</p>
            <p class="tools">
              <button type="button" class="main" onClick=${() => change(name, "POST", "/v1/faults", rule)} aria-label=${`Put in force: ${name}`}>Put in force</button>
              <button type="button" onClick=${() => setText(JSON.stringify(rule, null, 2))} aria-label=${`Edit: ${name}`}>Edit</button>
            </p>
          </li>
        `,
      )}
    </ul>
    <h2>Your own</h2>
    <form onSubmit=${put} class="produce">
      <label for="rule">A rule as JSON, as <code>POST /v1/faults</code> takes it</label>
      <textarea id="rule" rows="6" spellcheck="false" value=${text} placeholder='{"keys": ["Produce"], "topic": "orders", "error": "REQUEST_TIMED_OUT"}' onInput=${(event) => setText(event.target.value)}></textarea>
      <button class="main" disabled=${!text.trim()}>Put in force</button>
    </form>
    <h2>Scripts</h2>
    <${Trouble} error=${scripts.error} />
    ${scripts.value && !scripts.value.length
      ? html`<${Empty}><p>No script runs. <code>broker-lite serve --script FILE</code> and <code>POST /v1/scripts</code> start one.</p></${Empty}>`
      : (scripts.value || []).map(
          (each) => html`
            <details key=${each.id} class="script">
              <summary>${plain(each.name || each.id)} <span class="tag">${plain(stateOfScript(each))}</span></summary>
              <pre>${JSON.stringify(each, null, 2)}</pre>
              <button type="button" onClick=${() => change("End the script", "DELETE", `/v1/scripts/${part(each.id)}`)}>End</button>
            </details>
          `,
        )}
  `;
}

const stateOfScript = ({ outcome, steps, steps_done: done }) => (outcome.ok ? "all done" : outcome.is_final ? "failed" : `${done} of ${steps.length} steps`);

function RuleRow({ fault, change }) {
  const { id, rule } = fault;
  const shown = JSON.stringify(rule, null, 1).replace(/\s*\n\s*/g, " ");
  const path = `/v1/faults/${part(id)}`;
  return html`
    <tr>
      <td>${plain(id, 60)}</td>
      <td class="wide">
        <code>${plain(shown, 400)}</code>
        ${fault.near.map((each) => html`<p class="note">Nearly: ${plain(each, 300)}</p>`)}
        ${(fault.reasons || []).map((each) => html`<p class="bad">Could not act: ${plain(each, 300)}</p>`)}
      </td>
      <td class="number">${fault.hits}</td>
      <td class="number">${fault.left < 0 ? "all" : fault.left}</td>
      <td class="number">${fault.held}</td>
      <td class="tools">
        ${fault.held ? html`<button type="button" class="main" onClick=${() => change(`Release ${id}`, "POST", `${path}/release`, {})}>Release</button>` : null}
        <button type="button" onClick=${() => change(`Remove ${id}`, "DELETE", path)} aria-label=${`Remove ${plain(id)}`}>Remove</button>
        <${CopyButton} text=${ruleAsPytest(rule)}>Copy as pytest</${CopyButton}>
        <${CopyButton} text=${ruleAsCurl(rule)}>Copy as curl</${CopyButton}>
      </td>
    </tr>
  `;
}
