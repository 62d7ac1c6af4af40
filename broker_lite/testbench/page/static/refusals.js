// The last refused requests, each with its bytes, and the field that was refused.

import { useEffect, useState } from "preact/hooks";
import { Empty, Trouble, ask, askBytes, clock, html, plain, useKeys, usePolled } from "./base.js";
import { ByteView } from "./bytes.js";

function Refusal({ id }) {
  const [state, setState] = useState({ explained: null, error: null });
  useEffect(() => {
    let isOver = false;
    Promise.all([ask("GET", `/v1/refusals/${id}?with_bytes=true`), askBytes(`/v1/refusals/${id}/request`)]).then(
      ([explained, bytes]) => isOver || setState({ explained, bytes, error: null }),
      (error) => isOver || setState({ explained: null, error }),
    );
    return () => {
      isOver = true;
    };
  }, [id]);
  if (state.error) return html`<${Trouble} error=${state.error} />`;
  return state.explained ? html`<h2>Request ${id}</h2><${ByteView} explained=${state.explained} bytes=${state.bytes} name=${id} />` : html`<p class="note">Loading ...</p>`;
}

export function Refusals({ rest, go }) {
  const { value, error } = usePolled("/v1/refusals", 1000);
  const all = (value || []).slice().reverse();
  const chosen = rest[0] || (all.length ? all[0].id : null);
  const step = (by) => {
    const at = all.findIndex((each) => each.id === chosen);
    const next = all[Math.min(Math.max(at + by, 0), all.length - 1)];
    if (next) go(`refusals/${next.id}`);
  };
  useKeys({ j: () => step(1), k: () => step(-1), ArrowDown: () => step(1), ArrowUp: () => step(-1) });
  if (value && !all.length) {
    return html`
      <h1>Refusals</h1>
      <${Empty}><p>No request has been refused.</p><p>The last 100 that the broker refuses are kept here, whether or not requests are recorded.</p></${Empty}>
    `;
  }
  return html`
    <h1>Refusals</h1>
    <${Trouble} error=${error} />
    <div class="master">
      <ol class="picks" aria-label="Refused requests, the newest first">
        ${all.map(
          (each) => html`
            <li key=${each.id} class=${each.id === chosen ? "chosen" : ""}>
              <button type="button" class="bare" aria-current=${each.id === chosen ? "true" : undefined} onClick=${() => go(`refusals/${each.id}`)}>
                <span class="bad">${each.error}</span>
                <small>${each.id}, ${clock(each.at_ms)}, ${each.api} v${each.version}, ${plain(each.client_id || each.connection, 40)}</small>
                <small>${plain(each.reason, 90)}</small>
              </button>
            </li>
          `,
        )}
      </ol>
      <div>${chosen ? html`<${Refusal} key=${chosen} id=${chosen} />` : null}</div>
    </div>
  `;
}
