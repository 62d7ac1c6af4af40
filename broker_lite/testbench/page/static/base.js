// What all views share: components, the control API, and texts for people.
//
// Text from the wire reaches the page only as text nodes and attribute values that Preact sets, so
// it is never markup.

import { h } from "preact";
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import htm from "htm";

export const html = htm.bind(h);

// -- the control API

export class Refused extends Error {
  // status: of HTTP, 0 if the broker cannot be reached.
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

async function answered(method, path, body, type) {
  const options = { method, headers: {}, cache: "no-store" };
  if (body !== undefined) {
    options.headers["Content-Type"] = type;
    options.body = body;
  }
  let answer;
  try {
    answer = await fetch(path, options);
  } catch {
    throw new Refused(0, "the broker cannot be reached");
  }
  if (!answer.ok) {
    let told = {};
    try {
      told = await answer.json();
    } catch {
      // A proxy in between may answer without JSON; the status is all that is known then.
    }
    const at = told.at ? `${told.at}: ` : "";
    throw new Refused(answer.status, at + (told.error || `HTTP status ${answer.status}`));
  }
  return answer;
}

export async function ask(method, path, body) {
  const sent = body === undefined ? undefined : JSON.stringify(body);
  return (await answered(method, path, sent, "application/json")).json();
}

export async function askText(path) {
  return (await answered("GET", path)).text();
}

export async function sendLines(path, lines) {
  return (await answered("POST", path, lines, "application/x-ndjson")).json();
}

export async function askBytes(path) {
  return new Uint8Array(await (await answered("GET", path)).arrayBuffer());
}

export async function explain(bytes, query = "") {
  return (await answered("POST", `/v1/explain${query}`, bytes, "application/octet-stream")).json();
}

export const part = encodeURIComponent;

export function queryOf(values) {
  const given = Object.entries(values).filter(([, value]) => value !== "" && value !== null && value !== undefined && value !== false);
  return given.length ? "?" + given.map(([name, value]) => `${name}=${part(value)}`).join("&") : "";
}

// -- hooks

// Ask again and again while the page is looked at. A path of null asks nothing.
export function usePolled(path, everyMs = 2000) {
  const [state, setState] = useState({ path, value: undefined, error: null });
  const again = useRef(() => {});
  useEffect(() => {
    if (path === null) return undefined;
    let timer = 0;
    let isOver = false;
    const next = async () => {
      window.clearTimeout(timer);
      if (!document.hidden) {
        try {
          const value = await ask("GET", path);
          if (!isOver) setState({ path, value, error: null });
        } catch (error) {
          if (!isOver) setState((old) => ({ path, value: old.path === path ? old.value : undefined, error }));
        }
      }
      if (!isOver) timer = window.setTimeout(next, everyMs);
    };
    again.current = next;
    next();
    return () => {
      isOver = true;
      window.clearTimeout(timer);
    };
  }, [path, everyMs]);
  const refresh = useCallback(() => again.current(), []);
  const isOld = state.path !== path;
  return { value: isOld ? undefined : state.value, error: isOld ? null : state.error, refresh };
}

// Run something that a person asked for, and say how it ended.
export function useAction() {
  const [told, setTold] = useState(null);
  const run = useCallback(async (text, work) => {
    setTold({ text: `${text} ...`, isError: false });
    try {
      await work();
      setTold({ text: `${text}: done`, isError: false });
    } catch (error) {
      setTold({ text: `${text}: ${error.message}`, isError: true });
    }
  }, []);
  return { told, run };
}

export function useKeys(byKey) {
  const current = useRef(byKey);
  current.current = byKey;
  useEffect(() => {
    const pressed = (event) => {
      const isTyping = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
      if (event.ctrlKey || event.metaKey || event.altKey || (isTyping && event.key !== "Escape")) return;
      const act = current.current[event.key];
      if (act) {
        event.preventDefault();
        act(event);
      }
    };
    window.addEventListener("keydown", pressed);
    return () => window.removeEventListener("keydown", pressed);
  }, []);
}

// -- texts

export const count = (number, one, many = `${one}s`) => `${number.toLocaleString("en")} ${number === 1 ? one : many}`;

export function bytesText(size) {
  if (size < 0) return "?";
  if (size < 1024) return `${size} B`;
  const units = ["KiB", "MiB", "GiB", "TiB"];
  let number = size;
  let unit = -1;
  while (number >= 1024 && unit < units.length - 1) {
    number /= 1024;
    unit += 1;
  }
  return `${number.toFixed(number < 10 ? 1 : 0)} ${units[unit]}`;
}

export function clock(ms) {
  const at = new Date(ms);
  const two = (number) => String(number).padStart(2, "0");
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}.${String(at.getMilliseconds()).padStart(3, "0")}`;
}

export function lasting(ms) {
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
}

// Names of topics and clients may be anything: control characters and marks that turn the
// direction of the text are shown as escapes, and very long names are cut.
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff0-\ufffb]/g;

export function plain(text, longest = 120) {
  const shown = String(text).slice(0, longest);
  const more = String(text).length > longest ? "…" : "";
  return shown.replace(UNSEEN, (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, "0")}`) + more;
}

// -- components

export const Empty = ({ children }) => html`<div class="empty">${children}</div>`;

export const Trouble = ({ error }) => (error ? html`<p class="trouble" role="alert">${error.message}</p>` : null);

export const Told = ({ told }) =>
  html`<p class=${told && told.isError ? "trouble" : "told"} role="status">${told ? told.text : ""}</p>`;

export function CopyButton({ text, children, title }) {
  const [word, setWord] = useState("");
  const copy = async () => {
    const copied = typeof text === "function" ? await text() : text;
    try {
      await navigator.clipboard.writeText(copied);
      setWord("copied");
    } catch {
      // The clipboard is for pages from this machine or over TLS only.
      setWord("");
      window.prompt("Copy:", copied);
    }
    window.setTimeout(() => setWord(""), 1500);
  };
  return html`<button type="button" onClick=${copy} title=${title}>${word || children}</button>`;
}

export function download(bytes, name) {
  const url = URL.createObjectURL(new Blob([bytes], { type: "application/octet-stream" }));
  const link = Object.assign(document.createElement("a"), { href: url, download: name });
  link.click();
  window.setTimeout(() => URL.revokeObjectURL(url), 1000);
}

export const Table = ({ label, heads, children }) => html`
  <div class="scroll" tabindex="0" role="region" aria-label=${label}>
    <table>
      <caption class="unseen">${label}</caption>
      <thead><tr>${heads.map((each) => html`<th scope="col">${each}</th>`)}</tr></thead>
      <tbody>${children}</tbody>
    </table>
  </div>
`;

// A select of few values.
export const Choice = ({ label, value, values, onChange }) => html`
  <label>${label}
    <select value=${value} onChange=${(event) => onChange(event.target.value)}>
      ${values.map((each) => html`<option value=${each} selected=${each === value}>${each}</option>`)}
    </select>
  </label>
`;
