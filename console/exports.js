// Exports: issues by the filters of their list, as JSON lines or CSV, streamed to disk.
import { base, call, has, query, v1, v2 } from "./api.js";
import { STATES, count, dayBound } from "./format.js";
import { field, input, select } from "./ui.js";
import { fill, h } from "./view.js";

export default async function exportsScreen(/** @type {any} */ { signal }) {
  const what = select({ issues: "issues", ...(has("profiles") && { core_profiles: "core profiles", app_profiles: "app profiles" }) });
  const format = select({ jsonl: "JSON lines: everything, can be imported again", csv: "CSV: a table without messages" });
  const state = select({ "": "any state", ...Object.fromEntries(STATES.map((one) => [one, one])) });
  const [since, until] = [input({ type: "date" }), input({ type: "date" })];
  const out = h("div", { role: "status" });
  let turn = 0;
  async function draw() {
    turn += 1;
    const mine = turn;
    const filters = { state: what.value === "issues" ? state.value : "", "created-since": since.value && dayBound(since.value, false), "created-until": until.value && dayBound(until.value, true) };
    const path = what.value === "issues" ? v1("issues") : v2(`identity/${what.value}`);
    const name = `${what.value}.${format.value}`;
    const all = what.value === "issues" && format.value === "jsonl" ? { includes: ["custom_fields", "feedback", "meta", "queue", "private_notes"], trailer: false } : { trailer: false };
    const href = `${base}${path}${query({ ...filters, ...all, format: format.value, "sort-by": "creation-time", "sort-order": "asc" })}`;
    state.closest(".field").hidden = what.value !== "issues";
    const total = (await call("GET", `${path}${query({ ...filters, "page-size": 1 })}`, { signal, quiet: true }))["total-hits"];
    if (mine !== turn) return;
    fill(out, total > 0
      ? [h("p", null, h("span", { class: "number" }, count(total)), ` ${what.value.replace("_", " ")}`), h("a", { class: "button primary", href, download: name }, `Download ${name}`)]
      : h("p", { class: "faint" }, "Nothing matches these filters."),
    h("details", null, h("summary", null, "Large exports, or after an interruption"), h("p", null, "The program continues a broken export after its last complete line:"), h("pre", { tabindex: 0 }, `caseload issues export --url ${base.replace(/\/$/, "")} -o issues.jsonl`)));
  }
  const form = h("form", { class: "narrow", onsubmit: (/** @type {any} */ event) => event.preventDefault() }, field("What", what), field("Format", format), field("State", state), field("Created since", since), field("Created until", until));
  form.addEventListener("change", () => draw());
  await draw();
  return [h("h1", null, "Exports"), h("div", { class: "columns" }, form, out)];
}
