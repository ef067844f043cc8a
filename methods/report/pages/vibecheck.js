/* The sections of a VibeCheck run over two models, from results.json and what the page's JSON has beside it. */
import { el, listed, name } from "./dom.js";
import { fixed, interval, na, percent, plural, signed, significant } from "./format.js";
import { count, dollars, isNumber } from "./numbers.js";
import { bar, estimates, matrix, scale } from "./chart.js";
import { card, fold, model, section, sub } from "./frame.js";
import { copyButton, latexTable, latexText, pictureButtons } from "./save.js";
import { heat, table } from "./table.js";

export const VIBES_MAX = 200; /* with details, and with examples */
const SAID_MAX = 3; /* vibes named in the first sentence, on each side */
const PROPOSALS_NAMED_MAX = 12;

export const separabilityOf = (data, vibe) => vibe.separability[data.split];
const separabilityCi = (data, vibe) => (data.split === "test" ? vibe.separability.ci95 : vibe.separability.ci95_train);
export const vibeLink = (vibe, rank) => (rank < VIBES_MAX ? el("a", { href: "#v" + vibe.id }, name(vibe.name)) : name(vibe.name));
export const poles = (vibe) => el("span", { class: "poles" }, name(vibe.low), " ", el("span", { class: "arrow" }, "\u2192"), " ", name(vibe.high));
const mark = (words, title) => [" ", el("span", { class: "mark", title }, words)];
const range = (ci, digits, withSign) => el("span", { class: "ci95" }, interval(ci, digits, withSign));

/* ---- top ---- */

function sentence(data) {
  const { models, vibes } = data.results, kept = vibes.filter((vibe) => vibe.kept);
  const higher = (sign) => vibes.map((vibe, rank) => [vibe, rank]).filter(([vibe]) => vibe.kept && vibe.distinguishable && separabilityOf(data, vibe) * sign > 0)
    .slice(0, SAID_MAX).map(([vibe, rank], i) => [i ? ", " : "", vibeLink(vibe, rank)]);
  const a = higher(1), b = higher(-1);
  if (!a.length && !b.length) {
    return kept.length ? "No kept vibe is distinguishable from zero." : "No vibe passed the gates: no difference between the two was found.";
  }
  return [a.length ? [model(0, models[0]), " is higher on ", a, b.length ? "; " : "."] : null,
    b.length ? [model(1, models[1]), a.length ? " on " : " is higher on ", b, "."] : null];
}

export const title = (data) => [model(0, data.results.models[0]), " ", el("span", { class: "vs" }, "and"), " ", model(1, data.results.models[1])];
export const lede = (data) => el("p", { class: "lede" }, sentence(data));

export function accuracyCard(data, head, meaning, fit, baseline) {
  const isTest = data.split === "test", value = fit["accuracy_" + data.split], wide = (...parts) => el("div", { class: "card wide" }, el("h3", null, head), parts);
  if (fit.status === "no_rows" || fit.status === "no_labels" || !isNumber(value)) {
    return wide(el("p", { class: "big na" }, "n/a"), el("p", null, fit.status === "no_labels" ? "The rows carry no preference." : "There are no rows to judge it on."));
  }
  const ci = isTest && fit.status === "ok" ? fit.accuracy_test_ci95 : null;
  const from = fit.status === "no_vibes" ? "No vibe was kept: this is guessing."
    : isTest ? ["95\u202f% interval ", ci ? percent(ci[0]) : "n/a", " to ", ci ? percent(ci[1]) : "n/a", "; on train ", percent(fit.accuracy_train)]
      : "in-sample: there is no test split";
  return wide(el("p", { class: "big" }, percent(value)), scale(value, ci, baseline), el("p", null, from, "; baseline ", percent(baseline), "."),
    el("p", { class: "hint" }, meaning));
}

export const rowsCard = ({ data }) => card("Rows", count(data.used), count(data.train) + " train, " + count(data.test) + " test");
export const judgesCard = ({ judges }) => card("Judges", count(judges.length), listed(judges.map((judge) => judge.name)));

export function preferredCard({ preferred: p }) {
  return p && card("A preferred", percent(p.share), "95\u202f% interval " + percent(p.ci95[0]) + " to " + percent(p.ci95[1]) + ", " + count(p.a) + " to " +
    count(p.b) + "; " + count(p.ties) + " " + (p.judged ? "without a clear preference left out; preferences are the judges'." : "ties left out."));
}

/* Questions that have no answer because their calls failed, retries included. */
export const failedForGood = ({ vibes }) => vibes.flatMap((vibe) => Object.values(vibe.label_counts)).reduce((n, labels) => n + labels.failed, 0);

export const warnings = ({ warnings: list }) => list.length > 0 && section("warnings", "Before you quote this",
  el("ul", { class: "warnings" }, list.map((warning) => el("li", null, warning.text))));

/* ---- the table of vibes ---- */

/* A degenerate fit shows Firth's estimate: the coefficient's own size is the penalty's. */
const shownCoefficient = (coefficient) => (coefficient ? coefficient.firth || coefficient : { value: null, ci95: null });
const largest = (vibes, key) => vibes.filter((vibe) => vibe[key]).flatMap((vibe) => [vibe[key], vibe[key].firth || {}])
  .flatMap((of) => [of.value, ...(of.ci95 || [])]).filter(isNumber).reduce((most, value) => Math.max(most, Math.abs(value)), 0);

const columnsOf = (data, vibes) => [
  { head: "Separability", note: "right: A is higher", kind: "sep", full: 1, of: (vibe) => [separabilityOf(data, vibe), separabilityCi(data, vibe)] },
  ...[["MM", "mm_coefficient", "right: higher points to A"], ["PP", "pp_coefficient", "right: higher is preferred"]].map(([head, key, note]) => ({
    head, note, key, kind: "coef", full: largest(vibes, key), of: (vibe) => [shownCoefficient(vibe[key]).value, shownCoefficient(vibe[key]).ci95] })),
];

function estimateCell(column, vibe) {
  const [value, ci] = column.of(vibe), csv = [value, ...(ci || [null, null])];
  const label = column.head + (column.key && vibe[column.key] && vibe[column.key].firth ? " (Firth)" : "");
  return isNumber(value) ? { class: "num", label, value, csv, show: [bar(value, ci, column.full, column.kind), el("span", { class: "value" }, signed(value, 2)),
    " ", range(ci, 2, true)] } : { class: "num", label, value: 0, csv, show: na() };
}

const stem = (data) => data.results.models.join("-").replace(/[^A-Za-z0-9_.-]+/g, "-").slice(0, 60);

function latexOf(data, vibes, columns) {
  const number = (value, ci) => (isNumber(value) ? "$" + value.toFixed(2).replace(/^(?!-)/, "+") + "$" + (ci ? " \\scriptsize$[" + ci.map((x) => x.toFixed(2)).join(", ") + "]$" : "") : "--");
  return latexTable("lrrrr", ["Vibe (low $\\rightarrow$ high)", "Separability", "MM", "PP", "$\\kappa$"], vibes.map((vibe) =>
    [latexText(vibe.name) + ": " + latexText(vibe.low) + " $\\rightarrow$ " + latexText(vibe.high), ...columns.map((column) => number(...column.of(vibe))),
      isNumber(vibe.kappa[data.split]) ? "$" + vibe.kappa[data.split].toFixed(2) + "$" : "--"]));
}

export function dropReason(data, vibe) {
  const { vibes } = data.results, sep = vibe.separability.train;
  const reasons = {
    separability: () => (vibe.not_applicable_everywhere ? "applies to no row" : isNumber(sep) ? "separability " + signed(sep, 3) + " on train" : "no answers on train"),
    kappa: () => "judges disagree: kappa " + fixed(vibe.kappa.train, 2) + " on train",
    overlap: () => ["has the " + (vibe.overlap < 0 ? "opposite meaning of " : "same meaning as "), name(vibes.find((other) => other.id === vibe.overlap_with).name),
      " (" + fixed(vibe.overlap, 2) + ")"],
    preference: () => "preference " + signed(vibe.pref_separability.train, 3) + " on train",
    num_final_vibes: () => "beyond the number of final vibes",
    early_stop: () => "its gates were settled before all training rows were asked",
  };
  return [(reasons[vibe.reason] || (() => "not dropped"))(), vibe.gate_could_flip ? "; missing answers could change this" : ""];
}

export function droppedFold(data, item) {
  const dropped = data.results.vibes.map((vibe, rank) => [vibe, rank]).filter(([vibe]) => !vibe.kept);
  return dropped.length > 0 && fold("dropped", dropped.length + " dropped", el("ul", null, dropped.map(([vibe, rank]) => item(vibe, rank))));
}

export function vibeTable(data) {
  const all = data.results.vibes, vibes = all.filter((vibe) => vibe.kept), columns = columnsOf(data, vibes);
  const named = (vibe, rank) => ({ value: rank, csv: [vibe.name, vibe.low, vibe.high], show: [vibeLink(vibe, rank),
    vibe.distinguishable ? null : mark("not distinguishable from 0", "q above 0.05"),
    vibe.gate_could_flip ? mark("missing answers could change this") : null,
    vibe.overlap_not_judged ? mark("nearly constant, overlap not judged") : null, poles(vibe)] });
  const kappa = (vibe) => ({ class: "num", label: "Kappa", value: isNumber(vibe.kappa[data.split]) ? vibe.kappa[data.split] : -2, csv: [vibe.kappa[data.split]],
    show: el("span", { class: "value" }, fixed(vibe.kappa[data.split], 2)) });
  const picture = () => estimates(columns, vibes.map((vibe) => ({ name: vibe.name, values: columns.map((column) => column.of(vibe)) })));
  return section("vibes", "Vibes", sub(vibes.length + " of " + all.length + " passed the gates. Numbers are of the " + data.split +
    " rows; whiskers are 95\u202f% intervals."),
  vibes.length > 0 && table({ id: "table", class: "vibes", file: stem(data) + "-vibes", sortable: true,
    columns: [{ head: "Vibe", note: "low \u2192 high", csv: ["vibe", "low", "high"] },
      ...columns.map(({ head, note }) => ({ head, note, csv: ["", "_low", "_high"].map((end) => head.toLowerCase() + end) })),
      { head: "Kappa", note: "agreement of judges", csv: ["kappa"] }],
    rows: vibes.map((vibe, rank) => [named(vibe, rank), ...columns.map((column) => estimateCell(column, vibe)), kappa(vibe)]),
    more: [...pictureButtons(picture, stem(data) + "-vibes"), ...copyButton("Copy as LaTeX", () => latexOf(data, vibes, columns), "latex")] }),
  droppedFold(data, (vibe, rank) => el("li", null, vibeLink(vibe, rank), ": ", dropReason(data, vibe), poles(vibe))));
}

/* ---- each vibe ---- */

const LABELS = [["a", "A higher"], ["b", "B higher"], ["equal", "equal"], ["na", "N/A"], ["unsure", "unsure"], ["refused", "refused"],
  ["truncated", "truncated"], ["unparseable", "unreadable"], ["failed", "failed"]];

function facts(data, vibe) {
  const list = [], isTest = data.split === "test", sep = vibe.separability;
  const fact = (what, ...shown) => list.push(el("dt", null, what), el("dd", null, shown));
  const both = (what, of, format) => fact(what, format(of.train, 3), " train", isTest ? [", ", format(of.test, 3), " test"] : null);
  const flips = (what, p, q) => fact(what, isNumber(p) && isNumber(q) ? "p " + significant(p) + ", q " + significant(q) + (q <= 0.05 ? "" : ": not distinguishable from 0") : na());
  const estimate = (of) => [signed(of.value, 3), " ", interval(of.ci95, 3, true)];
  function coefficient(what, of) {
    if (!of) return;
    fact(what, estimate(of), of.firth ? ["; Firth's estimate ", estimate(of.firth), isNumber(of.firth.p) ? ", p " + significant(of.firth.p) : ""] : null,
      of.length_held ? ["; with length held fixed ", estimate(of.length_held)] : null,
      isNumber(of.unregularised) ? "; unregularised " + signed(of.unregularised, 3) + " (se " + fixed(of.unregularised_se, 3) + ")" : null);
  }
  both("Separability", sep, signed);
  const test = vibe.cascade ? "Student\u2019s t" : "Sign flips by prompt";
  flips(test + ", train", sep.p, sep.q);
  if (isTest && vibe.kept) flips(test + ", test", sep.p_test, sep.q_test);
  if (vibe.cascade) {
    const split = vibe.cascade[data.split];
    fact("Mean row score, uncorrected", signed(split.uncorrected, 3), " ", interval(split.uncorrected_ci95, 3, true));
    fact("Second judge on these rows", interval(split.rows_ci95, 3, true), ", from " + count(split.escalated) + " escalated and " + count(split.audited) + " of " +
      count(split.not_escalated) + " other rows");
  }
  if (isNumber(sep[data.split + "_at_random"])) fact("Separability if calls failed at random", signed(sep[data.split + "_at_random"], 3));
  if (vibe.rows_missing > 0 || (sep.bounds && sep.bounds[0] < sep.bounds[1])) fact("If all missing were A, or B", interval(sep.bounds, 3, true));
  if (isNumber(vibe.pref_separability.train)) both("Alignment with preference", vibe.pref_separability, signed);
  if (data.results.judges.length > 1) {
    both("Kappa", vibe.kappa, fixed);
    both("Kappa, mirrored", vibe.kappa_mirrored, fixed);
    both("Krippendorff alpha", vibe.alpha, fixed);
  }
  coefficient("MM coefficient", vibe.mm_coefficient);
  coefficient("PP coefficient", vibe.pp_coefficient);
  if (vibe.people) {
    fact("Judges agree with people", percent(vibe.people.agreement), " ", interval(vibe.people.agreement_ci95, 2, false), " of " + vibe.people.rows + " labelled rows");
    fact("Separability of people's labels", signed(vibe.people.separability, 3), " ", interval(vibe.people.ci95, 3, true));
  }
  return el("dl", { class: "facts" }, list);
}

function provenance(data, vibe) {
  const found = data.results.discovery && data.results.discovery.provenance.find((one) => one.id === vibe.id), n = found ? found.proposals.length : 0;
  const types = data.question_types && data.question_types[vibe.id];
  return [n > 0 && el("p", null, "Found in iteration " + found.iteration + "; " + (n === 1 ? "1 proposal supports" : n + " proposals support") + " it, from batches " +
    found.proposals.slice(0, PROPOSALS_NAMED_MAX).map((one) => one.iteration + "." + one.batch).join(", ") + (n > PROPOSALS_NAMED_MAX ? " and others." : ".")),
  types && el("p", null, "Shows on: ", name(types))];
}

const labels = (data, vibe) => table({ file: "labels-" + vibe.id,
  columns: [{ head: "Judge" }, ...LABELS.map(([, head]) => ({ head })), { head: "position bias" }],
  rows: data.results.judges.map((judge) => [{ show: name(judge.name), csv: [judge.name] },
    ...LABELS.map(([key]) => ({ class: vibe.label_counts[judge.name][key] ? null : "nil", show: count(vibe.label_counts[judge.name][key]),
      csv: [vibe.label_counts[judge.name][key]] })),
    { show: percent(vibe.position_bias_rate[judge.name]), csv: [vibe.position_bias_rate[judge.name]] }]) });

export function eachVibe(data, look) {
  const all = data.results.vibes, left = all.length - VIBES_MAX;
  return section("details", "Each vibe", sub("Labels are those of the order asked first. Position bias: the share of cells where both orders name the same position."),
    all.slice(0, VIBES_MAX).map((vibe, rank) => el("details", { class: "vibe", id: "v" + vibe.id }, el("summary", null, name(vibe.name),
      vibe.kept ? null : mark(["dropped: ", dropReason(data, vibe)])),
    el("dl", { class: "facts poles2" }, el("dt", null, "Low"), el("dd", null, name(vibe.low)), el("dt", null, "High"), el("dd", null, name(vibe.high))),
    provenance(data, vibe), look(rank), facts(data, vibe), labels(data, vibe))),
    left > 0 && el("p", null, left + " further vibes are in results.json."));
}

/* ---- parts of the result ---- */

const TURNS = "here the sign is the opposite of that over all rows, and both are farther from 0 than the gate.";

function partsTable(data, first, parts, file) {
  const kept = data.results.vibes.filter((vibe) => vibe.kept);
  const picture = () => matrix(kept.map((vibe) => vibe.name), parts.map((part) => ({ name: part.name || "(empty)", values: part.separability })));
  return [table({ class: "plain parts", file, more: pictureButtons(picture, stem(data) + "-" + file),
    columns: [{ head: first }, { head: "rows" }, { head: "MM", csv: ["mm", "mm_low", "mm_high"] }, ...kept.map((vibe) => ({ head: name(vibe.name), csv: [vibe.name] }))],
    rows: parts.map((part) => [{ show: part.name === "" ? name("(empty)") : name(part.name), csv: [part.name] }, { show: count(part.rows), csv: [part.rows] },
      { show: [percent(part.mm_accuracy), part.mm_ci95 ? [" ", range(part.mm_ci95, 2, false)] : null], csv: [part.mm_accuracy, ...(part.mm_ci95 || [null, null])] },
      ...kept.map((_, i) => ({ class: heat(part.separability[i]) + (part.turned[i] ? " turned" : ""), csv: [part.separability[i]],
        show: el("span", null, signed(part.separability[i], 2), part.turned[i] ? [" ", el("b", { title: "opposite sign" }, "turns")] : null) }))]) }),
  parts.some((part) => part.turned.includes(true)) && sub(el("b", { class: "wrong" }, "turns"), ": " + TURNS)];
}

function judgeFacts(data, i) {
  const { judges, settings, audit, retest } = data.results, judge = judges[i], set = settings.judges[i], effect = audit.judges[i].order_effect;
  const again = retest && retest.judges[i];
  return el("li", null, el("b", null, name(judge.name)), ": model ", name(judge.model), " at ", name(judge.provider),
    judge.returned_models.length ? [", which called itself ", listed(judge.returned_models)] : null,
    isNumber(set.temperature) ? "; temperature " + significant(set.temperature) : "", "; at most " + set.max_tokens + " tokens an answer",
    isNumber(effect) ? "; pull toward the output shown first " + signed(effect, 3) : "",
    again && again.cells > 0 ? "; asked a second time, it changed " + percent(again.flips / again.cells) + " of " + plural(again.cells, "answer", "answers") : "", ".");
}

/* Which cells each judge of a cascade answered, and what this saved. */
export function cascade(data) {
  const of = data.results.cascade, usd = data.cascade_usd;
  if (!of) return null;
  const rate = (what, part) => [percent(part.disagreement), part.ci95 ? [" (" + percent(part.ci95[0]) + " to " + percent(part.ci95[1]) + ")"] : null, " of " + count(part.cells) + " " + what];
  const kept = data.results.vibes.filter((vibe) => vibe.cascade && isNumber(separabilityOf(data, vibe)));
  const cell = (value, ci) => ({ csv: [value, ...(ci || [null, null])], show: [signed(value, 2), ci ? [" ", range(ci, 2, true)] : null] });
  return section("cascade", "Cascade", sub(name(of.first), " answered everything, ", name(of.second), " where it was needed. Separability is an estimate of what ",
    name(of.second), " would score on all rows."),
  table({ file: "cascade", columns: [{ head: "Vibe" }, { head: "estimate", csv: ["estimate", "estimate_low", "estimate_high"] },
    { head: "on these rows", csv: ["rows_low", "rows_high"] }, { head: "uncorrected", csv: ["uncorrected", "uncorrected_low", "uncorrected_high"] }],
  rows: kept.map((vibe) => [{ show: name(vibe.name), csv: [vibe.name] }, cell(separabilityOf(data, vibe), separabilityCi(data, vibe)),
    { show: interval(vibe.cascade[data.split].rows_ci95, 2, true), csv: vibe.cascade[data.split].rows_ci95 || [null, null] },
    cell(vibe.cascade[data.split].uncorrected, vibe.cascade[data.split].uncorrected_ci95)]) }),
  el("ul", { class: "calm" },
    el("li", null, name(of.first), " answered " + plural(of.cells.first, "cell", "cells") + ", ", name(of.second), " " + count(of.cells.second) + " of them: orders that disagree " +
      count(of.reasons.disagreement) + ", small margin " + count(of.reasons.margin) + ", no score " + count(of.reasons.no_score) + ", audit alone " + count(of.reasons.audit_alone) + "."),
    el("li", null, "The judges differ on ", rate("audited cells", of.audited), "; on ", rate("that were not escalated", of.audited_not_escalated), "."),
    el("li", null, "Calls: " + count(of.calls.first) + " and " + count(of.calls.second),
      isNumber(of.calls.second_everywhere) ? [", in place of about " + count(Math.round(of.calls.second_everywhere)) + " of ", name(of.second), " everywhere"] : null,
      usd ? [". Cost: " + dollars(usd.spent) + ", in place of about " + dollars(usd.everywhere)] : null, ".")));
}

export const judges = (data) => section("judges", "Judges",
  data.by_judge.length > 0 && sub("Separability by each judge alone, and how often the fitted weights, given its scores only, tell the models apart."),
  data.by_judge.length > 0 && partsTable(data, "judge", data.by_judge, "judges"), el("ul", { class: "calm" }, data.results.judges.map((_, i) => judgeFacts(data, i))));

export function groups(data) {
  const of = data.groups;
  if (!of) return null;
  const head = ["By ", name(of.column)];
  if (!of.parts) return section("groups", head, el("p", null, "The data has no such column."));
  return section("groups", head, sub("Separability of each kept vibe and model matching, " + data.split + " rows with each value; the weights are those of all rows."),
    partsTable(data, "value", of.parts, "groups"),
    of.parts.length < of.values && sub("The " + of.parts.length + " values with the most rows of " + of.values + "."));
}

export function overlap(data) {
  const scores = data.overlap, { vibes, settings } = data.results;
  if (!scores) return null;
  return section("overlap", "Overlap", sub((settings.overlap === "pearson" ? "Pearson correlation" : "Cosine (uncentred correlation)") +
    " of the row scores of two vibes on train: near 1 they say the same, near \u22121 the opposite; the gate drops both. n/a: a column is constant. Dropped vibes are grey." +
    (settings.overlap === "off" ? " The overlap gate is off." : "") + (scores.length < vibes.length ? " The first " + scores.length + " of " + vibes.length + " vibes." : "")),
  table({ class: "plain map", file: "overlap",
    more: pictureButtons(() => matrix(scores.map((_, k) => String(k + 1)), scores.map((values, i) => ({ name: i + 1 + " " + vibes[i].name, values }))), stem(data) + "-overlap"),
    columns: [{ head: "vibe" }, ...scores.map((_, k) => ({ head: String(k + 1), csv: [vibes[k].name] }))],
    rows: scores.map((row, i) => [{ class: vibes[i].kept ? null : "nil", show: [i + 1 + " ", name(vibes[i].name)], csv: [vibes[i].name] },
      ...row.map((r, k) => ({ class: heat(r), show: el("span", null, i === k ? "" : signed(r, 2)), csv: [r] }))]) }));
}

/* ---- preset vibes ---- */

export function presets(data) {
  const of = data.presets;
  if (!of) return null;
  const fit = ({ accuracy, ci95 }) => ({ show: [percent(accuracy), ci95 ? [" ", range(ci95, 2, false)] : null], csv: [accuracy, ...(ci95 || [null, null])] });
  const side = (words, one) => [words, { show: one.kept + " of " + one.of, csv: [one.kept] }, fit(one.mm), fit(one.pp)];
  const ends = (key) => ["", "_low", "_high"].map((end) => key + end);
  return section("presets", "Beside the preset vibes", sub("The same rows and judges on a fixed list of vibes, for comparison."),
    table({ file: "presets", columns: [{ head: "vibes" }, { head: "kept" }, { head: "MM", csv: ends("mm") }, { head: "PP", csv: ends("pp") }],
      rows: [side(data.results.settings.method === "discover" ? "discovered" : "given", of.run), side("preset", of.preset)] }),
    fold(null, "The preset vibes", table({ file: "preset-vibes",
      columns: [{ head: "vibe" }, { head: "separability" }, { head: "kappa" }, { head: "MM" }, { head: "PP" }, { head: "", csv: ["state"] }],
      rows: of.vibes.map((vibe) => [{ show: name(vibe.name), csv: [vibe.name] },
        { class: heat(vibe.separability), show: el("span", null, signed(vibe.separability, 2)), csv: [vibe.separability] }, { show: fixed(vibe.kappa, 2), csv: [vibe.kappa] },
        { show: signed(vibe.mm, 2), csv: [vibe.mm] }, { show: signed(vibe.pp, 2), csv: [vibe.pp] }, vibe.state]) })));
}

/* ---- how the vibes were found ---- */

const ITERATION = [["rows_shown", "rows shown"], ["proposed", "proposed"], ["reduced", "after reduction"], ["deduplicated", "after dedup"],
  ["evaluated", "judged"], ["added", "survived"], ["misclassified", "still misclassified"]];

function iterations(data) {
  const { discovery, vibes } = data.results;
  const iterationOf = new Map(discovery.provenance.map((one) => [one.id, one.iteration]));
  const accuracy = (value) => ({ show: [isNumber(value) ? scale(value, null, 0.5) : null, percent(value)], csv: [value] });
  const vibesOf = (iteration, kept) => {
    const list = vibes.map((vibe, rank) => [vibe, rank]).filter(([vibe]) => iterationOf.get(vibe.id) === iteration && vibe.kept === kept);
    return list.length ? list.map(([vibe, rank], i) => [i ? ", " : "", vibeLink(vibe, rank)]) : "none";
  };
  return [table({ file: "iterations", columns: [{ head: "iteration" }, ...ITERATION.map(([, head]) => ({ head })), { head: "MM, train" }, { head: "PP, train" }],
    rows: discovery.iterations.map((one, i) => [String(i + 1), ...ITERATION.map(([key]) => ({ show: count(one[key]), csv: [one[key]] })),
      accuracy(one.mm_accuracy_train), accuracy(one.pp_accuracy_train)]) }),
  el("ul", { class: "calm" }, discovery.iterations.map((_, i) => el("li", null, "Iteration " + (i + 1) + " added ", vibesOf(i + 1, true),
    "; judged and in the end dropped: ", vibesOf(i + 1, false), "."))),
  el("p", null, "It stopped: " + discovery.stopped_because + ".")];
}

/* The proposers of the repeats come in turn: each is named once. */
function stability(found) {
  if (!found || !found.vibes.length) return null;
  return [el("h3", { id: "stability" }, "Found again"), sub("Discovery was done again from " + plural(found.repeats, "other seed", "other seeds") +
    ". A vibe counts as found again if an axis of a repeat has the same or the opposite meaning (similarity of their ends at least " + found.threshold.toFixed(1) + ").",
  found.proposers ? [" Proposers of the repeats, in turn: ", listed([...new Set(found.proposers)]), "."] : null),
  table({ file: "found-again", columns: [{ head: "vibe" }, { head: "found again" }, { head: "nearest axis, by repeat" }],
    rows: found.vibes.map((vibe) => [{ show: name(vibe.name), csv: [vibe.name] }, { show: vibe.found_again + " of " + found.repeats, csv: [vibe.found_again] },
      vibe.nearest.map((value) => fixed(value, 2)).join(", ")]) })];
}

const notes = ({ notes: list, notes_count: all }) => all > 0 && fold(null, "What happened, step by step", el("ol", null, list.map((note) => el("li", null, name(note)))),
  all > list.length && el("p", null, "and " + plural(all - list.length, "more line", "more lines") + " in the log."));

const proposals = ({ proposals: list, proposals_count: all }) => all > 0 && fold(null, all === 1 ? "1 proposal" : "All " + all + " proposals",
  el("ul", null, list.map((one) => el("li", null, "Iteration " + one.iteration + ", batch " + one.batch + " (" + plural(one.rows, "row", "rows") + "): ",
    el("b", null, name(one.name)), " ", el("span", { class: "poles" }, name(one.low), " \u2192 ", name(one.high))))),
  all > list.length && el("p", null, "and " + (all - list.length) + " more."));

export function story(data) {
  const { discovery } = data.results, found = Boolean(discovery && discovery.iterations.length);
  return data.story && section("story", found ? "How the vibes were found" : "How it went", found && iterations(data),
    discovery && stability(discovery.stability), notes(data.story), proposals(data.story));
}

export const methods = (data) => section("methods", "Methods",
  el("div", { class: "prose" }, data.methods.map(({ head, text }) => el("p", null, el("b", null, head + "."), " " + text))));
