// What is written into an issue: a reply or a note, with its author and, for a reply, its files.
// The texts and files are a draft of the page until they are sent.
import { Refusal, call, send, v1 } from "./api.js";
import { draftOf } from "./drafts.js";
import { size } from "./format.js";
import { button, refused, select } from "./ui.js";
import { fill, h } from "./view.js";

const ONLY_AGENTS = "Only agents send files: choose one.";
const MODES = /** @type {const} */ (["reply", "note"]);
/** @typedef {typeof MODES[number]} Mode */

/** A reply and a note that are not sent yet: the fields with their text, and the choices. */
function makeDraft() {
  const reply = h("textarea", {
    rows: 4,
    "aria-label": "Reply",
    placeholder: "Write a reply  ( r )",
  });
  const note = h("textarea", {
    rows: 4,
    "aria-label": "Private note",
    placeholder: "Write a private note  ( n )",
  });
  return {
    reply,
    note,
    files: /** @type {File[]} */ ([]),
    mode: /** @type {Mode} */ ("reply"),
    as: "",
    unsent() {
      return Boolean(reply.value || note.value || this.files.length);
    },
  };
}

export class Compose {
  /**
   * @param {string} id of the issue @param {Record<string, string>} agents names by id
   * @param {()=>void} reload shows the issue again
   */
  constructor(id, agents, reload) {
    this.id = id;
    this.agents = agents;
    this.reload = reload;
    this.draft = draftOf(`issue/${id}`, makeDraft);
    this.area = h("div");
    this.files = h("ul", { class: "row attached", "aria-label": "Files to send" });
    this.element = h(
      "section",
      { class: "compose", "aria-label": "Write", onpaste: this.pasted },
      this.switchOf(),
      this.area,
      this.files,
    );
    this.sends = button("Send the reply", () => this.sendReply(false), { class: "primary" });
    this.resolves = button("Send and resolve", () => this.sendReply(true));
    this.adds = button("Add the note", () => this.addNote(), { class: "primary" });
    this.tools = this.toolsOf();
    this.element.append(this.tools);
    this.element.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
      if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      (this.draft.mode === "note" ? this.adds : this.sends).click();
    });
    this.show(this.draft.mode);
    this.drawFiles();
  }
  /** The switch between a reply and a note. */
  switchOf() {
    this.switches = MODES.map((mode) =>
      h(
        "button",
        { type: "button", onclick: () => this.write(mode) },
        mode === "note" ? "Note" : "Reply",
      ),
    );
    return h(
      "div",
      { class: "switch", role: "group", "aria-label": "What to write" },
      this.switches,
    );
  }
  toolsOf() {
    const { agents, draft } = this;
    const as = select(
      { "": "the desk", ...agents },
      {
        "aria-label": "Author",
        value: draft.as in agents ? draft.as : "",
        onchange: () => {
          draft.as = as.value;
          this.drawFiles();
        },
      },
    );
    const picker = h("input", {
      type: "file",
      multiple: true,
      class: "hidden",
      onchange: () => {
        this.attach([...picker.files]);
        picker.value = "";
      },
    });
    this.attaches = h("label", { class: "button" }, picker, "Attach files");
    this.only = h("span", { class: "faint" }, "Only agents see it.");
    const hasAgents = Object.keys(agents).length > 0;
    return h(
      "div",
      { class: "row" },
      hasAgents && [h("span", { class: "faint" }, "as"), as],
      this.attaches,
      this.only,
      h("div", { class: "row last" }, this.resolves, this.sends, this.adds),
    );
  }
  /** Shows the field of a reply or a note, and what can be done with it. */
  show(/** @type {Mode} */ mode) {
    const { draft } = this;
    const isNote = mode === "note";
    draft.mode = mode;
    this.switches?.forEach((one, at) =>
      one.setAttribute("aria-pressed", String(MODES[at] === mode)),
    );
    this.element.classList.toggle("note", isNote);
    fill(this.area, draft[mode]);
    for (const one of [this.attaches, this.resolves, this.sends]) one.hidden = isNote;
    this.adds.hidden = this.only.hidden = !isNote;
    this.drawFiles();
  }
  /** Lets somebody write a reply or a note. */
  write(/** @type {Mode} */ mode) {
    this.show(mode);
    this.draft[mode].focus();
  }
  /**
   * Takes files that are dropped on an element.
   * @returns {Record<string, (event:DragEvent)=>void>}
   */
  dropping() {
    const over = (/** @type {boolean} */ on) => this.element.classList.toggle("over", on);
    return {
      ondragover: (event) => {
        if (!event.dataTransfer?.types.includes("Files")) return;
        event.preventDefault();
        over(true);
      },
      ondragleave: () => over(false),
      ondrop: (event) => {
        over(false);
        if (!event.dataTransfer?.files.length) return;
        event.preventDefault();
        this.attach([...event.dataTransfer.files]);
      },
    };
  }
  /** Takes files that are pasted. A text that has a picture of itself with it stays a text. */
  pasted = (/** @type {ClipboardEvent} */ event) => {
    const { clipboardData: data } = event;
    if (!data?.files.length || data.types.includes("text/plain")) return;
    event.preventDefault();
    this.attach([...data.files]);
  };
  /** A note has no files, so they belong to the reply. */
  attach(/** @type {File[]} */ files) {
    this.draft.files.push(...files);
    this.show("reply");
  }
  drawFiles() {
    const { files, mode } = this.draft;
    this.files.hidden = mode === "note" || files.length === 0;
    const remove = (/** @type {number} */ at) => {
      files.splice(at, 1);
      this.drawFiles();
      this.draft.reply.focus();
    };
    fill(
      this.files,
      files.map((file, at) =>
        h(
          "li",
          { class: "chip" },
          h("span", { class: "clip", dir: "auto", title: file.name }, file.name),
          h("span", { class: "faint" }, size(file.size)),
          h(
            "button",
            {
              type: "button",
              class: "plain",
              "aria-label": `Remove ${file.name}`,
              onclick: () => remove(at),
            },
            "×",
          ),
        ),
      ),
      !this.author && h("li", { class: "faint" }, ONLY_AGENTS),
    );
  }
  /** The agent who writes; nothing for the desk. */
  get author() {
    return this.draft.as in this.agents ? this.draft.as : "";
  }
  async sendReply(/** @type {boolean} */ resolve) {
    const { draft, author } = this;
    const { reply, files } = draft;
    const status = resolve ? { status: "resolved" } : {};
    if (files.length && !author)
      throw new Refusal(400, { detail: "the desk sends no files; choose an agent as the author" });
    let left = resolve;
    if (files.length || (author && !resolve)) {
      const form = new FormData();
      form.append("message-body", reply.value);
      form.append("agent-id", author);
      for (const one of files) form.append("attachments", one);
      await send("POST", v1(`issues/${this.id}/messages`), { raw: form });
    } else {
      // Without an agent, a message would be the end user's; the desk writes by an edit. With the
      // state it is one step.
      const by = author ? { action_taken_by: author } : {};
      const body = {
        "issue-ids": [String(this.id)],
        "message-body": reply.value,
        ...by,
        ...status,
      };
      await call("PUT", v1("issues"), { body });
      left = false;
    }
    reply.value = "";
    files.length = 0;
    // The reply is sent, and would be sent again if its text stayed.
    if (left) await call("PUT", v1(`issues/${this.id}`), { body: status }).catch(refused);
    this.reload();
  }
  async addNote() {
    const { note } = this.draft;
    const by = this.author ? { "profile-id": this.author } : {};
    const body = { "note-text": note.value, ...by };
    await call("POST", v1(`issues/${this.id}/private-notes`), { body });
    note.value = "";
    this.reload();
  }
}
