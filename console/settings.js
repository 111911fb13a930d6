// Settings of the domain, for admin keys: the desk, quotas, keys, apps, agents and queues.
import { call, me, v1 } from "./api.js";
import { count, size, time } from "./format.js";
import { button, copy, dialog, field, head, input, notice, pill, select, table } from "./ui.js";
import { h } from "./view.js";

/** The names do not read as numbers: an object lists such names first, and "never" is the default. */
const DAYS = {
  "": "never",
  "1 day": "in a day",
  "30 days": "in 30 days",
  "90 days": "in 90 days",
  "365 days": "in a year",
};

export default async function settings(/** @type {any} */ { signal, reload }) {
  const get = (/** @type {string} */ path) => call("GET", v1(path), { signal });
  const [domain, { keys }, { apps }, { profiles: agents }, { queues }] = await Promise.all([
    get("settings"),
    get("keys"),
    get("apps"),
    get("agents?page-size=1000"),
    get("queues"),
  ]);
  const desk = input({ value: domain.desk_name, required: true });
  const address = input({ value: domain.desk_email });
  const limit = (/** @type {any} */ used, /** @type {any} */ most, show = count) =>
    `${show(used)}${most === null ? "" : ` of ${show(most)}`}`;

  async function newKey() {
    const [name, access, days] = [
      input({ required: true }),
      select(["read", "write", "admin"], { value: "read" }),
      select(DAYS),
    ];
    const made = await dialog(
      "New key",
      [
        field("Name", name, "where it will be used"),
        field("Access", access, "write includes read, admin includes write"),
        field("Expires", days),
      ],
      {
        label: "Create the key",
        kind: "primary",
        work: () =>
          call("POST", v1("keys"), {
            body: {
              name: name.value,
              access: access.value,
              expires_at: days.value ? Date.now() + parseInt(days.value) * 86400000 : undefined,
            },
          }),
      },
    );
    if (!made) return;
    const secret = h("code", { class: "secret", tabindex: 0 }, made.secret);
    await dialog(
      "The new key",
      [
        h("p", null, "It is shown only now. The server keeps its hash."),
        secret,
        button("Copy", () => copy(made.secret, secret)),
      ],
      { label: "Close" },
    );
    reload();
  }
  async function revoke(/** @type {any} */ key) {
    const own = key.id === me().key_id;
    const done = await dialog(
      "Revoke this key?",
      h(
        "p",
        null,
        h("b", null, key.name || key.id),
        ` (${key.access}) stops working within 5 seconds, with all sessions that were begun with it. This cannot be undone.`,
        own && " You are signed in with it, and will be signed out.",
      ),
      {
        label: "Revoke the key",
        kind: "danger",
        work: () => call("DELETE", v1(`keys/${encodeURIComponent(key.id)}`)),
      },
    );
    if (done) {
      notice("the key is revoked");
      reload();
    }
  }
  const add = (
    /** @type {string} */ path,
    /** @type {string} */ title,
    /** @type {Record<string,string>} */ names,
  ) =>
    button(title, async () => {
      const inputs = Object.fromEntries(
        Object.keys(names).map((name) => [
          name,
          input({ required: true, type: name === "email" ? "email" : "text" }),
        ]),
      );
      const made = await dialog(
        title,
        Object.entries(names).map(([name, label]) => field(label, inputs[name])),
        {
          label: "Create",
          kind: "primary",
          work: () =>
            call("POST", v1(path), {
              body: Object.fromEntries(
                Object.entries(inputs).map(([name, one]) => [name, one.value]),
              ),
            }),
        },
      );
      if (made) reload();
    });
  const part = (
    /** @type {string} */ title,
    /** @type {any} */ action,
    /** @type {any} */ content,
  ) =>
    h(
      "section",
      { "aria-label": title },
      h("div", { class: "head" }, h("h2", null, title), action),
      content,
    );
  const alive = keys.filter((/** @type {any} */ key) => key.state === "active");
  const ended = keys.filter((/** @type {any} */ key) => key.state !== "active");
  const rows = (/** @type {any[]} */ list) =>
    h(
      "div",
      { class: "cards" },
      table(
        "Keys",
        ["name", "access", "state", "created", "last used", "expires", "action"],
        list.map((key) => [
          h("span", { title: key.id }, key.name || key.id),
          key.access,
          pill(key.state),
          time(key.created_at),
          time(key.last_used_at),
          time(key.expires_at),
          key.state === "active" &&
            button("Revoke", () => revoke(key), {
              class: "plain",
              "aria-label": `Revoke ${key.name || key.id}`,
            }),
        ]),
      ),
    );
  return [
    head(["Settings ", h("span", { class: "number" }, domain.domain)]),
    h(
      "div",
      { class: "columns" },
      part(
        "Desk",
        null,
        h(
          "form",
          { class: "narrow", onsubmit: save },
          field("Name", desk, "the author of messages that no agent signs"),
          field("E-mail", address),
          h("button", { type: "submit" }, "Save"),
        ),
      ),
      part(
        "Usage",
        null,
        h(
          "dl",
          null,
          h("dt", null, "Stored"),
          h("dd", null, limit(domain.usage.bytes, domain.quotas.bytes, size)),
          h("dt", null, "Unfinished tasks"),
          h("dd", null, limit(domain.usage.tasks, domain.quotas.tasks)),
          h("dt", null, "Requests a minute"),
          h(
            "dd",
            null,
            domain.quotas.requests_per_minute === null
              ? "no limit of the domain"
              : count(domain.quotas.requests_per_minute),
          ),
          h("dt", null, "Created"),
          h("dd", null, time(domain.created_at)),
        ),
      ),
    ),
    part("Keys", button("New key", newKey), [
      rows(alive),
      ended.length > 0 &&
        h("details", null, h("summary", null, `${ended.length} revoked or expired`), rows(ended)),
    ]),
    h(
      "div",
      { class: "columns" },
      part(
        "Agents",
        add("agents", "New agent", { name: "Name", email: "E-mail" }),
        agents.length
          ? table(
              "Agents",
              ["name", "e-mail"],
              agents.map((/** @type {any} */ agent) => [agent.name, agent.email]),
            )
          : h("p", { class: "faint" }, "Nobody yet. Agents answer issues."),
      ),
      part(
        "Apps",
        add("apps", "New app", { title: "Title" }),
        table(
          "Apps",
          ["title", "publish id", "id"],
          apps.map((/** @type {any} */ app) => [
            app.title,
            app.publish_id,
            h("span", { class: "mono faint" }, app.id),
          ]),
        ),
      ),
      part(
        "Queues",
        add("queues", "New queue", { name: "Name" }),
        queues.length
          ? table(
              "Queues",
              ["name", "id"],
              queues.map((/** @type {any} */ queue) => [
                queue.name,
                h("span", { class: "mono faint" }, queue.id),
              ]),
            )
          : h("p", { class: "faint" }, "None yet. Imports bring their queues along."),
      ),
    ),
  ];
  async function save(/** @type {any} */ event) {
    event.preventDefault();
    try {
      await call("PUT", v1("settings"), {
        body: { desk_name: desk.value, desk_email: address.value },
      });
      notice("saved", "good");
    } catch (error) {
      notice(/** @type {any} */ (error).message, "bad");
    }
  }
}
