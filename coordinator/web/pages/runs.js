/* The page of runs: requests the list every two seconds while it is visible. A row stays in the document while its run does, and is built
 * again only if its data has changed, so that the focus stays. */
import * as api from "/pages/api.js";
import { byId, el, name } from "/pages/dom.js";
import { count, dollars, isNumber } from "/pages/numbers.js";
import { rate, duration, clock } from "/pages/words.js";

const EVERY_MS = 2000;

const rows = new Map(); /* by name: {json, element} */
let list = null, order = { by: "started", down: true };

function progress(run) {
  if (run.tasks_total === 0) return run.stage ? `stage ${run.stage}` : null;
  const share = run.tasks_settled / run.tasks_total;
  return [el("progress", { max: run.tasks_total, value: run.tasks_settled, "aria-label": `tasks of ${run.name}` }),
    el("div", { class: "soft" }, `${Math.floor(100 * share)} % of stage `, name(run.stage || "?"))];
}

function spent(run) {
  if (!isNumber(run.spent_usd) || (run.spent_usd === 0 && !isNumber(run.budget_usd))) return null;
  return isNumber(run.budget_usd) ? `${dollars(run.spent_usd)} of ${dollars(run.budget_usd)}` : dollars(run.spent_usd);
}

function timeLeft(run) {
  if (!run.active || !isNumber(run.eta_s)) return null;
  const range = isNumber(run.eta_low_s) && isNumber(run.eta_high_s) && run.eta_s > 0;
  return [duration(run.eta_s), range ? el("div", { class: "soft" }, `${duration(run.eta_low_s)} to ${duration(run.eta_high_s)}`) : null];
}

function outcome(run) {
  return [run.headline ? el("p", null, name(run.headline)) : null,
    run.report_path ? el("p", null, el("a", { href: run.report_path }, "Report")) : null,
    run.problems.map((problem) => el("p", { class: "bad" }, name(problem)))];
}

function rowOf(run) {
  const readable = run.state !== "unreadable";
  const cell = (label, ...children) => el("td", { "data-label": label }, children);
  return el("tr", { "data-run": run.name },
    el("th", { scope: "row" }, readable ? el("a", { href: api.pageOf(run.name) }, name(run.name)) : name(run.name),
      run.owner ? el("div", { class: "soft" }, "of ", name(run.owner)) : null),
    cell(null, el("span", { class: "state " + run.state }, run.state)),
    cell(null, progress(run)),
    cell("calls a second:", run.active && isNumber(run.calls_per_s) ? rate(run.calls_per_s) : null),
    cell("spent:", spent(run)),
    cell("time left:", timeLeft(run)),
    cell("started:", isNumber(run.started_unix_ms) ? clock(run.started_unix_ms) : null),
    cell(null, outcome(run)));
}

const KEYS = { name: (run) => run.name, state: (run) => run.state, calls: (run) => run.calls_per_s, spent: (run) => run.spent_usd,
  left: (run) => run.eta_s, started: (run) => run.started_unix_ms ?? run.changed_unix_ms };

/* Active runs are first unless a person has chosen an order; unknown values are last. */
function compare(a, b) {
  if (!order.chosen && a.active !== b.active) return a.active ? -1 : 1;
  const x = KEYS[order.by](a), y = KEYS[order.by](b);
  if (x === null || y === null) return (x === null) - (y === null) || a.name.localeCompare(b.name);
  const sign = typeof x === "string" ? x.localeCompare(y) : x - y;
  return (order.down ? -sign : sign) || a.name.localeCompare(b.name);
}

function matches(run, words) {
  const text = [run.name, run.state, run.headline, run.owner, run.stage, ...run.problems].join(" ").toLowerCase();
  return words.every((word) => text.includes(word));
}

function element(run) {
  const json = JSON.stringify(run), had = rows.get(run.name);
  if (had && had.json === json) return had.element;
  const made = rowOf(run);
  if (had) {
    const held = had.element.contains(document.activeElement) ? [...had.element.querySelectorAll("a")].indexOf(document.activeElement) : -1;
    had.element.replaceWith(made);
    made.querySelectorAll("a")[held]?.focus();
  }
  rows.set(run.name, { json, element: made });
  return made;
}

function show() {
  const words = byId("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  const shown = list.runs.filter((run) => matches(run, words)).sort(compare).map(element);
  const body = byId("runs").tBodies[0], now = [...body.children];
  const names = new Set(list.runs.map((run) => run.name));
  for (const key of rows.keys()) if (!names.has(key)) rows.delete(key);
  if (shown.length !== now.length || shown.some((row, i) => row !== now[i])) {
    const focused = document.activeElement;
    body.replaceChildren(...shown);
    if (focused && focused !== document.activeElement && focused.isConnected) focused.focus();
  }
  byId("runs").hidden = list.runs.length === 0;
  const active = list.runs.filter((run) => run.active).length;
  const text = list.runs.length === 0 ? "There is no run here yet. vibeq run starts one." :
    `${count(list.runs.length)} run${list.runs.length === 1 ? "" : "s"}, ${count(active)} active` + (words.length > 0 ? `, ${count(shown.length)} shown` : "");
  if (byId("count").textContent !== text) byId("count").textContent = text;
  byId("folder").replaceChildren(name(list.folder));
  for (const head of byId("runs").querySelectorAll("[data-by]")) {
    if (head.dataset.by === order.by) head.setAttribute("aria-sort", order.down ? "descending" : "ascending");
    else head.removeAttribute("aria-sort");
  }
}

function alertWith(text) {
  byId("alert").replaceChildren(...(text ? [el("div", { class: "banner bad" }, name(text))] : []));
}

async function turn() {
  try {
    list = await api.runs();
    byId("door").hidden = true;
    alertWith(null);
    show();
  } catch (error) {
    if (error.denied) byId("door").hidden = false;
    else if (error.away || error.refused) alertWith(error.refused ? error.message : "vibeq ui does not answer. The list is of before.");
    else throw error;
  }
}

async function forever() {
  for (;;) {
    if (!document.hidden) await turn();
    await new Promise((next) => setTimeout(next, EVERY_MS));
  }
}

byId("search").addEventListener("input", () => list && show());
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && !(document.activeElement instanceof HTMLInputElement)) {
    event.preventDefault();
    byId("search").focus();
  }
});
for (const head of byId("runs").querySelectorAll("[data-by]")) {
  head.querySelector("button").addEventListener("click", () => {
    const by = head.dataset.by;
    order = { by, down: order.chosen && order.by === by ? !order.down : by !== "name" && by !== "state", chosen: true };
    if (list) show();
  });
}
byId("door").addEventListener("submit", (event) => {
  event.preventDefault();
  api.keepToken(byId("token").value.trim());
  turn();
});
api.takeToken();
window.addEventListener("hashchange", () => api.takeToken() && turn());
forever();
