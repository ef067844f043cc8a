/* The API of the run: status, history, pools, workers, incidents, the last answers, dead letters, commands. The token comes with the address (#TOKEN), stays in this tab, and goes into a header and
 * nowhere else. */

const COMMAND_MS = 4000;
const ID_BYTES = 16;
const KEY = "vibeq-token";

export function takeToken() {
  const given = decodeURIComponent(location.hash.slice(1));
  if (given) {
    sessionStorage.setItem(KEY, given);
    window.history.replaceState(null, "", location.pathname);
  }
  return sessionStorage.getItem(KEY);
}

export const keepToken = (token) => sessionStorage.setItem(KEY, token);

/* Throws {denied: true} if the token is wrong, or {away: true} if nothing answers. */
async function ask(path, options = {}) {
  const headers = { Authorization: "Bearer " + (sessionStorage.getItem(KEY) || "") };
  let answer;
  try {
    answer = await fetch("/api/v1/" + path, { ...options, headers, cache: "no-store", credentials: "omit" });
  } catch (error) {
    throw Object.assign(error, { away: true });
  }
  if (answer.status === 401) throw Object.assign(new Error("the token is wrong"), { denied: true });
  return answer;
}

export const status = async () => (await ask("status")).json();
export const history = async (after) => (await ask("history?after=" + after)).json();

export const pools = async () => (await ask("pools")).json();
export const workers = async () => (await ask("workers")).json();
export const incidents = async () => (await ask("incidents")).json();
export const sample = async (after) => (await ask("sample?after=" + after)).json();
export const deadLetters = async () => (await ask("dead-letters")).json();

const hex = (bytes) => Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join("");

/* The words of `vibeq ctl`, without the name of the run. Returns {ok, text}. */
export async function command(...words) {
  const id = hex(crypto.getRandomValues(new Uint8Array(ID_BYTES)));
  const body = [`@${id} ${Date.now() + COMMAND_MS}`, ...words].join("\n");
  return (await ask("ctl", { method: "POST", body })).json();
}
