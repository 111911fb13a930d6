// Overview: how many issues in which state, how many by day, which tasks run, and whether all is well.
import { call, has, query, send, tasks, v1, v2 } from "./api.js";
import { bars, columns } from "./charts.js";
import { OPEN, STATES, count, short, span, time } from "./format.js";
import { empty, failedCount, head, pill, table, taskLink, taskState } from "./ui.js";
import { h, update } from "./view.js";

const REFRESH_MS = 4000;
const DAYS = 14;
const DAY_MS = 86400000;
const MONTHS = [
  "January",
  "February",
  "March",
  "April",
  "May",
  "June",
  "July",
  "August",
  "September",
  "October",
  "November",
  "December",
];

const total = async (/** @type {any} */ params, /** @type {any} */ signal) =>
  (
    await call("GET", v1(`issues${query({ ...params, "page-size": 1, excludes: ["messages"] })}`), {
      signal,
      quiet: true,
    })
  )["total-hits"];

export default async function overview(/** @type {any} */ { signal, leaving }) {
  const figures = h("div", { class: "facts" });
  const running = h("section", { "aria-label": "Tasks" });
  const byState = h("section", { "aria-label": "Issues by state" });
  const byDay = h("section", { "aria-label": "Issues by day" });
  const health = h("span", { role: "status" });
  const known = /** @type {Record<string, any>} */ ({});
  const states = async () => {
    const groups = has("counts")
      ? (await call("GET", v1("issues/counts?group-by=state"), { signal, quiet: true })).groups
      : await Promise.all(
          STATES.map(async (state) => ({ state, count: await total({ state }, signal) })),
        );
    const found = STATES.map((state) => ({
      name: state,
      count: groups.find((/** @type {any} */ g) => g.state === state)?.count ?? 0,
      href: `#/issues?state=${state}`,
    }));
    const sum = (/** @type {typeof found} */ some) =>
      some.reduce((before, group) => before + group.count, 0);
    known.issues = sum(found);
    known.open = sum(found.filter((group) => OPEN.split(",").includes(group.name)));
    update(byState, found, () => [
      h("h2", null, "Issues by state"),
      known.issues
        ? bars("Issues by state", found)
        : empty(
            "No issues yet",
            h("a", { href: "#/new-import" }, "Import some"),
            " from a file, or send them through the API.",
          ),
    ]);
  };
  const days = async () => {
    const today = Math.floor(Date.now() / DAY_MS) * DAY_MS;
    const first = today - (DAYS - 1) * DAY_MS;
    const starts = Array.from({ length: DAYS }, (_, at) => first + at * DAY_MS);
    const name = (/** @type {number} */ at) => new Date(at).toISOString().slice(0, 10);
    let found = [];
    if (has("counts")) {
      const answer = await call(
        "GET",
        v1(`issues/counts${query({ "group-by": "created-day", "created-since": first })}`),
        { signal, quiet: true },
      );
      found = starts.map((start) => ({
        name: name(start),
        count:
          answer.groups.find((/** @type {any} */ g) => g["created-day"] === name(start))?.count ??
          0,
      }));
    } else {
      found = await Promise.all(
        starts.map(async (start) => ({
          name: name(start),
          count: await total(
            { "created-since": start, "created-until": start + DAY_MS - 1 },
            signal,
          ),
        })),
      );
    }
    const [from, to] = [first, today].map(
      (at) => `${new Date(at).getUTCDate()} ${MONTHS[new Date(at).getUTCMonth()]}`,
    );
    update(
      byDay,
      [found, known.issues > 0],
      () =>
        known.issues > 0 && [
          h("h2", null, "Created by day ", h("span", { class: "faint" }, `${from} to ${to}, UTC`)),
          columns("Issues by day of creation", found),
        ],
    );
  };
  const people = async () => {
    if (has("profiles"))
      known.people = (
        await call("GET", `${v2("identity/core_profiles")}?page-size=1`, { signal, quiet: true })
      )["total-hits"];
  };
  const live = async () => {
    const lists = await Promise.all(
      ["identity", "issues"].map(async (family) =>
        (await call("GET", tasks(family, "") + "?page-size=8", { signal, quiet: true })).tasks.map(
          (/** @type {any} */ task) => ({ ...task, family }),
        ),
      ),
    );
    const found = lists
      .flat()
      .sort((a, b) => b.created_at - a.created_at)
      .slice(0, 8);
    known.working = lists.flat().filter((task) => task.status !== "completed").length;
    const rows = () =>
      found.map((task) => [
        taskLink(task),
        taskState(task),
        short(task.file_name ?? task.submitted_by?.key_name ?? "", 40),
        count(task.counts.total),
        failedCount(task),
        time(task.created_at),
        task.completed_at ? span(task.completed_at - (task.started_at ?? task.created_at)) : "",
      ]);
    update(running, found, () => [
      h("h2", null, "Latest tasks"),
      found.length
        ? h(
            "div",
            { class: "cards" },
            table(
              "Latest tasks",
              ["action", "state", "from", "entries", "failed", "sent", "took"],
              rows(),
              [3, 4],
            ),
          )
        : empty("No tasks yet", "Imports and bulk exports appear here while they run."),
    ]);
  };
  const ready = async () => {
    const answer = await send("GET", "readyz", { quiet: true, signal }).catch((error) => error);
    update(health, answer.ok, () =>
      pill(answer.ok ? "ready" : "not ready", answer.ok ? "server ready" : "server not ready"),
    );
  };
  const totals = () =>
    update(figures, known, () => {
      const figure = (
        /** @type {number|undefined} */ n,
        /** @type {string} */ text,
        /** @type {string} */ href,
      ) =>
        n !== undefined &&
        h(
          "a",
          { class: "fact", href },
          h("span", { class: "number" }, count(n)),
          h("span", { class: "faint" }, text),
        );
      return [
        figure(
          known.open,
          known.open === 1 ? "open issue" : "open issues",
          `#/issues?state=${OPEN}`,
        ),
        figure(known.issues, "issues in all", "#/issues"),
        figure(known.people, known.people === 1 ? "person" : "people", "#/people"),
        figure(known.working, known.working === 1 ? "task at work" : "tasks at work", "#/imports"),
      ];
    });
  await Promise.all([states().then(days), live(), ready(), people()]);
  totals();
  const timer = setInterval(() => {
    if (!document.hidden)
      Promise.all([live(), states(), ready(), people()])
        .then(totals)
        .catch(() => {});
  }, REFRESH_MS);
  leaving(() => clearInterval(timer));
  return [
    head("Overview", health),
    figures,
    h("div", { class: "columns" }, byState, byDay),
    running,
  ];
}
