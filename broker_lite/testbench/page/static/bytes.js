// The byte view: the fields of a request as a tree, beside its bytes; each marks the other.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { CopyButton, Empty, bytesText, download, html, plain } from "./base.js";

const ROW = 16;
const ROWS_AT_A_TIME = 256;
const FIELDS_AT_A_TIME = 400;
const HUES = 8;

const hex = (number, digits) => number.toString(16).padStart(digits, "0");
const hexOf = (bytes) => Array.from(bytes, (each) => hex(each, 2)).join("");
const shownAs = (byte) => (byte > 0x20 && byte < 0x7f ? String.fromCharCode(byte) : byte === 0x20 ? " " : "·");

// Return the index of each byte's field, -1 for bytes that no field has.
function owners(fields, size) {
  const found = new Int32Array(size).fill(-1);
  fields.forEach((field, index) => found.fill(index, field.offset, field.offset + field.size));
  return found;
}

const stateOf = (field) => (field.refused ? "refused" : (field.state || "read").replace(" ", "-"));
const depthOf = (path) => path.split(".").length - 1;
const lastOf = (path) => path.slice(path.lastIndexOf(".") + 1);

function FieldRow({ field, index, isMarked, mark, rowOf }) {
  const { refused } = field;
  const value = field.value === null ? "null" : plain(field.value, 200);
  return html`
    <li
      class=${`field ${stateOf(field)} ${isMarked ? "marked" : ""}`}
      ref=${rowOf}
      onMouseEnter=${() => mark(index, false)}
      onClick=${() => mark(index, true)}
    >
      <button type="button" class="bare" onFocus=${() => mark(index, true)} title=${plain(field.path, 400)}>
        <span class=${`indent-${Math.min(depthOf(field.path), 9)}`}></span>
        <span class=${`dot hue-${index % HUES}`} aria-hidden="true"></span>
        <span class="name">${plain(lastOf(field.path), 60)}</span>
        <span class="value">${value}${field.left_out ? ` … ${field.left_out} more` : ""}</span>
        <span class="note">${field.note ? plain(field.note, 80) : ""}</span>
        <span class="type">${field.type}, byte ${field.offset}${field.size === 1 ? "" : ` to ${field.offset + Math.max(field.size, 1) - 1}`}</span>
        ${field.state && !refused ? html` <span class="note">(${field.state})</span>` : null}
      </button>
      ${refused
        ? html`<div class="why">
            <strong>${refused.rule}</strong> ${plain(refused.text, 400)}
            ${refused.expected ? html`<span class="pair">expected <code>${plain(refused.expected)}</code></span>` : null}
            ${refused.got ? html`<span class="pair">got <code>${plain(refused.got)}</code></span>` : null}
          </div>`
        : null}
    </li>
  `;
}

function HexRows({ bytes, fields, of, marked, mark, from, to }) {
  const rows = [];
  for (let start = from; start < to; start += ROW) {
    const cells = [];
    const texts = [];
    for (let at = start; at < Math.min(start + ROW, to); at += 1) {
      const index = of[at];
      const field = fields[index];
      const kind = field ? `hue-${index % HUES} ${stateOf(field)}` : "nobody";
      const classes = `${kind} ${index >= 0 && index === marked ? "marked" : ""}`;
      const events = { onMouseEnter: () => mark(index, false), onClick: () => mark(index, true) };
      cells.push(html`<b class=${classes} ...${events}>${hex(bytes[at], 2)}</b>`);
      texts.push(html`<b class=${classes} ...${events}>${shownAs(bytes[at])}</b>`);
    }
    rows.push(html`<div class="row"><i>${hex(start, 6)}</i><span>${cells}</span><span>${texts}</span></div>`);
  }
  return rows;
}

// The bytes around a place: a large request would make a page of millions of elements. The fields
// are shown in pieces for the same reason.
function HexPane({ bytes, fields, marked, mark, middle, label }) {
  const of = useMemo(() => owners(fields, bytes.length), [fields, bytes]);
  const [start, setStart] = useState(null);
  const size = ROW * ROWS_AT_A_TIME;
  const around = Math.max(0, Math.floor(middle / ROW) * ROW - size / 4);
  const from = start === null ? (bytes.length <= size ? 0 : around) : start;
  const to = Math.min(bytes.length, from + size);
  return html`
    <div class="hex" role="group" aria-label=${label} tabindex="0">
      ${from > 0
        ? html`<button type="button" onClick=${() => setStart(Math.max(0, from - size))}>Show the bytes before ${from}</button>`
        : null}
      <div aria-hidden="true"><${HexRows} ...${{ bytes, fields, of, marked, mark, from, to }} /></div>
      ${to < bytes.length
        ? html`<button type="button" onClick=${() => setStart(to)}>Show the bytes from ${to} on</button>`
        : null}
      ${bytes.length ? null : html`<p>no bytes</p>`}
    </div>
  `;
}

function Pane({ title, fields, bytes, refusedAt }) {
  const first = Math.max(0, fields.findIndex((field) => field.refused));
  const [marked, setMarked] = useState(fields[first] && fields[first].refused ? first : -1);
  const rows = useRef(new Map());
  const list = useRef(null);
  // Only the list scrolls, never the page.
  const show = (index, share) => {
    const row = rows.current.get(index);
    const box = list.current;
    if (!row || !box) return;
    const top = row.offsetTop - box.offsetTop;
    const isSeen = top >= box.scrollTop && top + row.offsetHeight <= box.scrollTop + box.clientHeight;
    if (!isSeen) box.scrollTop = top - share * box.clientHeight;
  };
  const mark = (index, isChosen) => {
    setMarked(index);
    if (isChosen) show(index, 0.5);
  };
  const rowOf = (index) => (element) => rows.current.set(index, element);
  // The field that was refused is the reason to look: it is in sight at once.
  const [start, setStart] = useState(Math.max(0, first - FIELDS_AT_A_TIME / 4));
  const end = Math.min(fields.length, start + FIELDS_AT_A_TIME);
  useEffect(() => show(first, 0.3), [fields]);
  return html`
    <section class="pane" aria-label=${title}>
      <h3>${title}</h3>
      <div class="byteview">
        <ul class="fields" aria-label="Fields" ref=${list} tabindex="0">
          ${start > 0 ? html`<li><button type="button" onClick=${() => setStart(Math.max(0, start - FIELDS_AT_A_TIME))}>Show the fields before ${start}</button></li>` : null}
          ${fields.slice(start, end).map((field, place) => {
            const index = start + place;
            return html`<${FieldRow} key=${index} ...${{ field, index, mark, isMarked: index === marked, rowOf: rowOf(index) }} />`;
          })}
          ${end < fields.length ? html`<li><button type="button" onClick=${() => setStart(end)}>Show the fields from ${end} on, of ${fields.length}</button></li>` : null}
        </ul>
        <${HexPane} ...${{ bytes, fields, marked, mark, middle: refusedAt, label: "Bytes" }} />
      </div>
    </section>
  `;
}

const decoded = (text) => Uint8Array.from(atob(text), (each) => each.charCodeAt(0));

// The records of a batch as a call of the fixture make_batch, as far as the fields tell them.
function makeBatch(fields, codec) {
  const records = new Map();
  for (const field of fields) {
    const found = /(?:^|\.)records\[(\d+)\]\.(key|value)$/.exec(field.path);
    if (!found) continue;
    const record = records.get(found[1]) || { key: null, value: null };
    record[found[2]] = field.value === null ? null : field.form === "hex" ? `bytes.fromhex("${field.value}")` : `b${JSON.stringify(String(field.value))}`;
    records.set(found[1], record);
  }
  const told = [...records.values()].map(({ key, value }) => (key === null ? `${value === null ? "None" : value}` : `(${value === null ? "None" : value}, ${key})`));
  const last = codec && codec !== "none" ? `, compression="${codec}"` : "";
  return `make_batch(${told.join(", ")}${last})`;
}

// What there is to look at; what has the refused field comes first.
function panesOf(explained, parts, bytes) {
  const all = [
    { title: "Bytes as they came", fields: explained.fields, data: bytes },
    ...parts.map((each) => ({ title: `Decompressed records (${each.codec}, ${bytesText(each.size)})`, fields: each.fields, data: decoded(each.bytes || "") })),
  ];
  const isRefused = (pane) => pane.fields.some((field) => field.refused);
  return [...all.filter(isRefused), ...all.filter((pane) => !isRefused(pane))];
}

export function ByteView({ explained, bytes, name }) {
  const parts = (explained.records && explained.records.parts) || [];
  const { refused } = explained;
  const panes = useMemo(() => panesOf(explained, parts, bytes), [explained, bytes]);
  const recordFields = parts.length ? parts[0].fields : explained.fields;
  const hasRecords = recordFields.some((field) => /records\[\d+\]\./.test(field.path));
  if (!explained.fields.length) return html`<${Empty}>There are no bytes to show.</${Empty}>`;
  return html`
    <div class="explained">
      ${refused
        ? html`<p class="verdict refused">
            <strong>${refused.error || "The connection is closed"}</strong>: ${plain(refused.text, 600)} <span class="rule">${refused.rule}</span>
          </p>`
        : html`<p class="verdict">The broker takes these bytes.</p>`}
      <p class="tools">
        <${CopyButton} text=${() => hexOf(bytes)}>Copy as hex</${CopyButton}>
        <button type="button" onClick=${() => download(bytes, `${name}.bin`)}>Download .bin (${bytesText(bytes.length)})</button>
        ${hasRecords ? html`<${CopyButton} text=${makeBatch(recordFields, parts.length ? parts[0].codec : "")} title="a call of the pytest fixture">Copy as make_batch(...)</${CopyButton}>` : null}
      </p>
      ${panes.map(({ title, fields, data }) => html`<${Pane} key=${title} title=${title} fields=${fields} bytes=${data} refusedAt=${(fields.find((field) => field.refused) || { offset: 0 }).offset} />`)}
      ${(explained.notes || []).map((note) => html`<p class="note">${plain(note, 400)}</p>`)}
    </div>
  `;
}
