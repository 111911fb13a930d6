// One webhook: its settings and state, its last deliveries, and what can be done with it.
import { call } from "./api.js";
import { count, short, span, time } from "./format.js";
import { button, crumbs, dialog, field, head, input, notice, pill, select, table } from "./ui.js";
import { h, update } from "./view.js";
import {
  changeWebhook,
  followsOf,
  showWebhookSecret,
  stateOf,
  webhookPath,
  whyOf,
} from "./webhooks.js";

const REFRESH_MS = 3000;
/** A receiver has 15 seconds to answer a test. */
const TEST_MS = 20000;
const TEST_POLL_MS = 300;
const ANSWER_CHARS = 200;
const OLDEST = "*";
const LATEST = "latest";

export default async function webhookScreen(/** @type {any} */ context) {
  const { args, keys, back, up, leaving } = context;
  const screen = new WebhookScreen(context);
  await screen.read();
  // A list that stays gets the focus back after a dialog.
  const rests = () => document.hidden || document.querySelector("dialog[open]");
  const refresh = () => !rests() && screen.read(true).catch(() => {});
  const timer = setInterval(refresh, REFRESH_MS);
  leaving(() => clearInterval(timer));
  keys({ Escape: () => back("settings") });
  const list = h("a", { href: up("settings") }, "Settings");
  return [crumbs(list, h("span", { class: "faint mono" }, args[0])), ...screen.parts];
}

class WebhookScreen {
  constructor(/** @type {any} */ { args, signal, go }) {
    this.id = args[0];
    this.signal = /** @type {AbortSignal} */ (signal);
    this.go = go;
    this.webhook = /** @type {any} */ (null);
    this.deliveries = /** @type {any[]} */ ([]);
    this.title = h("span");
    this.facts = h("div");
    this.list = h("div");
    // A button with another word is the same button, so that it keeps the focus.
    this.pausing = button("Pause", () => this.pause());
  }
  /** The webhook in a notice. */
  get name() {
    return h("b", { dir: "auto" }, short(this.webhook.url, 120));
  }
  get parts() {
    return [
      head(
        this.title,
        button("Send a test", () => this.test(), { class: "primary" }),
        button("Change", () => this.change()),
        this.pausing,
        button("Replay…", () => this.replay()),
        button("New secret…", () => this.rotate()),
        button("Delete", () => this.remove(), { class: "danger" }),
      ),
      this.facts,
      h("section", { "aria-label": "Deliveries" }, h("h2", null, "Last deliveries"), this.list),
    ];
  }
  async read(quiet = false) {
    const options = { signal: this.signal, quiet };
    const [webhook, { deliveries }] = await Promise.all([
      call("GET", webhookPath(this.id), options),
      call("GET", webhookPath(this.id, "/deliveries"), options),
    ]);
    this.show(webhook);
    this.deliveries = deliveries;
    update(this.list, deliveries, () => this.listOf());
  }
  show(/** @type {any} */ webhook) {
    this.webhook = webhook;
    update(this.pausing, webhook.paused, () => (webhook.paused ? "Resume" : "Pause"));
    update(this.title, webhook.url, () => short(webhook.url, 200));
    update(this.facts, webhook, () => factsOf(webhook));
  }
  listOf() {
    if (!this.deliveries.length)
      return h(
        "p",
        { class: "faint" },
        "None yet. Send a test to see whether the receiver answers.",
      );
    const heads = ["when", "result", "changes", "took", "answer", "action"];
    const rows = this.deliveries.map((one) => this.rowOf(one));
    return h("div", { class: "cards" }, table("Last deliveries", heads, rows, [2, 3]));
  }
  rowOf(/** @type {any} */ delivery) {
    const { at, test, first_position: first } = delivery;
    const replay = () => this.replay(String(BigInt(first) - 1n));
    return [
      time(at, true),
      resultOf(delivery),
      test ? "test" : count(delivery.changes),
      span(delivery.duration_ms),
      h(
        "span",
        { class: delivery.fault ? "" : "mono", dir: "auto" },
        short(delivery.fault ?? delivery.answer, ANSWER_CHARS),
      ),
      first && button("Replay", replay, { class: "plain", "aria-label": `Replay from ${first}` }),
    ];
  }
  async change() {
    const changed = await changeWebhook(this.webhook);
    if (!changed) return;
    this.show(changed);
    notice(["The webhook to ", this.name, " is saved"], "good");
  }
  async pause() {
    const body = { paused: !this.webhook.paused };
    this.show(await call("PUT", webhookPath(this.id), { body }));
    notice(["The webhook to ", this.name, body.paused ? " is paused" : " delivers again"], "good");
  }
  /** Asks for a test, and waits until it has an end. */
  async test() {
    const nameOf = (/** @type {any} */ one) => `${one.at} ${one.message_id}`;
    const before = new Set(this.deliveries.map(nameOf));
    await call("POST", webhookPath(this.id, "/test"));
    const until = performance.now() + TEST_MS;
    while (performance.now() < until && !this.signal.aborted) {
      await this.read(true);
      const made = this.deliveries.find((one) => one.test && !before.has(nameOf(one)));
      if (made) return notice(testWords(made), made.succeeded ? "good" : "bad");
      await new Promise((resolve) => setTimeout(resolve, TEST_POLL_MS));
    }
    if (!this.signal.aborted) notice("The test was not sent yet. Its result will be in the list.");
  }
  /** Asks from where to deliver again. */
  async replay(position = "") {
    const box = input({ value: position, inputmode: "numeric", pattern: "[0-9]+" });
    const place = field("Position", box, "Each change in a delivery has one.");
    const from = select(
      {
        [OLDEST]: "the oldest stored change",
        after: "the change after a position",
        [LATEST]: "the next change (those not delivered are left out)",
      },
      { value: position ? "after" : OLDEST },
    );
    const choose = () => {
      place.hidden = from.value !== "after";
      box.required = !place.hidden;
    };
    from.addEventListener("change", choose);
    choose();
    const text =
      "Changes that the receiver got already are sent once more. " +
      "A webhook that the server paused continues.";
    const moved = await dialog(
      "Deliver from another place?",
      [field("From", from), place, h("p", null, text)],
      {
        label: "Replay",
        work: () => {
          const cursor = from.value === "after" ? box.value.trim() : from.value;
          const pairs = new URLSearchParams({ cursor });
          return call("POST", `${webhookPath(this.id, "/replay")}?${pairs}`);
        },
      },
    );
    if (!moved) return;
    this.show(moved);
    const what = moved.paused ? " begins there once you resume it" : " delivers from there";
    notice(["The webhook to ", this.name, what], "good");
  }
  async rotate() {
    const text =
      "The receiver has to know the new one. For 24 hours each delivery is signed with both, " +
      "then with the new one only.";
    const made = await dialog("Make a new secret?", h("p", null, text), {
      label: "Make a new secret",
      work: () => call("POST", webhookPath(this.id, "/rotate-secret")),
    });
    if (made) await showWebhookSecret("The new secret", made);
  }
  async remove() {
    const text = [
      h("b", { dir: "auto" }, short(this.webhook.url, 120)),
      " gets no more changes. The list of its deliveries goes, too. This cannot be undone.",
    ];
    const done = await dialog("Delete this webhook?", h("p", null, text), {
      label: "Delete the webhook",
      kind: "danger",
      work: () => call("DELETE", webhookPath(this.id)),
    });
    if (!done) return;
    notice(["The webhook to ", this.name, " is deleted"], "good");
    this.go("settings");
  }
}

function factsOf(/** @type {any} */ webhook) {
  const why = whyOf(webhook);
  const facts = [
    ["State", [stateOf(webhook), why && h("p", { class: "below" }, why)]],
    ["Follows", followsOf(webhook)],
    ["Sends", webhook.include_record ? "changes, each with its issue or profile" : "changes only"],
    ["Delivered up to", `position ${webhook.cursor}`],
    ["Created", time(webhook.created_at)],
  ];
  return h(
    "dl",
    null,
    facts.map(([name, value]) => [h("dt", null, name), h("dd", null, value)]),
  );
}

/** Whether the receiver took a delivery: the status of its answer, or that there was none. */
const resultOf = (/** @type {any} */ { succeeded, status }) =>
  pill(succeeded ? "succeeded" : "failed", String(status ?? "no answer"));

const testWords = (/** @type {any} */ { succeeded, status, fault, duration_ms: ms }) =>
  succeeded
    ? `The receiver took the test after ${span(ms)}.`
    : `The receiver did not take the test: ${fault ?? `it answered ${status}`}.`;
