// One issue as a conversation: messages and notes in their order, and what can be changed.
import { Refusal, base, call, can, query, send, v1 } from "./api.js";
import { write } from "./json.js";
import { STATES, at, count, short, size, time } from "./format.js";
import { draftOf } from "./drafts.js";
import { button, crumbs, field, head, input, notice, pill, select, table } from "./ui.js";
import { fill, h } from "./view.js";

const PAGE = 100;
/** So many messages are shown at first, if there are as many. */
const FEWEST = 50;
const SHOWN = 4000;

/** A text of any length, with the rest on demand. */
function long(/** @type {string} */ text) {
  const body = h("div", { class: "text", dir: "auto" }, text.slice(0, SHOWN));
  if (text.length <= SHOWN) return body;
  return [
    body,
    button(`Show all ${text.length} characters`, () => fill(body, text), { class: "plain" }),
  ];
}

function attachment(/** @type {any} */ file) {
  const id = /\/v1\/[^/]+\/attachments\/([^/?#]+)$/.exec(file.url ?? "")?.[1];
  const href = id ? base + v1(`attachments/${id}`) : file.url;
  const label = `${file.file_name ?? file.name ?? "file"}${file.size ? ` · ${size(Number(file.size))}` : ""}`;
  return h(
    "a",
    id
      ? { href, download: file.file_name ?? "" }
      : { href, target: "_blank", rel: "noopener noreferrer" },
    label,
  );
}

function entry(/** @type {any} */ item) {
  const kind = item.isNote ? "note" : item.origin === "end-user" ? "theirs" : "ours";
  const author = item.author ?? {};
  return h(
    "article",
    { class: `message ${kind}` },
    h(
      "header",
      { class: "row spread" },
      h(
        "span",
        null,
        h("b", { dir: "auto" }, short(author.name || author.emails?.[0] || "someone", 100)),
        item.isNote && h("span", { class: "faint" }, " · private note"),
      ),
      h("span", { class: "faint" }, time(item.created_at)),
    ),
    long(String(item.body ?? "")),
    item.attachments?.length > 0 &&
      h("div", { class: "row files" }, item.attachments.map(attachment)),
  );
}

/** The messages of an issue, or its notes: the last ones, and earlier ones when they are wanted. */
class Talk {
  constructor(/** @type {string} */ path, /** @type {string} */ key, /** @type {any} */ signal) {
    this.ask = (/** @type {number} */ page) =>
      call("GET", v1(`${path}?page-size=${PAGE}&page=${page}`), { signal, quiet: true });
    this.key = key;
    this.items = /** @type {any[]} */ ([]);
    /** The page before the first one that was read; 0 if there is none. */
    this.before = 0;
    this.total = 0;
  }
  async begin() {
    const first = await this.ask(1);
    this.total = first["total-hits"];
    this.before = first["total-pages"];
    while (this.before && this.items.length < FEWEST)
      this.put(this.before === 1 ? first : await this.ask(this.before));
    return this;
  }
  async more() {
    this.put(await this.ask(this.before));
  }
  put(/** @type {any} */ page) {
    this.items.unshift(...page[this.key]);
    this.before -= 1;
  }
  /** From when on it has all. */
  get since() {
    return this.before ? (this.items[0]?.created_at ?? Infinity) : -Infinity;
  }
}

export default async function issueScreen(
  /** @type {any} */ { args, signal, keys, back, up, reload },
) {
  const id = args[0];
  const wanted = query({
    includes: ["custom_fields", "feedback", "queue", "meta"],
    excludes: ["messages"],
  });
  const [envelope, messages, notes, agents, { apps }] = await Promise.all([
    call("GET", v1(`issues/${encodeURIComponent(id)}${wanted}`), { signal }),
    new Talk(`issues/${encodeURIComponent(id)}/messages`, "messages", signal).begin(),
    new Talk(`issues/${encodeURIComponent(id)}/private-notes`, "private_notes", signal).begin(),
    can("write")
      ? call("GET", v1("agents?page-size=1000"), { signal, quiet: true })
      : { profiles: [] },
    call("GET", v1("apps"), { signal, quiet: true }),
  ]);
  const issue = envelope.issues ? envelope.issues[0] : envelope;
  if (!issue) throw new Refusal(404, { detail: `there is no issue ${id}` });
  const talk = h("div", { class: "talk" });
  const drawTalk = () => {
    // A note from before the first message shown would hide that other messages are between them.
    const since = Math.max(messages.since, notes.since);
    const all = [
      ...messages.items,
      ...notes.items.map((/** @type {any} */ note) => ({ ...note, isNote: true })),
    ]
      .filter((one) => one.created_at >= since)
      .sort((a, b) => a.created_at - b.created_at);
    const hidden = messages.total + notes.total - all.length;
    fill(
      talk,
      hidden > 0 &&
        button(`Show earlier ones (${count(hidden)} more)`, async () => {
          await Promise.all(
            [messages, notes]
              .filter((one) => one.before && one.since === since)
              .map((one) => one.more()),
          );
          drawTalk();
        }),
      all.map(entry),
      all.length === 0 && h("p", { class: "faint" }, "No messages."),
    );
  };
  drawTalk();
  const edit = async (/** @type {any} */ body) => {
    await call("PUT", v1(`issues/${id}`), { body });
    notice("saved");
    reload();
  };
  const agentOptions = Object.fromEntries(
    agents.profiles.map((/** @type {any} */ agent) => [agent.id, agent.name]),
  );
  const draft = draftOf(`issue/${id}`, makeDraft);
  const { reply, note, file } = draft;
  const as = select(
    { "": "the desk", ...agentOptions },
    {
      "aria-label": "Author",
      value: draft.as in agentOptions ? draft.as : "",
      onchange: () => (draft.as = as.value),
    },
  );
  const tags = input({ value: issue.tags.join(", ") });
  async function sendReply() {
    if (as.value) {
      const form = new FormData();
      form.append("message-body", reply.value);
      form.append("agent-id", as.value);
      for (const one of file.files) form.append("attachments", one);
      await send("POST", v1(`issues/${id}/messages`), { raw: form });
    } else if (file.files.length) {
      throw new Refusal(400, { detail: "the desk sends no files; choose an agent as the author" });
    } else {
      // Without an agent, a message would be the end user's; the desk writes by an edit.
      await call("PUT", v1("issues"), {
        body: { "issue-ids": [String(id)], "message-body": reply.value },
      });
    }
    reply.value = "";
    file.value = "";
    reload();
  }
  async function addNote() {
    await call("POST", v1(`issues/${id}/private-notes`), { body: { "note-text": note.value } });
    note.value = "";
    reload();
  }
  keys({ Escape: () => back("issues"), r: () => reply.focus(), n: () => note.focus() });
  const custom = Object.entries(issue.custom_fields ?? {}).map(([key, value]) => [
    key,
    short(
      /** @type {any} */ (value)?.value !== undefined
        ? text(/** @type {any} */ (value).value)
        : text(value),
      200,
    ),
  ]);
  const facts = [
    [
      "State",
      can("write")
        ? select(STATES, {
            value: issue.state_data.state,
            "aria-label": "State",
            onchange: (/** @type {any} */ event) =>
              edit({ status: event.target.value }).catch(problem),
          })
        : pill(issue.state_data.state),
    ],
    [
      "Assignee",
      can("write")
        ? select(
            {
              unassigned: "nobody",
              ...(issue.assignee_id !== "unassigned" && {
                [issue.assignee_id]: issue.assignee_name,
              }),
              ...agentOptions,
            },
            {
              value: issue.assignee_id,
              "aria-label": "Assignee",
              onchange: (/** @type {any} */ event) =>
                edit({ "assignee-id": event.target.value }).catch(problem),
            },
          )
        : (issue.assignee_name ?? "nobody"),
    ],
    [
      "Author",
      h(
        "span",
        { class: "lines" },
        issue.author_name && h("span", { dir: "auto" }, short(issue.author_name)),
        issue.author_email &&
          h(
            "a",
            { href: `#/people?${new URLSearchParams({ q: issue.author_email })}` },
            short(issue.author_email),
          ),
        !issue.author_name && !issue.author_email && "unknown",
      ),
    ],
    ["App", apps.find((/** @type {any} */ app) => app.id === issue.app_id)?.title ?? issue.app_id],
    ["Queue", issue.queue?.name ?? "none"],
    ["Language", issue.language ?? "unknown"],
    ["Created", time(issue.created_at)],
    ["Updated", time(issue.updated_at)],
    ["State since", time(issue.state_data.changed_at)],
    issue.feedback_rating !== undefined && [
      "Rating",
      `${issue.feedback_rating} of 5${issue.feedback_comment ? `: ${short(issue.feedback_comment, 500)}` : ""}`,
    ],
  ].filter(Boolean);
  const problem = (/** @type {any} */ error) => {
    notice(error.message, "bad");
    reload();
  };
  return [
    crumbs(
      h("a", { href: up("issues") }, "Issues"),
      h("span", { class: "faint mono" }, `#${issue.id}`),
    ),
    head(short(issue.title, 300) || "(without a title)"),
    h(
      "div",
      { class: "conversation" },
      h(
        "div",
        null,
        talk,
        can("write") &&
          h(
            "div",
            { class: "compose" },
            reply,
            h(
              "div",
              { class: "row" },
              agents.profiles.length > 0 && [h("span", { class: "faint" }, "as"), as],
              file,
              button("Send the reply", sendReply, { class: "primary last" }),
            ),
          ),
        can("write") &&
          h(
            "div",
            { class: "compose note" },
            note,
            h(
              "div",
              { class: "row" },
              button("Add the note", addNote),
              h("span", { class: "faint" }, "Only agents see it."),
            ),
          ),
      ),
      h(
        "aside",
        { "aria-label": "Facts" },
        h(
          "dl",
          null,
          facts.map((/** @type {any} */ [name, value]) => [
            h("dt", null, name),
            h("dd", null, value),
          ]),
        ),
        can("write")
          ? h(
              "form",
              {
                onsubmit: (/** @type {any} */ event) => {
                  event.preventDefault();
                  edit({
                    tags: tags.value
                      .split(",")
                      .map((/** @type {string} */ tag) => tag.trim())
                      .filter(Boolean),
                  }).catch(problem);
                },
              },
              field("Tags", tags, "Commas separate them. Enter saves."),
            )
          : h(
              "p",
              null,
              issue.tags.map((/** @type {string} */ tag) => h("span", { class: "tag" }, tag)),
            ),
        custom.length > 0 && [
          h("h2", null, "Custom fields"),
          table("Custom fields", ["key", "value"], custom),
        ],
        h(
          "details",
          null,
          h("summary", null, "as JSON"),
          h("pre", { tabindex: 0 }, write(issue, 2).slice(0, 200000)),
        ),
      ),
    ),
  ];
}

/** A reply and a note that are not sent yet: the fields themselves, with what was written and chosen. */
function makeDraft() {
  const reply = h("textarea", {
    rows: 4,
    "aria-label": "Reply",
    placeholder: "Write a reply  ( r )",
  });
  const note = h("textarea", {
    rows: 2,
    "aria-label": "Private note",
    placeholder: "Write a private note  ( n )",
  });
  const file = h("input", { type: "file", multiple: true, "aria-label": "Attachments" });
  return {
    reply,
    note,
    file,
    as: "",
    unsent: () => Boolean(reply.value || note.value || file.files.length),
  };
}

const text = (/** @type {any} */ value) =>
  typeof value === "string"
    ? value
    : typeof value === "number" && value > 1e11
      ? at(value)
      : write(value);
