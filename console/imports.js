// Imports: the tasks of both families, newest first, with filters in the address.
import { call, query, tasks } from "./api.js";
import { count, short, span, time } from "./format.js";
import { empty, failedCount, head, select, table, taskLink, taskState } from "./ui.js";
import { fill, h, update } from "./view.js";

const PAGE = 50;
const ACTIONS = [
  "create_core_profiles",
  "update_core_profiles",
  "upsert_core_profiles",
  "delete_core_profiles",
  "update_app_profiles",
  "delete_app_profiles",
  "get_core_profiles",
  "get_app_profiles",
  "import_issues",
  "delete_issues",
];
const FILTERS = {
  status: ["created", "queued", "processing", "completed"],
  outcome: ["succeeded", "completed_with_errors", "failed", "cancelled"],
};
const REFRESH_MS = 3000;

export default async function imports(/** @type {any} */ { params, signal, go, keys, leaving }) {
  const page = Number(params.get("page") ?? 1);
  const action = params.get("action") ?? "";
  const families = !action
    ? ["identity", "issues"]
    : [action.endsWith("_issues") ? "issues" : "identity"];
  const set = (/** @type {string} */ name, /** @type {any} */ value) => {
    const next = new URLSearchParams(params);
    if (name !== "page") next.delete("page");
    if (value) next.set(name, value);
    else next.delete(name);
    go(`imports${next.size ? `?${next}` : ""}`);
  };
  const body = h("div");
  const heading = h("span", { class: "number", role: "status" });
  let selected = -1;
  let found = /** @type {any[]} */ ([]);
  async function draw() {
    const lists = await Promise.all(
      families.map(async (family) => ({
        family,
        ...(await call(
          "GET",
          tasks(family) +
            query({
              action,
              status: params.get("status"),
              outcome: params.get("outcome"),
              page,
              "page-size": PAGE,
            }),
          { signal, quiet: found.length > 0 },
        )),
      })),
    );
    found = lists
      .flatMap((list) =>
        list.tasks.map((/** @type {any} */ task) => ({ ...task, family: list.family })),
      )
      .sort((a, b) => b.created_at - a.created_at);
    const pages = Math.max(...lists.map((list) => list["total-pages"]));
    const total = lists.reduce((sum, list) => sum + list["total-hits"], 0);
    const rows = () =>
      found.map((task) => [
        taskLink(task),
        taskState(task),
        short(task.file_name ?? task.submitted_by?.key_name ?? "", 40),
        count(task.counts.total),
        count(task.counts.succeeded),
        failedCount(task),
        time(task.created_at),
        task.completed_at ? span(task.completed_at - (task.started_at ?? task.created_at)) : "",
      ]);
    fill(heading, count(total));
    update(body, [found, page, pages, total], () => [
      found.length
        ? h(
            "div",
            { class: "cards" },
            table(
              "Tasks",
              ["action", "state", "from", "entries", "succeeded", "failed", "sent", "took"],
              rows(),
              [3, 4, 5],
            ),
          )
        : [...params.keys()].length
          ? empty("No task matches", h("a", { href: "#/imports" }, "Remove all filters"))
          : empty(
              "No tasks yet",
              h("a", { href: "#/new-import" }, "Import a file"),
              ", and follow it here.",
            ),
      pages > 1 &&
        h(
          "div",
          { class: "row below" },
          page > 1 && h("a", { href: "", onclick: step(-1) }, "Newer"),
          h("span", { class: "faint" }, `page ${page} of ${pages}`),
          page < pages && h("a", { href: "", onclick: step(1) }, "Older"),
        ),
    ]);
    for (const [at, row] of [...body.querySelectorAll("tbody tr")].entries())
      row.classList.toggle("selected", at === selected);
  }
  const step = (/** @type {number} */ by) => (/** @type {any} */ event) => {
    event.preventDefault();
    set("page", page + by);
  };
  const move = (/** @type {number} */ by) => {
    selected = Math.max(0, Math.min(found.length - 1, selected + by));
    for (const [at, row] of [...body.querySelectorAll("tbody tr")].entries()) {
      row.classList.toggle("selected", at === selected);
      if (at === selected) row.scrollIntoView({ block: "nearest" });
    }
  };
  keys({
    j: () => move(1),
    k: () => move(-1),
    Enter: () => found[selected] && go(`task/${found[selected].family}/${found[selected].task_id}`),
  });
  await draw();
  const timer = setInterval(
    () =>
      !document.hidden &&
      found.some((task) => task.status !== "completed") &&
      draw().catch(() => {}),
    REFRESH_MS,
  );
  leaving(() => clearInterval(timer));
  const words = (/** @type {string[]} */ list) =>
    Object.fromEntries(list.map((one) => [one, one.replaceAll("_", " ")]));
  return [
    head(
      ["Imports ", heading],
      h("a", { class: "button primary", href: "#/new-import" }, "New import"),
    ),
    h(
      "div",
      { class: "row filters" },
      select(
        { "": "any action", ...words(ACTIONS) },
        {
          "aria-label": "Action",
          value: action,
          onchange: (/** @type {any} */ event) => set("action", event.target.value),
        },
      ),
      Object.entries(FILTERS).map(([name, values]) =>
        select(
          { "": `any ${name}`, ...words(values) },
          {
            "aria-label": name[0].toUpperCase() + name.slice(1),
            value: params.get(name) ?? "",
            onchange: (/** @type {any} */ event) => set(name, event.target.value),
          },
        ),
      ),
    ),
    body,
  ];
}
