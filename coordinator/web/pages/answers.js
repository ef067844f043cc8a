/* Questions and answers: the last answers as they come, and the failed tasks, with examples. Texts from outside become text nodes only. */
import { byId, el, button, name, textOf, visible } from "/pages/dom.js";
import { count } from "/pages/numbers.js";
import { clock, rate } from "/pages/words.js";
import { table } from "/pages/tables.js";

const SHOWN_MAX = 20;

/* An unchanged text with its line breaks. */
const whole = (value) => el("div", { class: "text", tabindex: 0 }, el("bdi", null, visible(textOf(value))));

const part = (title, value) => (value ? el("div", { class: "part" }, el("h4", null, title), whole(value)) : null);

/* The question that the judge got. */
function question(answer) {
  const poles = answer.low || answer.high;
  return [
    poles ? el("p", { class: "soft" }, answer.low ? ["low: ", name(answer.low)] : null, answer.low && answer.high ? " \u00b7 " : null,
      answer.high ? ["high: ", name(answer.high)] : null) : null,
    part("Prompt", answer.prompt),
    answer.a || answer.b ? el("div", { class: "outputs" }, part("Output A" + (answer.b && answer.order === 0 ? ", shown first" : ""), answer.a),
      part("Output B" + (answer.order === 1 ? ", shown first" : ""), answer.b)) : null,
  ];
}

const where = (answer) => [answer.record === null ? null : `record ${answer.record} \u00b7 `, answer.vibe ? [name(answer.vibe), " \u00b7 "] : null,
  name(answer.judge)];

/* ---- the last answers ---- */

const GOOD = /^(A|B|equal|N\/A|unsure|text|yes|no|[1-5])$/;

function verdict(answer) {
  const words = answer.higher ? (answer.vibe ? `${answer.higher} is higher` : `prefers ${answer.higher}`) : answer.outcome;
  return el("span", { class: "state " + (GOOD.test(answer.outcome) ? "open" : "stalled") }, words);
}

function article(answer) {
  return el("article", { class: "answer" },
    el("h3", null, where(answer), " ", verdict(answer)),
    question(answer),
    part(answer.repair ? "Answer after a repair" : "Answer", answer.answer),
    answer.error ? el("p", { class: "bad" }, name(answer.error)) : null,
    el("p", { class: "soft" }, clock(answer.unix_ms), `, after ${rate(answer.latency_ms / 1000)} s, pool `, name(answer.pool)));
}

/* Adds answers above the present ones. */
export function addAnswers(answers) {
  if (answers.length === 0) return;
  const place = byId("sample");
  if (!place.querySelector("article")) place.replaceChildren();
  place.prepend(...answers.slice(-SHOWN_MAX).reverse().map(article));
  while (place.children.length > SHOWN_MAX) place.lastChild.remove();
}

/* ---- dead letters ---- */

const MEANINGS = { error: "the provider refused the request", too_long: "the prompt is too long for the model",
  unavailable: "errors of the server, timeouts and broken connections used up all tries", bad_response: "no response had an answer in it",
  worker_lost: "each worker that asked it ended meanwhile" };

function letter(dead) {
  return el("article", { class: "answer" },
    el("h3", null, where(dead), ` \u00b7 order ${dead.order}`),
    dead.error === undefined ? el("p", { class: "soft" }, "No failed call of this task is known.") :
      el("p", { class: "bad" }, dead.end, dead.http_status ? ` (HTTP ${dead.http_status})` : null, dead.error ? [": ", name(dead.error)] : null),
    dead.error === undefined ? null : el("p", { class: "soft" }, `${clock(dead.unix_ms)}, try ${dead.tries}, pool `, name(dead.pool)),
    part("What came back", dead.answer),
    question(dead));
}

const classRows = (classes, more) => classes.map((one) => [one.class, MEANINGS[one.class] || "", count(one.count),
  one.judges.map((judge, i) => [i ? ", " : "", name(judge.name), ` ${count(judge.count)}`]), ...more(one)]);

/* Later stages depend on these tasks, so only a resume asks them again. */
function earlier(dead, run) {
  const rows = (dead.earlier || []).flatMap((stage) => classRows(stage.classes, () => []).map((row) => [name(stage.stage), ...row]));
  return rows.length === 0 ? [] : [el("p", null, "Tasks of earlier stages have failed for good. ", el("code", null, `vibeq resume ${run} --retry-failed`),
    " asks them again after the run."), table(["stage", "class", "what happened", "tasks", "judges"], rows, "")];
}

export function letters(dead, run, act) {
  const classes = dead.classes || [], total = classes.reduce((sum, one) => sum + one.count, 0);
  const present = total === 0 ? [] : [
    el("p", null, `${count(total)} ${total === 1 ? "task of this stage has" : "tasks of this stage have"} failed for good. `,
      el("code", null, `vibeq dead ${run}`), " lists all. ", button("Retry all", () => act("requeue"))),
    table(["class", "what happened", "tasks", "judges", ""],
      classRows(classes, (one) => [button("Retry", () => act("requeue", "--class", one.class))]), "")];
  const others = earlier(dead, run);
  if (present.length + others.length === 0) return [];
  return [present, others,
    (dead.examples || []).map((example) => el("details", null, el("summary", null, `${example.class}: `, where(example)), letter(example)))];
}
