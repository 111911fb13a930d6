// The form of a person: every field of the profile, or the profile as JSON if one asks for it. Both
// show the same edits. They are stored in the page until they are saved or discarded.
import { detailOf, fieldName } from "./fields.js";
import { write } from "./json.js";
import { faultList } from "./one_entry.js";
import { CustomFields, Identities, OneValue, Tags } from "./person_controls.js";
import { changesOf, nameOf, patched, profileOf, withField } from "./profile.js";
import { valueAt } from "./pointer.js";
import { things, short } from "./format.js";
import { button, dialog, notice, problem } from "./ui.js";
import { fill, h } from "./view.js";

/** @typedef {import("./person_controls.js").Control} Control */

const TEXT = "A text.";
/** The fields with one value: place, kind, and rule. */
const FIELDS = /** @type {[string, import("./person_controls.js").Kind, string][]} */ ([
  ["last_country", "text", "A name, such as Germany, or a code, such as DE."],
  ["last_city", "text", TEXT],
  ["preferred_language", "text", "A name, such as German, or a code, such as de."],
  ["age", "number", "A number from 0 to 150."],
  ["lifetime_value", "number", "A number, with a point before its fraction."],
  ["user_persona", "text", TEXT],
  ["user_vip_segment", "text", TEXT],
  ["user_support_status", "text", TEXT],
  ["accepted_t_and_c", "choice", "Whether the person accepted the terms and conditions."],
  ["full_privacy_enabled", "choice", "Whether the person wants full privacy."],
  ["last_active_date", "time", "A day and a time in your zone."],
]);
const NAMES = /** @type {[string, string][]} */ ([
  ["full_name", "The whole name, if it is stored as one."],
  ["first_name", TEXT],
  ["last_name", TEXT],
  ["display_name", "The name that others see."],
]);

/**
 * Edits that are not saved: the profile when they began, and as it is to be. `text` is the JSON if
 * it is shown.
 */
export const makeDraft = () => ({
  base: /** @type {any} */ (null),
  next: /** @type {any} */ (null),
  text: /** @type {string|null} */ (null),
  unsent() {
    if (!this.next) return false;
    if (this.text !== null && this.text !== write(this.next, 2)) return true;
    return Object.keys(changesOf(this.base, this.next)).length > 0;
  },
});

export class PersonForm {
  /**
   * @param {any} own @param {ReturnType<typeof makeDraft>} draft
   * @param {{send:(patch:any, dry:boolean)=>Promise<any[]>, saved:()=>void, left:()=>void}} acts
   */
  constructor(own, draft, acts) {
    this.own = own;
    this.draft = draft;
    this.acts = acts;
    // What others changed in the meantime stays.
    draft.next = draft.next ? patched(own, changesOf(draft.base, draft.next)) : own;
    draft.base = own;
    this.controls = /** @type {Map<string, any>} */ (new Map());
    this.body = h("div");
    this.refusal = h("div", { class: "bad", role: "alert" });
    this.switch = button("", () => this.toggle(), { class: "plain" });
    const submit = (/** @type {any} */ event) => {
      event.preventDefault();
      this.preview().catch((error) => fill(this.refusal, problem(error)));
    };
    this.element = h(
      "form",
      { class: "person-form", onsubmit: submit, novalidate: true },
      this.body,
      h(
        "div",
        { class: "form-bar" },
        this.refusal,
        h(
          "div",
          { class: "row" },
          h("button", { type: "submit", class: "primary" }, "Preview the changes"),
          button("Cancel", () => this.cancel()),
          this.switch,
        ),
      ),
    );
    this.draw();
  }
  get next() {
    return this.draft.next;
  }
  put(/** @type {string} */ pointer, /** @type {any} */ value) {
    this.draft.next = withField(this.draft.next, pointer, value);
  }
  /** Whether a place has another value than the stored one. */
  differs(/** @type {string} */ pointer) {
    const text = (/** @type {any} */ of) => write(valueAt(of, pointer) ?? null);
    return text(this.own) !== text(this.next);
  }
  focus() {
    this.body.querySelector("input, textarea")?.focus();
  }
  draw() {
    const { draft } = this;
    this.controls = new Map();
    fill(this.refusal);
    fill(this.switch, draft.text === null ? "Edit as JSON" : "Edit as a form");
    fill(this.body, draft.text === null ? this.fields() : this.json());
  }
  fields() {
    const one = (
      /** @type {string} */ pointer,
      /** @type {import("./person_controls.js").Kind} */ kind,
      /** @type {string} */ rule,
    ) => {
      const name = pointer.slice(pointer.lastIndexOf("/") + 1);
      return this.add(new OneValue(this, pointer, fieldName(name), kind, rule));
    };
    const names = NAMES.map(([name, rule]) => one(`/names/${name}`, "text", rule));
    const identities = "At least one. Each belongs to one profile only.";
    return [
      names,
      this.add(new Identities(this, identities)),
      this.add(new Tags(this, "At most 100 tags of 100 characters.")),
      FIELDS.map(([name, kind, rule]) => one(`/${name}`, kind, rule)),
      new CustomFields(this).element,
    ];
  }
  add(/** @type {Control} */ control) {
    this.controls.set(control.pointer, control);
    return control.element;
  }
  json() {
    const { draft } = this;
    const text = h("textarea", {
      rows: 24,
      class: "mono",
      spellcheck: "false",
      "aria-label": "Profile as JSON",
      value: draft.text,
    });
    const said = h("p", { class: "bad", role: "status" });
    const typed = () => {
      draft.text = text.value;
      try {
        draft.next = profileOf(text.value);
        fill(said);
      } catch (error) {
        fill(said, /** @type {any} */ (error).message);
      }
    };
    text.addEventListener("input", typed);
    return [h("p", { class: "faint" }, "A field that you remove is removed."), text, said];
  }
  /** Shows the other view of the same edits. */
  toggle() {
    const { draft } = this;
    const wrong = this.wrong();
    if (wrong) return wrong.focus();
    if (draft.text === null) draft.text = write(draft.next, 2);
    else {
      draft.next = profileOf(draft.text);
      draft.text = null;
    }
    this.draw();
    return this.focus();
  }
  /** The first field whose text is no value of its kind. */
  wrong() {
    return [...this.controls.values()].find((control) => control.local);
  }
  async cancel() {
    const { draft } = this;
    if (draft.unsent() || this.wrong()) {
      const text = h("p", null, "What you changed here is not saved.");
      const action = { label: "Discard the changes", kind: "danger", work: () => true };
      if (!(await dialog("Discard your changes?", text, action))) return;
    }
    this.end();
    this.acts.left();
  }
  end() {
    Object.assign(this.draft, { base: null, next: null, text: null });
  }
  /** Tries the edits, shows what they change, and saves them. */
  async preview() {
    const { draft, acts } = this;
    fill(this.refusal);
    const wrong = this.wrong();
    if (wrong) return wrong.focus();
    if (draft.text !== null) draft.next = profileOf(draft.text);
    const patch = changesOf(this.own, draft.next);
    const changes = this.changesOf(patch);
    if (!changes.length) return notice("Nothing is saved: no field was changed");
    const faults = await acts.send(patch, true);
    if (faults.length) return this.show(faults);
    const rows = changes.map(([label, before, after]) => [
      h("dt", null, label),
      h("dd", { dir: "auto" }, h("del", null, before), " → ", h("ins", null, after)),
    ]);
    let refused = /** @type {any[]} */ ([]);
    const done = await dialog("Save these changes?", h("dl", { class: "preview" }, rows), {
      label: `Save ${things(changes.length, "change")}`,
      kind: "primary",
      work: async () => {
        refused = await acts.send(patch, false);
        return true;
      },
    });
    if (!done) return null;
    if (refused.length) return this.show(refused);
    this.end();
    notice(
      [
        h("b", { dir: "auto" }, short(nameOf(patched(this.own, patch)), 80)),
        `: ${things(changes.length, "change")} saved`,
      ],
      "good",
    );
    return acts.saved();
  }
  /** The changes of a patch, one for each field. @param {any} patch @returns {string[][]} */
  changesOf(patch) {
    return Object.entries(patch).flatMap(([name, value]) => {
      const isMap = name === "names" || name === "custom_fields";
      const inside = isMap ? (value ?? this.own[name]) : null;
      if (!inside) return [[fieldName(name), shown(this.own[name]), shown(value)]];
      return Object.keys(inside).map((key) => [
        fieldName(`${name}.${key}`),
        shown(this.own[name]?.[key]),
        shown(value?.[key]),
      ]);
    });
  }
  /** Shows faults at their fields, the others above the buttons. @param {any[]} faults */
  show(faults) {
    const others = [];
    let first = /** @type {any} */ (null);
    for (const control of this.controls.values()) control.say("");
    for (const fault of faults) {
      const pointer = fault.pointer ?? "";
      const control = [...this.controls.values()].find(
        (one) => pointer === one.pointer || pointer.startsWith(`${one.pointer}/`),
      );
      if (!control) others.push(fault);
      else {
        const at = /^\/\w+\/(\d+)/.exec(pointer)?.[1];
        if (at && "sayAt" in control) control.sayAt(Number(at), capital(detailOf(fault)));
        else control.say(capital(detailOf(fault)));
        first ??= control;
      }
    }
    const number = things(faults.length, "fault");
    fill(
      this.refusal,
      h("p", null, `Nothing was saved: the server found ${number}.`),
      others.length > 0 && faultList(others),
    );
    (this.element.querySelector("[aria-invalid]") ?? first)?.focus();
  }
}

const capital = (/** @type {string} */ text) => text.slice(0, 1).toUpperCase() + text.slice(1);

/** A value of a profile as people read it. @param {any} value @returns {string} */
function shown(value) {
  if (value === undefined || value === null) return "nothing";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (!Array.isArray(value)) return short(typeof value === "string" ? value : write(value), 300);
  const words = value.map((one) =>
    one !== null && typeof one === "object"
      ? Object.entries(one)
          .map(([name, text]) => `${fieldName(name)} ${text}`)
          .join(", ")
      : String(one),
  );
  return words.length ? short(words.join("; "), 300) : "nothing";
}
