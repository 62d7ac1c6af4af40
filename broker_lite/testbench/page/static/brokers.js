// Brokers, connections with who waits for whom, and what clients do badly.

import { useState } from "preact/hooks";
import { Empty, Table, Told, Trouble, ask, bytesText, count, html, part, plain, useAction, usePolled } from "./base.js";

const CHANGES = [
  ["up", "Bring up"],
  ["stopped", "Stop"],
  ["down", "Crash"],
  ["hung", "Hang"],
];
const SHOWN = 200;

export function Brokers() {
  const brokers = usePolled("/v1/brokers", 1000);
  const { told, run } = useAction();
  const change = (id, state, word) =>
    run(`${word} broker ${id}`, async () => {
      await ask("PATCH", `/v1/brokers/${id}`, { state });
      await brokers.refresh();
    });
  const all = (what, path) =>
    run(what, async () => {
      await ask("POST", path, {});
      await brokers.refresh();
    });
  const several = (brokers.value || []).length > 1;
  return html`
    <h1>Brokers</h1>
    <div class="bar">
      ${several ? html`<button type="button" onClick=${() => all("Rolling restart", "/v1/cluster/roll")}>Restart one after the other</button>` : null}
      <button type="button" onClick=${() => all("Heal", "/v1/cluster/heal")}>Bring all back</button>
      <${Told} told=${told} />
    </div>
    <${Trouble} error=${brokers.error} />
    <${Table} label="Brokers" heads=${["Broker", "State", "In the cluster", "Rack", "Connections", "Actions"]}>
      ${(brokers.value || []).map(
        (each) => html`
          <tr key=${each.id}>
            <td class="number">${each.id}</td>
            <td><span class=${`tag state ${each.state === "up" ? "fine" : "busy"}`}>${each.state}</span></td>
            <td>${each.fenced ? "fenced" : "yes"}</td>
            <td>${each.rack === null ? "" : plain(each.rack, 60)}</td>
            <td class="number">${each.connections}</td>
            <td class="tools">${CHANGES.filter(([state]) => (state === "up") !== (each.state === "up")).map(([state, word]) => html`<button type="button" onClick=${() => change(each.id, state, word)} aria-label=${`${word} broker ${each.id}`}>${word}</button>`)}</td>
          </tr>
        `,
      )}
    </${Table}>
    <${Leaders} />
    <${Connections} />
    <${Habits} />
    <${Security} />
  `;
}

function Leaders() {
  const topics = usePolled("/v1/topics?limit=20", 5000);
  const [name, setName] = useState("");
  const chosen = name || (topics.value && topics.value.length ? topics.value[0].name : "");
  const topic = usePolled(chosen ? `/v1/topics/${part(chosen)}` : null, 2000);
  if (!chosen) return null;
  return html`
    <h2>Leaders</h2>
    <label>Topic
      <select value=${chosen} onChange=${(event) => setName(event.target.value)}>
        ${(topics.value || []).map((each) => html`<option value=${each.name} selected=${each.name === chosen}>${plain(each.name, 80)}</option>`)}
      </select>
    </label>
    <p class="leaders">
      ${topic.value ? topic.value.offsets.slice(0, 200).map((each) => html`<span class=${`tag hue-${(each.leader + 8) % 8} ${each.leader < 0 ? "bad" : ""}`}>${each.partition}: ${each.leader < 0 ? "no leader" : `broker ${each.leader}`}</span> `) : null}
    </p>
  `;
}

const percent = (share) => `${Math.round(100 * share)} %`;

const WAITS = [
  ["not_asking", "does not ask"],
  ["not_reading", "does not read"],
  ["on_network", "on the network"],
  ["nothing_to_give", "nothing to give"],
  ["throttled", "throttled"],
  ["at_broker", "the broker works"],
];

// The browser's own look takes a second in which the broker is watched.
function Connections() {
  const { value, error } = usePolled("/v1/limits?window_ms=1000", 1500);
  const { told, run } = useAction();
  const reset = (id) => run(`Reset ${id}`, () => ask("DELETE", `/v1/connections/${id}`));
  const all = value ? value.connections : [];
  return html`
    <h2>Connections: who waits for whom</h2>
    <${Trouble} error=${error} />
    <${Told} told=${told} />
    ${value ? html`<p class="note">In the last ${value.seconds.toFixed(1)} s the broker's loop was busy ${percent(value.loop_busy)}, its threads ${percent(value.threads_busy)}.</p>` : null}
    ${value && !all.length
      ? html`<${Empty}><p>No client is connected.</p></${Empty}>`
      : html`
          <ul class="legend" aria-label="Colors of the bars">${WAITS.map(([name, words]) => html`<li><span class=${`block ${name}`}></span> ${words}</li>`)}</ul>
          <${Table} label="Connections" heads=${["Conn.", "Client", "Requests/s", "In", "Out", "Where the time goes", "The limit", "Actions"]}>
            ${all.slice(0, SHOWN).map(
              (each) => html`
                <tr key=${each.id}>
                  <td><a href="#/live">${each.id}</a></td>
                  <td>${plain(each.software || each.client, 50)}<small> ${each.client}</small></td>
                  <td class="number">${Math.round(each.requests / value.seconds).toLocaleString("en")}</td>
                  <td class="number">${bytesText(each.in_bytes / value.seconds)}/s</td>
                  <td class="number">${bytesText(each.out_bytes / value.seconds)}/s</td>
                  <td><${Bar} shares=${each} /></td>
                  <td class="wide"><strong>${each.limit}</strong><p class="note">${each.sentence}</p></td>
                  <td><button type="button" onClick=${() => reset(each.id)} aria-label=${`Reset connection ${each.id}`}>Reset</button></td>
                </tr>
              `,
            )}
          </${Table}>
          ${all.length > SHOWN ? html`<p class="note">${count(all.length - SHOWN, "more connection")} not shown.</p>` : null}
        `}
  `;
}

function Bar({ shares }) {
  const told = WAITS.map(([name, words]) => `${words} ${percent(shares[name])}`).join(", ");
  return html`
    <svg class="bars" viewBox="0 0 100 10" preserveAspectRatio="none" role="img" aria-label=${told}>
      ${WAITS.map(([name], index) => {
        const before = WAITS.slice(0, index).reduce((sum, [other]) => sum + shares[other], 0);
        return html`<rect class=${name} x=${100 * before} y="0" width=${100 * shares[name]} height="10"><title>${told}</title></rect>`;
      })}
    </svg>
  `;
}

function Habits() {
  const { value, error } = usePolled("/v1/requests/lint", 5000);
  return html`
    <h2>What clients do badly</h2>
    <${Trouble} error=${error} />
    ${value && !value.length
      ? html`<${Empty}><p>Nothing was found in the requests that are recorded.</p></${Empty}>`
      : (value || []).map(
          (each) => html`
            <section class=${`finding ${each.severity}`}>
              <h3><span class="tag">${each.severity}</span> ${each.rule} <small>${plain(each.client, 60)}, ${count(each.count, "time")}</small></h3>
              <p>${plain(each.what, 400)}</p>
              <p class="note">${plain(each.why, 400)}</p>
              <p>${plain(each.fix, 400)}</p>
            </section>
          `,
        )}
  `;
}

function Security() {
  const { value } = usePolled("/v1/security", 10_000);
  if (!value || value.protocol === "PLAINTEXT") return null;
  return html`
    <h2>Security</h2>
    <p>Clients reach <code>${value.bootstrap}</code> over ${value.protocol}${value.mechanisms.length ? `, mechanisms ${value.mechanisms.join(", ")}` : ""}.</p>
    ${value.users.length ? html`<p>Users: ${value.users.map((each) => html`<span class="tag">${plain(each.name, 60)} / ${plain(each.password, 60)}${each.is_super ? ", super user" : ""}</span> `)}</p>` : null}
    <p>Settings for clients: <a href="/v1/security/client.properties">client.properties</a>, <a href="/v1/security/librdkafka.json">librdkafka.json</a>, <a href="/v1/security/ca.pem">ca.pem</a></p>
  `;
}

