"use strict";
/* Finds items of a rubric page: they stand in it, folded, and are shown or hidden; without a script all are there. Text of others is read as
 * textContent and set as text, never as markup. */
(function () {
  const byId = (id) => document.getElementById(id);
  const PAGE = 25;
  const list = byId("list"), more = byId("more"), search = byId("search");
  const criterion = byId("criterion"), rating = byId("rating"), show = byId("show");
  const items = Array.from(list.children);
  const total = Number(list.dataset.rows), outputs = Number(list.dataset.outputs);

  /* ---- what an item holds ---- */

  const answers = (item, state) =>
    Array.from(item.querySelectorAll(".answer")).filter((a) => state.criterion < 0 || Number(a.dataset.c) === state.criterion);

  const tests = {
    all: () => true,
    differ: (item, state) => {
      const differing = item.dataset.differ === undefined ? [] : item.dataset.differ.split(" ").map(Number);
      return state.criterion < 0 ? differing.length > 0 : differing.includes(state.criterion);
    },
    missing: (item, state) => answers(item, state).some((a) => a.dataset.v === undefined),
  };

  const texts = new Map();
  function text(item) {
    if (!texts.has(item)) texts.set(item, item.textContent.toLowerCase());
    return texts.get(item);
  }

  function fits(item, state) {
    return tests[state.show](item, state) &&
      (state.rating === "" || answers(item, state).some((a) => a.dataset.v === state.rating)) &&
      (state.needle === "" || text(item).includes(state.needle));
  }

  function mark(item, needle) {
    for (const node of item.querySelectorAll(".text")) {
      const whole = node.textContent, lower = whole.toLowerCase(), parts = [];
      let at = 0;
      if (needle && lower.length === whole.length) {
        for (let hit = lower.indexOf(needle); hit >= 0; hit = lower.indexOf(needle, at)) {
          const found = document.createElement("mark");
          found.textContent = whole.slice(hit, hit + needle.length);
          parts.push(whole.slice(at, hit), found);
          at = hit + needle.length;
        }
      }
      if (parts.length || node.firstElementChild) node.replaceChildren(...parts, whole.slice(at));
    }
  }

  /* ---- what is asked for ---- */

  const values = { likert: ["1", "2", "3", "4", "5"], binary: ["yes", "no"], pairwise: ["A", "B"] };
  function ratings() {
    const kind = criterion.selectedOptions[0].dataset.kind, options = [new Option("any", "")];
    for (let o = 0; kind && o < (kind === "pairwise" ? 1 : outputs); o++) {
      for (const value of values[kind]) {
        const on = outputs > 1 ? value + " on " + "AB"[o] : value;
        options.push(new Option(kind === "pairwise" ? value + " is better" : on, "AB"[o] + value));
      }
    }
    rating.replaceChildren(...options);
    rating.disabled = !kind;
  }

  let found = [], shown = 0, state = null;
  function showMore() {
    for (const item of found.slice(shown, shown + PAGE)) {
      mark(item, state.needle);
      item.hidden = false;
    }
    shown = Math.min(found.length, shown + PAGE);
    more.hidden = shown === found.length;
  }
  function refresh() {
    state = { needle: search.value.trim().toLowerCase(), criterion: Number(criterion.value), rating: rating.value, show: show.value };
    found = items.filter((item) => fits(item, state));
    for (const item of items) item.hidden = true;
    shown = 0;
    byId("found").textContent = found.length.toLocaleString("en") + " of the " + items.length.toLocaleString("en") + " items in this page" +
      (items.length < total ? " (the data have " + total.toLocaleString("en") + ")" : "");
    showMore();
  }

  let pause = 0;
  search.addEventListener("input", () => { clearTimeout(pause); pause = setTimeout(refresh, 120); });
  criterion.addEventListener("change", () => { ratings(); refresh(); });
  rating.addEventListener("change", refresh);
  show.addEventListener("change", refresh);
  more.addEventListener("click", showMore);
  ratings();
  byId("controls").hidden = false;
  refresh();

  /* ---- paper shows what is shown here, unfolded ---- */

  let opened = [];
  addEventListener("beforeprint", () => {
    opened = Array.from(document.querySelectorAll("details:not([open])"));
    for (const fold of opened) fold.open = true;
  });
  addEventListener("afterprint", () => {
    for (const fold of opened) fold.open = false;
    opened = [];
  });
})();
