/* The sections of a run over more than two models: the matrix of models and vibes, and each vibe with the order of its models. */
import { el, name } from "./dom.js";
import { fixed, interval, na, signed } from "./format.js";
import { isNumber } from "./numbers.js";
import { section, sub } from "./frame.js";
import { heat, table } from "./table.js";
import { dropReason, droppedFold, poles, separabilityOf } from "./vibecheck.js";

const NAMED_MAX = 3; /* vibes named in the first sentence */
const FULL_COLOR = 2; /* log strength of the strongest colour */

const cellsOf = (data, vibe) => data.results.ranking.matrix.filter((cell) => cell.vibe === vibe.id);
const byRank = (data, vibe) => cellsOf(data, vibe).sort((x, y) => x.rank - y.rank);
const fitOf = (data, vibe) => data.results.ranking.vibes.find((one) => one.vibe === vibe.id);
/* Beyond chance: their sets of ranks do not meet. */
const apart = (data, vibe, better, worse) => fitOf(data, vibe).status === "ok" && better.rank_to < worse.rank_from;

export const rankingTitle = (data) => data.results.models.map((one, i) => [i ? ", " : "", name(one)]);

export function rankingLede(data) {
  const kept = data.results.vibes.filter((vibe) => vibe.kept);
  const said = kept.map((vibe) => [vibe, byRank(data, vibe)]).filter(([vibe, order]) => apart(data, vibe, order[0], order.at(-1))).slice(0, NAMED_MAX);
  return el("p", { class: "lede" }, said.length
    ? [said.map(([vibe, order], i) => [i ? "; on " : "On ", el("b", null, name(vibe.name)), " ", name(order[0].model), " is highest and ", name(order.at(-1).model), " lowest"]), "."]
    : kept.length ? "On no kept vibe are two models significantly different." : "No vibe passed the gates: no difference between the models was found.");
}

function matrixCell(cell) {
  const csv = [cell.strength, ...(cell.strength_ci95 || [null, null]), cell.rank];
  if (!isNumber(cell.strength)) return { class: heat(0) + " num", value: -1e9, csv, show: el("span", null, na()) };
  return { class: heat(cell.strength / FULL_COLOR) + " num", value: cell.strength, csv, show: el("span", null, el("b", null, String(cell.rank)), " ",
    el("span", { class: "value" }, signed(cell.strength, 2)), " ", el("span", { class: "ci95" }, interval(cell.strength_ci95, 2, true),
      cell.rank_from < cell.rank_to ? " rank " + cell.rank_from + " to " + cell.rank_to : "")) };
}

export function rankingMatrix(data) {
  const kept = data.results.vibes.filter((vibe) => vibe.kept), columns = kept.map((vibe) => cellsOf(data, vibe));
  return section("models", "Models and vibes", sub("Rank and log strength of each model on each kept vibe, on the " + data.split +
    " rows, with 95\u202f% intervals over prompts. A difference of strengths is the log odds that one model's output is the higher one. Click a vibe to sort by it."),
  kept.length > 0 && table({ id: "matrix", class: "plain parts", file: "models", sortable: true,
    columns: [{ head: "model" }, ...kept.map((vibe) => ({ head: name(vibe.name), csv: ["", " low", " high", " rank"].map((end) => vibe.name + end) }))],
    rows: data.results.models.map((one, k) => [{ show: name(one), value: k, csv: [one] }, ...columns.map((cells) => matrixCell(cells[k]))]) }));
}

export function rankingTable(data) {
  const all = data.results.vibes, kept = all.filter((vibe) => vibe.kept), { split } = data;
  const chain = (vibe) => byRank(data, vibe).map((cell, k, order) => [k ? (apart(data, vibe, order[k - 1], cell) ? " > " : " ~ ") : "", name(cell.model)]);
  const number = (value, digits) => ({ class: "num", value: isNumber(value) ? value : -1e9, csv: [value], show: fixed(value, digits) });
  const preference = ({ pp_coefficient: of }) => (of ? (of.firth || of).value : null);
  const named = (vibe, rank) => ({ value: rank, csv: [vibe.name, vibe.low, vibe.high], show: [name(vibe.name),
    vibe.distinguishable ? null : [" ", el("span", { class: "mark", title: "q above 0.05" }, "no difference shown")],
    fitOf(data, vibe).status === "ok" ? null : [" ", el("span", { class: "mark" }, fitOf(data, vibe).status)],
    poles(vibe), el("span", { class: "poles" }, chain(vibe))] });
  return section("vibes", "Vibes", sub(kept.length + " of " + all.length + " passed the gates. Spread: half the distance between the highest and the lowest mean score of " +
    "a model. q: that no model differs. > is between models that are significantly different."),
  kept.length > 0 && table({ id: "table", file: "vibes", sortable: true,
    columns: [{ head: "Vibe", csv: ["vibe", "low", "high"] }, ...["Spread", "q", "Ties", "Kappa", "PP"].map((head) => ({ head }))],
    rows: kept.map((vibe, rank) => ({ id: "v" + vibe.id, cells: [named(vibe, rank), number(separabilityOf(data, vibe), 2),
      number(split === "test" ? vibe.separability.q_test : vibe.separability.q, 3), number(fitOf(data, vibe).tie_share, 2), number(vibe.kappa[split], 2),
      number(preference(vibe), 2)] })) }),
  droppedFold(data, (vibe) => el("li", { id: "v" + vibe.id }, name(vibe.name), ": ", dropReason(data, vibe))));
}
