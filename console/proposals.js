// What a faulty value most likely means, by the value and by what the server says about it, and the
// way from a text that somebody typed to a value of the entry. Nothing is applied from here.
import { Exact, parse, write } from "./json.js";
import { fieldName } from "./fields.js";

/** Texts that stand for no value. */
const NOTHING =
  /^(n\/?a|none|null|nil|unknown|undefined|unbekannt|keine?|[-.?]+|#(n\/a|div\/0!|[a-z]+[!?]))$/i;
const YES = /^(yes|y|ja|j|oui|s[ií]|true|wahr|1|on|x)$/i;
const NO = /^(no|n|nein|non|false|falsch|0|off)$/i;
/** The languages in which names of countries and languages are looked up. */
const TONGUES = [
  "en",
  "de",
  "fr",
  "es",
  "it",
  "pt",
  "nl",
  "pl",
  "sv",
  "da",
  "nb",
  "fi",
  "cs",
  "tr",
];
/** Codes that a browser has a name for and ISO 3166-1 has not. */
const NO_COUNTRY = new Set("AC CP CQ DG EA EU EZ IC QO TA UN XA XB ZZ".split(" "));
/** Names that no list of a browser has. */
const OTHER_COUNTRIES = [
  ["england scotland wales greatbritain", "GB"],
  ["america unitedstatesofamerica", "US"],
  ["holland", "NL"],
];

const isMap = (/** @type {any} */ value) =>
  value !== null && typeof value === "object" && !(value instanceof Exact);
/** The only member of a map, if that is a text: an identity is one. @param {any} value */
function alone(value) {
  const members = isMap(value) && !Array.isArray(value) ? Object.entries(value) : [];
  return members.length === 1 && typeof members[0][1] === "string" ? members[0] : null;
}

/** A value as the text that somebody edits; that of an identity is its text. @param {any} value */
export function textOf(value) {
  if (value === undefined || value === null) return "";
  if (typeof value === "string") return value;
  if (Array.isArray(value) && value.every((item) => typeof item === "string" && !/,/.test(item)))
    return value.join(", ");
  return alone(value)?.[1] ?? write(value);
}
/**
 * A value as people read it. A value that is not there has no text.
 * @param {any} value @returns {string}
 */
export function shownOf(value) {
  if (Array.isArray(value) && value.length && value.every(alone))
    return value.map(shownOf).join(", ");
  const member = alone(value);
  return member ? `${fieldName(member[0])} ${member[1]}` : textOf(value);
}

/** What the server expects in the place of a fault. @param {{code?:string, detail:string}} fault */
export function wantedBy({ code, detail }) {
  const not = /^(?:column ".*": )?".*" is not (a number|a whole number|true or false|a time)/s;
  const words = not.exec(detail)?.[1] ?? detail.replace(/^.*?must be /, "");
  if (/^a string or a number/.test(words)) return "either";
  if (/^(a|an) (whole )?(number|integer)\b/.test(words)) return "number";
  if (/^true or false/.test(words)) return "boolean";
  if (/^an array of strings/.test(words)) return "texts";
  if (/^(an array|a map)/.test(words)) return "json";
  if (/Unix milliseconds|ISO 8601/.test(detail) && code !== "unknown_country") return "time";
  return "text";
}

/**
 * The value that a text is in the place of a fault; undefined if the field is left out.
 * @param {string} text @param {any} fault @param {any} now the value that is there
 */
export function valueOf(text, fault, now) {
  const plain = text.trim();
  if (plain === "") return undefined;
  // A profile without an identity gets the one that is typed.
  if (fault.pointer === "/identities" && !plain.startsWith("["))
    return [plain.includes("@") ? { email: plain } : { uid: plain }];
  const wanted = wantedBy(fault);
  if ((wanted === "number" || wanted === "time") && /^-?(0|[1-9]\d*)(\.\d+)?$/.test(plain))
    return String(Number(plain)) === plain ? Number(plain) : new Exact(plain);
  if (wanted === "boolean" && /^(true|false)$/i.test(plain)) return plain.toLowerCase() === "true";
  if (wanted === "texts" && !plain.startsWith("[")) return listOf(plain);
  if (wanted === "texts" || wanted === "json" || (isMap(now) && !alone(now))) {
    try {
      return parse(plain);
    } catch {
      return plain;
    }
  }
  const member = alone(now);
  return member ? { [member[0]]: plain } : plain;
}
const listOf = (/** @type {string} */ text) =>
  text
    .split(/[,;|]/)
    .map((part) => part.trim())
    .filter(Boolean);

/**
 * The likely replacement of a faulty value: a text, or that the field is left out; or null.
 * @param {any} value @param {{code:string, detail:string, pointer?:string}} fault
 * @returns {{text:string}|{leave:true}|null}
 */
export function proposalOf(value, fault) {
  const text = textOf(value).trim();
  const near = /(?:the nearest one is|did you mean) "?([^"?,]+?)"?(?:\?|\.|,|;| or |$)/.exec(
    fault.detail,
  );
  if (NOTHING.test(text)) return { leave: true };
  const found = likely(text, value, fault) ?? near?.[1];
  return found !== undefined && found !== null && found !== textOf(value)
    ? { text: found }
    : sameAs(value, found);
}
/** A text that only changes its type, as "30" to 30. @param {any} value @param {any} found */
const sameAs = (value, found) =>
  typeof value === "string" && found === value ? { text: found } : null;

/** @returns {string|null|undefined} */
function likely(
  /** @type {string} */ text,
  /** @type {any} */ value,
  /** @type {{code:string, detail:string, pointer?:string}} */ fault,
) {
  if (fault.code === "unknown_country") return countryOf(text);
  if (fault.code === "unknown_language") return languageOf(text);
  if (/\/email\b/.test(fault.pointer ?? "") || (isMap(value) && "email" in value))
    return addressOf(text);
  if (fault.code !== "wrong_type" && fault.code !== "out_of_range") return null;
  const wanted = wantedBy(fault);
  if (wanted === "number") return numberOf(text, fault.detail);
  if (wanted === "boolean") return YES.test(text) ? "true" : NO.test(text) ? "false" : null;
  if (wanted === "texts" && typeof value === "string") return listOf(text).join(", ");
  if (wanted === "time") return dayOf(text);
  if (wanted === "text" && /\bstring\b/.test(fault.detail) && !isMap(value)) return text;
  return null;
}

/** An address with its signs written in words. */
function addressOf(/** @type {string} */ text) {
  const plain = text
    .replace(/^<?mailto:/i, "")
    .replace(/\s*[([{]\s*(at|ät)\s*[)\]}]\s*|\s+at\s+/gi, "@")
    .replace(/\s*[([{]\s*(dot|punkt)\s*[)\]}]\s*|\s+dot\s+/gi, ".")
    .replace(/\s+/g, "")
    .replace(/^[<"']+|[>"',.;]+$/g, "");
  return /^[^@]+@[^@]+\.[^@]+$/.test(plain) && plain !== text ? plain : null;
}

/** The only number of a text, if it is within the bounds that the server names. */
function numberOf(/** @type {string} */ text, /** @type {string} */ detail) {
  if (/^-?\d+\.\d{3}$/.test(text) && wantedBy({ detail }) === "number") return text;
  const all = text.match(/-?\d[\d.,'’\s]*/g) ?? [];
  if (all.length !== 1) return null;
  let digits = all[0].replace(/[\s'’]/g, "").replace(/[.,]+$/, "");
  // The last sign before one or two digits begins the fraction; others stand between thousands.
  const parts = /^(-?[\d.,]*?)(?:[.,](\d{1,2}))?$/.exec(digits);
  const whole = parts?.[1] ?? "";
  if (/[.,]/.test(whole) && !/^-?\d{1,3}([.,]\d{3})+$/.test(whole)) return null;
  digits = String(Number(whole.replace(/[.,]/g, "") + (parts?.[2] ? `.${parts[2]}` : "")));
  const [, from, to] = /from (-?\d+) to (\d+)/.exec(detail) ?? [];
  const inside =
    from === undefined || (Number(digits) >= Number(from) && Number(digits) <= Number(to));
  return digits !== "NaN" && inside ? digits : null;
}

/** A day in the form of ISO 8601, if its order is clear. */
function dayOf(/** @type {string} */ text) {
  const two = (/** @type {string} */ n) => n.padStart(2, "0");
  const time = /[ T]+(\d{1,2}):(\d{2})(?::\d{2})?$/.exec(text);
  const day = text.replace(/[ T]+\d{1,2}:\d{2}(:\d{2})?$/, "");
  const clock = time ? `T${two(time[1])}:${time[2]}:00Z` : "";
  const first = /^(\d{4})[./-](\d{1,2})[./-](\d{1,2})$/.exec(day);
  if (first) return `${first[1]}-${two(first[2])}-${two(first[3])}${clock}`;
  const last = /^(\d{1,2})([./-])(\d{1,2})\2(\d{4})$/.exec(day);
  if (!last) return null;
  const [, a, sign, b, year] = last;
  if (sign === "." || Number(a) > 12) return `${year}-${two(b)}-${two(a)}${clock}`;
  return Number(b) > 12 ? `${year}-${two(a)}-${two(b)}${clock}` : null;
}

const plainOf = (/** @type {string} */ text) =>
  text
    .normalize("NFD")
    .replace(/\p{M}/gu, "")
    .toLowerCase()
    .replace(/[^\p{L}]/gu, "");

/** The codes of countries or languages by their names, made when one is looked up. */
const names = /** @type {Record<string, Map<string, string>>} */ ({});
function namesOf(/** @type {"region"|"language"} */ type) {
  if (names[type]) return names[type];
  const found = (names[type] = /** @type {Map<string, string>} */ (new Map()));
  const letters = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZ"];
  const codes = letters
    .flatMap((a) => letters.map((b) => a + b))
    .filter((code) => {
      if (type === "language")
        return new Intl.Locale(code.toLowerCase()).language === code.toLowerCase();
      return new Intl.Locale(`und-${code}`).region === code && !NO_COUNTRY.has(code);
    });
  for (const tongue of TONGUES) {
    const shown = new Intl.DisplayNames([tongue], { type, fallback: "none" });
    for (const code of codes) {
      const name = shown.of(type === "language" ? code.toLowerCase() : code);
      if (!name) continue;
      const plain = plainOf(name);
      if (!found.has(plain)) found.set(plain, code);
      if (tongue === "en") found.set(code.toLowerCase(), code);
    }
  }
  if (type === "region")
    for (const [words, code] of OTHER_COUNTRIES)
      for (const word of words.split(" ")) found.set(word, code);
  return found;
}

/** The code of a country: of its name in some language, or the end of a tag such as de_AT. */
function countryOf(/** @type {string} */ text) {
  const end = /^[a-z]{2}[-_]([a-z]{2})$/i.exec(text)?.[1];
  return namesOf("region").get(plainOf(end ?? text)) ?? null;
}
/** The code of a language: of its name in some language, or of the first word. */
function languageOf(/** @type {string} */ text) {
  const all = namesOf("language");
  const code = all.get(plainOf(text)) ?? all.get(plainOf(text.split(/[\s(,;/_-]+/)[0] ?? ""));
  return code?.toLowerCase() ?? null;
}
