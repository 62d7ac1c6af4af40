// The frame of the page: seven views, chosen by the address behind the #.

import { render } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { html, useKeys, usePolled } from "./base.js";
import { Brokers } from "./brokers.js";
import { Faults } from "./faults.js";
import { Groups } from "./groups.js";
import { Live } from "./live.js";
import { Metrics } from "./metrics.js";
import { Refusals } from "./refusals.js";
import { Topics } from "./topics.js";

const VIEWS = [
  ["live", "Live", Live],
  ["topics", "Topics", Topics],
  ["groups", "Groups", Groups],
  ["refusals", "Refusals", Refusals],
  ["faults", "Faults", Faults],
  ["brokers", "Brokers", Brokers],
  ["metrics", "Metrics", Metrics],
];

const KEYS = [
  ["1 to 7", "the views"],
  ["/", "the filter"],
  ["j, k", "the next, the previous"],
  ["Space", "pause, go on"],
  ["Esc", "close"],
  ["?", "this list"],
];

const go = (place) => {
  location.hash = `#/${place}`;
};

function placeOf(hash) {
  const [name, ...rest] = hash.replace(/^#\/?/, "").split("/");
  try {
    return { name: name || "live", rest: rest.filter(Boolean).map(decodeURIComponent) };
  } catch {
    return { name: "live", rest: [] };
  }
}

function usePlace() {
  const [place, setPlace] = useState(placeOf(location.hash));
  useEffect(() => {
    const changed = () => setPlace(placeOf(location.hash));
    window.addEventListener("hashchange", changed);
    return () => window.removeEventListener("hashchange", changed);
  }, []);
  return place;
}

function App() {
  const place = usePlace();
  const server = usePolled("/v1", 2000);
  const refusals = usePolled("/v1/refusals", 2000);
  const help = useRef(null);
  const [name, title, View] = VIEWS.find(([each]) => each === place.name) || VIEWS[0];
  useEffect(() => {
    document.title = `${title} - broker-lite`;
  }, [title]);
  const keys = { "?": () => (help.current.open ? help.current.close() : help.current.showModal()) };
  VIEWS.forEach(([each], index) => {
    keys[String(index + 1)] = () => go(each);
  });
  useKeys(keys);
  const refused = (refusals.value || []).length;
  return html`
    <a class="skip" href="#main" onClick=${(event) => (event.preventDefault(), document.getElementById("main").focus())}>Skip to the content</a>
    <header class="top">
      <a class="brand" href="#/live"><img src="/page/icon.svg" alt="" width="24" height="24" /> broker-lite</a>
      <nav aria-label="Views">
        ${VIEWS.map(
          ([each, word], index) => html`
            <a href=${`#/${each}`} aria-current=${each === name ? "page" : undefined} title=${`Key ${index + 1}`}>
              ${word}${each === "refusals" && refused ? html` <span class="badge" aria-label=${`${refused} refused`}>${refused}</span>` : null}
            </a>
          `,
        )}
      </nav>
      <span class=${`link ${server.error ? "down" : "up"}`} role="status">${server.error ? "not connected" : server.value ? server.value.bootstrap : ""}</span>
      <button type="button" onClick=${() => help.current.showModal()} aria-label="Keys">?</button>
    </header>
    <main id="main" tabindex="-1"><${View} rest=${place.rest} go=${go} /></main>
    <dialog ref=${help} aria-labelledby="keys-title">
      <h2 id="keys-title">Keys</h2>
      <dl>${KEYS.map(([key, what]) => html`<dt><kbd>${key}</kbd></dt><dd>${what}</dd>`)}</dl>
      <form method="dialog"><button>Close</button></form>
    </dialog>
  `;
}

const root = document.getElementById("app");
root.replaceChildren();
render(html`<${App} />`, root);
