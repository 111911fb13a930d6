// The characters that HTML writes with an ampersand: by number, and by those names that messages
// have. Other names stay as they are written.

/** The characters from 160 to 255 by name, in their order. Old texts leave out the semicolon. */
const LATIN =
  "nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg plusmn " +
  "sup2 sup3 acute micro para middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest Agrave " +
  "Aacute Acirc Atilde Auml Aring AElig Ccedil Egrave Eacute Ecirc Euml Igrave Iacute Icirc " +
  "Iuml ETH Ntilde Ograve Oacute Ocirc Otilde Ouml times Oslash Ugrave Uacute Ucirc Uuml Yacute " +
  "THORN szlig agrave aacute acirc atilde auml aring aelig ccedil egrave eacute ecirc euml " +
  "igrave iacute icirc iuml eth ntilde ograve oacute ocirc otilde ouml divide oslash ugrave " +
  "uacute ucirc uuml yacute thorn yuml";
const OLD = new Map([
  ...LATIN.split(" ").map(
    (name, at) => /** @type {const} */ ([name, String.fromCharCode(160 + at)]),
  ),
  ...Object.entries({ amp: "&", lt: "<", gt: ">", quot: '"', AMP: "&", LT: "<", GT: ">" }),
]);
const NEW = new Map(
  Object.entries({
    apos: "'",
    Tab: "\t",
    NewLine: "\n",
    colon: ":",
    sol: "/",
    period: ".",
    comma: ",",
    lpar: "(",
    rpar: ")",
    num: "#",
    commat: "@",
    hellip: "…",
    ndash: "–",
    mdash: "—",
    lsquo: "‘",
    rsquo: "’",
    sbquo: "‚",
    ldquo: "“",
    rdquo: "”",
    bdquo: "„",
    lsaquo: "‹",
    rsaquo: "›",
    bull: "•",
    euro: "€",
    trade: "™",
    permil: "‰",
    dagger: "†",
    larr: "←",
    uarr: "↑",
    rarr: "→",
    darr: "↓",
    minus: "−",
    ne: "≠",
    le: "≤",
    ge: "≥",
    infin: "∞",
    check: "✓",
    hearts: "♥",
    OElig: "Œ",
    oelig: "œ",
    Scaron: "Š",
    scaron: "š",
    ensp: "\u2002",
    emsp: "\u2003",
    thinsp: "\u2009",
    zwnj: "\u200c",
    zwj: "\u200d",
  }),
);
/** The characters of Windows that numbers from 128 to 159 mean. */
const WINDOWS = "€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ";
const BAD = "\ufffd";
/** Without a semicolon no `=` follows a name, because `?a=1&copy=2` is an address. */
const REFERENCE = /&(?:#x([0-9a-f]+);?|#([0-9]+);?|([a-z][a-z0-9]{1,11})(;|(?![=a-z0-9])))/gi;

/** A text whose characters are written out. Each reference is read once: `&amp;lt;` is `&lt;`. */
export function entitiesOf(/** @type {string} */ text) {
  if (!text.includes("&")) return text;
  return text.replace(REFERENCE, (all, hex, decimal, name, closed) => {
    if (hex !== undefined) return characterOf(parseInt(hex, 16));
    if (decimal !== undefined) return characterOf(parseInt(decimal, 10));
    if (closed) return OLD.get(name) ?? NEW.get(name) ?? all;
    return OLD.get(name) ?? all;
  });
}

function characterOf(/** @type {number} */ code) {
  if (code >= 128 && code < 160) return WINDOWS[code - 128];
  if (!(code > 0 && code <= 0x10ffff) || (code >= 0xd800 && code < 0xe000)) return BAD;
  return String.fromCodePoint(code);
}
