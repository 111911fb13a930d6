// Settings of the domain, for admin keys: the desk, quotas, keys, webhooks, agents, apps and
// queues.
import { call, has, me, v1 } from "./api.js";
import { agentName } from "./change_words.js";
import { capital, choicesOf, count, short, size, time } from "./format.js";
import { showSecret } from "./secret.js";
import { button, dialog, field, head, input, notice, pill, select, table } from "./ui.js";
import { refused } from "./ui.js";
import { h, update } from "./view.js";
import { newWebhook, webhooksTable } from "./webhooks.js";

const DAY_MS = 86400000;
/** How often the state of the webhooks is asked for. */
const REFRESH_MS = 5000;
/** An object lists names that are numbers first; these are not, so "never" is the default. */
const DAYS = {
  "": "Never",
  "1 day": "In a day",
  "30 days": "In 30 days",
  "90 days": "In 90 days",
  "365 days": "In a year",
};

export default async function settings(/** @type {any} */ context) {
  const { signal, reload, keys: pressed } = context;
  const get = (/** @type {string} */ path) => call("GET", v1(path), { signal });
  const [domain, { keys }, { apps }, { profiles: agents }, { queues }, hooks] = await Promise.all([
    get("settings"),
    get("keys"),
    get("apps"),
    get("agents?page-size=1000"),
    get("queues"),
    has("webhooks") && get("webhooks"),
  ]);
  pressed({ n: () => newKey(reload).catch(refused) });
  return [
    head(["Settings ", h("span", { class: "number" }, domain.domain)]),
    h("div", { class: "columns" }, deskPart(domain), usagePart(domain)),
    keysPart(keys, reload),
    hooks && webhooksPart(hooks.webhooks, context),
    h(
      "div",
      { class: "columns" },
      agentsPart(agents, reload),
      appsPart(apps, reload),
      queuesPart(queues, reload),
    ),
  ];
}

/** A part of the screen, with what can be done there. */
const part = (/** @type {string} */ title, /** @type {any} */ action, /** @type {any} */ content) =>
  h(
    "section",
    { "aria-label": title },
    h("div", { class: "head" }, h("h2", null, title), action),
    content,
  );

function deskPart(/** @type {any} */ domain) {
  const desk = input({ value: domain.desk_name, required: true });
  const address = input({ value: domain.desk_email });
  async function save(/** @type {any} */ event) {
    event.preventDefault();
    const body = { desk_name: desk.value, desk_email: address.value };
    try {
      await call("PUT", v1("settings"), { body });
      notice(["The desk is saved as ", h("b", { dir: "auto" }, short(desk.value, 80))], "good");
    } catch (error) {
      notice(/** @type {any} */ (error).message, "bad");
    }
  }
  const form = h(
    "form",
    { class: "narrow", onsubmit: save },
    field("Name", desk, "the author of messages that no agent signs"),
    field("E-mail", address),
    h("button", { type: "submit" }, "Save"),
  );
  return part("Desk", null, form);
}

function usagePart(/** @type {any} */ { usage, quotas, created_at }) {
  const limit = (/** @type {any} */ used, /** @type {any} */ most, show = count) =>
    `${show(used)}${most === null ? "" : ` of ${show(most)}`}`;
  const rate = quotas.requests_per_minute;
  const facts = [
    ["Stored", limit(usage.bytes, quotas.bytes, size)],
    ["Unfinished tasks", limit(usage.tasks, quotas.tasks)],
    ["Requests a minute", rate === null ? "no limit of the domain" : count(rate)],
    ["Created", time(created_at)],
  ];
  const list = facts.map(([name, value]) => [h("dt", null, name), h("dd", null, value)]);
  return part("Usage", null, h("dl", null, list));
}

function keysPart(/** @type {any[]} */ keys, /** @type {()=>void} */ reload) {
  const alive = keys.filter((key) => key.state === "active");
  const ended = keys.filter((key) => key.state !== "active");
  const title = `${ended.length} revoked or expired`;
  return part(
    "Keys",
    button("New key", () => newKey(reload), { title: "n", "aria-keyshortcuts": "n" }),
    [
      keysTable(alive, reload),
      ended.length > 0 && h("details", null, h("summary", null, title), keysTable(ended, reload)),
    ],
  );
}

function keysTable(/** @type {any[]} */ keys, /** @type {()=>void} */ reload) {
  const row = (/** @type {any} */ key) => [
    h("span", { title: key.id, dir: "auto" }, key.name || h("span", { class: "mono" }, key.id)),
    capital(key.access),
    pill(key.state),
    time(key.created_at),
    time(key.last_used_at),
    time(key.expires_at),
    key.state === "active" &&
      button("Revoke", () => revoke(key, reload), {
        class: "plain",
        "aria-label": `Revoke ${key.name || key.id}`,
      }),
  ];
  const heads = ["name", "access", "state", "created", "last used", "expires", "action"];
  return h("div", { class: "cards" }, table("Keys", heads, keys.map(row)));
}

async function newKey(/** @type {()=>void} */ reload) {
  const name = input({ required: true });
  const access = select(choicesOf(["read", "write", "admin"]), { value: "read" });
  const days = select(DAYS);
  const work = () => {
    const expires_at = days.value ? Date.now() + parseInt(days.value) * DAY_MS : undefined;
    const body = { name: name.value, access: access.value, expires_at };
    return call("POST", v1("keys"), { body });
  };
  const made = await dialog(
    "New key",
    [
      field("Name", name, "where it will be used"),
      field("Access", access, "write includes read, admin includes write"),
      field("Expires", days),
    ],
    { label: "Create the key", kind: "primary", work },
  );
  if (!made) return;
  await showSecret("The new key", made.secret, "It is shown only now. The server keeps its hash.");
  reload();
}

async function revoke(/** @type {any} */ key, /** @type {()=>void} */ reload) {
  const own = key.id === me().key_id;
  const done = await dialog(
    "Revoke this key?",
    h(
      "p",
      null,
      h("b", null, key.name || key.id),
      ` (${key.access}) stops working within 5 seconds, with all sessions that were begun with it.`,
      " This cannot be undone.",
      own && " You are signed in with it, and will be signed out.",
    ),
    {
      label: "Revoke the key",
      kind: "danger",
      work: () => call("DELETE", v1(`keys/${encodeURIComponent(key.id)}`)),
    },
  );
  if (!done) return;
  notice(
    ["The key ", h("b", { dir: "auto" }, short(key.name || key.id, 80)), " is revoked"],
    "good",
  );
  reload();
}

/** The webhooks, whose states are read again and again. */
function webhooksPart(/** @type {any[]} */ webhooks, /** @type {any} */ { signal, leaving, go }) {
  const list = h("div");
  const show = (/** @type {any[]} */ found) =>
    update(list, found, () =>
      found.length
        ? webhooksTable(found)
        : h("p", { class: "faint" }, "None yet. A webhook posts changes to a program of yours."),
    );
  const read = async () =>
    show((await call("GET", v1("webhooks"), { signal, quiet: true })).webhooks);
  const timer = setInterval(() => !document.hidden && read().catch(() => {}), REFRESH_MS);
  leaving(() => clearInterval(timer));
  show(webhooks);
  return part(
    "Webhooks",
    button("New webhook", () => newWebhook(go)),
    list,
  );
}

/** A button that asks for the fields of a new record, and makes it. */
function addButton(
  /** @type {string} */ path,
  /** @type {string} */ title,
  /** @type {Record<string,string>} */ names,
  /** @type {()=>void} */ reload,
) {
  return button(title, async () => {
    const inputs = Object.keys(names).map((name) => ({
      name,
      box: input({ required: true, type: name === "email" ? "email" : "text" }),
    }));
    const work = () => {
      const body = Object.fromEntries(inputs.map(({ name, box }) => [name, box.value]));
      return call("POST", v1(path), { body });
    };
    const fields = inputs.map(({ name, box }) => field(names[name], box));
    const made = await dialog(title, fields, { label: "Create", kind: "primary", work });
    if (!made) return;
    const name = h("b", { dir: "auto" }, short(inputs[0].box.value, 80));
    notice([title.replace("New", "The"), " ", name, " is made"], "good");
    reload();
  });
}

function agentsPart(/** @type {any[]} */ agents, /** @type {()=>void} */ reload) {
  const rows = agents.map((agent) => [nameOf(agent), agent.email]);
  return part(
    "Agents",
    addButton("agents", "New agent", { name: "Name", email: "E-mail" }, reload),
    rows.length
      ? table("Agents", ["name", "e-mail"], rows)
      : h("p", { class: "faint" }, "Nobody yet. Agents answer issues."),
  );
}

/** Imports bring along agents of whom only the id is known. */
const nameOf = (/** @type {any} */ agent) =>
  agent.name
    ? h("span", { dir: "auto" }, agent.name)
    : [
        h("span", { class: agent.email ? "" : "mono" }, agentName(agent)),
        h("span", { class: "faint" }, " (without a name)"),
      ];

function appsPart(/** @type {any[]} */ apps, /** @type {()=>void} */ reload) {
  const rows = apps.map((app) => [
    h("span", { dir: "auto" }, app.title),
    app.publish_id,
    h("span", { class: "mono faint" }, app.id),
  ]);
  return part(
    "Apps",
    addButton("apps", "New app", { title: "Title" }, reload),
    table("Apps", ["title", "publish id", "id"], rows),
  );
}

function queuesPart(/** @type {any[]} */ queues, /** @type {()=>void} */ reload) {
  const rows = queues.map((queue) => [
    h("span", { dir: "auto" }, queue.name),
    h("span", { class: "mono faint" }, queue.id),
  ]);
  return part(
    "Queues",
    addButton("queues", "New queue", { name: "Name" }, reload),
    rows.length
      ? table("Queues", ["name", "id"], rows)
      : h("p", { class: "faint" }, "None yet. Imports bring their queues along."),
  );
}
