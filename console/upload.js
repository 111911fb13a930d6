// A file on its way to the server as an import. The browser reads the file as it sends it, so its
// size does not matter. The upload continues while other screens are shown.
import { ACTIONS } from "./actions.js";
import { Refusal, base, can, familyOf, imports, lost, noted, send, tasks } from "./api.js";
import { parse } from "./json.js";

/** The action that replaces issues is an import of issues with another option. */
export const REPLACE = "import_issues?upsert";
/** So much of a file is enough for a preview, which reads 1 MiB. A workbook is sent whole. */
const PREVIEW_BYTES = 1.25 * 1024 * 1024;
const ZIP = "PK\u0003\u0004";

/** The upload of this page that is at work, or was refused. */
export const uploading = { now: /** @type {Upload|null} */ (null) };

addEventListener(
  "beforeunload",
  (event) => uploading.now?.state === "sending" && event.preventDefault(),
);
addEventListener("signed-out", () => {
  uploading.now?.stop();
  uploading.now = null;
});

/**
 * A file that was chosen, and how it is read. `columns` has the fields of the columns that somebody
 * chose, by their places; null leaves a column out.
 * @typedef {{file:File, action:string, columns:Map<number, string|null>,
 *   options:Record<string, string>}} Chosen
 */

/** The form of an import, with the file or a part of it at its end. */
export function formOf(/** @type {Chosen} */ chosen, /** @type {Blob} */ part = chosen.file) {
  const form = new FormData();
  form.append("action", chosen.action === REPLACE ? "import_issues" : chosen.action);
  if (chosen.action === REPLACE) form.append("upsert", "true");
  const columns = [...chosen.columns].sort(([a], [b]) => a - b);
  const named = Object.fromEntries(columns.map(([at, field]) => [`#${at + 1}`, field]));
  if (columns.length) form.append("columns", JSON.stringify(named));
  for (const [name, value] of Object.entries(chosen.options)) if (value) form.append(name, value);
  form.append("file", part, chosen.file.name);
  return form;
}

/** Asks how a file would be read. */
export async function preview(/** @type {Chosen} */ chosen, /** @type {AbortSignal} */ signal) {
  const { file } = chosen;
  const head = await file.slice(0, 4).text();
  const part = head === ZIP ? file : file.slice(0, PREVIEW_BYTES);
  const path = imports(familyOf(chosen.action.split("?")[0]), "preview");
  const answer = await send("POST", path, { raw: formOf(chosen, part), signal });
  return parse(await answer.text());
}

/** A file that is sent as a dry run. */
export class Upload {
  constructor(/** @type {Chosen} */ chosen) {
    this.chosen = { ...chosen, columns: new Map(chosen.columns), options: { ...chosen.options } };
    this.state = "sending";
    /** The share of the file that is sent, in percent. */
    this.sent = 0;
    this.changed = () => {};
    /** Why it was refused. */
    this.refusal = /** @type {Refusal|null} */ (null);
    /** The screen that shows it last. */
    this.shown = /** @type {any} */ (null);
    this.request = new XMLHttpRequest();
  }
  stop() {
    this.request.abort();
  }
  /** Resolves with the import, or with null if it was stopped. */
  run() {
    const { request, chosen } = this;
    const form = formOf({ ...chosen, options: { dry_run: "true", ...chosen.options } });
    const path = imports(familyOf(chosen.action.split("?")[0]));
    const begun = performance.now();
    const over = (/** @type {string} */ state) => {
      this.state = state;
      this.changed();
    };
    return new Promise((resolve, reject) => {
      const fail = (/** @type {Refusal} */ refusal) => {
        reject(refusal);
        this.refusal = refusal;
        over("refused");
      };
      request.open("POST", base + path);
      request.setRequestHeader("Caseload-Console", "1");
      request.upload.onprogress = ({ loaded, total }) => {
        this.sent = total ? Math.floor((100 * loaded) / total) : 0;
        this.changed();
      };
      request.onabort = () => {
        resolve(null);
        over("stopped");
      };
      request.onerror = () => fail(new Refusal(0, { detail: BROKEN }));
      request.onload = () => {
        const { status, responseText } = request;
        noted({ method: "POST", path, form, status, ms: performance.now() - begun });
        const answer = parsed(responseText);
        if (status >= 300 || !answer) return fail(lost(status, answer));
        resolve(answer);
        over("accepted");
      };
      request.send(form);
    });
  }
}

const BROKEN =
  "the connection broke, or the file changed while it was sent; nothing was imported. " +
  "Check that the server runs, then try again";

function parsed(/** @type {string} */ text) {
  try {
    return parse(text);
  } catch {
    return null;
  }
}

/**
 * Sends mended entries as an import. Entries of an action that writes nothing are a task, because
 * the server imports nothing for such an action.
 * @param {{action:string, upsert?:boolean}} record @param {boolean} dry
 * @param {string} lines @param {string} name
 */
export async function submit({ action, upsert }, dry, lines, name) {
  const reads = ACTIONS[action]?.reads;
  const form = new FormData();
  form.append("action", action);
  if (upsert) form.append("upsert", "true");
  if (dry || !can("write")) form.append("dry_run", "true");
  form.append(reads ? "payload" : "file", new Blob([lines]), name);
  const path = reads ? tasks(familyOf(action)) : imports(familyOf(action));
  const answer = await send("POST", path, { raw: form });
  return {
    made: parse(await answer.text()),
    replayed: answer.headers.get("Idempotent-Replayed") === "true",
  };
}
