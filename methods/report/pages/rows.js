/* The row browser of a VibeCheck run: prompts with both outputs, the vibes that fire on them, and what the judges wrote in both orders. */
import { byId, el, button, name, textOf } from "./dom.js";
import { count } from "./numbers.js";
import { model, section, sub } from "./frame.js";
import { choice, growingList, haystacks, image, marked, needleOf, searchBox } from "./search.js";

const ROWS_A_TIME = 10;
const SAID = { a: "A is higher", b: "B is higher", "=": "equal", n: "not applicable", u: "unsure", r: "refused", t: "truncated", x: "unreadable",
  ".": "not asked, the other order settled it", "!": "failed" };
const KINDS = [["all", "all rows"], ["a", "A is higher"], ["b", "B is higher"], ["d", "judges disagree"], ["wrong", "misclassified by MM"],
  ["wrong-pp", "preference predicted wrong"], ["test", "test rows"], ["train", "train rows"]];

/* Returns the section and `look(vibe)`: the buttons that lead from a vibe to its examples. */
export function rowBrowser(data, vibes) {
  const { rows, answers, tie } = data, models = data.results.models, judges = data.results.judges.map((judge) => judge.name);

  /* ---- what a row says; a row's scores have a letter for each vibe and judge ---- */

  const scores = (row, vibe) => row.s.slice(vibe * judges.length, (vibe + 1) * judges.length);
  function mean(row, vibe) {
    let sum = 0, n = 0;
    for (const score of scores(row, vibe)) {
      if (score !== "?") { n++; sum += score === "+" ? 1 : score === "-" ? -1 : 0; }
    }
    return n ? sum / n : null;
  }
  const differ = (row, vibe) => new Set(scores(row, vibe).replaceAll("?", "")).size > 1;
  const wrong = (row) => row.mm !== null && row.mm <= tie;
  const wrongPreference = (row) => row.pp !== null && ((row.pref === "a" && row.pp <= tie) || (row.pref === "b" && row.pp >= -tie));
  const answersOf = (index, vibe) => answers[index + ":" + vibe];

  /* ---- one row ---- */

  const side = (which, row, needle) => el("div", { class: "side " + "ab"[which] },
    el("h3", { class: "model " + "ab"[which] }, el("b", null, "AB"[which]), " ", name(models[which])), marked(row["ab"[which]], needle));

  function answerOf(index, row, vibe, judge, order, needle) {
    const at = (vibe * judges.length + judge) * 2, letter = row.o[at + order];
    const never = row.o[at] === "." && row.o[at + 1] === ".", answer = answersOf(index, vibe)[judge * 2 + order];
    return el("div", { class: "answer " + (letter === "a" || letter === "b" ? letter : "") },
      el("h4", null, name(judges[judge]), ", " + (order ? "B" : "A") + " shown first: " + (never ? "never asked" : SAID[letter])),
      answer === null ? null : marked(answer, needle));
  }

  const panel = (index, row, vibe, needle) => el("div", { class: "panel" }, el("h3", null, "What the judges wrote on ", name(vibes[vibe].name)),
    el("p", { class: "poles" }, name(vibes[vibe].low), " \u2192 ", name(vibes[vibe].high)),
    el("div", { class: "answers" }, judges.map((_, j) => [0, 1].map((order) => answerOf(index, row, vibe, j, order, needle)))));

  const marksOf = (row, chosen) => vibes.map((vibe, v) => ({ v, x: mean(row, v), split: differ(row, v) }))
    .filter(({ v, x, split }) => v === chosen || (vibes[v].kept && x !== null && (x !== 0 || split)))
    .sort((p, q) => Math.abs(q.x) - Math.abs(p.x));

  /* The vibes that fire on a row; those whose answers are in the page open them. */
  function fires(index, row, state) {
    const marks = marksOf(row, state.vibe), list = el("ul", { class: "fires" }), box = el("div", null, list);
    for (const { v, x, split } of marks) {
      const has = Boolean(answersOf(index, v)), half = split && x;
      const verdict = x > 0 ? ": A higher" : x < 0 ? ": B higher" : split ? ": judges disagree" : ": neither";
      const kind = "chip " + (x > 0 ? "a" : x < 0 ? "b" : "split") + (half ? " half" : "");
      const words = [name(vibes[v].name), verdict + (half ? ", judges differ" : "")];
      if (!has) {
        list.append(el("li", null, el("span", { class: kind }, words)));
        continue;
      }
      let open = null;
      const chip = button(words, () => {
        if (open) { open.remove(); open = null; } else { box.append(open = panel(index, row, v, state.needle)); }
        chip.setAttribute("aria-expanded", String(Boolean(open)));
      }, { class: kind, "aria-expanded": "false" });
      list.append(el("li", null, chip));
      if (v === state.vibe) chip.click();
    }
    if (!marks.length) list.append(el("li", { class: "sub" }, "No kept vibe fires on this row."));
    return box;
  }

  function rowCard(index) {
    const row = rows[index];
    return el("article", { class: "row" }, el("header", null, el("span", null, "Record " + row.n + (row.file ? " of the test file" : "")),
      el("span", null, row.test ? "test" : "train"),
      row.pref ? el("span", null, row.pref === "tie" ? "tie" : row.pref.toUpperCase() + " preferred") : null,
      wrong(row) ? el("span", { class: "wrong" }, row.mm > -tie ? "MM undecided" : "misclassified by MM") : null,
      wrongPreference(row) ? el("span", { class: "wrong" }, "preference predicted wrong") : null),
    el("h3", null, "Prompt"), row.image ? image(row.image, "row") : null, marked(row.p, state.needle),
    el("div", { class: "pair" }, side(0, row, state.needle), side(1, row, state.needle)), fires(index, row, state));
  }

  /* ---- finding ---- */

  let state = { needle: "", vibe: -1, kind: "all" };
  const haystack = haystacks((index) => [rows[index].p, rows[index].a, rows[index].b,
    ...vibes.flatMap((_, v) => (answersOf(index, v) || []).filter((answer) => answer !== null))]);
  const anyVibe = (row, vibe, test) => (vibe >= 0 ? test(row, vibe) : vibes.some((one, v) => one.kept && test(row, v)));
  const fits = {
    all: () => true,
    a: (row) => anyVibe(row, state.vibe, (r, v) => mean(r, v) > 0),
    b: (row) => anyVibe(row, state.vibe, (r, v) => mean(r, v) < 0),
    d: (row) => anyVibe(row, state.vibe, differ),
    wrong,
    "wrong-pp": wrongPreference,
    test: (row) => row.test,
    train: (row) => !row.test,
  };

  const list = growingList(ROWS_A_TIME, rowCard, (n) => count(n) + " of the " + count(rows.length) + " rows in this page" +
    (rows.length < data.samples ? " (the data have " + count(data.samples) + ")" : ""));
  function refresh() {
    state = { needle: needleOf(), vibe: Number(byId("vibe").value), kind: byId("kind").value };
    const first = state.vibe >= 0 ? data.examples[state.vibe][state.kind] || [] : [], chosen = new Set(first);
    list.show([...first, ...rows.keys()].filter((index, i) => (i < first.length || !chosen.has(index)) && fits[state.kind](rows[index]) &&
      (!state.needle || haystack(index).includes(state.needle))));
  }

  const controls = el("div", { class: "controls", id: "controls" }, searchBox("words in prompts, outputs, analyses", refresh),
    choice("vibe", "Vibe", [["-1", "any"], ...vibes.map((vibe, v) => [String(v), textOf(vibe.name) + (vibe.kept ? "" : " (dropped)")])], refresh),
    choice("kind", "Show", KINDS, refresh));
  const part = section("rows", "Rows", sub("Prompts with both outputs, the vibes that fire on them, and what the judges wrote in both orders."),
    controls, list.nodes);

  function lead(vibe, kind) {
    byId("search").value = "";
    byId("vibe").value = String(vibe);
    byId("kind").value = kind;
    refresh();
    part.scrollIntoView();
  }
  const look = (vibe) => {
    const buttons = [["a", "A is higher"], ["b", "B is higher"], ["d", "Judges disagree"]].filter(([kind]) => data.examples[vibe][kind].length)
      .map(([kind, label]) => button(label + " (" + data.examples[vibe][kind].length + " examples)", () => lead(vibe, kind)));
    return buttons.length ? el("p", { class: "look" }, buttons) : null;
  };
  return { part, look, refresh };
}
