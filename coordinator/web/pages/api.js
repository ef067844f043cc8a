/* The API of a run, from its own server or from that of the page of runs (/runs/NAME/): status, history, pools, workers, incidents, the last
 * answers, dead letters, commands; and the list of runs. The token comes with the address (#TOKEN), stays in this tab, and is sent only
 * in a header. */

const COMMAND_MS = 4000;
const ID_BYTES = 16;
const KEY = "vibeq-token";
const RUNS = "/api/v1/runs";
const AT = location.pathname.match(/^\/runs\/([^/]+)\/?$/);
const BASE = AT ? `${RUNS}/${AT[1]}/` : "/api/v1/";

/* Whether the server of the page of runs serves this page. */
export const isAmongRuns = AT !== null;

export function takeToken() {
  const given = decodeURIComponent(location.hash.slice(1));
  if (given) {
    sessionStorage.setItem(KEY, given);
    window.history.replaceState(null, "", location.pathname);
  }
  return sessionStorage.getItem(KEY);
}

export const keepToken = (token) => sessionStorage.setItem(KEY, token);

/* An address of ours, with the token, for another tab, which does not share the storage of this tab. */
const withToken = (path) => path + "#" + encodeURIComponent(sessionStorage.getItem(KEY) || "");
export const pageOf = (run) => withToken(`/runs/${encodeURIComponent(run)}/`);
export const pageOfRuns = () => withToken("/");

/* Throws {denied: true} if the token is wrong, {away: true} if the server does not answer, or {refused: true} with the server's message. */
async function ask(path, options = {}) {
  const headers = { Authorization: "Bearer " + (sessionStorage.getItem(KEY) || "") };
  let answer;
  try {
    answer = await fetch(path.startsWith("/") ? path : BASE + path, { ...options, headers, cache: "no-store", credentials: "omit" });
  } catch (error) {
    throw Object.assign(error, { away: true });
  }
  if (answer.status === 401) throw Object.assign(new Error("the token is wrong"), { denied: true });
  if (answer.status >= 500) throw Object.assign(new Error((await answer.text()).trim()), { away: true });
  return answer;
}

async function json(path) {
  const answer = await ask(path);
  if (!answer.ok) throw Object.assign(new Error((await answer.text()).trim()), { refused: true });
  return answer.json();
}

export const status = () => json("status");
export const history = (after) => json("history?after=" + after);
export const runs = () => json(RUNS);
export const entry = () => json(BASE.slice(0, -1)); /* the entry of this run in the list of runs */

export const pools = () => json("pools");
export const workers = () => json("workers");
export const incidents = () => json("incidents");
export const sample = (after) => json("sample?after=" + after);
export const deadLetters = () => json("dead-letters");

const hex = (bytes) => Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join("");

/* The words of `vibeq ctl`, without the name of the run. Returns {ok, text}. */
export async function command(...words) {
  const id = hex(crypto.getRandomValues(new Uint8Array(ID_BYTES)));
  const body = [`@${id} ${Date.now() + COMMAND_MS}`, ...words].join("\n");
  return (await ask("ctl", { method: "POST", body })).json();
}
