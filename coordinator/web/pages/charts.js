/* The charts over time, drawn by uPlot from the columns of /api/v1/history. A chart's element stays while its data changes. */
import { count, dollars } from "/pages/numbers.js";
import { rate } from "/pages/words.js";

const HEIGHT = 170;
const GAP_MS = 30000; /* the run was not active in between */

const timeOfDay = (s, withSeconds) =>
  new Date(s * 1000).toLocaleTimeString("sv", { hour: "2-digit", minute: "2-digit", second: withSeconds ? "2-digit" : undefined });
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();

/* The data of the charts: x, and lists of equal length. `live`: the newest status, which is later than the last sample. */
export function columnsOf(samples, live) {
  const columns = { x: [], done: [], failed: [], leased: [], open: [], calls: [], tokens: [], spent: [] };
  const rows = samples.unix_ms.length;
  const push = (ms, tasks, calls, tokens, spent) => {
    const done = tasks.answered + tasks.not_needed, failed = done + tasks.failed + tasks.blocked;
    const leased = failed + tasks.leased;
    columns.x.push(ms / 1000);
    columns.done.push(done);
    columns.failed.push(failed);
    columns.leased.push(leased);
    columns.open.push(leased + tasks.open);
    columns.calls.push(calls);
    columns.tokens.push(tokens);
    columns.spent.push(spent);
  };
  const gap = (ms) => {
    for (const [name, list] of Object.entries(columns)) list.push(name === "x" ? ms / 1000 : null);
  };
  const tokensAt = (i) => samples.tokens_in[i] + samples.tokens_out[i];
  const perSecond = (tokens, ms, i) => (i < 0 || tokens < tokensAt(i) || ms <= samples.unix_ms[i] ? null :
    (1000 * (tokens - tokensAt(i))) / (ms - samples.unix_ms[i]));
  for (let i = 0; i < rows; i++) {
    const ms = samples.unix_ms[i];
    if (i > 0 && ms - samples.unix_ms[i - 1] > GAP_MS) gap(ms - 1);
    const tasks = Object.fromEntries(Object.entries(samples.tasks).map(([state, list]) => [state, list[i]]));
    push(ms, tasks, samples.calls_per_1000_s[i] / 1000, perSecond(tokensAt(i), ms, i - 1), samples.spent_nanodollars[i] / 1e9);
  }
  const fresh = live && live.tasks && (rows === 0 || live.written_unix_ms > samples.unix_ms[rows - 1]);
  if (fresh) {
    push(live.written_unix_ms, live.tasks, live.calls_per_s, perSecond(live.tokens_in + live.tokens_out, live.written_unix_ms, rows - 1),
      live.money.spent_usd);
  }
  return columns;
}

const CHARTS = {
  depth: {
    words: count,
    series: [ /* the largest one is drawn first; its label names the area between it and the next one */
      ["open", "waiting", "track"], ["leased", "at workers", "a"], ["failed", "failed", "bad"], ["done", "settled", "good"]],
    parts: (columns, i) => ({ open: columns.open[i] - columns.leased[i], leased: columns.leased[i] - columns.failed[i],
      failed: columns.failed[i] - columns.done[i], done: columns.done[i] }),
  },
  calls: { words: rate, series: [["calls", "calls a second", "a"]] },
  tokens: { words: rate, series: [["tokens", "tokens a second", "b"]] },
  spent: { words: dollars, series: [["spent", "spent", "good"]] },
};

function options(chart, width, data) {
  const axis = { stroke: colour("soft"), grid: { stroke: colour("line"), width: 1 }, ticks: { show: false }, font: "12px system-ui" };
  const at = (i) => i ?? data().x.length - 1; /* the newest one, unless the pointer is on another one */
  const shown = (key, i) => (at(i) < 0 ? "" : chart.words((chart.parts ? chart.parts(data(), at(i)) : { [key]: data()[key][at(i)] })[key] ?? 0));
  return {
    width, height: HEIGHT,
    legend: { live: true },
    cursor: { points: { show: false } },
    scales: { y: { range: (u, low, high) => [0, high > 0 ? high * 1.05 : 1] } },
    axes: [{ ...axis, size: 28, space: 72, values: (u, ticks) => ticks.map((s) => timeOfDay(s, (u.scales.x.max - u.scales.x.min) < 600)) }, { ...axis, size: 62, values: (u, ticks) => ticks.map(chart.words) }],
    series: [{ label: "time", value: (u, s) => (s ?? data().x.at(-1)) === undefined ? "" : timeOfDay(s ?? data().x.at(-1), true) },
      ...chart.series.map(([key, label, tone]) => ({
        label, stroke: colour(tone), width: 1.5, fill: chart.parts ? colour(tone) : colour(tone) + "22", points: { show: false },
        value: (u, value, series, i) => shown(key, i),
      }))],
  };
}

export class Charts {
  constructor() {
    this.drawn = new Map();
    this.columns = null;
    new ResizeObserver(() => this.resize()).observe(document.body);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.again());
  }

  draw(columns) {
    this.columns = columns;
    for (const [id, chart] of Object.entries(CHARTS)) {
      const data = [columns.x, ...chart.series.map(([key]) => columns[key])];
      const place = document.getElementById(id);
      if (this.drawn.has(id)) {
        this.drawn.get(id).setData(data);
        this.drawn.get(id).setLegend();
      }
      else this.drawn.set(id, new window.uPlot(options(chart, place.clientWidth, () => this.columns), data, place));
    }
  }

  resize() {
    for (const [id, plot] of this.drawn) {
      const width = document.getElementById(id).clientWidth;
      if (width !== plot.width) plot.setSize({ width, height: HEIGHT });
    }
  }

  again() {
    for (const plot of this.drawn.values()) plot.destroy();
    this.drawn.clear();
    if (this.columns) this.draw(this.columns);
  }
}
