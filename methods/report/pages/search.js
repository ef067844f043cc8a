/* Finding rows: a text box that waits for the typing to pause, marks in texts, and a list that grows by pages, so that ten thousand rows cost
 * no more than the rows that are shown. */
import { byId, el, button, textOf } from "./dom.js";
import { count } from "./numbers.js";

const PAUSE_MS = 120;

export function searchBox(placeholder, refresh) {
  let pause = 0;
  return el("label", null, "Search ", el("input", { id: "search", type: "search", placeholder, autocomplete: "off",
    on: { input: () => { clearTimeout(pause); pause = setTimeout(refresh, PAUSE_MS); } } }));
}

/* options: [value, label] */
export const choice = (id, label, options, act) =>
  el("label", null, label + " ", el("select", { id, on: { change: act } }, options.map(([value, words]) => el("option", { value }, words))));

/* A text of others with each hit of `needle` (in lower case) marked. */
export function marked(value, needle, kind = "text") {
  const shown = Array.isArray(value) ? value[0] : value, node = el("p", { class: kind, dir: "auto" });
  const lower = needle ? shown.toLowerCase() : "";
  let at = 0;
  if (needle && lower.length === shown.length) {
    for (let hit = lower.indexOf(needle); hit >= 0; hit = lower.indexOf(needle, at)) {
      node.append(shown.slice(at, hit), el("mark", null, shown.slice(hit, hit + needle.length)));
      at = hit + needle.length;
    }
  }
  node.append(shown.slice(at));
  return Array.isArray(value) ? [node, el("p", { class: "cutmark" }, "Cut here: the whole text has " + count(value[1]) + " bytes.")] : node;
}

/* What is searched, in lower case, made once for each row that is looked at. */
export function haystacks(textsOf) {
  const known = new Map();
  return (index) => {
    if (!known.has(index)) known.set(index, textsOf(index).map(textOf).join("\n").toLowerCase());
    return known.get(index);
  };
}

export function image(source, what) {
  return source.startsWith("data:image/") ? el("img", { class: "thumb", alt: "The image of this " + what, src: source }) : el("p", { class: "sub" }, source);
}

/* The list of what was found. `card(index)` makes one; `words(n)` is the line above. */
export function growingList(pageSize, card, words) {
  const line = el("p", { id: "found", class: "sub", "aria-live": "polite" }), list = el("div", { id: "list" });
  let found = [], shown = 0;
  const more = button("Show more", () => showMore(), { id: "more" });
  function showMore() {
    list.append(...found.slice(shown, shown + pageSize).map(card));
    shown = Math.min(found.length, shown + pageSize);
    more.hidden = shown === found.length;
  }
  return {
    nodes: [line, list, el("p", null, more)],
    show(indices) {
      found = indices;
      shown = 0;
      list.replaceChildren();
      line.textContent = words(found.length);
      showMore();
    },
  };
}

export const needleOf = () => byId("search").value.trim().toLowerCase();
