// Metrics that clients push of themselves: who is to push what, who has, and the last values.

import { useState } from "preact/hooks";
import { Empty, Table, Told, Trouble, ask, clock, count, html, lasting, part, plain, queryOf, useAction, usePolled } from "./base.js";

const EVERY_MS = 1000;
const CLIENTS_MAX = 200;
const METRICS_MAX = 500;
const OWN = "page";

export function Metrics({ rest }) {
  if (!rest.length) return html`<${Overview} />`;
  // a client without an id is known by that of its instance
  const query = rest.length > 1 ? { instance_id: rest[1] } : { client_id: rest[0] };
  return html`<${Client} key=${rest.join("/")} query=${query} name=${rest.length > 1 ? `(no name) ${rest[1]}` : rest[0]} />`;
}

function Overview() {
  const subscriptions = usePolled("/v1/telemetry/subscriptions", EVERY_MS);
  // the clients are all told; of their metrics one is enough here
  const clients = usePolled("/v1/telemetry?limit=1", EVERY_MS);
  const { told, run } = useAction();
  const change = (text, method, name, body) =>
    run(text, async () => {
      await ask(method, `/v1/telemetry/subscriptions/${part(name)}`, body);
      await subscriptions.refresh();
    });
  const known = subscriptions.value || [];
  const all = clients.value || [];
  return html`
    <h1>Client metrics</h1>
    <p class="tools">
      <button type="button" class="main" disabled=${known.some((each) => each.name === OWN)} onClick=${() => change("Subscribe to all metrics", "PUT", OWN, { interval_ms: 1000 })}>Subscribe to all metrics</button>
      <${Told} told=${told} />
    </p>
    <${Trouble} error=${subscriptions.error || clients.error} />
    <h2>Subscriptions</h2>
    ${subscriptions.value && !known.length
      ? html`<${Empty}><p>No client is to push metrics.</p><p>A client is told of a subscription when it connects.</p></${Empty}>`
      : html`
          <${Table} label="Subscriptions" heads=${["Name", "Metrics that begin with", "Every", "From clients", "Actions"]}>
            ${known.slice(0, CLIENTS_MAX).map(
              (each) => html`
                <tr key=${each.name}>
                  <th scope="row">${plain(each.name, 80)}</th>
                  <td class="wide">${each.metrics.map((one) => html`<span class="tag">${plain(one)}</span> `)}</td>
                  <td class="number">${lasting(each.interval_ms)}</td>
                  <td class="wide">${each.match.length ? each.match.map((one) => html`<span class="tag">${plain(one)}</span> `) : "all"}</td>
                  <td><button type="button" onClick=${() => change(`Remove ${plain(each.name, 40)}`, "DELETE", each.name)} aria-label=${`Remove ${plain(each.name)}`}>Remove</button></td>
                </tr>
              `,
            )}
          </${Table}>
        `}
    <h2>Clients</h2>
    ${clients.value && !all.length
      ? html`<${Empty}><p>No client has asked what it is to push.</p></${Empty}>`
      : html`
          <${Table} label="Clients" heads=${["Client", "Software", "Address", "Broker", "Pushes", "Last push", "Refused"]}>
            ${all.slice(0, CLIENTS_MAX).map(
              (each) => html`
                <tr key=${`${each.instance_id} ${each.node}`}>
                  <th scope="row"><a href=${`#/metrics/${each.client_id ? part(each.client_id) : `instance/${part(each.instance_id)}`}`}>${plain(each.client_id || "(no name)", 60)}</a><small>${each.instance_id}</small></th>
                  <td>${plain(each.software, 60)}</td>
                  <td class="number">${each.client}</td>
                  <td class="number">${each.node}</td>
                  <td class="number">${each.pushes.toLocaleString("en")}${each.is_ended ? html` <span class="tag">ended</span>` : null}</td>
                  <td class="number">${each.pushed_ms === null ? "none" : clock(each.pushed_ms)}</td>
                  <td class=${`number ${each.refused ? "bad" : ""}`}>${each.refused}${each.last_refusal ? html`<small>${each.last_refusal}</small>` : null}</td>
                </tr>
              `,
            )}
          </${Table}>
        `}
    ${all.length > CLIENTS_MAX ? html`<p class="note">${count(all.length - CLIENTS_MAX, "more client is", "more clients are")} not shown.</p>` : null}
  `;
}

function Client({ query, name }) {
  const [begins, setBegins] = useState("");
  const { value, error } = usePolled(`/v1/telemetry${queryOf({ ...query, metric: begins, limit: METRICS_MAX })}`, EVERY_MS);
  return html`
    <p class="crumbs"><a href="#/metrics">Client metrics</a></p>
    <h1>${plain(name, 249)}</h1>
    <${Trouble} error=${error} />
    <p class="filters">
      <label>Name begins with <input type="search" value=${begins} onInput=${(event) => setBegins(event.target.value)} /></label>
    </p>
    ${value && !value.length ? html`<${Empty}><p>No such client has asked what it is to push.</p></${Empty}>` : null}
    ${(value || []).slice(0, 10).map((each) => html`<${Instance} key=${`${each.instance_id} ${each.node}`} client=${each} />`)}
    ${value && value.length > 10 ? html`<p class="note">${value.length - 10} more clients with this name are not shown.</p>` : null}
  `;
}

function Instance({ client }) {
  const said = Object.entries(client.resource);
  return html`
    <h2>${client.instance_id}</h2>
    <p>${plain(client.software, 60)} at ${client.client}, broker ${client.node}: ${count(client.pushes, "push", "pushes")}${client.refused ? `, ${client.refused} refused (${client.last_refusal})` : ""}, every ${lasting(client.interval_ms)}${client.is_ended ? ", the last one has come" : ""}.</p>
    ${said.length ? html`<p>${said.slice(0, 20).map(([name, text]) => html`<span class="tag">${plain(name, 60)} ${plain(text, 80)}</span> `)}</p>` : null}
    ${client.note ? html`<p class="note">${plain(client.note, 400)}</p>` : null}
    ${client.metrics.length
      ? html`
          <${Table} label=${`Metrics of ${client.instance_id}`} heads=${["Metric", "Labels", "Value", "Kind", "At"]}>
            ${client.metrics.map(
              (each) => html`
                <tr key=${`${each.name} ${JSON.stringify(each.labels)}`}>
                  <th scope="row" class="wide">${plain(each.name, 160)}</th>
                  <td class="wide">${Object.entries(each.labels).map(([name, text]) => html`<span class="tag">${plain(name, 40)} ${plain(text, 60)}</span> `)}</td>
                  <td class="number">${each.value === null ? "no number" : each.value.toLocaleString("en", { maximumFractionDigits: 3 })} ${plain(each.unit, 20)}</td>
                  <td>${each.kind}</td>
                  <td class="number">${clock(each.updated_ms)}</td>
                </tr>
              `,
            )}
          </${Table}>
        `
      : html`<${Empty}><p>It has pushed no such metric.</p></${Empty}>`}
    ${client.metrics.length === METRICS_MAX || client.left_out ? html`<p class="note">There may be more: at most ${METRICS_MAX} metrics are shown${client.left_out ? `, and the broker has left out ${client.left_out}` : ""}.</p>` : null}
  `;
}
