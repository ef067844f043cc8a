"use strict";
/* What the pages of vibes share: light and dark, the contents, and tables that sort at a click. It moves rows; it makes no markup of
 * text of others. */
const frame = (function () {
  const byId = (id) => document.getElementById(id);

  function el(name, className, text) {
    const node = document.createElement(name);
    if (className) node.className = className;
    if (text !== undefined) node.textContent = text;
    return node;
  }

  const theme = byId("theme");
  const dark = () => {
    const chosen = document.documentElement.dataset.theme;
    return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  };
  const nameTheme = () => { theme.textContent = dark() ? "Light" : "Dark"; };
  theme.hidden = false;
  theme.addEventListener("click", () => {
    document.documentElement.dataset.theme = dark() ? "light" : "dark";
    nameTheme();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", nameTheme);
  nameTheme();

  const contents = byId("contents");
  for (const head of document.querySelectorAll("section[id] > h2")) {
    const link = el("a", "", head.textContent);
    link.href = "#" + head.parentElement.id;
    contents.append(link);
  }
  contents.hidden = false;

  /* Paper shows every fold. */
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = Array.from(document.querySelectorAll("details:not([open])"));
    for (const fold of opened) fold.open = true;
  });
  addEventListener("afterprint", () => {
    for (const fold of opened) fold.open = false;
    opened = [];
  });

  function sortBy(table, column, head) {
    const body = table.tBodies[0];
    const up = column === 0 ? head.getAttribute("aria-sort") !== "ascending" : head.getAttribute("aria-sort") === "descending";
    const value = (row) => Number(row.cells[column].dataset.value);
    const rows = Array.from(body.rows);
    rows.sort((x, y) => (up ? value(x) - value(y) : value(y) - value(x)));
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    body.append(...rows);
  }

  for (const table of document.querySelectorAll("table.sortable, table.vibes")) {
    Array.from(table.tHead.rows[0].cells).forEach((head, column) => {
      head.querySelector("button").addEventListener("click", () => sortBy(table, column, head));
    });
  }

  return { byId, el };
})();
