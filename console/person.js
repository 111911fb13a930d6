// One person: the core profile, its app profiles, its issues, and a change with its preview.
import { Refusal, call, can, query, tasks, v1, v2 } from "./api.js";
import { submit } from "./sending.js";
import { READ_ONLY, identitiesOf, nameOf, patchOf } from "./profile.js";
import { write } from "./json.js";
import { count, short, time } from "./format.js";
import { button, crumbs, dialog, head, notice, pill, refused, table } from "./ui.js";
import { fill, h } from "./view.js";

const ISSUES = 20;

/** An app profile, which is read when it is opened. */
function appProfile(/** @type {string} */ pid, /** @type {any} */ signal) {
  const body = h("div");
  const load = async () =>
    fill(
      body,
      h(
        "pre",
        { tabindex: 0 },
        write(
          await call("GET", v2(`identity/app_profiles/${encodeURIComponent(pid)}`), { signal }),
          2,
        ),
      ),
    );
  return h(
    "details",
    {
      class: "app-profile",
      ontoggle: (/** @type {any} */ event) =>
        event.target.open && !body.firstChild && load().catch(refused),
    },
    h("summary", { class: "mono" }, pid),
    body,
  );
}

const many = (/** @type {any} */ number, /** @type {string} */ noun) =>
  `${count(number)} ${String(number) === "1" ? noun : noun.replace(/y$/, "ie") + "s"}`;

export default async function person(
  /** @type {any} */ { args, signal, keys, go, back, up, reload },
) {
  const id = args[0];
  const profile = await call(
    "GET",
    `${v2(`identity/core_profiles/${encodeURIComponent(id)}`)}${query({ includes: ["app_profiles"] })}`,
    { signal },
  );
  const { app_profile_pids: pids = [], ...fields } = profile;
  const own = Object.fromEntries(
    Object.entries(fields).filter(([name]) => !READ_ONLY.includes(name)),
  );
  const issues = await call(
    "GET",
    v1(`issues${query({ "core-profile-id": id, excludes: ["messages"], "page-size": ISSUES })}`),
    { signal },
  );
  async function run(
    /** @type {string} */ action,
    /** @type {boolean} */ dry,
    /** @type {any} */ entry,
  ) {
    let task = await submit(
      "identity",
      action,
      dry,
      write(entry),
      `person-${id}.jsonl`,
      `-${Date.now()}`,
    );
    while (task.status !== "completed")
      task = await call("GET", `${tasks("identity", task.task_id)}?wait=30`, { signal });
    if (!task.counts.failed) return;
    const [record] = await call("GET", `${tasks("identity", task.task_id)}/errors`, { signal });
    throw new Refusal(422, {
      detail: record.errors
        .map((/** @type {any} */ fault) => `${fault.pointer ?? ""} ${fault.detail}`)
        .join("; "),
    });
  }
  async function edit() {
    const text = h("textarea", {
      rows: 18,
      class: "mono",
      "aria-label": "Profile as JSON",
      value: write(own, 2),
    });
    const patch = await dialog(
      "Change this profile",
      [h("p", { class: "faint" }, "A field that you remove is removed."), text],
      {
        label: "Preview",
        kind: "primary",
        work: async () => {
          const entry = patchOf(own, text.value);
          await run("update_core_profiles", true, { ...entry, "core-profile-id": id });
          return entry;
        },
      },
    );
    if (!patch) return;
    const names = Object.keys(patch);
    if (!names.length) return notice("nothing was changed");
    const shown = (/** @type {any} */ value) =>
      value === undefined || value === null ? "nothing" : short(write(value), 300);
    const many = `${names.length} ${names.length === 1 ? "change" : "changes"}`;
    const done = await dialog(
      "Save these changes?",
      h(
        "dl",
        { class: "preview" },
        names.map((name) => [
          h("dt", null, name),
          h(
            "dd",
            { dir: "auto" },
            h("del", null, shown(own[name])),
            " → ",
            h("ins", null, shown(patch[name])),
          ),
        ]),
      ),
      {
        label: `Save ${many}`,
        kind: "primary",
        work: () => run("update_core_profiles", false, { ...patch, "core-profile-id": id }),
      },
    );
    if (done) {
      notice("saved", "good");
      reload();
    }
  }
  async function remove() {
    const stay = `${many(pids.length, "app profile")} and ${many(issues["total-hits"], "issue")} stay`;
    const done = await dialog(
      "Delete this profile?",
      [
        h(
          "p",
          { dir: "auto" },
          h("b", null, short(nameOf(profile), 120)),
          ` is deleted, with ${many(identitiesOf(profile).length, "identity")}. This cannot be undone.`,
        ),
        h("p", null, `${stay}.`),
      ],
      {
        label: "Delete the profile",
        kind: "danger",
        work: () => run("delete_core_profiles", false, { "core-profile-id": id }),
      },
    );
    if (done) {
      notice("deleted", "good");
      go("people");
    }
  }
  keys({ Escape: () => back("people") });
  const shown = Object.entries(fields).filter(
    ([name]) =>
      ![
        "identities",
        "tags",
        "names",
        "custom_fields",
        "core-profile-id",
        "created_at",
        "updated_at",
      ].includes(name),
  );
  return [
    crumbs(h("a", { href: up("people") }, "People"), h("span", { class: "faint mono" }, id)),
    head(
      short(nameOf(profile), 120),
      can("write") && [button("Change", edit), button("Delete", remove, { class: "danger" })],
    ),
    h(
      "div",
      { class: "columns" },
      h(
        "section",
        { "aria-label": "Profile" },
        h("h2", null, "Profile"),
        h(
          "dl",
          null,
          identitiesOf(profile).map(([type, value]) => [
            h("dt", null, type.replaceAll("_", " ")),
            h("dd", { dir: "auto" }, short(value)),
          ]),
          profile.tags?.length > 0 && [
            h("dt", null, "tags"),
            h(
              "dd",
              { class: "tag-list" },
              profile.tags.map((/** @type {string} */ tag) =>
                h(
                  "a",
                  { class: "tag", dir: "auto", href: `#/people?${new URLSearchParams({ tag })}` },
                  short(tag, 60),
                ),
              ),
            ),
          ],
          shown.map(([name, value]) => [
            h("dt", null, name.replaceAll("_", " ")),
            h(
              "dd",
              { dir: "auto" },
              name === "last_active_date"
                ? time(value)
                : short(typeof value === "string" ? value : write(value), 500),
            ),
          ]),
          h("dt", null, "created"),
          h("dd", null, time(profile.created_at)),
          h("dt", null, "updated"),
          h("dd", null, time(profile.updated_at)),
        ),
        Object.keys(profile.custom_fields ?? {}).length > 0 && [
          h("h2", null, "Custom fields"),
          table(
            "Custom fields",
            ["key", "value"],
            Object.entries(profile.custom_fields).map(([key, value]) => [
              key,
              short(typeof value === "string" ? value : write(value), 300),
            ]),
          ),
        ],
        pids.length > 0 && [
          h("h2", null, "App profiles"),
          pids.map((/** @type {string} */ pid) => appProfile(pid, signal)),
        ],
      ),
      h(
        "section",
        { "aria-label": "Issues" },
        h(
          "h2",
          null,
          "Issues ",
          h(
            "a",
            { class: "number", href: `#/issues?person=${encodeURIComponent(id)}` },
            count(issues["total-hits"]),
          ),
        ),
        issues.issues.length
          ? table(
              "Issues of this person",
              ["issue", "state", "created"],
              issues.issues.map((/** @type {any} */ issue) => [
                h(
                  "a",
                  { href: `#/issue/${issue.id}`, dir: "auto" },
                  `#${issue.id} ${short(issue.title, 80)}`,
                ),
                pill(issue.state_data.state),
                time(issue.created_at),
              ]),
            )
          : h("p", { class: "faint" }, "No issues."),
      ),
    ),
  ];
}
