/* Rates and times as text. */
import { count } from "/pages/numbers.js";

export function rate(value) {
  return value >= 100 ? count(Math.round(value)) : value.toLocaleString("en", { maximumFractionDigits: value >= 10 ? 1 : 2 });
}

const UNITS = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];

/* "2 h 5 min": the two largest units. */
export function duration(seconds) {
  let left = Math.max(0, Math.round(seconds));
  const words = [];
  for (const [unit, size] of UNITS) {
    const n = Math.floor(left / size);
    if (n > 0 || (unit === "s" && words.length === 0)) words.push(`${n} ${unit}`);
    left -= n * size;
    if (words.length === 2) break;
  }
  return words.join(" ");
}

/* "2026-11-27 17:49:39", local time, as `vibeq status` prints it. */
export const clock = (unixMs) => new Date(unixMs).toLocaleString("sv");
