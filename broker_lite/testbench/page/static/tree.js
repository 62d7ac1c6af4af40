// A decoded message as a tree that opens and closes.

import { html, plain } from "./base.js";

const OPEN_TO = 5;
const MANY = 100;

const isThing = (value) => value !== null && typeof value === "object";

function Leaf({ name, value }) {
  const isBad = (name === "error" && value !== "NONE") || name === "missing";
  const kind = value === null ? "null" : typeof value;
  return html`<li><span class="name">${plain(name)}</span> <span class=${`value is-${kind} ${isBad ? "bad" : ""}`}>${value === null ? "null" : plain(value, 2000)}</span></li>`;
}

export function Tree({ value, depth = 0 }) {
  const all = Object.entries(value);
  const shown = all.slice(0, MANY);
  return html`
    <ul class="tree">
      ${shown.map(([name, each]) => {
        if (!isThing(each)) return html`<${Leaf} key=${name} name=${name} value=${each} />`;
        const size = Object.keys(each).length;
        if (!size) return html`<${Leaf} key=${name} name=${name} value=${Array.isArray(each) ? "none" : "{}"} />`;
        const many = Array.isArray(each) ? ` [${size}]` : "";
        return html`
          <li key=${name}>
            <details open=${depth < OPEN_TO && size <= 20}>
              <summary><span class="name">${plain(name)}</span>${many}</summary>
              <${Tree} value=${each} depth=${depth + 1} />
            </details>
          </li>
        `;
      })}
      ${all.length > MANY ? html`<li class="note">${all.length - MANY} more</li>` : null}
    </ul>
  `;
}
