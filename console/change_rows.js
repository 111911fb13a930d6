// The rows of the log on screen, newest first. Changes of the same kind by one task are one row
// with their number, because an import of a file would else be as many rows as it has entries.

/** More rows are not kept. */
const ROWS_MAX = 2000;
/** So many rows back a change joins the others of its task: tasks run side by side. */
const NEAR = 20;

/** @typedef {{key:string, change:any, count:number}} Row */

/** What the changes of a row have in common; empty if a change stays alone. */
const keyOf = (/** @type {any} */ { by, resource, action }) =>
  by?.task_id && resource !== "task" ? `${by.task_id} ${resource} ${action}` : "";

export class ChangeRows {
  constructor(most = ROWS_MAX) {
    this.most = most;
    this.rows = /** @type {Row[]} */ ([]);
  }
  get full() {
    return this.rows.length >= this.most;
  }
  /**
   * Adds later changes, in the order of the log. Returns the number of new rows.
   * @param {any[]} changes
   */
  add(changes) {
    const { rows } = this;
    let made = 0;
    for (const change of changes) {
      const key = keyOf(change);
      const near = key && rows.slice(0, NEAR).find((row) => row.key === key);
      if (near) {
        near.count += 1;
        near.change = change;
      } else {
        rows.unshift({ key, change, count: 1 });
        made += 1;
      }
    }
    rows.length = Math.min(rows.length, this.most);
    return Math.min(made, this.most);
  }
  /** Whether earlier changes, if there are any, may belong to a row. */
  mayGrow(/** @type {number} */ at) {
    const { key, change } = this.rows[at];
    const begins = (/** @type {Row} */ { change: one }) =>
      one.resource === "task" && one.action === "created" && one.id === change.by.task_id;
    return key !== "" && at >= this.rows.length - NEAR && !this.rows.some(begins);
  }
  /**
   * Adds earlier changes, in the order of the log. Returns the number of new rows.
   * @param {any[]} changes
   */
  addEarlier(changes) {
    const { rows } = this;
    const earlier = new ChangeRows(changes.length);
    earlier.add(changes);
    const last = rows.slice(-NEAR);
    const before = rows.length;
    for (const row of earlier.rows) {
      const near = row.key && last.find((one) => one.key === row.key);
      if (near) near.count += row.count;
      else if (!this.full) rows.push(row);
    }
    return rows.length - before;
  }
}
