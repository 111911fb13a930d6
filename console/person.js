// One person: the core profile, its app profiles, its issues, and a change with its preview.
import { Refusal, call, can, query, tasks, v1, v2 } from "./api.js";
import { submit } from "./new_import.js";
import { identitiesOf, nameOf } from "./people.js";
import { parse, write } from "./json.js";
import { count, short, time } from "./format.js";
import { button, dialog, notice, pill, table } from "./ui.js";
import { h } from "./view.js";

const ISSUES = 20;

export default async function person(/** @type {any} */ { args, signal, keys, go, reload }) {
  const id = args[0];
  const profile = await call("GET", `${v2(`identity/core_profiles/${encodeURIComponent(id)}`)}${query({ includes: ["app_profiles"] })}`, { signal });
  const { app_profile_pids: pids = [], ...fields } = profile;
  const issues = await call("GET", v1(`issues${query({ "core-profile-id": id, excludes: ["messages"], "page-size": ISSUES })}`), { signal });
  async function edit() {
    const text = h("textarea", { rows: 18, class: "mono", "aria-label": "Profile as JSON", value: write(fields, 2) });
    const next = () => {
      const entry = parse(text.value);
      for (const name of Object.keys(fields)) if (!(name in entry)) entry[name] = null;
      return write({ ...entry, "core-profile-id": id });
    };
    const run = async (/** @type {boolean} */ dry) => {
      let task = await submit("identity", "update_core_profiles", dry, next(), `person-${id}`);
      while (task.status !== "completed") task = await call("GET", `${tasks("identity", task.task_id)}?wait=30`, { signal });
      if (task.counts.failed) {
        const [record] = await call("GET", `${tasks("identity", task.task_id)}/errors`, { signal });
        throw new Refusal(422, { detail: record.errors.map((/** @type {any} */ fault) => `${fault.pointer ?? ""} ${fault.detail}`).join("; ") });
      }
    };
    const done = await dialog("Change this profile", [h("p", { class: "faint" }, "A field that you remove is removed. The change is tried first and written only if it has no fault."), text], { label: "Save", kind: "primary", work: async () => { await run(true); await run(false); } });
    if (done) {
      notice("saved", "good");
      reload();
    }
  }
  keys({ Escape: () => go("people") });
  const shown = Object.entries(fields).filter(([name]) => !["identities", "names", "custom_fields", "core-profile-id", "created_at", "updated_at"].includes(name));
  return [
    h("p", null, h("a", { href: "#/people" }, "People"), h("span", { class: "faint mono" }, ` ${id}`)),
    h("div", { class: "row spread" }, h("h1", { dir: "auto", class: "clip" }, short(nameOf(profile), 120)), can("write") && button("Change", edit)),
    h("div", { class: "columns" },
      h("section", { "aria-label": "Profile" }, h("h2", null, "Profile"),
        h("dl", null, identitiesOf(profile).map(([type, value]) => [h("dt", null, type), h("dd", { dir: "auto" }, short(value))]), shown.map(([name, value]) => [h("dt", null, name), h("dd", { dir: "auto" }, short(typeof value === "string" ? value : write(value), 500))]), h("dt", null, "created"), h("dd", null, time(profile.created_at)), h("dt", null, "updated"), h("dd", null, time(profile.updated_at))),
        Object.keys(profile.custom_fields ?? {}).length > 0 && table("Custom fields", ["key", "value"], Object.entries(profile.custom_fields).map(([key, value]) => [key, short(typeof value === "string" ? value : write(value), 300)])),
        pids.length > 0 && [h("h2", null, "App profiles"), h("ul", null, pids.map((/** @type {string} */ pid) => h("li", { class: "mono clip" }, pid)))]),
      h("section", { "aria-label": "Issues" }, h("h2", null, "Issues ", h("a", { class: "number", href: `#/issues?person=${encodeURIComponent(id)}` }, count(issues["total-hits"]))),
        issues.issues.length ? table("Issues of this person", ["issue", "state", "created"], issues.issues.map((/** @type {any} */ issue) => [h("a", { href: `#/issue/${issue.id}`, dir: "auto" }, `#${issue.id} ${short(issue.title, 80)}`), pill(issue.state_data.state), time(issue.created_at)])) : h("p", { class: "faint" }, "No issues."))),
  ];
}
