// What a share group has in flight: partitions with counts by state, and runs of records.

import { Table, Trouble, count, html, lasting, part, plain, queryOf, usePolled } from "./base.js";

const EVERY_MS = 1000;
const RUNS_MAX = 300;
const PARTITIONS_MAX = 200;
const WORDS = { acquired: "acquired", available: "again", acknowledged: "accepted", archived: "archived", waiting: "not yet delivered" };

// records of a batch of which a member was given only some
const wordOf = (run) => (run.state === "available" && !run.delivery_count ? "not yet" : WORDS[run.state] || run.state);
const kindOf = (run) => (run.state === "available" && !run.delivery_count ? "waiting" : run.state);

const number = (value) => (value === null ? "?" : value.toLocaleString("en"));

export function InFlight({ name }) {
  const { value, error } = usePolled(`/v1/groups/${part(name)}/in-flight${queryOf({ limit: RUNS_MAX, partitions: PARTITIONS_MAX })}`, EVERY_MS);
  if (!value) return html`<${Trouble} error=${error} />`;
  const shown = Object.entries(value.partitions).flatMap(([topic, some]) => Object.entries(some).map(([index, each]) => ({ topic, index: Number(index), ...each })));
  const runs = shown.flatMap((each) => each.runs.map((run) => ({ ...run, topic: each.topic, index: each.index })));
  const leftOut = shown.reduce((sum, each) => sum + each.runs_left_out, 0);
  return html`
    <h2>In flight</h2>
    <${Trouble} error=${error} />
    <p>${count(value.in_flight, "record")} in flight. Since the broker was started, members have accepted ${number(value.accepted)}, released ${number(value.released)} and rejected ${number(value.rejected)}.</p>
    <ul class="legend" aria-label="States of records">${Object.entries(WORDS).map(([state, word]) => html`<li><span class=${`block run-${state}`}></span> ${word}</li>`)}</ul>
    <${Table} label="Partitions with records in flight" heads=${["Partition", "Start", "End", "Not done", "Acquired", "Again", "Accepted", "Archived", "From the start on"]}>
      ${shown.map(
        (each) => html`
          <tr key=${`${each.topic}-${each.index}`}>
            <th scope="row">${plain(each.topic, 60)} ${each.index}</th>
            <td class="number">${number(each.start)}</td>
            <td class="number">${number(each.end)}</td>
            <td class=${`number ${each.lag ? "lagging" : ""}`}>${number(each.lag)}</td>
            ${["acquired", "available", "acknowledged", "archived"].map((state) => html`<td class="number">${number(each[state])}</td>`)}
            <td><${Picture} runs=${each.runs} /></td>
          </tr>
        `,
      )}
    </${Table}>
    ${value.partitions_left_out ? html`<p class="note">${count(value.partitions_left_out, "more partition is", "more partitions are")} not shown.</p>` : null}
    ${runs.length
      ? html`
          <h3>Runs of records</h3>
          <${Table} label="Runs of records" heads=${["Partition", "Offsets", "State", "Deliveries", "Member", "Lock"]}>
            ${runs.map(
              (each) => html`
                <tr key=${`${each.topic}-${each.index}-${each.first}`}>
                  <th scope="row">${plain(each.topic, 60)} ${each.index}</th>
                  <td class="number">${each.first === each.last ? number(each.first) : `${number(each.first)} to ${number(each.last)}`}</td>
                  <td><span class=${`block run-${kindOf(each)}`}></span> ${wordOf(each)}</td>
                  <td class="number">${each.delivery_count}</td>
                  <td>${plain(each.member, 40)}</td>
                  <td class="number">${each.lock_ms === null ? "" : lasting(each.lock_ms)}</td>
                </tr>
              `,
            )}
          </${Table}>
        `
      : null}
    ${leftOut ? html`<p class="note">${count(leftOut, "more run is", "more runs are")} not shown.</p>` : null}
  `;
}

// The records from the start on, each run as wide as it has records.
function Picture({ runs }) {
  if (!runs.length) return "";
  const first = runs[0].first;
  const size = runs[runs.length - 1].last - first + 1;
  const told = runs.slice(0, 5).map((each) => `${each.last - each.first + 1} ${wordOf(each)}`);
  return html`
    <svg class="bars" viewBox=${`0 0 ${size} 1`} preserveAspectRatio="none" role="img" aria-label=${`${told.join(", ")}${runs.length > 5 ? " and more" : ""}`}>
      ${runs.map((each) => html`<rect class=${`run-${kindOf(each)}`} x=${each.first - first} y="0" width=${each.last - each.first + 1} height="1" />`)}
    </svg>
  `;
}
