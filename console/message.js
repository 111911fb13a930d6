// One message or note of a conversation: who wrote it and when, its text, and its files. A text in
// HTML is shown as what it means, or as it was sent.
import { base, v1 } from "./api.js";
import { short, size, time } from "./format.js";
import { isHtml, read } from "./html.js";
import { button } from "./ui.js";
import { fill, h } from "./view.js";

/** Characters of a message that are shown at first. */
const SHOWN = 4000;
/** The elements of the page by the names of the tree. */
const ELEMENTS = /** @type {Record<string, [string, any]>} */ ({
  heading: ["div", { class: "heading" }],
  pre: ["pre", null],
});

/**
 * A text with each place marked that has the words searched for. As for the server, they are one
 * text, and case does not count.
 * @param {string} text @param {string[]} hits
 */
export function marked(text, hits) {
  const wanted = hits.filter(Boolean).map((hit) => hit.replace(/[.*+?^${}()|[\]\\/-]/g, "\\$&"));
  if (!wanted.length) return [text];
  // Every second part is what a group of the pattern found.
  const parts = text.split(new RegExp(`(${wanted.join("|")})`, "gi"));
  return parts.map((part, at) => (at % 2 ? h("mark", { class: "hit" }, part) : part));
}

/** @param {(import("./html.js").Part|string)[]} parts @param {string[]} hits @returns {any[]} */
const elementsOf = (parts, hits) =>
  parts.map((part) => {
    if (typeof part === "string") return marked(part, hits);
    const { name, href, of } = part;
    const inner = elementsOf(of, hits);
    if (name !== "a") {
      const [tag, props] = ELEMENTS[name] ?? [name, null];
      return h(tag, props, inner);
    }
    if (!href) return h("span", null, inner);
    const link = { href, title: href, target: "_blank", rel: "noopener noreferrer" };
    return h("a", link, inner);
  });

/** The text of a message: its beginning, with the rest on demand. */
class Body {
  constructor(/** @type {string} */ text, /** @type {string[]} */ hits) {
    this.text = text;
    this.hits = hits;
    this.isHtml = isHtml(text);
    this.asSent = false;
    this.most = SHOWN;
    this.element = h("div");
    this.toggle = h("button", {
      type: "button",
      class: "plain",
      "aria-pressed": "false",
      onclick: () => {
        this.asSent = !this.asSent;
        this.toggle.setAttribute("aria-pressed", String(this.asSent));
        this.draw();
      },
    });
    this.toggle.append("As sent");
    this.draw();
  }
  draw() {
    const { text, hits, most } = this;
    const rich = this.isHtml && !this.asSent;
    const { nodes, breaks, whole } = rich
      ? read(text, most)
      : { nodes: [text.slice(0, most)], breaks: true, whole: text.length <= most };
    const kind = rich ? (breaks ? "rich breaks" : "rich") : "";
    const all = `Show all ${text.length} characters`;
    fill(
      this.element,
      h("div", { class: `text ${kind}`, dir: "auto" }, elementsOf(nodes, hits)),
      !whole && button(all, () => this.showAll(), { class: "plain" }),
    );
  }
  showAll() {
    this.most = Infinity;
    this.draw();
  }
}

function attachment(/** @type {any} */ file) {
  const id = /\/v1\/[^/]+\/attachments\/([^/?#]+)$/.exec(file.url ?? "")?.[1];
  const href = id ? base + v1(`attachments/${id}`) : file.url;
  const length = file.size ? ` · ${size(Number(file.size))}` : "";
  const label = `${file.file_name ?? file.name ?? "file"}${length}`;
  return h(
    "a",
    id
      ? { href, download: file.file_name ?? "" }
      : { href, target: "_blank", rel: "noopener noreferrer" },
    label,
  );
}

/** Whose a message is: the class of its place, and a word for those who do not see it. */
const sideOf = (/** @type {any} */ item) =>
  item.isNote
    ? ["note", "private note"]
    : item.origin === "end-user"
      ? ["theirs", "author"]
      : ["ours", "agent"];

/** @param {any} item @param {string[]} hits */
export function messageOf(item, hits) {
  const [side, word] = sideOf(item);
  const author = item.author ?? {};
  const body = new Body(String(item.body ?? ""), hits);
  return h(
    "article",
    { class: `message ${side}` },
    h(
      "header",
      { class: "row spread" },
      h(
        "span",
        null,
        h("b", { dir: "auto" }, short(author.name || author.emails?.[0] || "Author unknown", 100)),
        h("span", { class: "faint" }, ` · ${word}`),
      ),
      h(
        "span",
        { class: "row" },
        body.isHtml && body.toggle,
        h("span", { class: "faint" }, time(item.created_at)),
      ),
    ),
    body.element,
    item.attachments?.length > 0 &&
      h("div", { class: "row files" }, item.attachments.map(attachment)),
  );
}
