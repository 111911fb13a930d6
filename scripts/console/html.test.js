// The reader of messages in HTML: what they mean, and that nothing hostile gets into the tree.
import assert from "node:assert/strict";
import test from "node:test";
import { entitiesOf } from "../../console/entities.js";
import { addressOf, isHtml, read } from "../../console/html.js";

/** All that a tree may have. */
const ALLOWED = new Set(
  "p blockquote ul ol li pre heading div a strong em s code u sub sup q br hr".split(" "),
);

/** A tree as text: `p(a[https://x](text))`. */
const shown = (nodes) =>
  nodes
    .map((one) => {
      if (typeof one === "string") return one;
      return (
        one.name + (one.href ? `[${one.href}]` : "") + (one.of.length ? `(${shown(one.of)})` : "")
      );
    })
    .join("");
const tree = (text) => shown(read(text).nodes);

/** Checks each element of a tree, and returns its depth and all of its text. */
function walk(nodes) {
  let depth = 0;
  let text = "";
  for (const one of nodes) {
    if (typeof one === "string") {
      text += one;
      continue;
    }
    assert.ok(ALLOWED.has(one.name), one.name);
    assert.deepEqual(
      Object.keys(one).filter((key) => !["name", "href", "of"].includes(key)),
      [],
    );
    if (one.href !== undefined) {
      assert.equal(one.name, "a");
      assert.match(one.href, /^(https?:\/\/|mailto:)/);
    }
    const inner = walk(one.of);
    depth = Math.max(depth, inner.depth + 1);
    text += inner.text;
  }
  return { depth, text };
}

test("HTML is shown as what it means", () => {
  for (const [text, expected] of [
    ["<p>One<br>two</p><p>three", "p(Onebrtwo)p(three)"],
    ["<DIV>a</DIV><B>b</b> <i>c</I>", "div(a)strong(b) em(c)"],
    ["<ul><li>a<li>b</ul>c", "ul(li(a)li(b))c"],
    ["<ol><li>a<ul><li>b</ul></li><li>c</ol>", "ol(li(aul(li(b)))li(c))"],
    ["<ul>x<p>y</ul>", "ul(li(xp(y)))"],
    ["<li>a</li>b", "ul(li(a))b"],
    ["<blockquote><p>a<p>b</blockquote>c", "blockquote(p(a)p(b))c"],
    ["<h2>a</h2><pre>b\n c</pre><code>d</code><hr>", "heading(a)pre(b\n c)code(d)hr"],
    ['<a href="https://a.example/?x=1&amp;y=2">b</a>', "a[https://a.example/?x=1&y=2](b)"],
    ["<a href=mailto:a@b.example title=x>b</a>", "a[mailto:a@b.example](b)"],
    [
      '<img src="https://a.example/x.png" alt="a &quot;cat&quot;">',
      'a[https://a.example/x.png](Image: a "cat")',
    ],
    [
      '<a href="https://a.example/"><img src="https://a.example/x.png"></a>',
      "a[https://a.example/]([Image])",
    ],
    ['<img src="data:image/png;base64,AAAA" alt=logo>', "[Image: logo]"],
    ["<table><tr><td>a</td><td>b</td></tr></table>", "div(div( a b))"],
    ["<span>a</span><font color=red>b</font><wbr>c<o:p>d</o:p>", "abcd"],
    [
      "<p>a &lt; b &amp;lt; c&nbsp;d &#8364;&#x20AC;&#128; &unknown; AT&T</p>",
      "p(a < b &lt; c\u00a0d €€€ &unknown; AT&T)",
    ],
    ["<b>a<p>b</b>c</p>d", "strong(ap(bc)d)"],
    ["a</p></b></div>b<br/>c</br>d", "abbrcbrd"],
    ["<html><head><title>x</title><meta a>y</head><body><p>z</body></html>", "div(div(p(z)))"],
  ])
    assert.equal(tree(text), expected, text);
  assert.deepEqual([read("a\n<b>b</b>").breaks, read("a\n<p>b</p>").breaks], [true, false]);
});

test("only a known tag makes a text HTML", () => {
  for (const text of [
    "<p>a",
    "a<br>b",
    "x</B>",
    '<a href="x">',
    "<SPAN\nclass=a>",
    "<br/>",
    "<p >",
  ])
    assert.ok(isHtml(text), text);
  for (const text of [
    "a < b",
    "1 <2> 3",
    "if a <b and c> d",
    "<me@example.org> wrote:",
    "<https://a.example>",
    "List<String> x; <T>",
    "<3",
    "</script><script>x</script>",
    "<unknown>",
    "&lt;p&gt;",
    "a <p",
  ])
    assert.ok(!isHtml(text), text);
});

test("an address is http, https or mailto, in the form that was checked", () => {
  assert.equal(addressOf(" https://a.example/b c"), "https://a.example/b%20c");
  assert.equal(addressOf("HTTP://A.example"), "http://a.example/");
  for (const text of [
    undefined,
    "",
    "/here",
    "//a.example",
    "#x",
    "a.example",
    "https:",
    "https://",
    "http://[",
    "ftp://a.example",
    "file:///etc/passwd",
    "blob:https://a.example/x",
    "filesystem:https://a.example/x",
    "view-source:https://a.example",
    `https://a.example/${"x".repeat(9000)}`,
  ])
    assert.equal(addressOf(text), undefined, text);
});

/** Spellings of an address that runs a script, or holds a page. */
const BAD_ADDRESSES = [
  "javascript:alert(1)",
  "JaVaScRiPt:alert(1)",
  " javascript:alert(1)",
  "\u0001\u001fjavascript:alert(1)",
  "java\tscript:alert(1)",
  "java\nscript:alert(1)",
  "java\r\nscript:alert(1)",
  "javascript\t:alert(1)",
  "javascript&colon;alert(1)",
  "javascript&#58;alert(1)",
  "javascript&#x3A;alert(1)",
  "javascript&#x3aalert(1)",
  "&#106;&#97;&#118;&#97;&#115;&#99;&#114;&#105;&#112;&#116;&#58;alert(1)",
  "&#0000106&#0000097&#0000118&#0000097script:alert(1)",
  "&#x6A&#x61&#x76&#x61script:alert(1)",
  "java&Tab;script:alert(1)",
  "java&NewLine;script:alert(1)",
  "java&#9;script:alert(1)",
  "&#1;javascript:alert(1)",
  "&nbsp;javascript:alert(1)",
  "javascript://https://a.example/%0aalert(1)",
  "javascript:https://a.example",
  "x-javascript:alert(1)",
  "vbscript:msgbox(1)",
  "livescript:x",
  "data:text/html,<script>alert(1)</script>",
  "data:text/html;base64,PHNjcmlwdD4=",
  "DATA:image/svg+xml,<svg onload=alert(1)>",
  "feed:javascript:alert(1)",
  "jar:javascript:alert(1)!/",
  "\ufeffjavascript:alert(1)",
];

test("no spelling of a hostile address becomes a link", () => {
  for (const address of BAD_ADDRESSES)
    for (const quote of ['"', "'", ""]) {
      if (quote === "" && /[\s>]/.test(address)) continue;
      for (const before of ["<a href=", "<a\nHREF = ", "<a/href=", '<a x="y"href=', "<img src="]) {
        const text = `${before}${quote}${address}${quote}>x</a>`;
        const { nodes } = read(text);
        walk(nodes);
        assert.ok(!shown(nodes).includes("a["), `${text}: ${shown(nodes)}`);
      }
    }
  // The first of two addresses counts, as it does in a browser.
  assert.equal(tree('<a href="javascript:x" href="https://a.example/">b</a>'), "a(b)");
});

test("of hostile markup the text remains, and nothing else", () => {
  for (const [text, expected] of [
    ["<b>a</b><script>alert(1)</script>b", "strong(a)b"],
    ["a<SCRIPT SRC=//evil.example></SCRIPT >b", "ab"],
    ["a<script>x</scriptx>y</script\n>b", "ab"],
    ["a<script>never ends<p>b", "a"],
    ["<script/x>a</script>b", "b"],
    ["<scr<script>ipt>alert(1)</script>b", "<scrb"],
    ["<style>@import 'x'; p{background:url(javascript:x)}</style>a", "a"],
    ["<style><!--</style><p>a", "p(a)"],
    ['<p style="width:expression(alert(1))" onclick=alert(1) id=x class=y>a', "p(a)"],
    ["<img src=x onerror=alert(1)>", "[Image]"],
    ["<img src=x alt=y onerror=alert(1)//", "<img src=x alt=y onerror=alert(1)//"],
    ["<image src=https://a.example/x onerror=alert(1)>a", "a"],
    ["<body onload=alert(1)>a", "div(a)"],
    ["<svg onload=alert(1)><circle/><text>a</text></svg>", "a"],
    ["<svg><script>alert(1)</script><a xlink:href=javascript:x>b</a></svg>", "a(b)"],
    ["<svg><style><img src=x onerror=y></style></svg>a", "a"],
    ["<math><mi xlink:href=javascript:x>a</mi><mtext><p>b</math>", "ap(b)"],
    [
      "<math><mtext><table><mglyph><style><!--</style><img title='--><img src=1 onerror=x>'>a",
      "div(a)",
    ],
    ["<iframe srcdoc='<script>x</script>'>y</iframe>a", "a"],
    ["<iframe src=javascript:x>never ends<p>a", ""],
    ["<object data=data:text/html,x><p>y</object>a<embed src=x>", "a"],
    ["<template><p>x</p></template>a", "a"],
    [
      "<form action=javascript:x><button formaction=javascript:y>a</button><input value=b>",
      "div(a)",
    ],
    ["<meta http-equiv=refresh content='0;url=javascript:x'><base href=javascript:x>a", "a"],
    ["<link rel=stylesheet href=//evil.example>a", "a"],
    ["<noscript><p title='</noscript><img src=x onerror=y>'>a</noscript>", "p(a)"],
    ["<textarea><p>a</textarea>", "p(a)"],
    ["<xmp><p>a</xmp>b", "b"],
    ["<video src=x onerror=y><source src=z>a</video>", "a"],
    ["<marquee onstart=x>a</marquee><details open ontoggle=x>b</details>", "adiv(b)"],
    ["a<!-- <script>x</script> -->b", "ab"],
    ["a<!-->b<!--->c<!--x--!>d<!-- never ends <p>e", "abcd"],
    ["a<!DOCTYPE html><?xml x?><!ELEMENT y>b", "ab"],
    ["a<![CDATA[<script>x</script>]]>b", "a<script>x</script>b"],
    ["<![CDATA[a<p>", "a<p>"],
    ["<!--[if mso]><p>x</p><![endif]-->a<![if !mso]>b<![endif]>", "ab"],
    ["<<p>a<</p>>", "<p(a<)>"],
    ["<p title='>'>a<p title=\">\">b", "p(a)p(b)"],
    ["<p <b>a", "<p strong(a)"],
    ['<p title="a>b', "p(b)"],
    ["&lt;script&gt;x&lt;/script&gt;&amp;lt;b", "<script>x</script>&lt;b"],
    ["<constructor>a</constructor><toString>b<__proto__>c", "ab<__proto__>c"],
    [
      "<a href=https://a.example/><a href=https://b.example/>x",
      "a[https://a.example/]a[https://b.example/](x)",
    ],
    [
      "<a href=https://a.example/><div><a href=https://b.example/>x",
      "a[https://a.example/](div(a(x)))",
    ],
    ["\0<p\0>a<b\0>c", "\0ac"],
  ]) {
    const { nodes } = read(text);
    walk(nodes);
    assert.equal(shown(nodes), expected, text);
  }
});

test("character references are read once, and bad ones are harmless", () => {
  assert.equal(
    entitiesOf("&amp;amp;lt; &eacute; &Eacute &copy2 ?a&copy=1"),
    "&amp;lt; é É &copy2 ?a&copy=1",
  );
  assert.equal(
    entitiesOf("&#0;&#xD800;&#x110000;&#99999999999999;&#;&#x;&;"),
    "\ufffd".repeat(4) + "&#;&#x;&;",
  );
  assert.equal(
    entitiesOf("&constructor; &__proto__; &toString;"),
    "&constructor; &__proto__; &toString;",
  );
});

test("100,000 nested elements are a tree of few levels, with all of their text", () => {
  for (const name of ["b", "div", "blockquote", "ul", "li", "p", "a", "table", "svg"]) {
    const { nodes } = read(
      `${`<${name}>`.repeat(100000)}inside${`</${name}>`.repeat(100000)}after`,
    );
    const { depth, text } = walk(nodes);
    assert.ok(depth < 60, `${name}: ${depth}`);
    assert.equal(text, "insideafter", name);
    // What follows is at the top again.
    if (name !== "svg") assert.equal(nodes.at(-1), "after", name);
  }
});

/** A text of a megabyte that consists of one part again and again. */
const PARTS = [
  "<b>",
  "<b",
  "</b>",
  "<",
  "</",
  "<!",
  "<?",
  "&",
  "&#",
  "&amp",
  "<!--",
  "<!-- -",
  "<![CDATA[",
  "]]>",
  "<p ",
  "<p x",
  "<p x=",
  '<p x="',
  "<p x='",
  "<p x='>",
  "<a \"<a'",
  "<a href=\"<a href='",
  "<p\t\n",
  "<script>",
  "</script",
  "<script></script",
  "<head>",
  "</head ",
  "<head><body",
  "<template>",
  "<object>",
  "<iframe ",
  "<title>",
  "<ul>",
  "<li>",
  "<ul><li>",
  "<td>",
  "<p><b>",
  "</p></b>",
  "<a href=x>",
  "<img src=x>",
  "<br>",
  "<div><p><a><b><i>",
  "</div></p></a></b></i>",
];
const MEGABYTE = 1024 * 1024;
/** What is linear takes less than a second, and what is not takes many minutes. */
const LIMIT_MS = 10000;

test("a body of a megabyte is read in linear time", () => {
  for (const part of PARTS) {
    const text = part.repeat(Math.ceil(MEGABYTE / part.length));
    const begun = performance.now();
    isHtml(text);
    read(text);
    const ms = performance.now() - begun;
    assert.ok(ms < LIMIT_MS, `${part}: ${ms} ms`);
  }
  for (const begin of ["<p", "<p ", "&", "&#", "<p x", "<p x = "])
    for (const filling of [" ", "a", "1", "-"]) {
      const text = begin + filling.repeat(MEGABYTE);
      const begun = performance.now();
      isHtml(text);
      read(text);
      assert.ok(performance.now() - begun < LIMIT_MS, begin + filling);
    }
});

test("of a long body only the beginning is read", () => {
  const { nodes, whole } = read(`<p>${"word ".repeat(100000)}</p>`, 4000);
  assert.equal(whole, false);
  assert.equal(walk(nodes).text.length, 3999);
  const rules = read("<hr>".repeat(100000), 4000);
  assert.deepEqual([rules.nodes.length, rules.whole], [4000, false]);
  assert.ok(read("<p>short</p>", 4000).whole);
});
