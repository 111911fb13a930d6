// Exports: any list by its filters, as JSON lines or CSV. The filters come from the list's address, or
// are chosen here. A list of tasks has no place from which it could go on, so it is a download only.
import { base, call, has, query, tasks, v1, v2 } from "./api.js";
import { Download, downloads } from "./download.js";
import { STATE_OPTIONS, count, dayBound, size, span } from "./format.js";
import { filtersOf as issueFilters } from "./issues.js";
import { named } from "./json.js";
import { filtersOf as peopleFilters } from "./people.js";
import { bar, button, field, head, input, save, select } from "./ui.js";
import { fill, h } from "./view.js";

const REDRAW_MS = 500;
const JSON_LINES = "JSON lines: everything, can be imported again";
const ISSUE_MEMBERS = ["custom_fields", "feedback", "meta", "queue", "private_notes"];
/** What can be exported: a label, its path, and the member that names a record. */
const LISTS = named(
  /** @type {Record<string, [string, ()=>string, string?]>} */ ({
    issues: ["issues", () => v1("issues"), "id"],
    core_profiles: ["core profiles", () => v2("identity/core_profiles"), "core-profile-id"],
    app_profiles: ["app profiles", () => v2("identity/app_profiles"), "pid"],
    tasks_of_people: ["tasks of people", () => tasks("identity")],
    tasks_of_issues: ["tasks of issues", () => tasks("issues")],
  }),
);

export default async function exportsScreen(/** @type {any} */ { params, signal, leaving }) {
  const given = new URLSearchParams(params);
  const of = given.get("of") ?? "issues";
  given.delete("of");
  given.delete("sort");
  const filtered = [...given.keys()].length > 0 && of in LISTS;
  const what = select(
    Object.fromEntries(
      Object.entries(LISTS)
        .filter(([name]) => !/profiles/.test(name) || has("profiles"))
        .map(([name, [label]]) => [name, label]),
    ),
    { value: of in LISTS ? of : "issues" },
  );
  const format = select({ jsonl: JSON_LINES, csv: "CSV: a table" });
  const state = select(STATE_OPTIONS);
  const [since, until] = [input({ type: "date" }), input({ type: "date" })];
  const out = h("div", { role: "status" });
  const mine = h("section", { "aria-label": "Downloads of this page" });
  let turn = 0;

  async function draw() {
    turn += 1;
    const now = turn;
    const [label, of, id] = LISTS[what.value];
    const table = format.value === "csv";
    const own = {
      state: what.value === "issues" ? state.value : "",
      "created-since": since.value && dayBound(since.value, false),
      "created-until": until.value && dayBound(until.value, true),
    };
    const filters = filtered
      ? what.value === "issues"
        ? issueFilters(given).filters
        : peopleFilters(given)
      : own;
    const path = of();
    const name = `${what.value}.${format.value}`;
    const options = {
      ...(what.value === "issues" && !table && { includes: ISSUE_MEMBERS }),
      ...(id && { trailer: false, "sort-by": "creation-time", "sort-order": "asc" }),
      format: format.value,
    };
    const [shown] = format.options;
    shown.textContent = id ? JSON_LINES : "JSON lines";
    format.options[1].textContent =
      what.value === "issues" ? "CSV: a table without messages" : "CSV: a table";
    state.closest(".field").hidden = what.value !== "issues";
    const total = (
      await call("GET", `${path}${query({ ...filters, "page-size": 1 })}`, { signal, quiet: true })
    )["total-hits"];
    if (now !== turn) return;
    fill(
      out,
      total > 0
        ? [
            h("p", null, h("span", { class: "number" }, count(total)), ` ${label}`),
            h(
              "div",
              { class: "row" },
              id &&
                button(
                  `Export ${name}`,
                  () =>
                    Download.start({
                      name,
                      path,
                      params: { ...filters, ...options },
                      table,
                      id,
                      total,
                    }).then(drawMine),
                  { class: "primary" },
                ),
              h(
                "a",
                { href: `${base}${path}${query({ ...filters, ...options })}`, download: name },
                `Download ${name}`,
              ),
            ),
            h(
              "p",
              { class: "faint below" },
              id && "An export goes on by itself after an interruption. ",
              "A download is left to the browser.",
            ),
          ]
        : h("p", { class: "faint" }, "Nothing matches these filters."),
      h(
        "details",
        null,
        h("summary", null, "In a shell"),
        h(
          "p",
          null,
          "The program exports without a browser, and continues a broken export after its last complete line:",
        ),
        h(
          "pre",
          { tabindex: 0 },
          `caseload issues export --url ${base.replace(/\/$/, "")} -o issues.jsonl`,
        ),
      ),
    );
  }

  function drawMine() {
    fill(
      mine,
      downloads.length > 0 && h("h2", null, "Exports of this page"),
      downloads.map((one) => {
        const { name, total } = one.list;
        const percent = Math.min(100, Math.floor((100 * one.records) / Math.max(1, total)));
        return h(
          "div",
          { class: "row export" },
          h("b", null, name),
          bar(one.state === "done" ? 100 : percent, `progress of ${name}`),
          h(
            "span",
            null,
            `${count(one.records)} of ${count(Math.max(total, one.records))}, ${size(one.bytes)}`,
          ),
          one.state === "running" &&
            !one.problem &&
            one.records > 0 &&
            h(
              "span",
              { class: "faint" },
              `about ${span(((Date.now() - one.begun) * (total - one.records)) / one.records)} left`,
            ),
          one.problem && h("span", { class: "bad" }, one.problem),
          one.state === "running" &&
            button(
              "Pause",
              () => {
                one.pause();
                drawMine();
              },
              { class: "plain", "aria-label": `Pause ${name}` },
            ),
          (one.state === "paused" || one.state === "stopped") &&
            button(
              one.handle && !one.file ? "Begin again" : "Continue",
              () => {
                one.run();
                drawMine();
              },
              {
                class: "primary",
                "aria-label": `${one.handle && !one.file ? "Begin again" : "Continue"} ${name}`,
              },
            ),
          one.state === "done" && h("span", { class: "good" }, "complete"),
          one.blob &&
            button(
              "Save",
              () => {
                save(/** @type {Blob} */ (one.blob), name);
                one.saved = true;
              },
              { class: "primary", "aria-label": `Save ${name}` },
            ),
        );
      }),
    );
  }

  const form = h(
    "form",
    { class: "narrow", onsubmit: (/** @type {any} */ event) => event.preventDefault() },
    filtered
      ? h(
          "p",
          null,
          `The filters of your list: `,
          h(
            "span",
            { class: "mono" },
            [...given].map(([name, value]) => `${name} ${value}`).join(", "),
          ),
          " ",
          h("a", { href: "#/exports" }, "Choose others"),
        )
      : field("What", what),
    field("Format", format),
    h(
      "div",
      { hidden: filtered },
      field("State", state),
      field("Created since", since),
      field("Created until", until),
    ),
  );
  form.addEventListener("change", () => draw());
  const timer = setInterval(drawMine, REDRAW_MS);
  leaving(() => clearInterval(timer));
  drawMine();
  await draw();
  return [head("Exports"), h("div", { class: "columns" }, form, h("div", null, out, mine))];
}
