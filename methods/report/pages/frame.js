/* The frame of every report: head with light and dark, contents, folds that paper shows, and the way to what an address names. */
import { byId, el, name, button } from "./dom.js";
import { na, percent, plural } from "./format.js";
import { count, dollars } from "./numbers.js";

export const pageData = () => JSON.parse(byId("data").textContent);

export const section = (id, head, ...children) => el("section", { id }, el("h2", null, head), children);
export const sub = (...children) => el("p", { class: "sub" }, children);
export const fold = (id, summary, ...children) => el("details", { class: "fold", id }, el("summary", null, summary), children);
export const card = (head, big, ...children) => el("div", { class: "card" }, el("h3", null, head), el("p", { class: "big" }, big), el("p", null, children));

/* "A" or "B" with its colour and the model's name. */
export const model = (which, modelName) => el("span", { class: "model " + (which ? "b" : "a") }, el("b", null, which ? "B" : "A"), " ", name(modelName));

export const banner = (results, what) => (results.judge_kind === "model" ? null : el("p", { class: "banner", role: "note" },
  el("b", null, "Made with the offline judge."), " It needs no model and knows none: this page shows that the plumbing works, not " + what));

/* The cards of calls and cost. `lost`: questions without an answer because their calls failed; null where it is not known. `cuts`:
 * judging.truncate. */
export function callCards(calls, lost, cuts) {
  if (!calls) return null;
  const failed = calls.failed === 0 ? "" : ", " + count(calls.failed) + (lost === 0 ? " failed and were made again" : " failed");
  return [card("Calls", count(calls.sent), "of " + count(calls.planned) + " planned; " + count(calls.from_store) + " answered from the store",
    lost === null ? "" : ", " + count(calls.not_needed) + " not needed",
    lost !== null && cuts && calls.too_long ? ", " + count(calls.too_long) + " too long and asked again with both outputs cut evenly" : "",
    failed, lost ? [", ", el("b", { class: "wrong" }, plural(lost, "question", "questions") + " failed for good")] : null),
  card("Cost", typeof calls.cost_usd === "number" ? dollars(calls.cost_usd) : na("no prices set"), plural(calls.tokens_in, "token", "tokens") + " in",
    calls.tokens_cached ? " (" + count(calls.tokens_cached) + " from a cache, " + percent(calls.tokens_cached / calls.tokens_in) + ")" : "", ", " + count(calls.tokens_out) + " out")];
}

/* ---- light and dark ---- */

function themeButton() {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const dark = () => {
    const chosen = document.documentElement.dataset.theme;
    return chosen ? chosen === "dark" : system.matches;
  };
  const node = button("", () => {
    document.documentElement.dataset.theme = dark() ? "light" : "dark";
    label();
  }, { id: "theme" });
  const label = () => { node.textContent = dark() ? "Light" : "Dark"; };
  system.addEventListener("change", label);
  label();
  return node;
}

/* ---- folds ---- */

function unfoldOnPaper() {
  let opened = [];
  addEventListener("beforeprint", () => {
    for (const one of document.querySelectorAll("details.lazy")) one.fill();
    opened = Array.from(document.querySelectorAll("details:not([open])"));
    for (const one of opened) one.open = true;
  });
  addEventListener("afterprint", () => {
    for (const one of opened) one.open = false;
    opened = [];
  });
}

function openTarget() {
  const target = location.hash && byId(location.hash.slice(1));
  if (target) {
    if (target instanceof HTMLDetailsElement) target.open = true;
    target.scrollIntoView();
  }
}

/* Shows the page in place of the table that needs no script: head, contents, sections. */
export function showPage(data, brand, title, lede, sections) {
  const shown = sections.flat(Infinity).filter(Boolean);
  const links = shown.filter((part) => part.id && part.firstElementChild && part.firstElementChild.tagName === "H2")
    .map((part) => el("a", { href: "#" + part.id }, part.firstElementChild.textContent));
  const main = el("main", null, el("header", { class: "top" }, el("p", { class: "brand" }, brand), themeButton()), el("h1", null, title), lede,
    el("nav", { id: "contents", "aria-label": "Contents" }, links), shown,
    el("footer", null, el("p", null, "Made by vibeq " + data.vibeq + ". The main numbers are in ", el("code", null, "results.json"), " beside it.")));
  byId("plain").replaceWith(main);
  unfoldOnPaper();
  addEventListener("hashchange", openTarget);
  openTarget();
}
