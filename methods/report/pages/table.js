/* Tables: they sort at a click on a head, and save themselves as CSV. */
import { el, button } from "./dom.js";
import { csvOf, save } from "./save.js";

/* What a cell is: {show, value, csv, class, label, head}, or only what it shows. `value` sorts; `csv` is a list of values, one for each CSV
 * column of its column; without it the value, else the shown text. */
const isSpec = (cell) => cell !== null && typeof cell === "object" && !(cell instanceof Node) && !Array.isArray(cell);
const spec = (cell) => (isSpec(cell) ? cell : { show: cell });

function cellNode(cell, isFirst) {
  const { show, value, label, class: kind, id } = cell;
  const data = { ...(value === undefined ? {} : { value: String(value) }), ...(label ? { label } : {}) };
  return el(isFirst ? "th" : "td", { scope: isFirst ? "row" : null, class: kind, data, id }, show);
}

const csvCells = (cell, node) => cell.csv || [cell.value === undefined ? node.textContent : cell.value];

function sortBy(table, column, head) {
  const body = table.tBodies[0], ascending = head.getAttribute("aria-sort");
  const up = column === 0 ? ascending !== "ascending" : ascending === "descending";
  const value = (row) => Number(row.cells[column].dataset.value);
  const rows = Array.from(body.rows).sort((x, y) => (up ? value(x) - value(y) : value(y) - value(x)));
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", up ? "ascending" : "descending");
  body.append(...rows);
}

/* columns: {head, note, csv: names of its CSV columns}. rows: {cells, id} or cells. more: further buttons. */
export function table({ id, class: kind = "plain", columns, rows, file, sortable = false, more = [] }) {
  const list = rows.map((row) => (Array.isArray(row) ? { cells: row } : row));
  const heads = columns.map(({ head, note, class: headKind }) => el("th", { scope: "col", class: headKind },
    sortable ? el("button", { type: "button" }, head) : head, note ? el("small", null, note) : null));
  const made = list.map((row) => row.cells.map((cell, i) => cellNode(spec(cell), i === 0)));
  const node = el("table", { id, class: kind + (sortable ? " sortable" : "") }, el("thead", null, el("tr", null, heads)),
    el("tbody", null, made.map((cells, i) => el("tr", { id: list[i].id, class: list[i].class }, cells))));
  if (sortable) heads.forEach((head, column) => head.firstElementChild.addEventListener("click", () => sortBy(node, column, head)));
  const csv = () => csvOf([columns.flatMap(({ head, csv: names }) => names || [typeof head === "string" ? head : head.textContent]),
    ...list.map((row, i) => row.cells.flatMap((cell, k) => csvCells(spec(cell), made[i][k])))]);
  const saving = el("p", { class: "save" }, button("CSV", () => save(file + ".csv", "text/csv", csv()), { title: "Save this table as CSV" }), more);
  return [kind.includes("vibes") ? node : el("div", { class: "scroll" }, node), saving];
}

/* The class of a cell by the size and sign of a value in [-1, 1]. */
export function heat(value) {
  const step = typeof value === "number" ? Math.floor(Math.min(Math.abs(value), 1) * 10 + 0.5) : 0;
  return "heat " + (value < 0 ? "neg" : "pos") + " h" + step;
}
