/* The page of one run: while it is visible, it requests the status every second and the samples every ten seconds. It sends commands. */
import * as api from "/pages/api.js";
import { byId, el, name, visible } from "/pages/dom.js";
import { count, dollars, isNumber } from "/pages/numbers.js";
import { rate, duration, clock } from "/pages/words.js";
import { Charts, columnsOf } from "/pages/charts.js";
import * as tables from "/pages/tables.js";
import * as answers from "/pages/answers.js";

const STATUS_MS = 1000, HISTORY_MS = 10000, SAMPLE_MS = 2000, RECENT_MS = 5000, OVER_MS = 10000;
const COSTS = { resume: "The run starts calls again.", unpark: "The run asks this pool again.", requeue: "The run asks the failed tasks again, and pays for the calls.",
  pool: "The run may call this pool up to the new limit.", drain: "The worker ends its calls, returns the rest, and its process ends.",
  budget: "The run may spend up to this amount.", concurrency: "The run may start more calls." };

const charts = new Charts();
let samples = null, last = null, historyAt = 0, awaySince = 0, sampleAt = 0, answerNo = 0, isHeld = false, lettersKey = "",
  recentAt = 0, recent = new Map(), rates = new Map(), incidents = null;

const settled = (tasks) => tasks.answered + tasks.not_needed + tasks.failed + tasks.blocked;

/* Gives the focus back to the element with the same key. */
function put(id, ...children) {
  const place = byId(id), key = place.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
  place.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  if (key !== undefined) place.querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus({ preventScroll: true });
}

function append(more) {
  if (samples === null) {
    samples = more;
    return;
  }
  const into = (to, from) => {
    for (const [key, value] of Object.entries(from)) {
      if (Array.isArray(value)) to[key].push(...value);
      else if (typeof value === "object") into(to[key], value);
    }
  };
  into(samples, more);
}

function card(title, big, ...more) {
  return el("div", { class: "card" }, el("h3", null, title), el("p", { class: "big" }, big), more);
}

function timeLeft(status) {
  if (!isNumber(status.eta_s)) return card("Time left", "unknown");
  const range = isNumber(status.eta_low_s) && isNumber(status.eta_high_s) && status.eta_s > 0;
  return card("Time left", status.eta_s === 0 ? "none" : duration(status.eta_s),
    range ? el("p", null, `between ${duration(status.eta_low_s)} and ${duration(status.eta_high_s)}`) : null);
}

function deadline(status) {
  if (!status.deadline) return null;
  const { unix_ms: at, state, ends_unix_ms: ends, batches_until_unix_ms: until } = status.deadline;
  const bad = state === "late" ? "cannot be met" : state === "passed" ? "has passed" : null;
  return card("Deadline", clock(at),
    bad ? el("p", { class: "bad" }, bad) : null,
    isNumber(until) ? el("p", null, `batches have until ${clock(until)}`) : null,
    isNumber(ends) ? el("p", null, state === "batches" ? `over by ${clock(ends)}` : `over at about ${clock(ends)}`) : null);
}

function money(status) {
  const { spent_usd: spent, budget_usd: budget } = status.money, done = settled(status.tasks);
  const open = status.tasks_total - done;
  const forecast = done > 0 && spent > 0 && open > 0 ? spent * (status.tasks_total / done) : null;
  return card("Spent", dollars(spent),
    isNumber(budget) ? el("meter", { min: 0, max: budget, high: budget * 0.9, value: Math.min(spent, budget), "aria-label": "of the budget" }) : null,
    isNumber(budget) ? el("p", null, `of a budget of ${dollars(budget)}`) : null,
    forecast === null ? null : el("p", null, `about ${dollars(forecast)} at the end of the stage`));
}

function cards(status) {
  const done = settled(status.tasks);
  return [
    card("Tasks settled", `${((100 * done) / Math.max(1, status.tasks_total)).toFixed(1)} %`,
      el("progress", { max: status.tasks_total, value: done, "aria-label": "tasks settled" }), el("p", null, `${count(done)} of ${count(status.tasks_total)}`),
      status.tasks.failed + status.tasks.blocked > 0 ? el("p", { class: "bad" }, `${count(status.tasks.failed + status.tasks.blocked)} failed or blocked`) : null),
    timeLeft(status),
    card("Calls a second", rate(status.calls_per_s), el("p", null, `${count(status.workers.reduce((sum, worker) => sum + worker.calls_out, 0))} in flight`)),
    money(status),
    deadline(status),
    card("Started", `${duration((status.written_unix_ms - status.started_unix_ms) / 1000)} ago`, el("p", null, clock(status.started_unix_ms))),
  ];
}

/* The progress through the stages. The later stages depend on the answers, so the expected ones are shown. */
function stages(status) {
  const share = (100 * settled(status.tasks)) / Math.max(1, status.tasks_total);
  return [status.stages_before.map((stage) => el("li", { class: "over" }, name(stage))),
    el("li", { class: "now", "aria-current": "step" }, name(status.stage), status.state === "finished" ? "" : ` ${share.toFixed(0)} %`),
    (status.stages_after || []).map((stage) => el("li", { class: "next", title: "expected" }, name(stage)))];
}

function alertOf(status) {
  const lines = [status.note, status.alarm && status.alarm.text].filter(Boolean);
  return lines.length === 0 ? [] : [el("div", { class: "banner" + (status.alarm ? " bad" : "") }, lines.map((line) => el("p", null, name(line))))];
}

const isOver = (status) => status.state === "finished" || status.state === "stopped";
/* For a finished run, the page of runs has only its status and its samples. */
const isServed = (status) => !api.isAmongRuns || !isOver(status);

/* The result of a finished run, from the list of runs. */
async function showOutcome() {
  const run = await api.entry();
  if (incidents === null) {
    incidents = await api.incidents().catch(() => null); /* a run of an older version has no incidents */
    showIncidents(last);
  }
  put("outcome", el("div", { class: "banner" }, run.headline ? el("p", null, name(run.headline)) : null,
    run.report_path ? el("p", null, el("a", { href: run.report_path }, "Report")) : null,
    run.headline || run.report_path ? null : el("p", null, "The run has no results. ", el("code", null, `vibeq resume ${run.name}`), " continues it.")));
}

function showIncidents(status) {
  byId("troubles").hidden = incidents === null || incidents.incidents.length === 0;
  if (incidents !== null) put("incidents", tables.incidents(incidents, status.run));
}

function show(status) {
  const over = isOver(status);
  document.body.classList.toggle("over", over);
  byId("change").hidden = over;
  byId("answers").hidden = over;
  document.title = `${status.run}: ${status.state} - vibeq`;
  put("name", name(status.run));
  byId("state").className = "state " + status.state;
  byId("state").textContent = status.state;
  byId("stage").textContent = status.stage ? `stage ${status.stage}` : "";
  put("alert", alertOf(status));
  byId("pause").hidden = status.state === "held" || over;
  byId("resume").hidden = status.state !== "held";
  if (!status.tasks) return; /* the queue does not exist yet */
  put("cards", cards(status));
  put("pools", tables.pools(status, recent, act));
  put("workers", tables.workers(status, rates, act));
  poolNames(status);
  put("stages", stages(status));
  showIncidents(status);
  put("judges", tables.judges(status));
  put("failures", tables.failures(status));
}

/* Keeps the person's choice. */
function poolNames(status) {
  const select = byId("retune").elements.pool, names = status.pools.map((pool) => pool.name);
  if (names.join("\n") === [...select.options].map((option) => option.value).join("\n")) return;
  select.replaceChildren(...names.map((one) => el("option", { value: one }, visible(one))));
}

function away() {
  awaySince = awaySince || Date.now();
  const ended = last && last.state === "finished";
  put("alert", el("div", { class: ended ? "banner" : "banner bad" }, ended ? "The run is finished, and its process has ended. " :
    `The run has not answered since ${clock(awaySince)}. The numbers are of before. `, el("code", null, "vibeq status " + (last ? last.run : "RUN"))));
}

async function act(...words) {
  if (COSTS[words[0]] && !confirm(`${words.join(" ")}\n\n${COSTS[words[0]]}`)) return;
  try {
    const { ok, text } = await api.command(...words);
    byId("reply").className = ok ? "" : "bad";
    put("reply", name(`${words[0]}: ${text}`));
  } catch (error) {
    byId("reply").className = "bad";
    byId("reply").textContent = `${words[0]}: it is unknown whether the run has carried this out. Look at its state.`;
  }
  await turn();
}

async function askRecent() {
  if (Date.now() - recentAt < RECENT_MS) return;
  recentAt = Date.now();
  const [pools, workers, news] = await Promise.all([api.pools(), api.workers(), api.incidents()]);
  incidents = news;
  recent = new Map(pools.pools.map((pool) => [pool.name, pool.recent]));
  rates = new Map(workers.workers.map((worker) => [tables.placeOf(worker), worker.results_per_s]));
}

async function showSample() {
  if (isHeld || Date.now() - sampleAt < SAMPLE_MS) return;
  sampleAt = Date.now();
  const more = await api.sample(answerNo);
  if (more.last < answerNo) answerNo = 0; /* the run was resumed in the meantime */
  else answers.addAnswers(more.answers.filter((answer) => answer.no > answerNo));
  answerNo = Math.max(answerNo, more.last);
}

/* Elements that a person opened stay open while the data does not change. */
async function showLetters(status) {
  const failed = status.tasks ? status.tasks.failed : 0;
  const key = `${status.stage} ${failed}`;
  if (key === lettersKey) return;
  const shown = answers.letters(await api.deadLetters(), status.run, act);
  byId("dead").hidden = shown.length === 0;
  put("letters", shown);
  lettersKey = key;
}

async function turn() {
  try {
    const status = await api.status();
    if (Date.now() - historyAt >= HISTORY_MS) {
      append(await api.history(samples && samples.unix_ms.length ? samples.unix_ms[samples.unix_ms.length - 1] : 0));
      historyAt = Date.now();
    }
    if (isServed(status)) await askRecent();
    awaySince = 0;
    last = status;
    byId("door").hidden = true;
    show(status);
    charts.draw(columnsOf(samples, status));
    if (isServed(status)) {
      await showLetters(status);
      await showSample();
    }
    if (api.isAmongRuns && isOver(status)) await showOutcome();
    else put("outcome");
  } catch (error) {
    if (error.denied) byId("door").hidden = false;
    else if (error.away) away();
    else if (error.refused) put("alert", el("div", { class: "banner bad" }, name(error.message)));
    else throw error;
  }
}

async function forever() {
  for (;;) {
    if (!document.hidden) await turn();
    await new Promise((next) => setTimeout(next, api.isAmongRuns && last && isOver(last) ? OVER_MS : STATUS_MS));
  }
}

byId("hold").addEventListener("click", () => {
  isHeld = !isHeld;
  byId("hold").setAttribute("aria-pressed", isHeld);
});
byId("pause").addEventListener("click", () => act("pause"));
byId("resume").addEventListener("click", () => act("resume"));
byId("door").addEventListener("submit", (event) => {
  event.preventDefault();
  api.keepToken(byId("token").value.trim());
  turn();
});
for (const id of ["budget", "concurrency"]) {
  byId(id).addEventListener("submit", (event) => {
    event.preventDefault();
    act(id, new FormData(event.target).values().next().value.trim());
  });
}
byId("retune").addEventListener("submit", (event) => {
  event.preventDefault();
  const given = new FormData(event.target);
  act("pool", given.get("pool"), given.get("limit"), given.get("n").trim());
});
api.takeToken();
if (api.isAmongRuns) put("brand", el("a", { href: api.pageOfRuns() }, "All runs"));
window.addEventListener("hashchange", () => api.takeToken() && turn());
forever();
