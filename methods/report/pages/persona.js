/* The report of a persona evaluation: every measure over the rounds with its contrasts, agreement, and the dialogues with their ratings. */
import { el, listed, name } from "./dom.js";
import { fixed, interval, na, plural, signed } from "./format.js";
import { count, isNumber } from "./numbers.js";
import { curves } from "./curves.js";
import { banner, fold, pageData, section, showPage, sub } from "./frame.js";
import { marked } from "./search.js";
import { table } from "./table.js";

const data = pageData(), { results } = data, { kinds, personas, subjects } = results;
const PERSONAS_MAX = 24; /* with a chart of their own */
const MODELS_MAX = 8; /* with a thin line of their own in these */

const isShare = (measure) => measure.unit === "share";
const shownValue = (measure, withSign) => (value) => {
  if (!isNumber(value)) return "n/a";
  return (withSign ? signed : fixed)(isShare(measure) ? 100 * value : value, isShare(measure) ? 1 : 2) + (isShare(measure) ? "\u202f%" : "");
};
const pointsOf = (measure) => measure.curves[kinds[0]].persona.length;
const named = (text) => ({ show: name(text), csv: [text] });
const withEnds = (key) => ["", " low", " high"].map((end) => key + end);

function meanCell(measure, mean, contrast) {
  const by = isShare(measure) ? 100 : 1, shown = shownValue(measure, contrast)(mean.mean);
  const found = contrast && mean.ci95 && (mean.ci95[0] > 0 || mean.ci95[1] < 0);
  return { show: [found ? el("b", null, shown) : shown, " ", el("span", { class: "ci95" }, mean.ci95
    ? interval(mean.ci95.map((end) => by * end), isShare(measure) ? 1 : 2, contrast) : na(mean.why_no_interval || (mean.personas < data.cells_min ? "too few cells" : "no interval")))],
  csv: [mean.mean, ...(mean.ci95 || [null, null])] };
}
const slopeCell = (within) => ({ show: [signed(within && within.slope, 2), " ", el("span", { class: "ci95" }, interval(within && within.ci95, 2, true))],
  csv: [within ? within.slope : null, ...((within && within.ci95) || [null, null])] });

/* ---- top ---- */

const MODELS_NAMED_MAX = 3;
const title = [listed(subjects.slice(0, MODELS_NAMED_MAX)), subjects.length > MODELS_NAMED_MAX ? " and " + (subjects.length - MODELS_NAMED_MAX) + " more" : null];

const lede = el("p", { class: "lede" }, plural(results.calls.dialogues, "dialogue", "dialogues") + " of " + results.rounds + " rounds" +
  (results.both_orders ? ", in two orders each" : "") + ": " + plural(subjects.length, "model", "models") + ", " + plural(personas.length, "persona", "personas") +
  (results.baseline ? " and the baseline without one" : "") + ".");

function warnings() {
  const missing = data.ratings_missing, list = [];
  if (missing > 0) {
    list.push(plural(missing, "rating is", "ratings are") + " missing. " + (missing === 1 ? "It is" : "They are") +
      " in no mean and no rate, and counted by reason beside each.");
  }
  if (data.cells < data.cells_min) {
    list.push("No intervals: there are " + data.cells + " cells, a model with a persona each, and an interval over cells takes " + data.cells_min + ".");
  }
  return list.length > 0 && el("ul", { class: "warnings" }, list.map((text) => el("li", null, text)));
}

const key = el("p", { class: "key" }, el("b", { class: "persona" }, "Blue"), ": the model with a persona. ", el("b", { class: "baseline" }, "Orange, dashed"),
  ": the same model without one. Bars are 95 % intervals over cells; a gap in a line is a missing value." +
  (subjects.length > 1 && subjects.length <= MODELS_MAX ? " Persona by persona, the thin lines are single models." : ""));

/* ---- how ratings stand ---- */

/* The measures whose ratings a measure is made of; each is made of its own. */
const madeOf = (i) => results.measures.filter((of, k) => {
  const { what } = results.measures[i], { use } = data.measures[k];
  if (k === i) return true;
  if (of.what !== "mean" || of.unit !== "rating") return false;
  return what === "fidelity" ? use === "turns" : what === "error" || what === "distance" ? use === "traits" : false;
});

function standing(i) {
  const sum = { things: 0, missing: 0, oneOrder: 0, statuses: results.judges.map(() => ({})) };
  for (const of of madeOf(i)) {
    sum.things += of.rated;
    sum.missing += of.missing;
    sum.oneOrder += of.one_order || 0;
    of.statuses.forEach(({ judge, ...counts }, k) => {
      for (const [status, n] of Object.entries(counts)) sum.statuses[k][status] = (sum.statuses[k][status] || 0) + n;
    });
  }
  return sum;
}

function statuses(i) {
  if (results.measures[i].what === "measured") return null; /* nothing of it was rated */
  const sum = standing(i);
  return el("p", { class: "statuses" }, count(sum.things) + " rated, " + count(sum.missing) + " of them without a value.", sum.statuses.map((counts, k) => {
    const list = Object.entries(counts).filter(([, n]) => n > 0);
    return [" ", name(results.judges[k].name), ": ", list.length ? list.map(([status, n], at) => [at ? ", " : "",
      status === "ok" ? count(n) + " ok" : el("b", { class: "wrong" }, count(n) + " " + status)]) : "none", "."];
  }), sum.oneOrder > 0 ? " " + plural(sum.oneOrder, "position has", "positions have") + " a value in one of two orders, which counts for both." : null);
}

/* ---- all measures ---- */

function summary() {
  const rows = results.measures.flatMap((measure, i) => (pointsOf(measure) === 0 ? [] : kinds.map((kind, s) => {
    const curve = measure.curves[kind], last = pointsOf(measure) - 1, shown = shownValue(measure, false), sum = standing(i);
    const slope = measure.slopes_percent.find((one) => one.model === null && one.kind === kind);
    return [{ show: s === 0 ? el("a", { href: "#m" + (i + 1) }, name(measure.name)) : "", csv: [measure.name] }, kind,
      { show: shown(curve.persona[0].mean), csv: [curve.persona[0].mean] }, { show: shown(curve.persona[last].mean), csv: [curve.persona[last].mean] },
      meanCell(measure, curve.change[last], true), meanCell(measure, curve.gap[last], true), slopeCell(slope.per_round),
      { show: s === 0 && measure.what !== "measured" ? count(sum.things) + ", " + count(sum.missing) + " missing" : "", csv: [sum.things, sum.missing] }];
  })));
  return section("measures", "Every measure", sub("Of the personas at the first and the last point, the change between them, and how far they are from the baseline " +
    "at the end. Bold: the 95 % interval leaves out 0. The slope is in points of 100 a round."),
  table({ file: "measures", columns: [{ head: "measure" }, { head: "dialogue" }, { head: "first" }, { head: "last" }, { head: "change", csv: withEnds("change") },
    { head: "against the baseline", csv: withEnds("against baseline") }, { head: "slope", csv: withEnds("slope") }, { head: "rated", csv: ["rated", "missing"] }], rows }));
}

/* ---- the charts of one measure ---- */

const means = (points) => points.map((point) => point.mean);
const lineOf = (style, points, at, dots) => ({ style, at: at || points.map((point) => point.round), values: means(points), cis: dots ? points.map((point) => point.ci95) : null, dots });
const hasValues = (points) => points.some((point) => isNumber(point.mean));

/* The ends of the axes: of levels, and of contrasts as far either way. */
function sceneOf(measure) {
  const rating = !isShare(measure), scene = { lo: rating ? 1 : 0, hi: rating ? 5 : 1, apart: rating ? 0.5 : 0.1 }, full = scene.hi - scene.lo;
  const contrasts = kinds.flatMap((kind) => [...measure.curves[kind].change, ...measure.curves[kind].gap]).concat(measure.curves.directed_minus_goal || []);
  for (const { mean } of kinds.flatMap((kind) => [...measure.curves[kind].persona, ...measure.curves[kind].baseline])) {
    if (isNumber(mean)) { scene.lo = Math.min(scene.lo, mean); scene.hi = Math.max(scene.hi, mean); }
  }
  for (const { mean, ci95 } of contrasts) {
    if (isNumber(mean)) scene.apart = Math.max(scene.apart, Math.abs(mean));
    if (ci95) scene.apart = Math.max(scene.apart, Math.min(full, Math.max(Math.abs(ci95[0]), Math.abs(ci95[1]))));
  }
  return scene;
}

function chartsOf(i, kind, scene) {
  const measure = results.measures[i], curve = measure.curves[kind], turns = measure.turns && measure.turns[kind], file = "m" + (i + 1) + "-" + kind;
  const level = { lo: scene.lo, hi: scene.hi, last: results.rounds, format: shownValue(measure, false) };
  const faint = turns ? [lineOf("persona faint", turns.persona, null, false), lineOf("baseline faint", turns.baseline, null, false)] : [];
  const tokens = data.measures[i].tokens[kind], places = tokens.persona, basePlaces = tokens.persona && tokens.baseline;
  const contrast = (head, points, end) => hasValues(points) && curves({ title: head, lo: -scene.apart, hi: scene.apart, last: results.rounds, contrast: true,
    format: shownValue(measure, true), series: [lineOf("contrast", points, null, true)], file: file + end });
  return el("div", { class: "multiples" },
    curves({ ...level, title: "Persona and baseline", series: [lineOf("persona", curve.persona, null, true), lineOf("baseline", curve.baseline, null, true), ...faint], file }),
    places && curves({ ...level, title: "Over the tokens so far", along: "tokens", last: Math.max(...places, ...(basePlaces || [0])), file: file + "-tokens",
      series: [lineOf("persona", curve.persona, places, true), ...(basePlaces ? [lineOf("baseline", curve.baseline, basePlaces, true)] : [])] }),
    contrast("Minus the first point", curve.change, "-change"), contrast("Persona minus baseline", curve.gap, "-gap"),
    kind === kinds[0] && measure.curves.directed_minus_goal && contrast("Persona-directed minus goal-oriented", measure.curves.directed_minus_goal, "-kinds"));
}

const meanOf = (lists, points) => Array.from({ length: points }, (_, i) => {
  const present = lists.map((list) => list[i]).filter(isNumber);
  return present.length ? present.reduce((sum, value) => sum + value, 0) / present.length : null;
});

function personaCharts(i, kind, scene) {
  const measure = results.measures[i], at = measure.curves[kind].persona.map((point) => point.round);
  const charts = personas.slice(0, PERSONAS_MAX).map((persona, k) => {
    const cells = measure.by_cell.filter((cell) => cell.kind === kind && cell.persona === persona);
    const single = subjects.length > 1 && subjects.length <= MODELS_MAX ? cells.map((cell) => ({ style: "persona faint", at, values: cell.values })) : [];
    return curves({ title: name(persona), lo: scene.lo, hi: scene.hi, last: results.rounds, format: shownValue(measure, false), small: true,
      file: "m" + (i + 1) + "-" + kind + "-persona-" + (k + 1), series: [{ style: "persona", at, values: meanOf(cells.map((cell) => cell.values), at.length), dots: true },
        { style: "baseline", at, values: meanOf(cells.map((cell) => cell.baseline), at.length) }, ...single] });
  });
  return [el("div", { class: "multiples small" }, charts), personas.length > PERSONAS_MAX && el("p", { class: "hint" },
    "And " + (personas.length - PERSONAS_MAX) + " more personas, all in ", el("code", null, "results.json"), ".")];
}

function ofKind(i, kind, scene) {
  const curve = results.measures[i].curves[kind], head = el("h4", null, (kind === "directed" ? "Persona-directed" : "Goal-oriented") + " dialogues");
  if (!hasValues(curve.persona) && !hasValues(curve.baseline)) return [head, el("p", { class: "hint" }, "No values.")];
  return [head, chartsOf(i, kind, scene), personaCharts(i, kind, scene)];
}

/* ---- one measure ---- */

function about(measure) {
  const texts = {
    mean: measure.turns ? "Ratings of turns: the first turn alone, then the mean of the turns up to each checkpoint. The faint line is turn by turn."
      : "Ratings of answers that were asked after the dialogue so far.",
    fidelity: "The mean of all criteria of turns, where all of them have a rating.",
    error: "How far the five traits are from the labels that people gave, as a share of the scale; of labelled personas. Lower is closer.",
    distance: "How far the five traits are from those of the baseline at the same point, as a share of the scale: it shrinks when a persona fades.",
    refusal: "The share of unsafe requests that are refused. Higher is safer.",
    over_refusal: "The share of harmless requests that are refused. Lower is better.",
    wins: "The share of comparisons won against the reference; of two orders that disagree, half a win.",
    measured: "The share of correct answers, as it was computed elsewhere.",
  };
  return texts[measure.what];
}

function chosen({ chosen: of, ties }) {
  const first = (words, counts) => "With " + words + " shown first, the first was chosen " + count(counts.a) + " times, the second " + count(counts.b) + ". ";
  return el("p", { class: "statuses" }, first("the reference", of.reference_first) + first("the answer", of.answer_first) + count(ties) +
    " comparisons had another result in the other order.");
}

function pointsTable(i) {
  const measure = results.measures[i], both = measure.curves.directed_minus_goal;
  return fold(null, "Point by point", table({ file: "m" + (i + 1) + "-points", columns: [{ head: "dialogue" }, { head: "round" }, { head: "cells" },
    { head: "persona", csv: withEnds("persona") }, { head: "baseline", csv: withEnds("baseline") }, { head: "change", csv: withEnds("change") },
    { head: "persona minus baseline", csv: withEnds("persona minus baseline") }, ...(both ? [{ head: "directed minus goal", csv: withEnds("directed minus goal") }] : [])],
  rows: kinds.flatMap((kind, s) => measure.curves[kind].persona.map((point, k) => [kind, String(point.round), String(point.cells),
    ...["persona", "baseline", "change", "gap"].map((curve) => meanCell(measure, measure.curves[kind][curve][k], curve === "change" || curve === "gap")),
    ...(both ? [s === 0 ? meanCell(measure, both[k], true) : { show: "", csv: [null, null, null] }] : [])])) }));
}

const modelsTable = (i) => fold(null, "Model by model", table({ file: "m" + (i + 1) + "-models", columns: [{ head: "model" }, { head: "dialogue" },
  ...["mean of all points", "last minus first", "persona minus baseline", "slope a round, %", "slope per 1,000 tokens, %", "cost of a persona, %"]
    .map((head) => ({ head, csv: withEnds(head) }))],
rows: results.measures[i].by_model.map((bar) => {
  const measure = results.measures[i], slope = measure.slopes_percent.find((one) => one.model === bar.model && one.kind === bar.kind);
  return [named(bar.model), bar.kind, meanCell(measure, bar.level, false), meanCell(measure, bar.change, true), meanCell(measure, bar.gap, true),
    slopeCell(slope.per_round), slopeCell(slope.per_1000_tokens), slopeCell(slope.cost_of_persona)];
}) }));

function measurePart(i) {
  const measure = results.measures[i], scene = sceneOf(measure);
  return el("section", { id: "m" + (i + 1), class: "measure" }, el("h3", null, name(measure.name)), sub(about(measure)), statuses(i),
    measure.what === "wins" ? chosen(measure) : null,
    pointsOf(measure) === 0 ? el("p", { class: "hint" }, "There are no checkpoints, and so no curve.") : [kinds.map((kind) => ofKind(i, kind, scene)),
      measure.cells < data.cells_min && el("p", { class: "hint" }, "No intervals: " + plural(measure.cells, "cell", "cells") + " can have a value, and an interval takes " +
        data.cells_min + "."), pointsTable(i), modelsTable(i)]);
}

function groupOf(i) {
  const { what, turns } = results.measures[i];
  if (what === "error" || what === "distance" || (what === "mean" && data.measures[i].use === "traits")) return "traits";
  if (what === "refusal" || what === "over_refusal") return "safety";
  if (what === "wins") return "wins";
  return what === "fidelity" || (what === "mean" && turns) ? "turns" : "rest";
}

const measures = () => [["turns", "In the dialogues"], ["traits", "The Big Five"], ["safety", "Safety"], ["wins", "Win rates"], ["rest", "Other measures"]].map(([id, head]) => {
  const list = results.measures.map((_, i) => i).filter((i) => groupOf(i) === id);
  return list.length > 0 && section(id, head, list.map(measurePart));
});

/* ---- agreement ---- */

function agreement() {
  const { agreement: pairs, human } = results;
  if (!pairs.length) return section("agreement", "Agreement of judges", sub("One judge, and no labels of people: nothing to compare."));
  return section("agreement", "Agreement of judges", sub("On the same things: equal ratings, Cohen\u2019s kappa plain and with quadratic weights, how far apart on average, " +
    "and the share at most one apart."),
  table({ file: "agreement", columns: ["criterion", "judge", "with", "n", "equal", "kappa", "quadratic", "apart", "within 1"].map((head) => ({ head })),
    rows: pairs.map((pair) => [named(pair.criterion), named(pair.a), { show: name(pair.b_is_human ? "people\u2019s labels" : pair.b), csv: [pair.b_is_human ? "human" : pair.b] },
      { show: count(pair.rows), csv: [pair.rows] }, ...[pair.exact, pair.kappa, pair.kappa_quadratic, pair.absolute_error, pair.within_one]
        .map((value) => ({ show: fixed(value, 2), csv: [value] }))]) }),
  human.of_nothing_rated > 0 && el("p", { class: "hint" }, count(human.of_nothing_rated) + " of " + count(human.labels) + " labels of people are of nothing that was rated."));
}

/* ---- dialogues; a dialogue is made when it is opened ---- */

/* Of a pair: whether the answer won. */
function sayValue(criterion, rating, value) {
  if (criterion.kind === "likert") return value.toFixed(0);
  if (criterion.kind === "binary") return value > 0.5 ? "yes" : "no";
  return (rating.position === 1 ? value < 0.5 : value > 0.5) ? "wins" : "loses";
}

function ratingPart(rating, isBaseline) {
  const criterion = data.criteria[rating.criterion], value = (of) => el("span", { class: "value" }, sayValue(criterion, rating, of));
  return el("div", { class: "answer" }, el("h4", null, name(criterion.name), ", ", name(results.judges[rating.judge].name),
    isBaseline && rating.as !== undefined ? [", as ", name(personas[rating.as])] : null,
    rating.reference ? ", against " + rating.reference + ", shown " + (rating.position === 0 ? "after it" : "before it") : null, ": ",
    isNumber(rating.value) ? value(rating.value) : null, rating.status ? [" ", el("b", { class: "wrong" }, rating.status)] : null,
    isNumber(rating.human) ? [", people: ", value(rating.human)] : null),
  rating.said === undefined ? null : marked(rating.said, ""));
}

function ratingsPart({ ratings, ratings_count: all }, isBaseline) {
  const silent = ratings.length - 18;
  return el("div", null, el("div", { class: "answers" }, ratings.map((rating) => ratingPart(rating, isBaseline))),
    silent > 0 && el("p", { class: "hint" }, "The reasoning of " + plural(silent, "further rating", "further ratings") + " is left out."),
    all > ratings.length && el("p", { class: "hint" }, "And " + plural(all - ratings.length, "more rating", "more ratings") + ", in ", el("code", null, "ratings.csv"), "."));
}

const message = (what, style, text) => el("div", { class: style }, el("h3", null, what), marked(text, ""));

const probesPart = (probes, rounds, isBaseline) => probes.map(({ set, asked, questions }) => fold(null, ["Asked after " + plural(rounds, "round", "rounds") + ": ", name(set),
  ", " + plural(asked, "question", "questions")],
questions.map((one) => el("div", { class: "probe" }, el("div", { class: "pair" }, el("div", null, message("Question", "asked", one.question),
  one.answer === null ? el("p", null, el("b", { class: "wrong" }, "no answer")) : message("Reply", "said", one.answer)), ratingsPart(one, isBaseline)))),
questions.length < asked && el("p", { class: "hint" }, "And " + (asked - questions.length) + " more, whose ratings are in ", el("code", null, "ratings.csv"),
  " and whose answers in ", el("code", null, "vibeq export RUN calls"), ".")));

function talkBody(talk) {
  const isBaseline = talk.persona === undefined, left = talk.turns_count - talk.turns.length;
  return [talk.system === null ? null : message("System", "asked", talk.system),
    talk.turns.map((turn, t) => [probesPart(turn.probes, t, isBaseline), el("div", { class: "turn" }, el("h3", null, "Turn " + t), el("div", { class: "pair" },
      el("div", null, message("User", "asked", turn.query), message("Answer", "said", turn.answer)), ratingsPart(turn, isBaseline)))]),
    talk.probes ? probesPart(talk.probes, talk.turns_count, isBaseline) : null,
    left > 0 && el("p", { class: "hint" }, "And " + left + " more turns, in ", el("code", null, "dialogues.jsonl"), ".")];
}

function talkPart(talk) {
  const node = el("details", { class: "row lazy" }, el("summary", null, name(talk.persona === undefined ? "Baseline" : personas[talk.persona]), " by ", name(subjects[talk.model]),
    ", " + talk.kind + ", " + talk.order + " order", isNumber(talk.fall) ? [" ", el("span", { class: "mark" }, "ratings " + signed(-talk.fall, 2) + " from half to half")] : null,
    talk.ended === null ? null : [" ", el("b", { class: "wrong" }, "ended after " + talk.turns_count + " of " + results.rounds + " rounds: ", name(talk.ended))]));
  node.fill = () => { /* once; paper asks for it before it opens the fold (frame.js) */
    node.fill = () => {};
    node.append(el("div", null, talkBody(talk)));
  };
  node.addEventListener("toggle", () => node.fill());
  return node;
}

function talks() {
  if (!data.talks) return null;
  const left = data.talks_count - data.talks.length;
  return section("dialogues", "Dialogues", sub("Turn by turn, with every rating and what the judges wrote; at the checkpoints, what was asked behind the dialogue so far. " +
    "Of each persona and kind of dialogue the one whose ratings fell most comes first, then the next of each. Turns count from 0; long texts are cut."),
  data.talks.map(talkPart), left > 0 && el("p", { class: "hint" }, "And " + count(left) + " more, which this page has no room for: ", el("code", null, "dialogues.jsonl"),
    " and ", el("code", null, "ratings.csv"), " have all."));
}

/* ---- how it was done ---- */

function methods() {
  const facts = [["Checkpoints", results.checkpoints.length ? "after " + results.checkpoints.join(", ") + " rounds" : "none"], ...results.judges.map((judge) => ["Judge",
    [name(judge.name), ": ", name(judge.model), " at ", name(judge.provider), judge.returned_models.length ? [", which called itself ", listed(judge.returned_models)] : null]])];
  return section("methods", "How it was done", el("div", { class: "prose" },
    el("p", null, results.policy === "strict" ? ["A rating counts when the answer states one value, whole, alone and in range, after ", el("code", null, "Result"),
      "; else it is missing, and no mean or rate has it."] : "Answers were read as the code of the persona paper read them: the first value that looks like one counts, " +
      "out of range or not, and a pairwise answer without any was given a drawn one."),
    el("p", null, "A cell is one model with one persona: its value is the mean over the judges, then over the items, of turns over the orders of the dialogue. Curves are means " +
      "over cells; contrasts are paired within cells, so that only those with both sides count. Intervals are Student\u2019s, over cells, and there are none over fewer than " +
      data.cells_min + ". They cover the choice of models and personas, not that of questions or of judges. The percentile bootstrap, which is published elsewhere and is too " +
      "narrow over few cells, is in ", el("code", null, "results.json"), "."),
    el("p", null, "Slopes are least squares within cells, in points of 100 a round; they take cells to differ in level alone. Where personas fade at different speeds the change " +
      "is the one to read.")), el("dl", { class: "facts" }, facts.map(([what, words]) => [el("dt", null, what), el("dd", null, words)])));
}

showPage(data, "vibeq \u00b7 personas over long dialogues", title, [banner(results, "how the models keep a persona."), lede],
  [warnings(), key, summary(), measures(), agreement(), talks(), methods()]);
