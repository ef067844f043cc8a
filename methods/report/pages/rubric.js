/* The report of ratings by rubrics: each criterion with its numbers and distributions, agreement, positions, and the items with what the judges
 * wrote. */
import { byId, el, listed, name, svg, textOf } from "./dom.js";
import { fixed, interval, na, percent, plural, signed, significant } from "./format.js";
import { count, isNumber } from "./numbers.js";
import { estimates, scale } from "./chart.js";
import { banner, callCards, card, fold, model, pageData, section, showPage, sub } from "./frame.js";
import { pictureButtons } from "./save.js";
import { choice, growingList, haystacks, image, marked, needleOf, searchBox } from "./search.js";
import { table } from "./table.js";

const data = pageData(), { results } = data, { models, settings } = results;
const ITEMS_A_TIME = 25, GROUPS_MAX = 24, SUMMARY_LENGTH = 160;
const KINDS = {
  likert: { key: "mean", mean: "mean", counts: ["1", "2", "3", "4", "5"], shown: ["1", "2", "3", "4", "5"], place: (value) => (value - 1) / 4 },
  binary: { key: "rate", mean: "share of yes", counts: ["no", "yes"], shown: ["no", "yes"], place: (value) => value },
  pairwise: { key: "win_rate", mean: "win rate", counts: ["lost", "tied", "won"], shown: ["B", "tie", "A"], place: (value) => value },
};

const output = (o) => (models.length === 1 ? name(models[0]) : model(o, models[o]));
const ofModel = (modelName) => output(models.indexOf(modelName));
const placed = (kind, value) => Math.min(1, Math.max(0, KINDS[kind].place(value))); /* the paper's policy knows no range */
const range = (ci, digits, withSign) => el("span", { class: "ci95" }, interval(ci, digits, withSign));

const statusesOf = (statuses) => Object.entries(statuses).filter(([status, n]) => n > 0 && status !== "not_asked").map(([status, n], i) => [i ? ", " : "",
  status === "ok" ? count(n) + " ok" : el("b", { class: "wrong" }, count(n) + " " + status)]);

/* ---- top ---- */

function headline() {
  const asked = Object.entries(results.statuses).filter(([status]) => status !== "not_asked").reduce((sum, [, n]) => sum + n, 0);
  return el("section", { id: "headline", class: "cards", "aria-label": "In numbers" },
    card("Ratings", count(asked - results.answers_missing), "of " + count(asked) + " questions: ", statusesOf(results.statuses)), callCards(data.calls, null));
}

function warnings() {
  const missing = results.answers_missing, list = [];
  if (missing > 0) {
    list.push(plural(missing, "question has", "questions have") + " no rating. " + (missing === 1 ? "It is" : "They are") +
      " left out of every mean and rate, and counted by reason beside it.");
  }
  results.data.without_output.forEach((n, o) => {
    if (n > 0) list.push([output(o), " is empty in " + plural(n, "row, which was", "rows, which were") + " not rated."]);
  });
  for (const text of results.data.warnings || []) list.push(name(text));
  if (results.no_intervals_because) list.push("No intervals are given: " + results.no_intervals_because + ".");
  return list.length > 0 && el("ul", { class: "warnings", id: "warnings" }, list.map((text) => el("li", null, text)));
}

const lede = el("p", { class: "lede" }, plural(results.data.rows, "row", "rows") + ", " + plural(models.length, "output", "outputs") + " each, rated by " +
  plural(results.criteria.length, "criterion", "criteria") + " and " + plural(results.judges.length, "judge", "judges") +
  (settings.repeats > 1 ? ", " + settings.repeats + " times each" : "") + ".");

/* ---- a criterion ---- */

function valueCells(kind, share) {
  const value = share[KINDS[kind].key], ci = share.ci95 && share.ci95.map((end) => placed(kind, end));
  return [{ show: [isNumber(value) ? scale(placed(kind, value), ci, kind === "pairwise" ? 0.5 : null) : null,
    el("span", { class: "value" }, fixed(value, 2))], csv: [value] },
  { show: [range(share.ci95, 2, false), share.ci95_clustered ? [el("br"), "by prompts ", range(share.ci95_clustered, 2, false)] : null], csv: share.ci95 || [null, null] },
  { show: count(share.rated) + " of " + count(share.items), csv: [share.rated, share.items] }];
}

function countBars(kind, counts) {
  const numbers = KINDS[kind].counts.map((key) => counts[key]), most = Math.max(1, ...numbers);
  const words = (x, anchor, text) => svg("text", { x, y: 10, "font-size": 9, "text-anchor": anchor, fill: "currentColor" }, String(text));
  return { csv: numbers, show: numbers.map((n, i) => svg("svg", { class: "bar coef", viewBox: "0 0 110 12", role: "img",
    "aria-label": KINDS[kind].shown[i] + ": " + n }, svg("rect", { class: "track", x: 22, y: 1, width: 60, height: 10 }),
  svg("rect", { class: "pos", x: 22, y: 1, width: (n / most * 60).toFixed(2), height: 10 }), words(19, "end", KINDS[kind].shown[i]), words(85, "start", n))) };
}

const statusCell = (share) => ({ show: statusesOf(share.statuses), csv: [share.statuses.ok] });

function sharesTable(criterion, file) {
  const { kind, outputs } = criterion, all = outputs.map((share) => [share, null]);
  const single = results.judges.length > 1 ? outputs.flatMap((share) => share.judges.map((one) => [share, one])) : [];
  const rows = [...all, ...single];
  const picture = () => estimates([{ head: KINDS[kind].mean, full: kind === "likert" ? 5 : 1, kind: "coef" }], rows.map(([share, judge]) => ({
    name: share.model + (judge ? " by " + judge.name : ""), values: [[(judge || share)[KINDS[kind].key], (judge || share).ci95]] })));
  return table({ class: "plain parts", file, columns: [{ head: "output", csv: ["output", "judge"] }, { head: KINDS[kind].mean },
    { head: "95 % interval", csv: ["low", "high"] }, { head: "items with a value", csv: ["rated", "items"] },
    { head: kind === "pairwise" ? "better" : "ratings", csv: KINDS[kind].counts }, { head: "answers", csv: ["ok"] }],
  rows: rows.map(([share, judge]) => [{ show: [ofModel(share.model), judge ? [" by ", name(judge.name)] : null], csv: [share.model, judge ? judge.name : ""] },
    ...valueCells(kind, judge || share), countBars(kind, (judge || share).counts), statusCell(judge || share)]), more: pictureButtons(picture, file) });
}

function difference(of) {
  const apart = of.ci95 && (of.ci95[0] > 0 || of.ci95[1] < 0);
  return el("p", null, "Difference, ", output(0), " minus ", output(1), ", paired by row: ", el("b", null, signed(of.mean, 2)), " ", interval(of.ci95, 2, true),
    " over " + count(of.rows) + " rows" + (!of.ci95 ? "." : apart ? "; the interval leaves out 0." : "; not distinguishable from 0."));
}

function atEqualLength(of) {
  if (!of) return null;
  if (!isNumber(of.win_rate)) return el("p", { class: "length-controlled" }, "There is no length-controlled win rate (" + of.status + ").");
  return el("p", { class: "length-controlled" }, "Length-controlled win rate: if both outputs were equally long, ", output(0), " would win ",
    el("span", { class: "value" }, fixed(of.win_rate, 2)), " of the rows ", range(of.ci95, 2, false), ". The coefficient of length is ",
    fixed(of.length_coefficient, 2), " ", range(of.length_coefficient_ci95, 2, true), "; above 0, judges favour the longer output.");
}

function groups(criterion, file) {
  const { kind, groups: all } = criterion;
  if (!all || !all.length) return null;
  const shown = all.slice(0, GROUPS_MAX);
  const groupName = (group) => ({ show: group.group === "" ? na("(empty)") : name(group.group), csv: [group.group] });
  const rows = shown.flatMap((group) => [...group.outputs.map((share) => [groupName(group), { show: ofModel(share.model), csv: [share.model] },
    ...valueCells(kind, share), statusCell(share)]),
  ...(group.difference ? [[groupName(group), "A \u2212 B", { show: el("span", { class: "value" }, signed(group.difference.mean, 2)), csv: [group.difference.mean] },
    { show: range(group.difference.ci95, 2, true), csv: group.difference.ci95 || [null, null] },
    { show: count(group.difference.rows), csv: [group.difference.rows, null] }, { show: "", csv: [null] }]] : [])]);
  return fold(null, ["By ", name(results.data.group)], table({ class: "plain parts", file: file + "-groups", columns: [{ head: "value", csv: [results.data.group] },
    { head: "output" }, { head: KINDS[kind].mean }, { head: "95 % interval", csv: ["low", "high"] }, { head: "items with a value", csv: ["rated", "items"] },
    { head: "answers", csv: ["ok"] }], rows }),
  shown.length < all.length && sub("The " + shown.length + " values with the most rows of " + all.length + "."));
}

function criterionPart(criterion, c) {
  const { about, rubric } = data.criteria[c], pairwise = criterion.kind === "pairwise", file = "criterion-" + (c + 1);
  return section("c" + (c + 1), [name(criterion.name), " ", el("span", { class: "mark" }, criterion.kind)], about ? sub(name(about)) : null,
    pairwise ? sub("The share of rows that ", output(0), " wins against ", output(1), "; a tie is half a win.") : null,
    sharesTable(criterion, file), pairwise ? atEqualLength(criterion.outputs[0].length_controlled) : null,
    criterion.difference ? difference(criterion.difference) : null, groups(criterion, file),
    fold(null, "The rubric", el("p", { class: "text" }, rubric)));
}

/* ---- agreement and positions ---- */

const named = (text) => ({ show: name(text), csv: [text] });
const number = (value) => ({ show: fixed(value, 2), csv: [value] });
const share = (value) => ({ show: percent(value), csv: [value] });

function agreement() {
  const pairs = results.criteria.flatMap((criterion) => criterion.agreement.map((pair) => [criterion, pair]));
  const other = { human: "people's labels", itself: "itself, the second time" };
  return pairs.length > 0 && section("agreement", "Agreement", sub("Of single ratings of the same output: equal ones, Cohen\u2019s kappa plain and with quadratic " +
    "weights, how far apart on average, and the share at most one apart. Of pairs: first better, tie, second better."),
  table({ file: "agreement", columns: ["criterion", "judge", "with", "n", "equal", "kappa", "quadratic", "apart", "within 1"].map((head) => ({ head })),
    rows: pairs.map(([criterion, pair]) => [named(criterion.name), named(pair.judge), { show: name(other[pair.with] || pair.with), csv: [pair.with] },
      { show: count(pair.rows), csv: [pair.rows] }, ...[pair.exact, pair.kappa, pair.kappa_quadratic, pair.absolute_error, pair.within_one].map(number)]) }));
}

function positions() {
  const rows = results.criteria.flatMap((criterion) => (criterion.positions || []).map((one) => [named(criterion.name), named(one.judge), share(one.first_rate),
    { show: count(one.answers), csv: [one.answers] }, share(one.in_both_orders > 0 ? one.same_position / one.in_both_orders : null)]));
  return results.criteria.some((criterion) => criterion.kind === "pairwise") && section("positions", "Positions", sub("How often a judge chose the response that it " +
    "was shown first, and how often it named the same position in both orders, which counts as a tie."),
  table({ file: "positions", columns: ["criterion", "judge", "first chosen", "answers", "same position"].map((head) => ({ head })), rows }));
}

/* ---- items ---- */

/* What a rating says, and as what the filter knows it: A or B for the output, then 4, yes, or of a pair A or B. */
function sayValue(kind, value) {
  if (kind === "likert") return value.toFixed(0);
  if (kind === "binary") return value > 0 ? "yes" : "no";
  return value === 0.5 ? "tie" : models[value > 0.5 ? 0 : 1];
}
const filterValue = (kind, { output: o, value }) => (!isNumber(value) ? null : "AB"[o] + (kind === "pairwise" ? (value > 0.5 ? "A" : "B") : sayValue(kind, value)));
const kindOf = (rating) => results.criteria[rating.criterion].kind;

function ratingPart(rating, needle) {
  const kind = kindOf(rating), pairwise = kind === "pairwise", sided = !pairwise && models.length > 1;
  return el("div", { class: "answer" + (sided ? " " + "ab"[rating.output] : "") }, el("h4", null, name(results.criteria[rating.criterion].name), ", ",
    name(results.judges[rating.judge].name), settings.repeats > 1 ? ", time " + (rating.repeat + 1) : null,
    pairwise ? [", shown first: ", output(rating.order)] : sided ? [" on ", output(rating.output)] : null, ": ",
    isNumber(rating.value) ? el("span", { class: "value" }, name(sayValue(kind, rating.value))) : null,
    rating.status ? [" ", el("b", { class: "wrong" }, rating.status)] : null),
  rating.said === undefined ? null : marked(rating.said, needle));
}

function itemPart(item, needle) {
  const start = textOf(item.prompt);
  return el("details", { class: "row" }, el("summary", null, "Item " + item.n + ": ", name(start.length > SUMMARY_LENGTH ? start.slice(0, SUMMARY_LENGTH) + "\u2026" : start),
    item.differ.length ? [" ", el("span", { class: "mark" }, "ratings differ")] : null),
  el("h3", null, "Prompt"), item.image ? image(item.image, "item") : null, marked(item.prompt, needle),
  el("div", { class: item.outputs.length > 1 ? "pair" : null }, item.outputs.map((text, o) => el("div", { class: "side" + (item.outputs.length > 1 ? " " + "ab"[o] : "") },
    el("h3", null, output(o)), marked(text, needle)))),
  el("div", { class: "answers" }, item.ratings.map((rating) => ratingPart(rating, needle))));
}

function itemBrowser() {
  const { items } = data, left = results.data.rows - items.length;
  let state = { needle: "", criterion: -1, rating: "", show: "all" };
  const of = (item) => item.ratings.filter((rating) => state.criterion < 0 || rating.criterion === state.criterion);
  const tests = {
    all: () => true,
    differ: (item) => (state.criterion < 0 ? item.differ.length > 0 : item.differ.includes(state.criterion)),
    missing: (item) => of(item).some((rating) => !isNumber(rating.value)),
  };
  const haystack = haystacks((i) => ["Item " + items[i].n, items[i].prompt, ...items[i].outputs, ...items[i].ratings.flatMap((rating) =>
    [results.criteria[rating.criterion].name, results.judges[rating.judge].name, ...(rating.said === undefined ? [] : [rating.said])])]);
  const list = growingList(ITEMS_A_TIME, (i) => itemPart(items[i], state.needle), (n) => count(n) + " of the " + count(items.length) + " items in this page" +
    (left > 0 ? " (the data have " + count(results.data.rows) + ")" : ""));
  function refresh() {
    state = { needle: needleOf(), criterion: Number(byId("criterion").value), rating: byId("rating").value, show: byId("show").value };
    list.show([...items.keys()].filter((i) => tests[state.show](items[i]) &&
      (state.rating === "" || of(items[i]).some((rating) => filterValue(kindOf(rating), rating) === state.rating)) && (!state.needle || haystack(i).includes(state.needle))));
  }
  const VALUES = { likert: ["1", "2", "3", "4", "5"], binary: ["yes", "no"], pairwise: ["A", "B"] };
  function offerRatings() {
    const chosen = results.criteria[Number(byId("criterion").value)], kind = chosen && chosen.kind, options = [["", "any"]];
    for (let o = 0; kind && o < (kind === "pairwise" ? 1 : models.length); o++) {
      for (const value of VALUES[kind]) {
        options.push(["AB"[o] + value, kind === "pairwise" ? value + " is better" : models.length > 1 ? value + " on " + "AB"[o] : value]);
      }
    }
    byId("rating").replaceChildren(...options.map(([value, words]) => el("option", { value }, words)));
    byId("rating").disabled = !kind;
  }
  const controls = el("div", { class: "controls", id: "controls" }, searchBox("words in prompts, outputs, reasoning", refresh),
    choice("criterion", "Criterion", [["-1", "any"], ...results.criteria.map((criterion, c) => [String(c), criterion.name])], () => { offerRatings(); refresh(); }),
    choice("rating", "Rating", [], refresh),
    choice("show", "Show", [["all", "all items"], ["differ", "ratings differ"], ["missing", "a rating is missing"]], refresh));
  const part = section("rows", "Items", sub("Each with its ratings and what the judges wrote; those whose ratings differ most come first."), controls, list.nodes,
    left > 0 && el("p", { class: "hint" }, "And " + count(left) + " more, all in ", el("code", null, "ratings.csv"), "."));
  return { part, refresh: () => { offerRatings(); refresh(); } };
}

/* ---- how it was done ---- */

function methods() {
  const strict = ["A rating counts when the answer states one value, whole, alone and in range, after ", el("code", null, "Result"),
    ". An answer without one was asked once more; after that it is missing, and no mean or rate has it."];
  const facts = [["Bootstrap", settings.bootstrap_draws + " draws, seed " + settings.seed],
    ...results.judges.map((judge) => ["Judge", [name(judge.name), ": ", name(judge.model), " at ", name(judge.provider),
      judge.returned_models.length && judge.returned_models.some((one) => one !== judge.model) ? [", which called itself ", listed(judge.returned_models)] : null,
      isNumber(judge.temperature) ? ", temperature " + significant(judge.temperature) : "", ", at most " + judge.max_tokens + " tokens"]]),
    ["Data", ["SHA-256 ", el("code", null, results.data.sha256)]]];
  return section("methods", "How it was done", el("div", { class: "prose" },
    el("p", null, settings.policy === "strict" ? strict : "Answers were read as the code of the persona paper read them: the first value that looks like one counts, " +
      "out of range or not, and a pairwise answer without any was given a drawn one."),
    el("p", null, "An item\u2019s score is the mean over the judges that rated it (of each the mean over its repeats). Intervals hold 95 %: of means by the percentile " +
      "bootstrap over prompts, of rates and win rates by Wilson. They cover the choice of prompts, not that of judges or rubrics."),
    el("p", null, settings.positions === "both" ? "Pairs were shown in both orders; a judge that contradicts itself has called a tie, and one whose answer lacks in " +
      "one order has no value." : "Pairs were shown once, in alternating order, so that positions balance over the rows and not within each.")),
  el("dl", { class: "facts" }, facts.map(([what, words]) => [el("dt", null, what), el("dd", null, words)])));
}

const items = itemBrowser();
showPage(data, "vibeq \u00b7 ratings by rubrics", models.map((_, o) => [o ? [" ", el("span", { class: "vs" }, "and"), " "] : null, output(o)]),
  [banner(results, "what the outputs are worth."), lede], [headline(), warnings(), results.criteria.map(criterionPart), agreement(), positions(), items.part, methods()]);
items.refresh();
