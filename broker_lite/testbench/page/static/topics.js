// Topics, partitions, records, and the files that they are in.

import { useEffect, useState } from "preact/hooks";
import { Choice, Empty, Table, Told, Trouble, askText, bytesText, count, html, part, plain, queryOf, sendLines, useAction, usePolled } from "./base.js";

const SHOWN = 200;
const RECORDS = 50;

export function Topics({ rest, go }) {
  return rest.length ? html`<${Topic} key=${rest[0]} name=${rest[0]} partition=${Number(rest[1] || 0)} go=${go} />` : html`<${List} go=${go} />`;
}

function List({ go }) {
  const [wanted, setWanted] = useState("");
  const [isInternal, setInternal] = useState(false);
  const match = wanted && !/[*?]/.test(wanted) ? `*${wanted}*` : wanted;
  const { value, error } = usePolled(`/v1/topics${queryOf({ limit: SHOWN + 1, internal: isInternal, match })}`, 3000);
  const shown = (value || []).slice(0, SHOWN);
  return html`
    <h1>Topics</h1>
    <form class="filters" role="search" onSubmit=${(event) => event.preventDefault()}>
      <label>Name <input type="search" value=${wanted} placeholder="part of a name, or a* with a pattern" onInput=${(event) => setWanted(event.target.value.trim())} /></label>
      <label class="check"><input type="checkbox" checked=${isInternal} onChange=${(event) => setInternal(event.target.checked)} /> the broker's own, too</label>
    </form>
    <${Trouble} error=${error} />
    ${value && !shown.length
      ? html`<${Empty}><p>${wanted ? "No topic has such a name." : "There is no topic yet."}</p>${wanted ? null : html`<p>A client's first use creates one, and so does <code>broker-lite topics create NAME</code>.</p>`}</${Empty}>`
      : html`
          <${Table} label="Topics" heads=${["Topic", "Partitions", "Replicas", "Configs that are not default"]}>
            ${shown.map(
              (each) => html`
                <tr key=${each.id}>
                  <td><a href=${`#/topics/${part(each.name)}`}>${plain(each.name, 249)}</a></td>
                  <td class="number">${each.partitions}</td>
                  <td class="number">${each.replication_factor}</td>
                  <td class="wide">${Object.entries(each.configs).map(([name, text]) => html`<span class="tag">${plain(`${name}=${text}`, 80)}</span> `)}</td>
                </tr>
              `,
            )}
          </${Table}>
          ${(value || []).length > SHOWN ? html`<p class="note">The first ${SHOWN} are shown; a name narrows them down.</p>` : null}
        `}
  `;
}

function Topic({ name, partition, go }) {
  const { value, error } = usePolled(`/v1/topics/${part(name)}`, 2000);
  const leading = value && value.offsets.find((each) => each.partition === partition);
  return html`
    <p class="crumbs"><a href="#/topics">Topics</a></p>
    <h1>${plain(name, 249)}</h1>
    <${Trouble} error=${error} />
    ${value
      ? html`
          <p class="note">Id ${value.id}. ${Object.entries(value.configs).map(([key, text]) => html`<span class="tag">${plain(`${key}=${text}`, 80)}</span> `)}</p>
          <${Table} label="Partitions" heads=${["Partition", "Leader", "Log start", "High watermark", "Last stable", "Log end", "Size"]}>
            ${value.offsets.slice(0, 1000).map(
              (each) => html`
                <tr key=${each.partition} class=${each.partition === partition ? "chosen" : ""}>
                  <td><a href=${`#/topics/${part(name)}/${each.partition}`} aria-current=${each.partition === partition ? "true" : undefined}>${each.partition}</a></td>
                  <td class=${each.leader < 0 ? "bad" : "number"}>${each.leader < 0 ? "none" : each.leader}</td>
                  ${each.error ? html`<td colspan="5" class="bad">${plain(each.error)}</td>` : html`${[each.start, each.high_watermark, each.last_stable_offset, each.end].map((offset) => html`<td class="number">${offset.toLocaleString("en")}</td>`)}<td class="number">${bytesText(each.size_bytes)}</td>`}
                </tr>
              `,
            )}
          </${Table}>
          ${leading ? html`<${Partition} key=${partition} ...${{ name, offsets: leading }} />` : html`<p class="trouble">There is no partition ${partition}.</p>`}
        `
      : null}
  `;
}

function Partition({ name, offsets }) {
  const { partition } = offsets;
  const state = usePolled(`/v1/topics/${part(name)}/${partition}`, 2000);
  const files = usePolled(`/v1/topics/${part(name)}/${partition}/segments`, 5000);
  const { value } = state;
  return html`
    <h2>Partition ${partition}</h2>
    ${value
      ? html`<p class="note">Leader ${value.leader} in epoch ${value.leader_epoch}, replicas ${value.replicas.join(", ")}, in sync ${value.isr.join(", ")}${value.isr.length < value.replicas.length ? html` <strong class="bad">${count(value.replicas.length - value.isr.length, "replica")} behind</strong>` : null}.</p>`
      : null}
    <${Records} ...${{ name, offsets }} />
    <${Producing} ...${{ name, partition }} />
    <details>
      <summary>Files of the partition</summary>
      <${Trouble} error=${files.error} />
      ${files.value
        ? html`
            <${Table} label=${`Segments in ${files.value.directory}`} heads=${["Base offset", "Records", "Files"]}>
              ${files.value.segments.map(
                (each) => html`
                  <tr key=${each.base_offset}>
                    <td class="number">${each.base_offset.toLocaleString("en")}${each.is_active ? html` <span class="tag">active</span>` : null}</td>
                    <td class="number">${bytesText(each.size_bytes)}</td>
                    <td class="wide">${each.files.map((file) => html`<span class="tag">${file.name} ${bytesText(file.size_bytes)}</span> `)}</td>
                  </tr>
                `,
              )}
            </${Table}>
            <p class="note">Others: ${files.value.others.map((file) => `${file.name} (${bytesText(file.size_bytes)})`).join(", ") || "none"}</p>
          `
        : null}
    </details>
  `;
}

// -- records

const FORMS = ["text", "JSON", "hex"];

// A text, or {"base64": ...} for what is no text, as seed files have it.
function bytesOf(value) {
  if (value === null || value === undefined) return null;
  if (typeof value === "string") return new TextEncoder().encode(value);
  return Uint8Array.from(atob(value.base64), (each) => each.charCodeAt(0));
}

function shown(value, form) {
  const bytes = bytesOf(value);
  if (bytes === null) return "null";
  if (form === "hex") return Array.from(bytes.slice(0, 4096), (each) => each.toString(16).padStart(2, "0")).join(" ");
  const text = new TextDecoder().decode(bytes);
  if (form === "JSON") {
    try {
      return JSON.stringify(JSON.parse(text), null, 2);
    } catch {
      return text;
    }
  }
  return text;
}

function Records({ name, offsets }) {
  const [asked, setAsked] = useState({ from: Math.max(offsets.start, offsets.high_watermark - RECORDS) });
  const [isTail, setTail] = useState(true);
  const [place, setPlace] = useState("");
  const [form, setForm] = useState(FORMS[0]);
  const [state, setState] = useState({ records: [], error: null });
  const last = offsets.high_watermark;
  const query = isTail ? { from: Math.max(offsets.start, last - RECORDS) } : asked;
  const text = queryOf({ partition: offsets.partition, limit: RECORDS, offsets: true, ...query });
  useEffect(() => {
    let isOver = false;
    askText(`/v1/topics/${part(name)}/records${text}`).then(
      (lines) => isOver || setState({ records: lines.split("\n").filter(Boolean).map((line) => JSON.parse(line)), error: null }),
      (error) => isOver || setState({ records: [], error }),
    );
    return () => {
      isOver = true;
    };
  }, [text, name, isTail ? last : 0]);
  const seek = (event) => {
    event.preventDefault();
    const isTime = /[-:T]/.test(place);
    const at = isTime ? Date.parse(place) : Number(place);
    if (Number.isNaN(at)) {
      setState({ records: [], error: new Error(`${place} is no offset and no time, such as 2026-01-31T12:00`) });
      return;
    }
    setTail(false);
    setAsked(isTime ? { from_ms: at } : { from: at });
  };
  const first = state.records.length ? state.records[0].offset : offsets.start;
  const page = (from) => {
    setTail(false);
    setAsked({ from: Math.min(Math.max(from, offsets.start), last) });
  };
  return html`
    <h3>Records</h3>
    <div class="bar">
      <form onSubmit=${seek} class="inline">
        <label>Go to <input type="search" size="18" placeholder="offset, or 2026-01-31T12:00" value=${place} onInput=${(event) => setPlace(event.target.value.trim())} /></label>
        <button>Seek</button>
      </form>
      <button type="button" onClick=${() => page(first - RECORDS)} disabled=${first <= offsets.start}>Older</button>
      <button type="button" onClick=${() => page(first + RECORDS)} disabled=${first + RECORDS >= last}>Newer</button>
      <button type="button" aria-pressed=${isTail} onClick=${() => setTail(!isTail)}>Tail</button>
      <${Choice} label="Show values as" value=${form} values=${FORMS} onChange=${setForm} />
    </div>
    <${Trouble} error=${state.error} />
    ${state.records.length
      ? html`
          <${Table} label="Records" heads=${["Offset", "Time", "Key", "Value", "Headers", "Actions"]}>
            ${state.records
              .slice()
              .reverse()
              .map(
                (each) => html`
                  <tr key=${each.offset}>
                    <td class="number">${each.offset.toLocaleString("en")}</td>
                    <td class="time">${each.timestamp === undefined || each.timestamp < 0 ? "" : new Date(each.timestamp).toISOString()}</td>
                    <td class="data">${plain(shown(each.key, form), 200)}</td>
                    <td class="data"><pre>${severalLines(shown(each.value, form))}</pre></td>
                    <td class="data">${headersOf(each).map(([key, value]) => html`<span class="tag">${plain(`${key}: ${value}`, 80)}</span> `)}</td>
                    <td><button type="button" onClick=${() => window.dispatchEvent(new CustomEvent("edit-record", { detail: each }))}>Edit and produce</button></td>
                  </tr>
                `,
              )}
          </${Table}>
        `
      : state.error
        ? null
        : html`<${Empty}><p>${last > offsets.start ? "There are no records here." : "The partition is empty."}</p></${Empty}>`}
  `;
}

// A text of several lines keeps them; all else that cannot be seen is escaped.
const severalLines = (text) => text.slice(0, 4000).split("\n").map((line) => plain(line, 4000)).join("\n") + (text.length > 4000 ? "…" : "");

const headersOf = (record) => (record.headers || []).map(([key, value]) => [key, shown(value, "text")]);

// -- producing

const EXAMPLE = '{"key": "k", "value": "v"}';

function Producing({ name, partition }) {
  const [text, setText] = useState("");
  const { told, run } = useAction();
  useEffect(() => {
    const edit = (event) => {
      const { offset, topic, timestamp, ...record } = event.detail;
      setText(JSON.stringify(record));
      const box = document.getElementById("produced");
      box.focus();
      box.scrollIntoView({ block: "center" });
    };
    window.addEventListener("edit-record", edit);
    return () => window.removeEventListener("edit-record", edit);
  }, []);
  const produce = (event) => {
    event.preventDefault();
    run("Produce", async () => {
      const lines = text
        .split("\n")
        .filter((line) => line.trim())
        .map((line) => {
          const record = JSON.parse(line);
          return JSON.stringify(record.partition === undefined ? { ...record, partition } : record);
        });
      if (!lines.length) throw new Error("there is no record: write one JSON object in a line");
      const written = await sendLines(`/v1/topics/${part(name)}/records`, lines.join("\n"));
      if (!written.records) throw new Error("nothing was written");
    });
  };
  return html`
    <form onSubmit=${produce} class="produce">
      <label for="produced">Produce records: a JSON object in each line</label>
      <textarea id="produced" rows="3" spellcheck="false" placeholder=${EXAMPLE} value=${text} onInput=${(event) => setText(event.target.value)}></textarea>
      <button class="main">Produce</button>
      <${Told} told=${told} />
    </form>
  `;
}

