/* Makes elements. Text of others enters a page here, as text nodes; no module of this folder sets markup. */

export const byId = (id) => document.getElementById(id);

function fill(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key === "on") for (const [event, act] of Object.entries(value)) node.addEventListener(event, act);
    else if (key === "data") Object.assign(node.dataset, value);
    else node.setAttribute(key, value === true ? "" : String(value));
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false && child !== ""));
  return node;
}

export const el = (name, attributes, ...children) => fill(document.createElement(name), attributes, children);
export const svg = (name, attributes, ...children) => fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);

const NAME_LENGTH_MAX = 400;

/* Characters that turn the direction of a line become visible, control characters U+FFFD. */
export function visible(text) {
  return text.replace(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, (c) => "<U+" + c.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0") + ">")
    .replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, "\ufffd");
}

/* A text of the JSON may be cut: then it is an array of its beginning and of the number of all its bytes. */
export const textOf = (value) => (Array.isArray(value) ? value[0] + "\u2026" : value);

export function shortened(text) {
  const shown = visible(textOf(text));
  return shown.length > NAME_LENGTH_MAX ? shown.slice(0, NAME_LENGTH_MAX) + "\u2026" : shown;
}

/* A name, a pole or a note of others, on its own in the direction of its line. */
export const name = (text) => el("bdi", null, shortened(text));

export const listed = (names) => names.map((one, i) => [i ? ", " : "", name(one)]);

export const button = (label, act, attributes) => el("button", { type: "button", on: { click: act }, ...attributes }, label);
