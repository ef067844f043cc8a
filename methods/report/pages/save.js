/* Files made in the page: CSV, SVG, PNG, LaTeX. Nothing is sent: the browser saves what the page holds. */
import { el, button } from "./dom.js";

export function save(fileName, type, content) {
  const url = URL.createObjectURL(new Blob([content], { type }));
  el("a", { href: url, download: fileName }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

const csvCell = (value) => {
  const text = value === null || value === undefined ? "" : String(value);
  return /[",\r\n]/.test(text) ? "\"" + text.replaceAll("\"", "\"\"") + "\"" : text;
};
export const csvOf = (rows) => rows.map((row) => row.map(csvCell).join(",") + "\r\n").join("");

const LATEX = { "\\": "\\textbackslash{}", "^": "\\textasciicircum{}", "~": "\\textasciitilde{}", "<": "\\textless{}", ">": "\\textgreater{}",
  "|": "\\textbar{}", "\"": "\\textquotedbl{}" };
export const latexText = (text) => text.replace(/[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, " ")
  .replace(/[\\^~<>|"{}$&#_%]/g, (c) => LATEX[c] || "\\" + c);

/* `aligned`: l or r for each column. Cells are LaTeX already. */
export function latexTable(aligned, head, rows) {
  const line = (cells) => cells.join(" & ") + " \\\\\n";
  return "% needs \\usepackage{booktabs}\n\\begin{tabular}{" + aligned + "}\n\\toprule\n" + line(head) + "\\midrule\n" +
    rows.map(line).join("") + "\\bottomrule\n\\end{tabular}\n";
}

/* A button that copies a text. The text is shown too, selected: a browser may refuse to copy. */
export function copyButton(label, make, id) {
  const place = el("span", { class: "copied" });
  return [button(label, async () => {
    const area = el("textarea", { id, readonly: true, rows: 8, "aria-label": label });
    area.value = make();
    place.replaceChildren(area);
    area.select();
    try {
      await navigator.clipboard.writeText(area.value);
    } catch {
      document.execCommand("copy");
    }
  }), place];
}

/* ---- pictures ---- */

const DRAWN = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font-size", "font-family", "font-weight", "text-anchor"];

/* A copy that needs no style sheet, on the page's background. */
function standalone(picture) {
  const copy = picture.cloneNode(true);
  const from = [picture, ...picture.querySelectorAll("*")], to = [copy, ...copy.querySelectorAll("*")];
  from.forEach((node, i) => {
    const style = getComputedStyle(node);
    for (const key of DRAWN) to[i].setAttribute(key, style.getPropertyValue(key));
    to[i].removeAttribute("class");
  });
  const [x, y, width, height] = picture.getAttribute("viewBox").split(" ").map(Number);
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  const paper = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  for (const [key, value] of Object.entries({ x, y, width, height, fill: getComputedStyle(document.body).getPropertyValue("--card") })) paper.setAttribute(key, value);
  copy.prepend(paper);
  return { text: new XMLSerializer().serializeToString(copy), width, height };
}

export function saveSvg(picture, stem) {
  save(stem + ".svg", "image/svg+xml", standalone(picture).text);
}

export async function savePng(picture, stem) {
  const { text, width, height } = standalone(picture), scale = Math.max(2, 1200 / width);
  const image = new Image();
  image.src = "data:image/svg+xml," + encodeURIComponent(text);
  await image.decode();
  const canvas = el("canvas", { width: Math.round(width * scale), height: Math.round(height * scale) });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  canvas.toBlob((blob) => save(stem + ".png", "image/png", blob), "image/png");
}

/* The buttons of a picture that is in the page, or that `make` draws when it is asked for. */
export function pictureButtons(make, stem) {
  const drawn = (act) => () => {
    const picture = make();
    if (picture.isConnected) return act(picture, stem);
    const place = el("div", { class: "offstage", "aria-hidden": "true" }, picture); /* a style is computed in the page only */
    document.body.append(place);
    return Promise.resolve(act(picture, stem)).finally(() => place.remove());
  };
  return [button("SVG", drawn(saveSvg), { title: "Save the chart as SVG" }), button("PNG", drawn(savePng), { title: "Save the chart as PNG" })];
}
