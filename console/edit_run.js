// An edit of many issues at work, or its undo: some issues at a time, so that it has a progress and
// can be stopped, and one issue that is refused does not stop the others. A call whose answer is
// lost is repeated under its key, so that each issue is edited once. It shows nothing.
import { call, has, query, v1 } from "./api.js";
import {
  FIELDS,
  Groups,
  UNASSIGNED,
  after,
  bodyOf,
  difference,
  readOf,
  same,
  undoCalls,
  untouched,
} from "./edit_plan.js";

/** @typedef {import("./edit_plan.js").Edit} Edit */
/** @typedef {import("./edit_plan.js").Read} Read */
/** @typedef {import("./edit_plan.js").Some} Some */
/**
 * Issues that were not changed, or of which it is not known. `again` repeats the lost call.
 * @typedef {{why:string, ids:string[], unknown:boolean, again?:Sent}} Part
 * @typedef {{name:string, body:any, cursor:string, before:Map<string, Read>}} Sent
 * @typedef {{id:string, from:Some, to:Some, updated:number, before:number}} Effect
 */

/** So many issues are in one call: their ids are in an address, which a proxy may limit. */
export const CHUNK = 250;
const WAITS_MS = [1000, 2000, 4000];
/** The server counts the requests of 60 seconds. */
const BUSY_WAITS_MS = [5000, 10000, 20000, 30000];
/** If so many single issues are refused and none is changed, the edit is the reason. */
const REFUSALS_MAX = 20;
/** What the log has as null. */
const EMPTY = { state: "new", assignee_id: UNASSIGNED, tags: [] };
const LOG_WAIT_SECONDS = 2;
const LOG_PAGES_MAX = 20;

const random = () =>
  [...crypto.getRandomValues(new Uint8Array(12))]
    .map((byte) => byte.toString(16).padStart(2, "0"))
    .join("");
const wait = (/** @type {number} */ ms) => new Promise((resolve) => setTimeout(resolve, ms));
const pieces = (/** @type {any[]} */ all) =>
  Array.from({ length: Math.ceil(all.length / CHUNK) }, (_, n) =>
    all.slice(n * CHUNK, (n + 1) * CHUNK),
  );

/** Asks, and waits if the server has to be asked less often. @param {string} path */
async function ask(path, options = {}) {
  for (let n = 0; ; n++) {
    try {
      return await call("GET", v1(path), { quiet: true, ...options });
    } catch (error) {
      if (/** @type {any} */ (error).status !== 429 || n >= BUSY_WAITS_MS.length) throw error;
      await wait(BUSY_WAITS_MS[n]);
    }
  }
}

/** The issues of these ids as they are now, by id. @param {string[]} ids @param {any} [options] */
export async function readIssues(ids, options) {
  const found = /** @type {Map<string, Read>} */ (new Map());
  for (const piece of pieces(ids)) {
    const wanted = query({ ids: `[${piece}]`, excludes: ["messages"], "page-size": CHUNK });
    const page = await ask(`issues${wanted}`, { signal: options?.signal });
    for (const issue of page.issues) found.set(String(issue.id), readOf(issue));
    options?.each?.(found.size);
  }
  return found;
}

/** Whether the same call may work later. An answer that was cut has no status. */
const passes = (/** @type {any} */ { status, code }) =>
  !status || status === 429 || status >= 500 || code === "idempotency_in_progress";
/** Whether single issues are the reason of a refusal. */
const ofSome = (/** @type {any} */ { status, code, errors }) =>
  status === 413 ||
  ["too_large", "too_many"].includes(code) ||
  errors?.some((/** @type {any} */ one) => one.parameter === "issue-ids");

/** What both kinds of work have in common. */
export class Work {
  /** @param {any} record is shown and stored @param {()=>void} changed */
  constructor(record, changed) {
    this.record = record;
    this.changed = changed;
    this.stopped = "";
    this.refusals = 0;
  }
  /** @returns {Part[]} */
  get parts() {
    return this.record.parts;
  }
  /** Nothing more is sent after the call at work. */
  stop(why = "you stopped it before they were sent") {
    this.stopped ||= why;
  }
  /** Runs to its end. It does not fail: what failed is in the record. */
  async run(/** @type {()=>Promise<void>} */ steps) {
    this.record.ended = false;
    this.changed();
    try {
      await steps();
    } finally {
      this.record.ended = true;
      this.changed();
    }
    return this.record;
  }
  /** @param {string[]} ids @param {any} why @param {Sent} [again] */
  failed(ids, why, again) {
    const { parts } = this;
    const known =
      !again && parts.find((/** @type {Part} */ one) => !one.unknown && one.why === why);
    if (known) known.ids.push(...ids);
    else parts.push({ why, ids, unknown: Boolean(again), again });
  }
  /** Sends a call, and repeats it while it may work. @param {Sent} sent */
  async put({ name, body }) {
    const headers = { "Idempotency-Key": name, "X-Request-Id": name };
    for (let n = 0; ; n++) {
      try {
        return await call("PUT", v1("issues"), { body, headers });
      } catch (error) {
        const waits = /** @type {any} */ (error).status === 429 ? BUSY_WAITS_MS : WAITS_MS;
        if (!passes(error) || n >= waits.length || this.stopped) throw error;
        await wait(waits[n]);
        if (this.stopped) throw error;
      }
    }
  }
  /** Asks before a call: if that fails, nothing was sent. @param {string[]} ids */
  async asked(ids, /** @type {()=>Promise<any>} */ question) {
    if (!this.stopped) {
      try {
        return await question();
      } catch (error) {
        this.stop(/** @type {any} */ (error).message);
      }
    }
    this.failed(ids, this.stopped);
    return null;
  }
  /**
   * Changes some issues. If single ones are refused, all others are changed.
   * @param {string[]} ids @param {any} fields @param {Map<string, Read>} before
   */
  async change(ids, fields, before) {
    if (!ids.length) return;
    const body = { ...fields, "issue-ids": ids };
    const latest = () => (has("changes") ? ask("changes?cursor=latest") : {});
    const log = await this.asked(ids, async () => latest());
    const name = `console-edit-${random()}`;
    if (log) await this.make({ name, body, cursor: log["next-cursor"] ?? "", before });
  }
  /** @param {Sent} sent */
  async make(sent) {
    const ids = sent.body["issue-ids"];
    try {
      await this.put(sent);
    } catch (error) {
      const refusal = /** @type {any} */ (error);
      if (ofSome(refusal) && ids.length > 1) {
        const half = Math.ceil(ids.length / 2);
        for (const some of [ids.slice(0, half), ids.slice(half)])
          await this.change(some, sent.body, sent.before);
        return;
      }
      const lost = !refusal.status || refusal.status >= 500;
      this.failed(ids, refusal.message, lost ? sent : undefined);
      // All others would fail for the same reason.
      this.refusals += 1;
      const each = this.refusals >= REFUSALS_MAX && !this.record.changed;
      if (each || !ofSome(refusal)) this.stop(refusal.message);
      return;
    }
    await this.done(ids, await effectsOf(sent).catch(() => null), sent);
  }
  /** @param {string[]} _ids @param {Effect[]|null} _effects @param {Sent} _sent */
  async done(_ids, _effects, _sent) {}
}

/**
 * The changes of a call: from the log of changes, and from the issues themselves if it lacks some.
 * @param {Sent} sent @returns {Promise<Effect[]>}
 */
async function effectsOf(sent) {
  const { name, body, before } = sent;
  const ids = /** @type {string[]} */ (body["issue-ids"]);
  const logged = sent.cursor ? await loggedOf(name, sent.cursor, ids) : new Map();
  const rest = ids.filter((id) => !logged.has(id));
  const now = rest.length ? await readIssues(rest) : new Map();
  return ids.flatMap((id) => {
    const old = before.get(id);
    if (!old) return [];
    const change = logged.get(id);
    const read = now.get(id);
    if (!change && (!read || read.updated === old.updated)) return [];
    const values = (/** @type {"from"|"to"} */ side) => {
      const of = { ...old.now, ...(side === "to" && read?.now) };
      for (const field of FIELDS) {
        const logs = change?.changes?.[field];
        if (logs)
          Object.assign(of, { [field]: logs[side] ?? (field === "tags" ? [] : "unassigned") });
      }
      return of;
    };
    const { from, to, changed } = difference(values("from"), values("to"));
    const updated = change ? Number(change.at) : read.updated;
    return changed.length ? [{ id, from, to, updated, before: old.updated }] : [];
  });
}

/** The changes of issues by one call. @param {string} name @param {string[]} ids */
async function loggedOf(name, /** @type {string} */ cursor, ids) {
  const found = /** @type {Map<string, any>} */ (new Map());
  let ends = 0;
  for (let n = 0; n < LOG_PAGES_MAX && found.size < ids.length && ends < 2; n++) {
    const wanted = { cursor, resources: "issue", ids: ids.join(","), "page-size": 1000 };
    const waits = { wait: ends ? LOG_WAIT_SECONDS : undefined };
    const page = await ask(`changes${query({ ...wanted, ...waits })}`);
    for (const change of page.changes)
      if (change.request_id === name && change.action === "updated") found.set(change.id, change);
    if (page["next-cursor"] === cursor) ends += 1;
    cursor = page["next-cursor"];
  }
  return found;
}

/** An edit at work. Its record has the edit, and the issues that are still to be sent. */
export class EditWork extends Work {
  /** Repeats calls without an answer first. @param {string[]} ids @param {Part[]} lost */
  start(ids, lost = []) {
    return this.run(async () => {
      for (const { ids: some, again, why } of lost) {
        if (this.stopped || !again) this.failed(some, this.stopped || why, again);
        else await this.make(again);
        this.changed();
      }
      for (const some of pieces(ids)) {
        await this.piece(some);
        this.changed();
      }
    });
  }
  async piece(/** @type {string[]} */ ids) {
    const { record } = this;
    const before = await this.asked(ids, () => readIssues(ids));
    if (!before) return;
    record.gone.push(...ids.filter((id) => !before.has(id)));
    const changes = (/** @type {Read|undefined} */ read) =>
      read && !same(after(read.now, record.edit), read.now);
    const sent = ids.filter((id) => changes(before.get(id)));
    record.same += before.size - sent.length;
    await this.change(sent, bodyOf(record.edit), before);
  }
  /** @param {string[]} ids @param {Effect[]|null} effects */
  async done(ids, effects) {
    const { record } = this;
    if (!effects) {
      record.changed += ids.length;
      record.forgotten += ids.length;
      return;
    }
    const groups = new Groups(record.groups);
    for (const { id, from, to, updated, before } of effects)
      groups.add(from, to, id, updated, before);
    record.groups = groups.list;
    record.changed += effects.length;
    record.same += ids.length - effects.length;
  }
}

/** The undo of an edit: of the issues that are as the edit left them. */
export class UndoWork extends Work {
  /** @param {any[]} others the other edits, whose issues return to what those had left */
  constructor(/** @type {any} */ record, /** @type {()=>void} */ changed, others) {
    super(record, changed);
    this.others = others;
    /** When an issue was changed before the edit, by its id and the time of the edit. */
    this.times = new Map(
      record.groups.flatMap((/** @type {any} */ { issues }) =>
        issues.map((/** @type {any} */ [id, updated, before]) => [`${id} ${updated}`, before]),
      ),
    );
  }
  get parts() {
    return this.record.undo.parts;
  }
  start() {
    const { record } = this;
    record.undo ??= { back: 0, since: [], gone: [], parts: [] };
    const lost = this.parts.filter((/** @type {Part} */ one) => one.again);
    record.undo.parts = [];
    return this.run(async () => {
      for (const { again } of lost) if (again) await this.make(again);
      for (const { body, issues } of undoCalls(record.groups))
        for (const some of pieces(issues)) {
          await this.piece(some, body);
          this.changed();
        }
    });
  }
  /** @param {{id:string, updated:number, to:Some}[]} issues @param {any} body */
  async piece(issues, body) {
    const { undo } = this.record;
    const ids = issues.map((one) => one.id);
    const now = await this.asked(ids, () => readIssues(ids));
    if (!now) return;
    const fit = issues.filter(({ id, to, updated }) => untouched(now.get(id), to, updated));
    const fits = new Set(fit.map((one) => one.id));
    undo.gone.push(...ids.filter((id) => !now.has(id)));
    undo.since.push(...ids.filter((id) => now.has(id) && !fits.has(id)));
    this.forget(new Set(ids.filter((id) => !fits.has(id))));
    await this.change([...fits], body, now);
  }
  /** @param {string[]} ids @param {Effect[]|null} effects */
  async done(ids, effects) {
    this.record.undo.back += ids.length;
    this.forget(new Set(ids));
    for (const { id, updated, before } of effects ?? []) this.returned(id, updated, before);
  }
  /** An earlier edit finds an issue as it left it, only with another time. */
  returned(/** @type {string} */ id, /** @type {number} */ updated, /** @type {number} */ edited) {
    const before = this.times.get(`${id} ${edited}`);
    if (before === undefined) return;
    for (const { groups } of this.others)
      for (const { issues } of groups)
        for (const one of issues) if (one[0] === id && one[1] === before) one[1] = updated;
  }
  /** Issues that need no undo any more. */
  forget(/** @type {Set<string>} */ ids) {
    for (const group of this.record.groups)
      group.issues = group.issues.filter((/** @type {any} */ [id]) => !ids.has(id));
    this.record.groups = this.record.groups.filter((/** @type {any} */ one) => one.issues.length);
  }
}
