// A chart of a few lines over time.

import { useEffect, useRef } from "preact/hooks";
import { html } from "./base.js";

const SPAN_S = 60;

let loading = null;

// The library is read when the first chart is looked at.
function library() {
  loading =
    loading ||
    new Promise((resolve, reject) => {
      document.head.append(Object.assign(document.createElement("link"), { rel: "stylesheet", href: "/page/vendor/uplot.css" }));
      const script = Object.assign(document.createElement("script"), { src: "/page/vendor/uplot.js" });
      script.onload = () => resolve(window.uPlot);
      script.onerror = reject;
      document.head.append(script);
    });
  return loading;
}

const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// data: [times in s, values of the first line, ...]; lines: their names.
export function Chart({ label, lines, data }) {
  const place = useRef(null);
  const plot = useRef(null);
  const newest = useRef(data);
  newest.current = data;
  useEffect(() => {
    let isOver = false;
    let resize = () => {};
    library().then((UPlot) => {
      if (isOver || !place.current) return;
      const axis = { stroke: color("--soft"), grid: { stroke: color("--line") }, ticks: { stroke: color("--line") } };
      const options = {
        width: place.current.clientWidth,
        height: 180,
        series: [{}, ...lines.map((name, index) => ({ label: name, stroke: color(`--hue-${index % 8}`), width: 2, spanGaps: false }))],
        axes: [axis, { ...axis, size: 60 }],
        scales: { x: { range: (_, low, high) => [Math.min(low, high - SPAN_S), high] }, y: { range: (_, low, high) => [Math.min(0, low), Math.max(1, high * 1.05)] } },
      };
      plot.current = new UPlot(options, newest.current, place.current);
      resize = () => place.current && plot.current.setSize({ width: place.current.clientWidth, height: 180 });
      window.addEventListener("resize", resize);
    });
    return () => {
      isOver = true;
      window.removeEventListener("resize", resize);
      if (plot.current) plot.current.destroy();
      plot.current = null;
    };
  }, [lines.join("\n")]);
  useEffect(() => {
    if (plot.current) plot.current.setData(data);
  }, [data]);
  return html`<figure class="chart"><figcaption>${label}</figcaption><div ref=${place} role="img" aria-label=${label}></div></figure>`;
}
