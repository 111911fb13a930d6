// Overview: how many issues in which state, how many by day, which tasks run, and whether all is well.
import { call, has, query, send, tasks, v1 } from "./api.js";
import { bars, columns } from "./charts.js";
import { STATES, count, span, time } from "./format.js";
import { empty, pill, table, taskLink, taskState } from "./ui.js";
import { fill, h } from "./view.js";

const REFRESH_MS = 4000;
const DAYS = 14;
const DAY_MS = 86400000;

const total = async (/** @type {any} */ params, /** @type {any} */ signal) =>
  (await call("GET", v1(`issues${query({ ...params, "page-size": 1, excludes: ["messages"] })}`), { signal, quiet: true }))["total-hits"];

export default async function overview(/** @type {any} */ { signal, leaving, go }) {
  const running = h("section", { "aria-label": "Tasks" });
  const byState = h("section", { "aria-label": "Issues by state" });
  const byDay = h("section", { "aria-label": "Issues by day" });
  const health = h("span", { role: "status" });
  const states = async () => {
    const groups = has("counts")
      ? (await call("GET", v1("issues/counts?group-by=state"), { signal, quiet: true })).groups
      : await Promise.all(STATES.map(async (state) => ({ state, count: await total({ state }, signal) })));
    const found = STATES.map((state) => ({ name: state, count: groups.find((/** @type {any} */ g) => g.state === state)?.count ?? 0, href: `#/issues?state=${state}` }));
    const sum = found.reduce((before, group) => before + group.count, 0);
    fill(byState, h("h2", null, "Issues ", h("a", { class: "number", href: "#/issues" }, count(sum))),
      sum ? bars("Issues by state", found) : empty("No issues yet", h("a", { href: "#/new-import" }, "Import some"), " from a file, or let your desk send them."));
    return sum;
  };
  const days = async () => {
    const today = Math.floor(Date.now() / DAY_MS) * DAY_MS;
    const first = today - (DAYS - 1) * DAY_MS;
    const starts = Array.from({ length: DAYS }, (_, at) => first + at * DAY_MS);
    const name = (/** @type {number} */ at) => new Date(at).toISOString().slice(0, 10);
    let found = [];
    if (has("counts")) {
      const answer = await call("GET", v1(`issues/counts${query({ "group-by": "created-day", "created-since": first })}`), { signal, quiet: true });
      found = starts.map((start) => ({ name: name(start), count: answer.groups.find((/** @type {any} */ g) => g["created-day"] === name(start))?.count ?? 0 }));
    } else {
      found = await Promise.all(starts.map(async (start) => ({ name: name(start), count: await total({ "created-since": start, "created-until": start + DAY_MS - 1 }, signal) })));
    }
    fill(byDay, h("h2", null, "Created, last two weeks ", h("span", { class: "faint" }, "UTC days")), columns("Issues by day of creation", found));
  };
  const live = async () => {
    const lists = await Promise.all(["identity", "issues"].map(async (family) => (await call("GET", tasks(family, "") + "?page-size=8", { signal, quiet: true })).tasks.map((/** @type {any} */ task) => ({ ...task, family }))));
    const found = lists.flat().sort((a, b) => b.created_at - a.created_at).slice(0, 8);
    const rows = found.map((task) => [
      taskLink(task), taskState(task),
      count(task.counts.total), count(task.counts.failed),
      time(task.created_at), task.completed_at ? span(task.completed_at - (task.started_at ?? task.created_at)) : "running"]);
    fill(running, h("h2", null, "Latest tasks"), rows.length ? h("div", { class: "cards" }, table("Latest tasks", ["action", "state", "entries", "failed", "sent", "took"], rows, [2, 3])) : empty("No tasks yet", "Imports and exports appear here while they run."));
  };
  const ready = async () => {
    const answer = await send("GET", "readyz", { quiet: true, signal }).catch((error) => error);
    fill(health, pill(answer.ok ? "ready" : "not ready"));
  };
  await Promise.all([states(), days(), live(), ready()]);
  const timer = setInterval(() => {
    if (!document.hidden) Promise.all([live(), states(), ready()]).catch(() => {});
  }, REFRESH_MS);
  leaving(() => clearInterval(timer));
  return [h("div", { class: "row spread" }, h("h1", null, "Overview"), health), h("div", { class: "columns" }, byState, byDay), running];
}
