/* The tables of pools, workers, judges and failures, from one status. A table is made again at each status; what a person points at stays,
 * because a button keeps its place. */
import { el, button, name } from "/pages/dom.js";
import { count, isNumber } from "/pages/numbers.js";
import { rate, duration } from "/pages/words.js";

const DIMENSIONS = { requests_per_minute: "requests/min", input_tokens_per_minute: "input tokens/min",
  output_tokens_per_minute: "output tokens/min", tokens_per_minute: "tokens/min", concurrency: "calls in flight" };

export function table(heads, rows, none) {
  if (rows.length === 0) return el("p", { class: "soft" }, none);
  return el("table", null, el("thead", null, el("tr", null, heads.map((head) => el("th", { scope: "col" }, head)))),
    el("tbody", null, rows.map((cells) => el("tr", null, cells.map((cell, i) => el(i === 0 ? "th" : "td", { scope: i === 0 ? "row" : null }, cell))))));
}

/* One dimension of a pool: how much of its limit is used, and where the limit comes from. */
function dimension(key, at) {
  if (!isNumber(at.limit)) return at.used > 0 && key !== "concurrency" ? el("div", null, `${rate(at.used)} ${DIMENSIONS[key]}, no limit known`) : null;
  const share = at.limit > 0 ? Math.min(1, at.used / at.limit) : 0;
  return el("div", null, el("meter", { min: 0, max: 1, value: share, "aria-label": DIMENSIONS[key] }), ` ${rate(at.used)} of ${rate(at.limit)} ${DIMENSIONS[key]}`,
    at.by ? el("span", { class: "soft" }, ` (${at.by})`) : null);
}

export function pools(status, act) {
  return table(["pool", "state", "limits", "limited by", "calls", ""], status.pools.map((pool) => [
    name(pool.name),
    [el("span", { class: "state " + pool.state }, pool.state), pool.text ? el("div", { class: "soft" }, name(pool.text)) : null],
    Object.entries(pool.limits).map(([key, at]) => dimension(key, at)),
    name(pool.limited.text),
    [`${count(pool.answered)} answered`, pool.refused ? el("div", null, `${count(pool.refused)} refused`) : null,
      pool.failed ? el("div", { class: "bad" }, `${count(pool.failed)} failed`) : null],
    pool.state === "parked" || (pool.state === "held" && status.state !== "held") ? button("Unpark", () => act("unpark", pool.name)) : button("Park", () => act("park", pool.name)),
  ]), "No pool is in use.");
}

export function workers(status) {
  return table(["worker", "host", "version", "leases", "tasks held", "calls in flight", "results", "last message"], [...status.workers].sort((x, y) => x.name.localeCompare(y.name)).map((worker) => [
    [name(worker.name), worker.draining ? el("div", { class: "soft" }, "draining") : null, worker.keys ? el("div", { class: "bad" }, name(worker.keys)) : null],
    name(`${worker.host}, process ${worker.pid}`), name(worker.software), count(worker.leases), count(worker.tasks_held), count(worker.calls_out),
    count(worker.results), worker.heard_ms_ago < 2000 ? "now" : duration(worker.heard_ms_ago / 1000) + " ago",
  ]), "No worker is connected. vibeq-worker joins with the certificate in the run's folder.");
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
