// Requests as they come. The first thing that a person sees.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Choice, CopyButton, Empty, Told, Trouble, ask, askBytes, bytesText, clock, count, explain, html, lasting, plain, queryOf, useAction, useKeys, usePolled } from "./base.js";
import { ByteView } from "./bytes.js";
import { asCurl, asPytest, asRule } from "./copies.js";
import { Tree } from "./tree.js";

const KEPT = 500;
const PER_SECOND = 20;
const DRAW_MS = 300; // as often as the journal tells them
const AGAIN_MS = 1000;

const FILTERS = [
  ["keys", "API", "Produce,Fetch"],
  ["client_id", "Client id", "app-*"],
  ["topic", "Topic", "orders*"],
  ["group", "Group", ""],
  ["txn_id", "Transactional id", ""],
  ["connection", "Connection", "c1"],
];

// Follow the journal; begin anew after a restart of the broker, whose numbers begin anew, too.
function useRequests(filter, isPaused, isRecording) {
  const [shown, setShown] = useState([]);
  const [missed, setMissed] = useState(0);
  const [error, setError] = useState(null);
  const paused = useRef(isPaused);
  paused.current = isPaused;
  const waiting = useRef([]);
  useEffect(() => {
    if (!isRecording) return undefined;
    let stream = null;
    let isOver = false;
    let left = 0;
    const timers = new Set();
    const later = (work, ms) => timers.add(window.setTimeout(work, ms));
    waiting.current = [];
    const begin = async () => {
      try {
        const first = await ask("GET", `/v1/requests${queryOf({ ...filter, limit: 100 })}`);
        if (isOver) return;
        setError(null);
        setShown(first.reverse());
        const after = first.length ? first[0].id : "r0";
        stream = new EventSource(`/v1/requests/follow${queryOf({ ...filter, per_second: PER_SECOND, after })}`);
        stream.onmessage = (event) => {
          waiting.current.push(JSON.parse(event.data));
          if (waiting.current.length > KEPT) waiting.current.shift();
        };
        stream.addEventListener("missed", (event) => {
          left += JSON.parse(event.data).requests;
        });
        stream.onerror = () => {
          stream.close();
          later(begin, AGAIN_MS);
        };
      } catch (refused) {
        if (isOver) return;
        setError(refused);
        if (refused.status === 0 || refused.status === 503) later(begin, AGAIN_MS);
      }
    };
    // Lines are drawn some times a second, however fast they come.
    const drawing = window.setInterval(() => {
      if (paused.current) return;
      if (waiting.current.length) {
        const news = waiting.current.reverse();
        waiting.current = [];
        setShown((old) => [...news, ...old].slice(0, KEPT));
      }
      if (left) {
        const more = left;
        left = 0;
        setMissed((old) => old + more);
      }
    }, DRAW_MS);
    setMissed(0);
    begin();
    return () => {
      isOver = true;
      window.clearInterval(drawing);
      timers.forEach(window.clearTimeout);
      if (stream) stream.close();
    };
  }, [filter, isRecording]);
  const clear = () => {
    waiting.current = [];
    setShown([]);
    setMissed(0);
  };
  return { shown, missed, error, clear };
}

const isBad = (request) => (request.errors && request.errors.length > 0) || (request.ended && request.ended !== "answered");

function Line({ request, isChosen, choose }) {
  const row = useRef(null);
  useEffect(() => {
    if (isChosen && row.current) row.current.scrollIntoView({ block: "nearest" });
  }, [isChosen]);
  return html`
    <tr class=${`line ${isBad(request) ? "bad" : ""} ${isChosen ? "chosen" : ""}`} ref=${row} onClick=${choose}>
      <td class="time"><button type="button" class="bare" aria-label=${`${clock(request.at_ms)}, open request ${request.id}`} aria-expanded=${isChosen}>${clock(request.at_ms)}</button></td>
      <td>${request.connection}</td>
      <td class="client">${plain(request.client_id || request.software || "?", 40)}</td>
      <td class="api">${request.api} <small>v${request.version}</small></td>
      <td class="about">${plain(request.about || "", 100)}</td>
      <td class="number">${bytesText(request.request_bytes)}</td>
      <td class="outcome">${plain(request.outcome, 80)}${(request.rules || []).map((rule) => html` <span class="tag">${plain(rule, 30)}</span>`)}</td>
      <td class="number">${request.answer_bytes ? bytesText(request.answer_bytes) : ""}</td>
      <td class="number">${request.duration_us === undefined ? "" : lasting(request.duration_us / 1000)}</td>
    </tr>
  `;
}

const VIEWS = ["Decoded", "Bytes of the request", "Bytes of the answer"];

function Detail({ request, close }) {
  const [view, setView] = useState(VIEWS[0]);
  const { value, error } = usePolled(`/v1/requests/${request.id}`, 3_600_000);
  return html`
    <aside class="detail" aria-label=${`Request ${request.id}`}>
      <header>
        <h2>${request.api} <small>v${request.version}</small> ${request.id}</h2>
        <button type="button" onClick=${close} title="Escape">Close</button>
      </header>
      <p class="note">
        ${clock(request.at_ms)}, ${request.connection} from ${request.client_address}, client ${plain(request.client_id || "?")}${request.software ? `, ${plain(request.software)}` : ""},
        broker ${request.node}, listener ${plain(request.listener)}, correlation id ${request.correlation_id}
      </p>
      <p class="tools">
        <${CopyButton} text=${asRule(request)}>Copy as rule</${CopyButton}>
        <${CopyButton} text=${asPytest(request)}>Copy as pytest</${CopyButton}>
        <${CopyButton} text=${asCurl(request)}>Copy as curl</${CopyButton}>
      </p>
      <div class="tabs" role="tablist" aria-label="Views">
        ${VIEWS.map((each) => html`<button type="button" role="tab" aria-selected=${each === view} onClick=${() => setView(each)}>${each}</button>`)}
      </div>
      <${Trouble} error=${error} />
      <div role="tabpanel" aria-label=${view} tabindex="0">
        ${!value ? null : view === VIEWS[0] ? html`<${Decoded} detail=${value} />` : html`<${Bytes} key=${view} detail=${value} isAnswer=${view === VIEWS[2]} />`}
      </div>
    </aside>
  `;
}

const Decoded = ({ detail }) => html`
  <h3>Request</h3>
  ${detail.request ? html`<${Tree} value=${detail.request} />` : html`<p class="note">It cannot be decoded.</p>`}
  <h3>Answer</h3>
  ${detail.answer ? html`<${Tree} value=${detail.answer} />` : html`<p class="note">${detail.ended === "answered" ? "It cannot be decoded." : `There is none: ${detail.ended || "in progress"}.`}</p>`}
`;

function Bytes({ detail, isAnswer }) {
  const [state, setState] = useState({ explained: null, error: null });
  useEffect(() => {
    let isOver = false;
    const load = async () => {
      const bytes = await askBytes(`/v1/requests/${detail.id}/${isAnswer ? "answer" : "request"}`);
      const query = isAnswer ? queryOf({ response: `${detail.api}:${detail.version}` }) : queryOf({ kind: "request", with_bytes: true });
      return { bytes, explained: await explain(bytes, query), error: null };
    };
    load().then(
      (found) => isOver || setState(found),
      (error) => isOver || setState({ explained: null, error }),
    );
    return () => {
      isOver = true;
    };
  }, [detail.id, isAnswer]);
  if (state.error) {
    return html`<${Empty}><p>${state.error.message}</p><p>Bytes are kept while the recording is "bodies".</p></${Empty}>`;
  }
  return state.explained ? html`<${ByteView} explained=${state.explained} bytes=${state.bytes} name=${detail.id} />` : html`<p class="note">Loading ...</p>`;
}

function Filters({ filter, setFilter, onlyErrors, setOnlyErrors, box }) {
  return html`
    <form class="filters" role="search" onSubmit=${(event) => event.preventDefault()}>
      ${FILTERS.map(
        ([name, label, example], index) => html`
          <label>${label}
            <input
              ref=${index ? null : box}
              type="search"
              placeholder=${example}
              value=${filter[name] || ""}
              spellcheck="false"
              onInput=${(event) => setFilter({ ...filter, [name]: event.target.value.trim() })}
            />
          </label>
        `,
      )}
      <label class="check"><input type="checkbox" checked=${onlyErrors} onChange=${(event) => setOnlyErrors(event.target.checked)} /> only what failed</label>
    </form>
  `;
}

// What is typed is in force when the typing stops.
function useSettled(value, ms) {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = window.setTimeout(() => setSettled(value), ms);
    return () => window.clearTimeout(timer);
  }, [JSON.stringify(value), ms]);
  return settled;
}

export function Live() {
  const [filter, setFilter] = useState({});
  const [onlyErrors, setOnlyErrors] = useState(false);
  const [isPaused, setPaused] = useState(false);
  const [chosen, setChosen] = useState(null);
  const box = useRef(null);
  const journal = usePolled("/v1/requests/recording", 1000);
  const { told, run } = useAction();
  const typed = useSettled(filter, 250);
  const asked = useMemo(() => ({ ...typed, errors: onlyErrors }), [typed, onlyErrors]);
  const recording = journal.value ? journal.value.recording.recording || "off" : null;
  const isRecording = recording !== null && recording !== "off";
  const { shown, missed, error, clear } = useRequests(asked, isPaused, isRecording);
  const record = (what) =>
    run(`Recording ${what}`, async () => {
      await ask("PUT", "/v1/requests/recording", { recording: what });
      await journal.refresh();
    });
  const move = (step) => {
    const at = shown.findIndex((each) => chosen && each.id === chosen.id);
    const next = shown[Math.min(Math.max(at + step, 0), shown.length - 1)];
    if (next) setChosen(next);
  };
  useKeys({
    " ": () => setPaused(!isPaused),
    "/": () => box.current && box.current.focus(),
    j: () => move(1),
    k: () => move(-1),
    ArrowDown: () => move(1),
    ArrowUp: () => move(-1),
    Escape: () => (document.activeElement && document.activeElement.tagName === "INPUT" ? document.activeElement.blur() : setChosen(null)),
  });
  const forget = () =>
    run("Forget", async () => {
      await ask("DELETE", "/v1/requests");
      clear();
      setChosen(null);
    });
  return html`
    <h1>Live requests</h1>
    <${Filters} ...${{ filter, setFilter, onlyErrors, setOnlyErrors, box }} />
    <div class="bar">
      <button type="button" aria-pressed=${isPaused} onClick=${() => setPaused(!isPaused)} title="Space">${isPaused ? "Go on" : "Pause"}</button>
      <button type="button" onClick=${forget} disabled=${!shown.length}>Forget all</button>
      ${recording !== null ? html`<${Choice} label="Record" value=${recording} values=${["off", "headers", "bodies"]} onChange=${record} />` : null}
      <span class="note" role="status">
        ${isPaused ? "Paused. " : ""}${journal.value ? `${count(journal.value.requests, "request")} kept. ` : ""}
        ${missed ? `Too many to show each: ${count(missed, "request")} left out here, not in the journal.` : ""}
      </span>
      <${Told} told=${told} />
    </div>
    <${Trouble} error=${error || journal.error} />
    <div class=${chosen ? "split" : ""}>
      <div>
        ${shown.length
          ? html`<div class="scroll" tabindex="0" role="region" aria-label="Requests, the newest first">
              <table class="live">
                <caption class="unseen">Requests, the newest first</caption>
                <thead><tr>${["Time", "Conn.", "Client", "API", "About", "Request", "Answer", "Size", "Took"].map((each) => html`<th scope="col">${each}</th>`)}</tr></thead>
                <tbody>${shown.map((each) => html`<${Line} key=${each.id} request=${each} isChosen=${chosen !== null && each.id === chosen.id} choose=${() => setChosen(each)} />`)}</tbody>
              </table>
            </div>`
          : html`<${Nothing} ...${{ recording, record, filter: asked }} />`}
      </div>
      ${chosen ? html`<${Detail} key=${chosen.id} request=${chosen} close=${() => setChosen(null)} />` : null}
    </div>
  `;
}

function Nothing({ recording, record, filter }) {
  const server = usePolled("/v1", 3_600_000);
  if (recording === null) return null;
  if (recording === "off") {
    return html`
      <${Empty}>
        <p>Nothing is recorded.</p>
        <p>
          <button type="button" class="main" onClick=${() => record("bodies")}>Record requests</button>
          <button type="button" onClick=${() => record("headers")}>Only their first 4 KiB</button>
        </p>
        <p class="note">Recording takes about a tenth more of the broker's CPU. The newest requests are kept, the oldest forgotten. <a href="#/refusals">Refused requests</a> are kept in any case.</p>
      </${Empty}>
    `;
  }
  const isFiltered = Object.values(filter).some(Boolean);
  return html`
    <${Empty}>
      <p>${isFiltered ? "No request fits the filter." : "No request has come yet."}</p>
      ${server.value && !isFiltered ? html`<p>Let a client connect to <code>${server.value.bootstrap}</code>.</p>` : null}
    </${Empty}>
  `;
}

