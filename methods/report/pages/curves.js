/* Curves over rounds as SVG: lines with intervals; a value that is missing is a gap in its line. */
import { el, svg } from "./dom.js";
import { isNumber } from "./numbers.js";
import { pictureButtons } from "./save.js";

const fixed1 = (x) => x.toFixed(1);

/* chart: {title, lo, hi, last, along, format(value), contrast, small, series: [{style, at: rounds, values, cis, dots}], file}. The first line is
 * read out and drawn on top; what lies beyond lo and hi is drawn at its end. */
export function curves(chart) {
  const wide = chart.small ? 170 : 250, high = chart.small ? 96 : 170, left = 34, top = 6, right = wide - 6, bottom = high - 18;
  const along = chart.along || "round";
  const x = (round) => fixed1(left + (chart.last === 0 ? 0 : round / chart.last) * (right - left));
  const y = (value) => fixed1(bottom - Math.min(1, Math.max(0, (value - chart.lo) / (chart.hi - chart.lo))) * (bottom - top));

  const intervals = ({ style, at, cis }) => {
    const d = (cis || []).map((ci, i) => (ci ? "M" + x(at[i]) + " " + y(ci[0]) + "V" + y(ci[1]) : "")).join("");
    return d && svg("path", { class: "ci " + style, d });
  };
  const line = ({ style, at, values }) => {
    const d = values.map((value, i) => (isNumber(value) ? (isNumber(values[i - 1]) ? "L" : "M") + x(at[i]) + " " + y(value) : "")).join("");
    return d && svg("path", { class: "line " + style, d });
  };
  const dots = ({ style, at, values, dots: shown }) => shown && values.map((value, i) =>
    isNumber(value) && svg("circle", { class: "dot " + style, cx: x(at[i]), cy: y(value), r: chart.small ? 1.6 : 2.2 }));
  const axes = [chart.lo, (chart.lo + chart.hi) / 2, chart.hi].map((value, i) => [
    svg("line", { class: chart.contrast && i === 1 ? "zero" : "grid", x1: left, x2: right, y1: y(value), y2: y(value) }),
    svg("text", { x: left - 4, y: Number(y(value)) + 3, "text-anchor": "end" }, chart.format(value))]);
  const ends = [svg("text", { x: left, y: bottom + 12 }, "0"),
    svg("text", { x: right, y: bottom + 12, "text-anchor": "end" }, (chart.small ? "" : along + " ") + chart.last)];

  const first = chart.series[0], known = first.values.map((value, i) => [value, first.at[i]]).filter(([value]) => isNumber(value));
  const readOut = known.length ? [known[0], known[known.length - 1]].map(([value, round]) => along + " " + round + " " + chart.format(value)).join(", ") : "no values";
  const picture = svg("svg", { class: "chart", viewBox: `0 0 ${wide} ${high}`, "aria-hidden": "true" }, axes, ends,
    [...chart.series].reverse().map((series) => [intervals(series), line(series), dots(series)]));
  return el("figure", null, el("figcaption", null, chart.title, el("span", { class: "hint" }, " " + readOut)), picture,
    el("p", { class: "save" }, pictureButtons(() => picture, chart.file)));
}
