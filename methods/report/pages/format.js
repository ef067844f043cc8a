/* Numbers as a reader sees them: a true minus, "n/a" for a number that does not exist, thousands with commas. */
import { el } from "./dom.js";
import { isNumber, count } from "./numbers.js";

export const na = (words = "n/a") => el("span", { class: "na" }, words);

/* An exact half rounds to even, as in the tables of the terminal. */
function roundedText(value, digits) {
  const scaled = value * 10 ** digits, below = Math.floor(scaled);
  const isHalf = scaled - below === 0.5 && Number.isInteger(value * 2 ** 20);
  return isHalf && below % 2 === 0 ? (below / 10 ** digits).toFixed(digits) : value.toFixed(digits);
}

function digitsOf(value, digits, withSign) {
  const text = roundedText(Math.abs(value), digits);
  const zero = Number(text) === 0;
  return (zero ? "" : value < 0 ? "\u2212" : withSign ? "+" : "") + text;
}

export const fixed = (value, digits) => (isNumber(value) ? digitsOf(value, digits, false) : "n/a");
export const signed = (value, digits) => (isNumber(value) ? digitsOf(value, digits, true) : "n/a");
export const significant = (value) => String(Number(value.toPrecision(3)));
export const percent = (share) => (isNumber(share) ? (share * 100).toFixed(1) + "\u202f%" : "n/a");
export const plural = (n, one, many) => count(n) + " " + (n === 1 ? one : many);

export function interval(ci, digits, withSign) {
  return ci ? "[" + digitsOf(ci[0], digits, withSign) + ", " + digitsOf(ci[1], digits, withSign) + "]" : na("no interval");
}
