// What the list of webhooks and the page of one share: the state and the choice of changes in
// words, and the form in which a webhook is made or changed.
import { call, v1 } from "./api.js";
import { ACTION_OPTIONS, KIND_OPTIONS } from "./change_words.js";
import { count, short, things, time } from "./format.js";
import { showSecret } from "./secret.js";
import { dialog, field, input, pill, table } from "./ui.js";
import { h } from "./view.js";

const SECRET_USE =
  "It is shown only now. The receiver checks the signature of each delivery with it.";
const NO_LIMIT = "If you choose none, all are followed.";

/** The path of a webhook, or of one of its calls. @param {string} id @param {string} [rest] */
export const webhookPath = (id, rest = "") => v1(`webhooks/${encodeURIComponent(id)}${rest}`);

/** Whether the changes arrive, as a word with its colour. */
export function stateOf(/** @type {any} */ { paused, pause_reason: reason, failures }) {
  if (paused) return pill(reason ? "failed" : "paused", "paused");
  return failures > 0 ? pill("cancelled", "retrying") : pill("active", "delivering");
}

/** Which changes a webhook follows. */
export function followsOf(/** @type {any} */ { resources, actions }) {
  const kinds = resources
    .map((/** @type {string} */ one) => (KIND_OPTIONS[one] ?? one).toLowerCase())
    .join(", ");
  if (!actions.length) return kinds || "all changes";
  return `${kinds || "everything"}: only ${actions.join(", ")}`;
}

/** The webhooks as a table; each leads to its page. */
export function webhooksTable(/** @type {any[]} */ webhooks) {
  const row = (/** @type {any} */ webhook) => [
    h("a", { href: `#/webhook/${encodeURIComponent(webhook.id)}` }, short(webhook.url, 100)),
    followsOf(webhook),
    h(
      "div",
      null,
      stateOf(webhook),
      webhook.pause_reason && h("div", { class: "faint" }, webhook.pause_reason),
    ),
    webhook.failures > 0 && count(webhook.failures),
    webhook.next_try_at && time(webhook.next_try_at, true),
  ];
  const heads = ["address", "follows", "state", "failed attempts", "next try"];
  return h("div", { class: "cards" }, table("Webhooks", heads, webhooks.map(row)));
}

/** Shows the secret of a webhook. */
export const showWebhookSecret = (/** @type {string} */ title, /** @type {any} */ { secret }) =>
  showSecret(title, secret, SECRET_USE);

/** Asks for a new webhook, makes it, and shows its secret. */
export async function newWebhook(/** @type {(path:string)=>void} */ go) {
  const form = new WebhookForm();
  const made = await dialog("New webhook", form.parts, {
    label: "Create the webhook",
    work: () => call("POST", v1("webhooks"), { body: form.body() }),
  });
  if (!made) return;
  await showWebhookSecret("The secret of the webhook", made);
  go(`webhook/${encodeURIComponent(made.id)}`);
}

/** Asks for other settings of a webhook. Returns it as it is then, or null. */
export function changeWebhook(/** @type {any} */ webhook) {
  const form = new WebhookForm(webhook);
  return dialog("Change this webhook", form.parts, {
    label: "Save",
    work: () => call("PUT", webhookPath(webhook.id), { body: form.body() }),
  });
}

/** The settings of a webhook. */
class WebhookForm {
  constructor(
    /** @type {any} */ { url, resources, actions, include_record: whole } = {
      url: "",
      resources: [],
      actions: [],
      include_record: false,
    },
  ) {
    this.url = input({ type: "url", required: true, value: url });
    this.resources = new Choices("Changes of", KIND_OPTIONS, resources);
    this.actions = new Choices("Only if something was", ACTION_OPTIONS, actions);
    this.whole = h("input", { type: "checkbox", checked: whole });
  }
  get parts() {
    const hint = "the receiver: the server posts each change there as JSON";
    return [
      field("Address", this.url, hint),
      this.resources.element,
      this.actions.element,
      h("p", { class: "faint" }, NO_LIMIT),
      h("label", { class: "check" }, this.whole, "Send the issue or profile along"),
    ];
  }
  body() {
    return {
      url: this.url.value,
      resources: this.resources.chosen,
      actions: this.actions.chosen,
      include_record: this.whole.checked,
    };
  }
}

/** Boxes of which any number may be checked. */
class Choices {
  /** @param {string} title @param {Record<string, string>} options @param {string[]} chosen */
  constructor(title, options, chosen) {
    this.boxes = Object.keys(options).map((value) =>
      h("input", { type: "checkbox", value, checked: chosen.includes(value) }),
    );
    const labels = this.boxes.map((box) => h("label", { class: "check" }, box, options[box.value]));
    this.element = h("fieldset", { class: "checks" }, h("legend", null, title), labels);
  }
  get chosen() {
    return this.boxes.filter((box) => box.checked).map((box) => box.value);
  }
}

/** Why a webhook is in its state, and what follows. */
export function whyOf(/** @type {any} */ { paused, pause_reason: reason, failures, next_try_at }) {
  if (reason) return `The server paused it: ${reason}. Resume it once the receiver is ready.`;
  if (paused) return "Nothing is sent. Resume it to send the changes that it missed.";
  if (!failures) return null;
  return [
    `The receiver did not take the next changes: ${things(failures, "failed attempt")}. `,
    next_try_at && ["They are sent again at ", time(next_try_at, true), "."],
  ];
}
