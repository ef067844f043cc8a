/* The tables of pools, workers, judges and failures, from one status. A table is built again for each status. Buttons keep their places
 * and the focus. */
import { el, svg, button, name } from "/pages/dom.js";
import { count, isNumber } from "/pages/numbers.js";
import { rate, duration, clock } from "/pages/words.js";

const DIMENSIONS = { requests_per_minute: "requests/min", input_tokens_per_minute: "input tokens/min",
  output_tokens_per_minute: "output tokens/min", tokens_per_minute: "tokens/min", concurrency: "calls in flight" };

export function table(heads, rows, none) {
  if (rows.length === 0) return el("p", { class: "soft" }, none);
  return el("table", null, el("thead", null, el("tr", null, heads.map((head) => el("th", { scope: "col" }, head)))),
    el("tbody", null, rows.map((cells) => el("tr", null, cells.map((cell, i) => el(i === 0 ? "th" : "td", { scope: i === 0 ? "row" : null }, cell))))));
}

const SPARK = { width: 90, height: 22 };

/* A small line chart of the last minutes. */
function spark(values, label) {
  if (!values || values.length < 2) return null;
  const most = Math.max(...values, 1e-9), step = SPARK.width / (values.length - 1);
  const points = values.map((value, i) => `${(i * step).toFixed(1)},${(SPARK.height - 1 - (value / most) * (SPARK.height - 2)).toFixed(1)}`);
  return el("div", { class: "spark" }, svg("svg", { viewBox: `0 0 ${SPARK.width} ${SPARK.height}`, role: "img", "aria-label": label },
    svg("polyline", { points: points.join(" ") })), ` ${rate(values[values.length - 1])} ${label}`);
}

/* A button gets the focus back after its table was built again. */
const keyed = (label, act, ...words) => button(label, () => act(...words), { data: { key: words.join(" ") } });

/* One limit of a pool: its use and its source. */
function dimension(key, at) {
  if (!isNumber(at.limit)) return null;
  const share = at.limit > 0 ? Math.min(1, at.used / at.limit) : 0;
  return el("div", null, el("meter", { min: 0, max: 1, value: share, "aria-label": DIMENSIONS[key] }), ` ${rate(at.used)} of ${rate(at.limit)} ${DIMENSIONS[key]}`,
    at.by ? el("span", { class: "soft" }, ` (${at.by}${isNumber(at.granted) && at.granted < at.limit * 0.95 ? `, granted ${rate(at.granted)}` : ""})`) : null);
}

/* recent: the last minutes by the pool's name. */
export function pools(status, recent, act) {
  return table(["pool", "state", "limits", "last ten minutes", "limited by", "calls", ""], status.pools.map((pool) => [
    name(pool.name),
    [el("span", { class: "state " + pool.state }, pool.state), pool.text ? el("div", { class: "soft" }, name(pool.text)) : null],
    Object.entries(pool.limits).map(([key, at]) => dimension(key, at)),
    recent.has(pool.name) ? [spark(recent.get(pool.name).requests_per_minute, "calls/min"), spark(recent.get(pool.name).tokens_per_minute, "tokens/min"),
      spark(recent.get(pool.name).in_flight, "in flight")] : null,
    name(pool.limited.text),
    [`${count(pool.answered)} answered`, pool.refused ? el("div", null, `${count(pool.refused)} refused`) : null,
      pool.failed ? el("div", { class: "bad" }, `${count(pool.failed)} failed`) : null],
    pool.state === "parked" || (pool.state === "held" && status.state !== "held") ? keyed("Unpark", act, "unpark", pool.name) : keyed("Park", act, "park", pool.name),
  ]), "No pool is in use.");
}

export const placeOf = (worker) => `${worker.name} ${worker.host} ${worker.pid}`;

/* rates: results per second, by the worker's process. */
export function workers(status, rates, act) {
  return table(["worker", "host", "version", "leases", "tasks held", "calls in flight", "results", "a second", "last message", ""], [...status.workers].sort((x, y) => x.name.localeCompare(y.name)).map((worker) => [
    [name(worker.name), worker.draining ? el("div", { class: "soft" }, "draining") : null, worker.keys ? el("div", { class: "bad" }, name(worker.keys)) : null],
    name(`${worker.host}, process ${worker.pid}`), name(worker.software), count(worker.leases), count(worker.tasks_held), count(worker.calls_out),
    count(worker.results), isNumber(rates.get(placeOf(worker))) ? rate(rates.get(placeOf(worker))) : "",
    worker.heard_ms_ago < 2000 ? "now" : duration(worker.heard_ms_ago / 1000) + " ago",
    worker.draining ? null : keyed("Drain", act, "drain", worker.name),
  ]), "No worker is connected. vibeq-worker joins with the certificate in the run's folder.");
}

const SHOWN_MAX = 20;

export function incidents(news, run) {
  return [el("ul", { class: "incidents" }, news.incidents.slice(0, SHOWN_MAX).map((one) => el("li", { class: one.over_unix_ms === null ? "bad" : null },
    el("span", { class: "soft" }, clock(one.since_unix_ms), one.over_unix_ms === null ? ", goes on" :
      one.over_unix_ms > one.since_unix_ms && one.count === 1 ? `, for ${duration((one.over_unix_ms - one.since_unix_ms) / 1000)}` : "",
    one.count > 1 ? `, ${count(one.count)} times` : ""), el("div", null, name(one.text)),
    one.advice ? el("div", { class: "soft" }, name(one.advice.replaceAll("RUN", () => run).replaceAll("NAME", () => one.subject))) : null))),
  news.incidents.length + news.forgotten > SHOWN_MAX ? el("p", { class: "soft" }, "Earlier ones: ", el("code", null, `vibeq log ${run}`)) : null];
}

export function judges(status) {
  return table(["judge", "settled", "failed", "open", "verdicts"], status.judges.map((judge) => [
    [name(judge.name), judge.closed ? el("div", { class: "bad" }, name(judge.closed)) : null],
    count(judge.tasks.answered + judge.tasks.not_needed), count(judge.tasks.failed + judge.tasks.blocked), count(judge.tasks.open + judge.tasks.leased),
    Object.entries(judge.outcomes).map(([word, n]) => `${word} ${count(n)}`).join(", "),
  ]), "No judge is asked.");
}

const FAILURES = { rate: "refused: too many requests", provider: "error of the server", network: "no connection: nothing was sent",
  lost: "sent, then the connection broke", bad_response: "status 200 without an answer", bad_request: "refused as malformed",
  too_long: "prompt too long for the model", closed: "key, money or model refused", unknown: "sent by a worker that died" };

export function failures(status) {
  const rows = Object.entries(FAILURES).filter(([end]) => status.calls[end] > 0);
  return table(["class", "what happened", "calls"], rows.map(([end, words]) => [end, words, count(status.calls[end])]), "No call has failed.");
}
