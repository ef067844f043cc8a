/* Shows rows. Everything that comes from the data block is text of others: it is set as textContent, never as markup. */
(function () {
  const { byId, el } = frame;
  const data = JSON.parse(byId("data").textContent);
  const judges = data.judges.length;
  const PAGE = 10;

  /* ---- rows ---- */

  const text = (value) => (Array.isArray(value) ? value[0] : value);
  const score = (row, vibe, judge) => row.s[vibe * judges + judge];
  function mean(row, vibe) {
    let sum = 0, n = 0;
    for (let j = 0; j < judges; j++) {
      const s = score(row, vibe, j);
      if (s !== "?") { n++; sum += s === "+" ? 1 : s === "-" ? -1 : 0; }
    }
    return n ? sum / n : null;
  }
  function differ(row, vibe) {
    const seen = new Set();
    for (let j = 0; j < judges; j++) if (score(row, vibe, j) !== "?") seen.add(score(row, vibe, j));
    return seen.size > 1;
  }
  const wrong = (row) => row.mm !== null && row.mm <= data.tie;

  const wrongPreference = (row) => row.pp !== null && ((row.pref === "a" && row.pp <= data.tie) || (row.pref === "b" && row.pp >= -data.tie));

  const said = { a: "A is higher", b: "B is higher", "=": "equal", n: "not applicable", u: "unsure", r: "refused", t: "truncated",
    x: "unreadable", ".": "not asked, the other order settled it", "!": "failed" };

  function fill(parent, value, needle, className) {
    const shown = text(value);
    const node = el("p", className || "text");
    node.dir = "auto";
    const lower = needle ? shown.toLowerCase() : "";
    let at = 0;
    if (needle && lower.length === shown.length) {
      for (let hit = lower.indexOf(needle); hit >= 0; hit = lower.indexOf(needle, at)) {
        node.append(shown.slice(at, hit), el("mark", "", shown.slice(hit, hit + needle.length)));
        at = hit + needle.length;
      }
    }
    node.append(shown.slice(at));
    parent.append(node);
    if (Array.isArray(value)) {
      parent.append(el("p", "cutmark", "Cut here: the whole text has " + value[1].toLocaleString("en") + " bytes."));
    }
  }

  function side(which, row, needle) {
    const node = el("div", "side " + which);
    const head = el("h3", "model " + which);
    head.append(el("b", "", which.toUpperCase()), " ");
    const name = el("bdi", "", text(data.models[which === "a" ? 0 : 1]));
    head.append(name);
    node.append(head);
    fill(node, row[which], needle);
    return node;
  }

  function panel(index, row, vibe, needle) {
    const found = data.answers[index + ":" + vibe];
    const node = el("div", "panel");
    const title = el("h3", "", "What the judges wrote on ");
    title.append(el("bdi", "", text(data.vibes[vibe].name)));
    node.append(title);
    const poles = el("p", "poles");
    poles.append(el("bdi", "", text(data.vibes[vibe].low)), " \u2192 ", el("bdi", "", text(data.vibes[vibe].high)));
    const grid = el("div", "answers");
    for (let j = 0; j < judges; j++) {
      for (let order = 0; order < 2; order++) {
        const at = (vibe * judges + j) * 2, letter = row.o[at + order];
        const never = row.o[at] === "." && row.o[at + 1] === ".";
        const one = el("div", "answer " + (letter === "a" || letter === "b" ? letter : ""));
        const head = el("h4");
        head.append(el("bdi", "", text(data.judges[j])), ", " + (order ? "B" : "A") + " shown first: " + (never ? "never asked" : said[letter]));
        one.append(head);
        const answer = found[j * 2 + order];
        if (answer !== null) fill(one, answer, needle);
        grid.append(one);
      }
    }
    node.append(poles, grid);
    return node;
  }

  function marksOf(row, chosen) {
    const marks = [];
    data.vibes.forEach((vibe, v) => {
      const x = mean(row, v), split = differ(row, v);
      if (v === chosen || (vibe.kept && x !== null && (x !== 0 || split))) marks.push({ v, x: x || 0, split });
    });
    return marks.sort((p, q) => Math.abs(q.x) - Math.abs(p.x));
  }

  /* The vibes that fire on a row; those whose answers are in the page open them. */
  function fires(index, row, state) {
    const box = el("div"), list = el("ul", "fires"), marks = marksOf(row, state.vibe);
    box.append(list);
    for (const m of marks) {
      const which = m.x > 0 ? "a" : m.x < 0 ? "b" : "split";
      const item = el("li"), has = Boolean(data.answers[index + ":" + m.v]);
      const chip = el(has ? "button" : "span", "chip " + which + (m.split && m.x !== 0 ? " half" : ""));
      const verdict = m.x > 0 ? ": A higher" : m.x < 0 ? ": B higher" : m.split ? ": judges disagree" : ": neither";
      chip.append(el("bdi", "", text(data.vibes[m.v].name)), verdict + (m.split && m.x !== 0 ? ", judges differ" : ""));
      item.append(chip);
      list.append(item);
      if (!has) continue;
      chip.type = "button";
      let shownPanel = null;
      const toggle = () => {
        if (shownPanel) { shownPanel.remove(); shownPanel = null; } else { box.append(shownPanel = panel(index, row, m.v, state.needle)); }
        chip.setAttribute("aria-expanded", String(Boolean(shownPanel)));
      };
      chip.setAttribute("aria-expanded", "false");
      chip.addEventListener("click", toggle);
      if (m.v === state.vibe) toggle();
    }
    if (!marks.length) list.append(el("li", "sub", "No kept vibe fires on this row."));
    return box;
  }

  function image(source) {
    if (!source.startsWith("data:image/")) return el("p", "sub", source);
    const node = el("img", "thumb");
    node.alt = "The image of this row";
    node.src = source;
    return node;
  }

  function card(index, state) {
    const row = data.rows[index];
    const node = el("article", "row");
    const head = el("header");
    head.append(el("span", "", "Record " + row.n + (row.file ? " of the test file" : "")));
    head.append(el("span", "", row.test ? "test" : "train"));
    if (row.pref) head.append(el("span", "", row.pref === "tie" ? "tie" : row.pref.toUpperCase() + " preferred"));
    if (wrong(row)) head.append(el("span", "wrong", row.mm > -data.tie ? "MM undecided" : "misclassified by MM"));
    if (wrongPreference(row)) head.append(el("span", "wrong", "preference predicted wrong"));
    node.append(head, el("h3", "", "Prompt"));
    if (row.i) node.append(image(text(row.i)));
    fill(node, row.p, state.needle);
    const pair = el("div", "pair");
    pair.append(side("a", row, state.needle), side("b", row, state.needle));
    node.append(pair, fires(index, row, state));
    return node;
  }

  const haystacks = new Map();
  function haystack(index) {
    if (!haystacks.has(index)) {
      const row = data.rows[index];
      const parts = [text(row.p), text(row.a), text(row.b)];
      data.vibes.forEach((vibe, v) => {
        for (const answer of data.answers[index + ":" + v] || []) if (answer !== null) parts.push(text(answer));
      });
      haystacks.set(index, parts.join("\n").toLowerCase());
    }
    return haystacks.get(index);
  }

  const kinds = [
    ["all", "all rows"], ["a", "A is higher"], ["b", "B is higher"], ["d", "judges disagree"],
    ["wrong", "misclassified by MM"], ["wrong-pp", "preference predicted wrong"], ["test", "test rows"], ["train", "train rows"],
  ];
  const list = byId("list"), more = byId("more"), search = byId("search"), vibeSelect = byId("vibe"), kindSelect = byId("kind");

  function anyVibe(row, vibe, test) {
    if (vibe >= 0) return test(row, vibe);
    return data.vibes.some((v, i) => v.kept && test(row, i));
  }
  function fits(index, state) {
    const row = data.rows[index];
    switch (state.kind) {
      case "a": return anyVibe(row, state.vibe, (r, v) => mean(r, v) > 0);
      case "b": return anyVibe(row, state.vibe, (r, v) => mean(r, v) < 0);
      case "d": return anyVibe(row, state.vibe, differ);
      case "wrong": return wrong(row);
      case "wrong-pp": return wrongPreference(row);
      case "test": return row.test;
      case "train": return !row.test;
      default: return true;
    }
  }

  let found = [], shown = 0, state = { needle: "", vibe: -1, kind: "all" };
  function showMore() {
    list.append(...found.slice(shown, shown + PAGE).map((index) => card(index, state)));
    shown = Math.min(found.length, shown + PAGE);
    more.hidden = shown === found.length;
  }
  function refresh() {
    state = { needle: search.value.trim().toLowerCase(), vibe: Number(vibeSelect.value), kind: kindSelect.value };
    const examples = state.vibe >= 0 ? data.examples[state.vibe][state.kind] || [] : [];
    const chosen = new Set(examples);
    found = examples.concat(data.rows.map((row, i) => i).filter((i) => !chosen.has(i)))
      .filter((i) => fits(i, state) && (!state.needle || haystack(i).includes(state.needle)));
    shown = 0;
    list.replaceChildren();
    byId("found").textContent = found.length.toLocaleString("en") + " of the " + data.rows.length.toLocaleString("en") +
      " rows in this page" + (data.rows.length < data.samples ? " (the data have " + data.samples.toLocaleString("en") + ")" : "");
    showMore();
  }

  vibeSelect.append(new Option("any", "-1"));
  data.vibes.forEach((vibe, v) => vibeSelect.append(new Option(text(vibe.name) + (vibe.kept ? "" : " (dropped)"), String(v))));
  for (const [value, label] of kinds) kindSelect.append(new Option(label, value));
  let pause = 0;
  search.addEventListener("input", () => { clearTimeout(pause); pause = setTimeout(refresh, 120); });
  vibeSelect.addEventListener("change", refresh);
  kindSelect.addEventListener("change", refresh);
  more.addEventListener("click", showMore);
  byId("controls").hidden = false;
  refresh();

  /* ---- the way from a vibe to its examples ---- */

  for (const place of document.querySelectorAll(".look")) {
    const vibe = Number(place.dataset.vibe);
    for (const [kind, label] of [["a", "A is higher"], ["b", "B is higher"], ["d", "Judges disagree"]]) {
      const count = data.examples[vibe][kind].length;
      if (!count) continue;
      const button = el("button", "", label + " (" + count + " examples)");
      button.type = "button";
      button.addEventListener("click", () => {
        search.value = "";
        vibeSelect.value = String(vibe);
        kindSelect.value = kind;
        refresh();
        byId("rows").scrollIntoView();
      });
      place.append(button);
    }
    place.hidden = !place.childElementCount;
  }

  function openTarget() {
    const target = location.hash && byId(location.hash.slice(1));
    if (target instanceof HTMLDetailsElement) { target.open = true; target.scrollIntoView(); }
  }
  addEventListener("hashchange", openTarget);
  openTarget();
})();
