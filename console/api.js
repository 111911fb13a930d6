// Calls of the public API. The cookie of the session authenticates them. The last calls are kept,
// to be shown as curl.
import { parse, write } from "./json.js";

/** The address of the server: the page is at `console/` below it. */
export const base = new URL("..", location.href.split("#")[0]).href;

/**
 * A call that was made. Its headers are those that the screen chose.
 * @typedef {{method:string, path:string, body?:string, form?:FormData,
 *   headers?:Record<string,string>, status:number, ms:number}} Call
 */
export const calls = /** @type {Call[]} */ ([]);
const CALLS_MAX = 20;

let session = /** @type {any} */ (null);
let whenLost = () => {};
let whenCalled = () => {};

export const me = () => session;
export const can = (/** @type {string} */ access) => {
  const order = ["read", "write", "admin"];
  return session && order.indexOf(session.access) >= order.indexOf(access);
};
export const has = (/** @type {string} */ feature) => Boolean(session?.features.includes(feature));
export const setSession = (/** @type {any} */ next) => (session = next);
export const onLost = (/** @type {()=>void} */ handler) => (whenLost = handler);
export const onCalled = (/** @type {()=>void} */ handler) => (whenCalled = handler);

/** A refusal of the server, in its words. */
export class Refusal extends Error {
  /** @param {number} status @param {any} problem */
  constructor(status, problem) {
    super(problem?.detail ?? `the server answered ${status}`);
    this.status = status;
    this.code = problem?.code ?? "";
    this.errors = problem?.errors ?? [];
    this.requestId = problem?.request_id ?? "";
  }
}

/**
 * Sends a request and returns the response; fails with a Refusal.
 * @param {string} method @param {string} path
 * @param {{body?:any, raw?:any, headers?:Record<string,string>, signal?:AbortSignal,
 *   quiet?:boolean}} [options]
 */
export async function send(method, path, { body, raw, headers = {}, signal, quiet } = {}) {
  const begun = performance.now();
  const text = body === undefined ? undefined : write(body);
  const sent = /** @type {Record<string, string>} */ ({ "Caseload-Console": "1", ...headers });
  if (text !== undefined) sent["Content-Type"] = "application/json";
  let response;
  try {
    response = await fetch(base + path, {
      method,
      body: text ?? raw,
      headers: sent,
      signal,
      cache: "no-store",
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Refusal(0, {
      detail: "the server cannot be reached; check that it runs, then try again",
    });
  }
  if (!quiet)
    noted({
      method,
      path,
      body: text,
      form: raw instanceof FormData ? raw : undefined,
      headers,
      status: response.status,
      ms: performance.now() - begun,
    });
  if (response.ok || response.status === 304) return response;
  const problem = await response
    .text()
    .then(parse)
    .catch(() => null);
  throw lost(response.status, problem);
}

/** Keeps a call, to be shown as curl. */
export function noted(/** @type {Call} */ made) {
  calls.unshift(made);
  calls.length = Math.min(calls.length, CALLS_MAX);
  whenCalled();
}

/** The refusal of a call. The session is over if that is the reason. */
export function lost(/** @type {number} */ status, /** @type {any} */ problem) {
  if (status === 401 && session) {
    session = null;
    whenLost();
  }
  return new Refusal(status, problem);
}

/** @param {string} method @param {string} path @param {any} [options] */
export async function call(method, path, options) {
  const response = await send(method, path, options);
  const text = await response.text();
  return text ? parse(text) : null;
}

/**
 * Reads an answer of JSON lines as it arrives. `each` gets a line and a function that parses it.
 * @param {string} path @param {any} signal @param {(line:string, parse:()=>any)=>void} each
 */
export async function eachLine(path, signal, each) {
  const response = await send("GET", path, { signal });
  const reader = /** @type {ReadableStream<Uint8Array<ArrayBuffer>>} */ (response.body)
    .pipeThrough(new TextDecoderStream())
    .getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    const lines = (rest + (value ?? "")).split("\n");
    rest = done ? "" : (lines.pop() ?? "");
    for (const line of lines) if (line) each(line, () => parse(line));
    if (done) return;
  }
}

/** A path of the domain. @param {string} rest */
export const v1 = (rest) => `v1/${session.domain}/${rest}`;
/** The tasks of a family. @param {string} family @param {string} [rest] */
export const tasks = (family, rest = "") =>
  v2(`${family === "issues" ? "issues" : "identity"}/bulk_actions${rest && `/${rest}`}`);
export const v2 = (/** @type {string} */ rest) => `v2/${session.domain}/${rest}`;

/** The query of these parameters; empty ones are left out. @param {Record<string, any>} params */
export function query(params) {
  // A blank is %20, because the API reads a plus in an identity as that of a phone number.
  const text = new URLSearchParams(pairsOf(params)).toString().replaceAll("+", "%20");
  return text && `?${text}`;
}
/** The same as names and texts. @param {Record<string, any>} params */
export const pairsOf = (params) =>
  Object.entries(params)
    .filter(([, value]) => value !== undefined && value !== null && value !== "")
    .map(([name, value]) => [
      name,
      typeof value === "object" ? JSON.stringify(value) : String(value),
    ]);

const FAMILIES = ["identity", "issues"];
/** The lists, each with the parameters that keep a task of an import out of it. */
const LISTS = [
  { key: "imports", path: "imports", own: {} },
  { key: "tasks", path: "bulk_actions", own: { import_id: "none" } },
];

/** Whether a record is an import. A task of an import names it, too. */
export const isImport = (/** @type {any} */ record) => !("task_id" in record);
/** What a record is called. */
export const nounOf = (/** @type {any} */ record) => (isImport(record) ? "import" : "task");
export const idOf = (/** @type {any} */ record) => record.task_id ?? record.import_id;
export const familyOf = (/** @type {string} */ action) =>
  /_issues$|^erase_person$/.test(action) ? "issues" : "identity";
export const imports = (/** @type {string} */ family, rest = "") =>
  v2(`${family}/imports${rest && `/${rest}`}`);

/** The path of the API to a record. */
export const pathOf = (/** @type {any} */ record) =>
  v2(
    `${familyOf(record.action)}/${isImport(record) ? "imports" : "bulk_actions"}` +
      `/${encodeURIComponent(idOf(record))}`,
  );
/** The address of the screen of a record, and of its faults. */
export const screenOf = (/** @type {any} */ record) =>
  `${nounOf(record)}/${familyOf(record.action)}/${idOf(record)}`;
export const faultsOf = (/** @type {any} */ record) =>
  `${isImport(record) ? "import-faults" : "faults"}/${familyOf(record.action)}/${idOf(record)}`;

/**
 * Reads the record of a screen: an import if the name of the screen says so. A link that does not
 * know the family of a task names another one.
 */
export async function recordOf(/** @type {any} */ { name, args: [family, id], signal }) {
  const kind = name.startsWith("import") ? "imports" : "bulk_actions";
  const read = (/** @type {string} */ of) =>
    call("GET", v2(`${of}/${kind}/${encodeURIComponent(id)}`), { signal });
  if (FAMILIES.includes(family)) return read(family);
  return read(FAMILIES[0]).catch((error) => {
    if (error.status === 404) return read(FAMILIES[1]);
    throw error;
  });
}

/**
 * A page of the imports and the tasks of none, newest first: of one action, or of all.
 * @param {any} wanted @param {{signal:AbortSignal, quiet?:boolean}} options
 */
export async function latest(wanted, options) {
  const families = wanted.action ? [familyOf(wanted.action)] : FAMILIES;
  const asked = families.flatMap((family) =>
    LISTS.map(async ({ key, path, own }) => {
      const filter = query({ ...own, ...wanted });
      const page = await call("GET", v2(`${family}/${path}${filter}`), options);
      return { ...page, records: page[key] };
    }),
  );
  const lists = await Promise.all(asked);
  return {
    records: lists.flatMap((list) => list.records).sort((a, b) => b.created_at - a.created_at),
    pages: Math.max(...lists.map((list) => list["total-pages"])),
    total: lists.reduce((sum, list) => sum + list["total-hits"], 0),
  };
}

/** A call as a line for a shell. The files of a form are named and not written. */
export function curl(
  /** @type {Pick<Call, "method"|"path"|"body"|"form"|"headers">} */ {
    method,
    path,
    body,
    form,
    headers,
  },
) {
  const quote = (/** @type {string} */ text) => `'${text.replaceAll("'", "'\\''")}'`;
  const parts = ["curl", "-u", '"$KEY:"'];
  // A form and a body are sent by POST anyway.
  if (method !== "GET" && !(method === "POST" && (form || body !== undefined)))
    parts.push("-X", method);
  for (const [name, value] of Object.entries(headers ?? {}))
    parts.push("-H", quote(`${name}: ${value}`));
  for (const [name, value] of form ?? []) {
    if (typeof value === "string") parts.push("--form-string", quote(`${name}=${value}`));
    else parts.push("-F", quote(`${name}=@"${value.name.replace(/["\\]/g, "\\$&")}"`));
  }
  if (body !== undefined)
    parts.push("-H", quote("Content-Type: application/json"), "-d", quote(body));
  parts.push(quote(base + path));
  return parts.join(" ");
}
