// A streams group: its topology, why it cannot run, and which member has which tasks.

import { useState } from "preact/hooks";
import { Empty, Table, Trouble, count, html, part, plain, queryOf, usePolled } from "./base.js";

const EVERY_MS = 1000;
const PAGE = 50;
const TASKS_MAX = 40;
const SUBTOPOLOGIES_MAX = 200;

export function Tasks({ name }) {
  // the ids behind which the pages so far begin
  const [pages, setPages] = useState([""]);
  const query = queryOf({ after: pages[pages.length - 1], limit: PAGE });
  const { value, error } = usePolled(`/v1/groups/${part(name)}/tasks${query}`, EVERY_MS);
  if (!value) return html`<${Trouble} error=${error} />`;
  const begin = (pages.length - 1) * PAGE;
  const last = value.members[value.members.length - 1];
  return html`
    <h2>Topology</h2>
    <${Trouble} error=${error} />
    ${value.problem ? html`<p class="verdict refused" role="alert"><strong>${value.problem}</strong> ${plain(value.detail, 400)}</p>` : null}
    ${value.missing.length ? html`<p>To be created: ${value.missing.slice(0, TASKS_MAX).map((each) => html`<span class="tag">${plain(each, 120)}</span> `)}</p>` : null}
    <p>${value.tasks === null ? "The number of tasks is not known" : count(value.tasks, "task")}, ${value.active} assigned, ${value.standby} standby, ${value.warmup} warm-up. ${count(value.standby_count, "standby task")} for each task with state. Topology epoch ${value.topology_epoch === null ? "none" : value.topology_epoch}, target epoch ${value.target_epoch} of ${value.epoch}.</p>
    ${value.subtopologies.length
      ? html`
          <${Table} label="Subtopologies" heads=${["Subtopology", "Tasks", "Reads", "Reads repartitioned", "Repartitions to", "Changelogs"]}>
            ${value.subtopologies.slice(0, SUBTOPOLOGIES_MAX).map(
              (each) => html`
                <tr key=${each.id}>
                  <th scope="row">${plain(each.id, 40)}</th>
                  <td class="number">${each.tasks === null ? "?" : each.tasks}</td>
                  <td class="wide"><${Names} names=${each.sources} /></td>
                  <td class="wide"><${Names} names=${each.repartition_sources} /></td>
                  <td class="wide"><${Names} names=${each.repartition_sinks} /></td>
                  <td class="wide"><${Names} names=${each.changelogs} /></td>
                </tr>
              `,
            )}
          </${Table}>
          ${value.subtopologies.length > SUBTOPOLOGIES_MAX ? html`<p class="note">${count(value.subtopologies.length - SUBTOPOLOGIES_MAX, "more subtopology is", "more subtopologies are")} not shown.</p>` : null}
        `
      : html`<${Empty}><p>No member has told a topology.</p></${Empty}>`}
    ${value.members_count ? html`<${Members} members=${value.members} />` : null}
    ${value.members_count > PAGE
      ? html`
          <p class="tools">
            <span>${begin + 1} to ${begin + value.members.length} of ${count(value.members_count, "member")}</span>
            <button type="button" disabled=${pages.length === 1} onClick=${() => setPages(pages.slice(0, -1))}>Previous</button>
            <button type="button" disabled=${!last || begin + value.members.length >= value.members_count} onClick=${() => setPages([...pages, last.id])}>Next</button>
          </p>
        `
      : null}
  `;
}

const Members = ({ members }) => html`
    <h2>Members and their tasks</h2>
    <${Table} label="Members and their tasks" heads=${["Member", "Process", "State", "Epoch", "Active", "Standby", "Warm-up", "To come"]}>
      ${members.map(
        (each) => html`
          <tr key=${each.id}>
            <th scope="row">${plain(each.client_id || each.id, 40)}<small>${plain(each.id, 40)} ${each.host}${each.endpoint ? `, ${plain(each.endpoint, 60)}` : ""}</small></th>
            <td>${plain(each.process_id, 40)}</td>
            <td><span class=${`tag ${each.state === "stable" ? "fine" : "busy"}`}>${each.state.replace("_", " ")}</span></td>
            <td class="number">${each.epoch}</td>
            <td class="wide"><${Names} names=${idsOf(each.active)} /></td>
            <td class="wide"><${Names} names=${idsOf(each.standby)} /></td>
            <td class="wide"><${Names} names=${idsOf(each.warmup)} /></td>
            <td class="wide"><${Names} names=${toCome(each)} /></td>
          </tr>
        `,
      )}
    </${Table}>
`;

// Tasks as Kafka Streams writes them: SUBTOPOLOGY_PARTITION.
const idsOf = (tasks) => Object.entries(tasks).flatMap(([key, numbers]) => numbers.map((each) => `${key}_${each}`));

// What a member shall have and does not have yet.
function toCome(member) {
  const roles = [["", "active"], ["standby ", "standby"], ["warm-up ", "warmup"]];
  return roles.flatMap(([word, role]) => {
    const has = new Set(idsOf(member[role]));
    return idsOf(member[`target_${role}`]).filter((each) => !has.has(each)).map((each) => word + each);
  });
}

const Names = ({ names }) =>
  html`${names.slice(0, TASKS_MAX).map((each) => html`<span class="tag">${plain(each, 120)}</span> `)}${names.length > TASKS_MAX ? html`<span class="note">and ${names.length - TASKS_MAX} more</span>` : null}`;
