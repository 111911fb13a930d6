// How a file is read, where the server cannot know it: behind "More options", except for those that
// the preview or a refusal asks for.
import { field, input, select } from "./ui.js";
import { h } from "./view.js";

const ENCODINGS = {
  "": "found by itself (UTF-8 or UTF-16)",
  "windows-1252": "Western Europe (Windows-1252)",
  "iso-8859-15": "Western Europe with € (ISO 8859-15)",
  "windows-1250": "Central Europe (Windows-1250)",
  "windows-1251": "Cyrillic (Windows-1251)",
  "windows-1253": "Greek (Windows-1253)",
  "windows-1254": "Turkish (Windows-1254)",
  "windows-1255": "Hebrew (Windows-1255)",
  "windows-1256": "Arabic (Windows-1256)",
  shift_jis: "Japanese (Shift JIS)",
  gb18030: "Chinese (GB 18030)",
  big5: "Chinese (Big5)",
  "euc-kr": "Korean (EUC-KR)",
  "utf-16le": "UTF-16, little endian",
  "utf-16be": "UTF-16, big endian",
};
const DELIMITERS = {
  "": "found by itself",
  comma: "comma",
  semicolon: "semicolon",
  tab: "tab",
  bar: "bar |",
};
const FAULTY = { "": "fails its entry", leave_out: "is left out, with a warning" };
/** The options that a refusal of the server names. */
const WORDS = /** @type {[string, RegExp][]} */ ([
  ["encoding", /\bencoding\b/],
  ["sheet", /\bsheet\b/],
  ["delimiter", /\bdelimiter\b/],
]);

/**
 * The names of the options that a preview or a refusal asks for.
 * @param {any} found @returns {string[]}
 */
export function needed(found) {
  if (!found) return [];
  if (!found.entries)
    return WORDS.filter(([, word]) => word.test(found.message)).map(([one]) => one);
  const has = (/** @type {string} */ code) =>
    found.entries.some((/** @type {any} */ entry) =>
      entry.warnings.some((/** @type {any} */ one) => one.code === code),
    );
  return [has("no_offset") ? "timezone" : "", has("looks_like_list") ? "separator" : ""].filter(
    Boolean,
  );
}

const zone = () => Intl.DateTimeFormat().resolvedOptions().timeZone;

export class OptionFields {
  constructor(
    /** @type {import("./upload.js").Chosen} */ { options },
    /** @type {()=>void} */ changed,
  ) {
    const bind = (/** @type {string} */ name, /** @type {any} */ make, /** @type {any} */ of) => {
      const element = make(of, {
        value: options[name] ?? "",
        onchange: () => {
          options[name] = element.value;
          changed();
        },
      });
      return element;
    };
    const text = (/** @type {any} */ of, /** @type {any} */ props) => input({ ...of, ...props });
    this.timezone = bind("timezone", text, { placeholder: "UTC" });
    this.fields = /** @type {Record<string, any>} */ ({
      encoding: field("Encoding of the text", bind("encoding", select, ENCODINGS)),
      delimiter: field("Sign between two cells", bind("delimiter", select, DELIMITERS)),
      separator: field(
        "Sign between two values in one cell, such as tags",
        bind("separator", text, { placeholder: "|" }),
      ),
      timezone: field(
        "Time zone of times that name none",
        this.timezone,
        `Such as ${zone()}, which is yours.`,
      ),
      faulty_fields: field("A field that is wrong", bind("faulty_fields", select, FAULTY)),
      null: field(
        "A cell that empties its field has",
        bind("null", text, { placeholder: "nothing" }),
      ),
      sheet: field("Sheet of a workbook", bind("sheet", text, { placeholder: "the first one" })),
    });
    /** Those that the file needs. They stay there once it needed them. */
    this.wanted = h("div", { class: "columns" });
    this.element = h(
      "div",
      { class: "options" },
      this.wanted,
      h(
        "details",
        null,
        h("summary", null, "More options"),
        h("div", { class: "columns" }, Object.values(this.fields)),
      ),
    );
  }
  /** Chooses a value of an option, as somebody would. */
  choose(/** @type {string} */ name, /** @type {string} */ value) {
    const one = this.fields[name].querySelector("select, input");
    one.value = value;
    one.dispatchEvent(new Event("change"));
  }
  /** Shows the options that matter for the format, and those that are needed. */
  show(/** @type {string[]} */ wanted, /** @type {any} */ format = null) {
    const isTable = !format || /csv|xlsx/.test(format.type);
    for (const [name, element] of Object.entries(this.fields)) {
      const of = {
        delimiter: isTable,
        separator: isTable,
        null: isTable,
        sheet: format?.type === "xlsx",
      };
      const fits = /** @type {Record<string, boolean>} */ (of)[name] ?? true;
      element.hidden = !fits && !wanted.includes(name);
    }
    for (const name of wanted)
      if (this.fields[name].parentElement !== this.wanted) this.wanted.append(this.fields[name]);
  }
}
