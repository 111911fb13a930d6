// What a message in HTML means, as a tree of a few elements and texts. The text of a stranger is
// read by this reader alone and is never given to the browser as markup: what is not in the lists
// here does not get into the tree, and a tree becomes elements by the view layer. It is not a
// parser of the standard. Each character is read once, so that the time is linear.
import { entitiesOf } from "./entities.js";

/**
 * An element of the tree. A text is a string.
 * @typedef {{name:string, href?:string, of:(Part|string)[]}} Part
 */

const listed = (/** @type {string} */ names) => new Set(names.split(" "));

/** Elements by what they become. */
const BLOCKS = new Map([
  ...["p", "blockquote", "ul", "ol", "li", "pre"].map(
    (name) => /** @type {const} */ ([name, name]),
  ),
  ...["h1", "h2", "h3", "h4", "h5", "h6"].map((name) => /** @type {const} */ ([name, "heading"])),
  ...(
    "div section article header footer main aside nav figure figcaption address center form " +
    "fieldset details summary table caption thead tbody tfoot tr dl dt dd menu dir legend body html"
  )
    .split(" ")
    .map((name) => /** @type {const} */ ([name, "div"])),
]);
const INLINES = new Map(
  /** @type {[string, string][]} */ ([
    ["a", "a"],
    ...["b", "strong"].map((name) => [name, "strong"]),
    ...["i", "em", "cite", "dfn", "var"].map((name) => [name, "em"]),
    ...["s", "strike", "del"].map((name) => [name, "s"]),
    ...["code", "tt", "kbd", "samp"].map((name) => [name, "code"]),
    ...["u", "ins"].map((name) => [name, "u"]),
    ...["sub", "sup", "q"].map((name) => [name, name]),
  ]),
);
/** Elements without an end. */
const SINGLES = listed("br hr img");
/** Elements that are left out with all that is in them, up to their end tags. */
const LEFT_OUT = listed(
  "script style title head template noembed noframes iframe xmp object applet",
);
/** Elements whose contents a browser lets run to the end of the text if they do not end before. */
const RAW = listed("script style title iframe xmp noembed noframes");
/** A cell begins after a blank. */
const CELLS = listed("td th option");

/** Known elements, one of which makes a text HTML. Words between angle brackets do not. */
const KNOWN = [
  ...BLOCKS.keys(),
  ...INLINES.keys(),
  ...SINGLES,
  ..."span font small td th".split(" "),
];
const TAG = new RegExp(
  `<(?:/?(?:${KNOWN.join("|")})\\s*/?>|(?:${KNOWN.join("|")})\\s+[a-z][a-z:-]*\\s*=)`,
  "i",
);

/** Elements that are open at one time. Deeper ones are left out, and their contents are not. */
const DEEPEST = 40;
/** A longer address is none. */
const ADDRESS_MAX = 8000;

/** Whether a text is written in HTML. */
export const isHtml = (/** @type {string} */ text) => TAG.test(text);

/**
 * An address that a link may have, in the form in which it was checked; undefined for all others.
 * @param {string|undefined} text
 */
export function addressOf(text) {
  // A browser leaves these characters out, too.
  const address = text?.replace(/[\t\r\n]+/g, "").replace(/^[\0- ]+/, "");
  if (!address || address.length > ADDRESS_MAX) return undefined;
  if (!/^(https?:\/\/|mailto:)/i.test(address)) return undefined;
  try {
    const { protocol, href } = new URL(address);
    return ["http:", "https:", "mailto:"].includes(protocol) ? href : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Reads a text as HTML, to its end or until it showed `most` characters and elements. `breaks` says
 * that its line ends are those of the writer, because it has no element that ends a line.
 * @param {string} text @returns {{nodes:(Part|string)[], breaks:boolean, whole:boolean}}
 */
export function read(text, most = Infinity) {
  const reader = new Reader(text, most);
  reader.read();
  return {
    nodes: reader.root.of,
    breaks: !reader.hasBlocks,
    whole: reader.at >= text.length,
  };
}

/** The letters of a tag's name, and of an attribute's; a value without quotes. */
const NAME = /[a-z][^\s/><]*/iy;
const ATTRIBUTE = /=?[^\s/>=<]*/y;
const VALUE = /[^\s>]*/y;
const BLANK = /[\s/]*/y;
const SPACE = /\s*/y;

class Reader {
  constructor(/** @type {string} */ text, /** @type {number} */ most) {
    this.text = text;
    this.at = 0;
    this.left = most;
    this.root = /** @type {Part} */ ({ name: "", of: [] });
    this.open = /** @type {Part[]} */ ([this.root]);
    /** Open elements that are too deep for the tree, by their names. */
    this.deep = /** @type {Map<string, number>} */ (new Map());
    /** Lists that no tag began, but an item. */
    this.implied = new WeakSet();
    this.hasBlocks = false;
    /** The last place of what a tag or a comment needs to end, so that none is looked for twice. */
    this.lasts = {
      ">": text.lastIndexOf(">"),
      '"': text.lastIndexOf('"'),
      "'": text.lastIndexOf("'"),
    };
    this.endless = new Set();
  }
  get inLink() {
    return this.open.some((one) => one.name === "a" && one.href);
  }
  get top() {
    return this.open[this.open.length - 1];
  }
  read() {
    const { text } = this;
    while (this.at < text.length && this.left > 0) {
      const tag = text.indexOf("<", this.at);
      const end = tag < 0 ? text.length : tag;
      if (end > this.at) {
        // Of a long text only so much is taken as may be shown.
        const until = Math.min(end, this.at + this.left);
        this.say(entitiesOf(text.slice(this.at, until)));
        this.at = until;
      } else this.markup();
    }
  }
  /** What begins with an angle bracket: a tag, a comment, or a text. */
  markup() {
    const { text, at } = this;
    const next = text[at + 1] ?? "";
    if (/[a-z]/i.test(next)) this.tag(at + 1, false);
    else if (next === "/" && /[a-z]/i.test(text[at + 2] ?? "")) this.tag(at + 2, true);
    else if (text.startsWith("<!--", at)) this.comment();
    else if (text.startsWith("<![CDATA[", at)) this.quoted();
    else if (/[!?]/.test(next) && this.lasts[">"] > at) this.at = text.indexOf(">", at) + 1;
    else {
      this.say("<");
      this.at += 1;
    }
  }
  comment() {
    const { text, at } = this;
    const short = /^<!--(-?)>/.exec(text.slice(at, at + 6));
    if (short) this.at = at + short[0].length;
    else this.at = this.after(/--!?>/g, at + 4) ?? text.length;
  }
  /** A part that is a text, whatever it has. */
  quoted() {
    const begin = this.at + 9;
    const end = this.text.indexOf("]]>", begin);
    this.say(this.text.slice(begin, end < 0 ? undefined : end));
    this.at = end < 0 ? this.text.length : end + 3;
  }
  /** The place after the next match. @param {RegExp} pattern @param {number} from */
  after(pattern, from) {
    pattern.lastIndex = from;
    const found = pattern.exec(this.text);
    return found ? found.index + found[0].length : undefined;
  }
  /** The part of the text that matches at a place. @param {RegExp} sticky @param {number} at */
  part(sticky, at) {
    sticky.lastIndex = at;
    return sticky.exec(this.text)?.[0] ?? "";
  }
  /** A tag; or the text, if it turns out not to be one. @param {number} at */
  tag(at, /** @type {boolean} */ ends) {
    const { text } = this;
    const begin = this.at;
    const name = this.part(NAME, at);
    at += name.length;
    const has = /** @type {Record<string, string>} */ ({});
    for (;;) {
      at += this.part(BLANK, at).length;
      if (at >= text.length || text[at] === "<") break;
      if (text[at] === ">") {
        this.at = at + 1;
        const known = name.toLowerCase();
        return ends ? this.end(known) : this.begin(known, has);
      }
      const attribute = this.part(ATTRIBUTE, at);
      at += attribute.length;
      const equals = at + this.part(SPACE, at).length;
      if (text[equals] !== "=") continue;
      at = equals + 1;
      at += this.part(SPACE, at).length;
      const [value, length] = this.value(at);
      at += length;
      const key = attribute.length < 9 ? attribute.toLowerCase() : "";
      if (/^(href|src|alt)$/.test(key) && !(key in has)) has[key] = value;
    }
    this.say(entitiesOf(text.slice(begin, at)));
    this.at = at;
  }
  /**
   * The value of an attribute, and how long it is.
   * @param {number} at @returns {[string, number]}
   */
  value(at) {
    const quote = this.text[at];
    if ((quote === '"' || quote === "'") && this.lasts[quote] > at) {
      const end = this.text.indexOf(quote, at + 1);
      return [this.text.slice(at + 1, end), end + 1 - at];
    }
    const value = this.part(VALUE, at);
    return [value, value.length];
  }
  begin(/** @type {string} */ name, /** @type {Record<string, string>} */ has) {
    if (LEFT_OUT.has(name)) this.leaveOut(name);
    else if (name === "br") this.add({ name: "br", of: [] }, true);
    else if (name === "hr") {
      this.closeParagraph();
      this.add({ name: "hr", of: [] }, true);
    } else if (name === "img") this.image(has);
    else if (CELLS.has(name)) this.say(" ");
    else if (BLOCKS.has(name)) this.block(/** @type {string} */ (BLOCKS.get(name)));
    else if (name === "a") {
      this.end("a");
      const href = addressOf(has.href === undefined ? undefined : entitiesOf(has.href));
      this.push({ name: "a", ...(href && !this.inLink && { href }), of: [] });
    } else if (INLINES.has(name)) this.push({ name: INLINES.get(name) ?? "", of: [] });
  }
  /** Goes on after the end of an element that is left out. */
  leaveOut(/** @type {string} */ name) {
    if (this.endless.has(name)) return;
    const pattern = name === "head" ? /<\/head\b[^<>]*>|(?=<body\b)/gi : endOf(name);
    const end = this.after(pattern, this.at);
    if (end !== undefined) this.at = end;
    else if (RAW.has(name)) this.at = this.text.length;
    else this.endless.add(name);
  }
  /** An image is a link to it. Nothing is loaded. */
  image(/** @type {Record<string, string>} */ { src, alt }) {
    const label = entitiesOf(alt ?? "").trim();
    const href = addressOf(src === undefined ? undefined : entitiesOf(src));
    if (!label && !src) return;
    const shown = label ? `Image: ${label}` : "Image";
    if (this.inLink || !href) this.say(`[${shown}]`);
    else this.add({ name: "a", href, of: [shown] });
  }
  block(/** @type {string} */ name) {
    this.hasBlocks = true;
    this.closeParagraph();
    if (name === "li") {
      this.closeTo("li", ["ul", "ol"]);
      if (!/^[uo]l$/.test(this.top.name)) {
        const list = { name: "ul", of: [] };
        this.implied.add(list);
        this.push(list);
      }
    }
    this.push({ name, of: [] });
  }
  /** A block ends a paragraph that is open. */
  closeParagraph() {
    this.closeTo("p", ["blockquote", "li", "div", "ul", "ol", "heading", "pre"]);
  }
  end(/** @type {string} */ name) {
    if (name === "br") return this.begin("br", {});
    const inline = INLINES.get(name);
    const wanted = inline ?? BLOCKS.get(name);
    if (!wanted) return;
    const deep = this.deep.get(wanted) ?? 0;
    if (deep > 0) this.deep.set(wanted, deep - 1);
    // Emphasis ends in the block in which it began; a list item in its list.
    else if (inline) this.closeTo(wanted, BOUNDS);
    else this.closeTo(wanted, wanted === "li" ? ["ul", "ol"] : []);
  }
  /** Closes the innermost open element of a name, unless it is outside of one of these. */
  closeTo(/** @type {string} */ name, /** @type {string[]} */ bounds) {
    for (let at = this.open.length - 1; at > 0; at--) {
      if (this.open[at].name === name) {
        this.open.length = at;
        return;
      }
      if (bounds.includes(this.open[at].name)) return;
    }
  }
  /** Adds an element, and what follows is in it. */
  push(/** @type {Part} */ node) {
    if (this.open.length > DEEPEST) this.deep.set(node.name, (this.deep.get(node.name) ?? 0) + 1);
    else {
      this.add(node);
      this.open.push(node);
    }
  }
  add(/** @type {Part} */ node, ends = false) {
    if (ends) this.hasBlocks = true;
    if (node.name !== "li") this.inItem();
    this.left -= 1;
    this.top.of.push(node);
  }
  /** In a list everything is in an item of it. */
  inItem() {
    if (!/^[uo]l$/.test(this.top.name)) return;
    if (this.implied.has(this.top)) {
      this.open.pop();
      return;
    }
    const item = { name: "li", of: [] };
    this.top.of.push(item);
    this.open.push(item);
  }
  say(/** @type {string} */ text) {
    this.left -= text.length;
    if (/^[uo]l$/.test(this.top.name) && !text.trim()) return;
    this.inItem();
    const { of } = this.top;
    if (typeof of[of.length - 1] === "string") of[of.length - 1] += text;
    else if (text) of.push(text);
  }
}

/** Elements in which emphasis ends that began in them. */
const BOUNDS = ["p", "blockquote", "ul", "ol", "li", "pre", "heading", "div"];

/** The end tag of an element that is left out. */
const endOf = (/** @type {string} */ name) => new RegExp(`</${name}(?=[\\s/>])[^>]*>?`, "gi");
