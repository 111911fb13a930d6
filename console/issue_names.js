// Names of the values of filters: agents, apps and queues by their ids, and languages by their
// codes. The page asks for them once, and forgets them when the session ends.
import { call, v1 } from "./api.js";
import { wordsOf } from "./format.js";
import { named } from "./json.js";

/** Pages of agents that are read: 5,000 agents. */
const PAGES_MAX = 5;

/** @typedef {Map<string, string>} Names */
/** How the names of a property are read. */
const READERS = named(
  /** @type {Record<string, ()=>Promise<Names>>} */ ({
    assignee: agents,
    app: () => listOf("apps", (app) => [app.id, app.title || app.id]),
    queue: () => listOf("queues", (queue) => [queue.id, queue.name || queue.id]),
  }),
);
const read = /** @type {Map<string, Promise<Names>>} */ (new Map());
for (const type of ["forget", "signed-out"])
  globalThis.addEventListener?.(type, () => read.clear());

const ask = (/** @type {string} */ path) => call("GET", v1(path), { quiet: true });

async function agents() {
  const names = new Map();
  for (let page = 1; page <= PAGES_MAX; page++) {
    const found = await ask(`agents?page-size=1000&page=${page}`);
    for (const { id, name, email } of found.profiles) names.set(id, name || email || id);
    if (page >= found["total-pages"]) break;
  }
  return names;
}

/** @param {string} key @param {(record:any)=>[string, string]} of */
const listOf = async (key, of) => new Map((await ask(key))[key].map(of));

/** The names of a property, if it has names that are not in its values. */
export async function namesOf(/** @type {string} */ property) {
  const reader = READERS[property];
  if (!reader) return new Map();
  const asked = read.get(property) ?? reader();
  read.set(property, asked);
  // The next one asks again after an error.
  asked.catch(() => read.delete(property));
  return asked;
}

const languages = new Intl.DisplayNames(["en"], { type: "language", fallback: "none" });
function languageOf(/** @type {string} */ code) {
  try {
    return languages.of(code) ?? code;
  } catch {
    return code;
  }
}

const WORDS = named({ true: "Yes", false: "No" });
/** Names of values that are the same everywhere: by filter, and the value. */
const FIXED = named(
  /** @type {Record<string, (value:string)=>string|undefined>} */ ({
    language: (value) => (value === "none" ? "Without a language" : languageOf(value)),
    assignee: (value) => (value === "unassigned" ? "Unassigned" : undefined),
    rated: (value) => (value === "none" ? "Without a rating" : undefined),
    state: wordsOf,
    untagged: (value) => WORDS[value],
    redacted: (value) => WORDS[value],
    mode: (value) => wordsOf(value.toLowerCase()),
  }),
);
/** The name of a value of a filter, with the names that are known. */
export const nameIn = (
  /** @type {Names|undefined} */ names,
  /** @type {string} */ filter,
  /** @type {string} */ value,
) => FIXED[filter]?.(value) ?? names?.get(value) ?? value;
