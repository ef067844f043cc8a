/* Charts as SVG: signed bars with intervals, scales from 0 to 1, lines over rounds, and the picture of a table of estimates. */
import { svg, shortened } from "./dom.js";
import { signed, interval } from "./format.js";

const BAR_HALF = 60, BAR_HEIGHT = 18;
const rounded = (x) => x.toFixed(2);
const partOf = (value, full) => (full > 0 ? Math.max(-1, Math.min(1, value / full)) : 0);

function barParts(value, ci, full) {
  const end = partOf(value, full) * BAR_HALF, height = BAR_HEIGHT - 8;
  const parts = [svg("rect", { class: "track", x: -BAR_HALF, y: 4, width: 2 * BAR_HALF, height, rx: 2 }),
    svg("rect", { class: value < 0 ? "neg" : "pos", x: rounded(Math.min(end, 0)), y: 4, width: rounded(Math.abs(end)), height }),
    svg("line", { class: "zero", x1: 0, x2: 0, y1: 1, y2: BAR_HEIGHT - 1 })];
  if (ci) {
    const lo = rounded(partOf(ci[0], full) * BAR_HALF), hi = rounded(partOf(ci[1], full) * BAR_HALF);
    parts.push(svg("path", { class: "ci", d: `M${lo} 9H${hi}M${lo} 6V12M${hi} 6V12` }));
  }
  return parts;
}

/* A signed bar with its interval; `full`: the value that fills half of it. */
export const bar = (value, ci, full, kind) =>
  svg("svg", { class: "bar " + kind, viewBox: `-62 0 124 ${BAR_HEIGHT}`, "aria-hidden": "true" }, barParts(value, ci, full));

/* A scale from 0 to 1 with a value, its interval and its baseline. */
export function scale(value, ci, baseline) {
  return svg("svg", { class: "scale", viewBox: "-2 0 204 18", "aria-hidden": "true" },
    svg("rect", { class: "track", x: 0, y: 7, width: 200, height: 4, rx: 2 }),
    ci ? svg("rect", { class: "range", x: rounded(ci[0] * 200), y: 5, width: rounded((ci[1] - ci[0]) * 200), height: 8, rx: 4 }) : null,
    typeof baseline === "number" ? svg("line", { class: "base", x1: rounded(baseline * 200), x2: rounded(baseline * 200), y1: 1, y2: 17 }) : null,
    svg("circle", { class: "dot", cx: rounded(value * 200), cy: 9, r: 4 }));
}

/* Bars of a table as one picture to save. panels: {head, full, kind, digits}; rows: {name, values: [[value, ci], ...]}. */
export function estimates(panels, rows) {
  const left = 250, wide = 230, high = 34, width = left + panels.length * wide, height = 44 + rows.length * high;
  const label = (x, y, words, anchor, size = 12) => svg("text", { x, y, "font-size": size, "text-anchor": anchor }, words);
  const short = (text) => (text.length > 38 ? text.slice(0, 37) + "\u2026" : text);
  return svg("svg", { class: "estimates", viewBox: `0 0 ${width} ${height}` },
    panels.map((panel, k) => label(left + k * wide + 62, 20, panel.head, "middle", 13)),
    rows.map((row, i) => {
      const y = 36 + i * high;
      return [label(8, y + 13, short(shortened(row.name)), "start"), row.values.map(([value, ci], k) => (typeof value !== "number" ? null : [
        svg("g", { class: "bar " + panels[k].kind, transform: `translate(${left + k * wide + 62} ${y})` }, barParts(value, ci, panels[k].full)),
        label(left + k * wide + 128, y + 9, signed(value, 2), "start", 11),
        ci ? label(left + k * wide + 128, y + 21, interval(ci, 2, true), "start", 9) : null]))];
    }));
}

const CELL = 44, LINE = 22, NAMES = 250, HEAT = 0.55;

/* A table of values in [-1, 1] as one picture to save, as `heat` shows it. rows: {name, values}. */
export function matrix(heads, rows) {
  const text = (x, y, words, anchor) => svg("text", { x, y, "font-size": 11, "text-anchor": anchor }, words);
  const short = (words, most) => (words.length > most ? words.slice(0, most - 1) + "\u2026" : words);
  return svg("svg", { class: "matrix", viewBox: `0 0 ${NAMES + heads.length * CELL + 8} ${(rows.length + 1) * LINE + 8}` },
    heads.map((head, k) => text(NAMES + (k + 0.5) * CELL, 16, short(shortened(head), 7), "middle")),
    rows.map((row, i) => [text(8, (i + 1) * LINE + 16, short(shortened(row.name), 40), "start"), row.values.map((value, k) => (typeof value !== "number" ? null : [
      svg("rect", { class: value < 0 ? "neg" : "pos", x: NAMES + k * CELL + 1, y: (i + 1) * LINE + 1, width: CELL - 2, height: LINE - 2, rx: 3,
        opacity: rounded(HEAT * Math.min(Math.abs(value), 1)) }),
      text(NAMES + (k + 0.5) * CELL, (i + 1) * LINE + 16, signed(value, 2), "middle")]))]));
}
