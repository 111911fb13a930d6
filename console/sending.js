// A file on its way to the server: its entries become tasks, one after another, each of at most
// 10,000 entries. It goes on when its screen is left, and after the connection broke. A part that
// was sent before is the same task, so that nothing is made twice.
import { Refusal, call, me, send, tasks } from "./api.js";
import { addChanges, hasChanges, noChanges } from "./changes.js";
import { digest, entries, parts } from "./entries.js";
import { parse } from "./json.js";

const WAIT_SECONDS = 30;
const TRIES = 6;
const FIRST_WAIT_MS = 500;
/** The action that replaces issues is an import with another option. */
export const REPLACE = "import_issues?upsert";
/** What these did before says nothing of now, so they are sent again. */
const RENEWED = /^(update|upsert|delete)_|upsert$/;

/** The file that this page sends or sent last. It is over for this page when it signs out. */
export const sending = { now: /** @type {Sending|null} */ (null) };

addEventListener(
  "beforeunload",
  (event) => sending.now?.state === "running" && event.preventDefault(),
);
addEventListener("signed-out", () => {
  sending.now?.stop();
  sending.now = null;
});

export class Sending {
  /**
   * @param {{file:File, kind:any, mapping:any[], action:string}} what
   * @param {boolean} dry
   */
  constructor(what, dry) {
    this.what = what;
    this.dry = dry;
    this.family = /issues/.test(what.action) ? "issues" : "identity";
    this.state = "running";
    this.problem = "";
    /** The first and the last entry of the part that is sent, and whether the server has it. */
    this.first = 0;
    this.last = 0;
    this.taken = false;
    this.counts = /** @type {Record<string, number>} */ ({
      total: 0,
      succeeded: 0,
      failed: 0,
      unprocessed: 0,
    });
    this.tasks = /** @type {any[]} */ ([]);
    this.changes = dry && hasChanges(what.action) ? noChanges() : null;
    /** Parts that are over, and the share of the file in them and in the part that is sent. */
    this.parts = 0;
    this.share = 0;
    this.next = 0;
    this.abort = new AbortController();
    this.changed = () => {};
  }
  /** How much of the file is done, in percent. */
  get progress() {
    if (this.state === "done") return 100;
    const task = this.tasks.length > this.parts ? this.tasks.at(-1) : null;
    return Math.floor(100 * this.share + (this.next - this.share) * (task?.progress ?? 0));
  }
  stop() {
    if (this.state !== "running") return;
    this.state = "stopped";
    this.abort.abort();
  }
  /**
   * Sends the parts that are left. After a fault it waits and tries again; it gives up if several
   * tries in a row send nothing.
   */
  async run() {
    this.state = "running";
    this.abort = new AbortController();
    for (let vain = 0; this.state === "running";) {
      const before = this.parts;
      try {
        await this.work();
        this.state = "done";
        this.problem = "";
      } catch (error) {
        if (/** @type {any} */ (this.state) !== "running") break;
        vain = this.parts > before ? 0 : vain + 1;
        const refusal = error instanceof Refusal ? error : null;
        this.problem =
          refusal?.message ?? `the file cannot be read: ${/** @type {any} */ (error).message}`;
        if (
          !refusal ||
          vain === TRIES ||
          (refusal.status >= 400 && refusal.status < 500 && refusal.status !== 429)
        )
          this.state = "stopped";
        else await this.wait(FIRST_WAIT_MS * 2 ** vain);
      }
    }
    this.changed();
  }
  /** Waits, at most until it is stopped. */
  wait(/** @type {number} */ ms) {
    this.changed();
    return new Promise((resolve) => {
      setTimeout(resolve, ms);
      this.abort.signal.addEventListener("abort", resolve);
    });
  }
  /** Reads the file and sends those parts that are not over. */
  async work() {
    const { file, kind, mapping } = this.what;
    let read = 0;
    let at = 0;
    for await (const part of parts(entries(file, kind, mapping, (bytes) => (read = bytes)))) {
      at += 1;
      if (at <= this.parts) continue;
      this.next = Math.min(1, read / Math.max(1, file.size));
      await this.part(part);
      this.parts = at;
      this.share = this.next;
    }
  }
  /** Sends a part and follows its task to the end. @param {{count:number, text:string}} part */
  async part({ count, text }) {
    const { file, action } = this.what;
    const { signal } = this.abort;
    [this.first, this.last] = [this.counts.total + 1, this.counts.total + count];
    // A part whose task was there when the connection broke is followed again.
    let task = this.tasks[this.parts];
    if (!task) {
      this.taken = false;
      this.changed();
      task = await submit(this.family, action, this.dry, text, file.name, "", signal);
      if (task.replayed && RENEWED.test(action)) {
        task = await call("GET", tasks(this.family, task.task_id), { signal });
        if (task.status === "completed")
          task = await submit(
            this.family,
            action,
            this.dry,
            text,
            file.name,
            `-${Date.now()}`,
            signal,
          );
      }
      this.tasks.push(task);
    }
    this.taken = true;
    for (;;) {
      this.problem = "";
      this.changed();
      if (task.status === "completed") break;
      task = await call("GET", `${tasks(this.family, task.task_id)}?wait=${WAIT_SECONDS}`, {
        signal,
        quiet: true,
      });
      this.tasks[this.parts] = task;
    }
    if (this.changes) {
      // A copy, so that results that broke off are not counted twice.
      const { outcomes, rows, more } = this.changes;
      const found = { outcomes: new Map(outcomes), rows: [...rows], more };
      await addChanges(found, this.family, task.task_id, this.counts.total, signal);
      this.changes = found;
    }
    for (const name of Object.keys(this.counts)) this.counts[name] += task.counts[name];
  }
}

/**
 * Sends entries as a task, with the name of the file that somebody chose. The same entries with the
 * same options are the same task; `mark` makes it another one.
 */
export async function submit(
  /** @type {string} */ family,
  /** @type {string} */ action,
  /** @type {boolean} */ dry,
  /** @type {string} */ lines,
  /** @type {string} */ name,
  mark = "",
  /** @type {AbortSignal|undefined} */ signal = undefined,
) {
  const form = new FormData();
  form.append("action", action === REPLACE ? "import_issues" : action);
  if (action === REPLACE) form.append("upsert", "true");
  if (dry) form.append("dry_run", "true");
  form.append("payload", new Blob([lines]), name);
  const options = digest(`${me().domain} ${action} ${dry}`);
  const key = `console-${options}-${lines.length}-${digest(lines)}${mark}`;
  const headers = /** @type {Record<string, string>} */ (dry ? {} : { "Idempotency-Key": key });
  const response = await send("POST", tasks(family), { raw: form, headers, signal });
  return {
    ...parse(await response.text()),
    replayed: response.headers.get("Idempotent-Replayed") === "true",
  };
}
