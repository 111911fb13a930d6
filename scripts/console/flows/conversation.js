// The flows of one issue: messages in HTML, hostile ones too, the two sides, the field of a reply
// and a note, files, the way through the list, and the places of words searched for.
import assert from "node:assert/strict";
import { keys, title, total } from "../steps.js";

const RICH = `<p>Hello, I cannot <em>send</em> e-mails:&nbsp;the server
<a href="https://files.example/x?a=1&amp;b=2"
 rel="nofollow">smtp.example</a> timed out.</p>
<ul><li>port: <strong>587</strong></li><li>user: me</li></ul>
<blockquote>Try again</blockquote><h2>Log</h2><pre>454 4.7.0
 busy</pre><p>Write to <a href="mailto:me@example.org">me</a>.<br>Thanks</p>
<img src="https://files.example/shot.png" alt="The error">`;
const SAY = "window.harmed=1;alert(1)";
const HOSTILE = [
  `<p>x</p><script>${SAY}</script>`,
  `<p>x</p><script src="https://evil.example/x.js"></script>`,
  `<p>x</p><img src="https://evil.example/x.png" onerror="${SAY}">`,
  `<p onclick="${SAY}" onmouseover="${SAY}" style="background:url(https://evil.example/y)">x</p>`,
  `<p>x</p><a href="javascript:${SAY}">link</a><a href="java&Tab;script&colon;${SAY}">link</a>`,
  `<p>x</p><a href="data:text/html,<script>${SAY}</script>">link</a>`,
  `<p>x</p><svg onload="${SAY}"><script>${SAY}</script><image href="https://evil.example/z"/></svg>`,
  `<p>x</p><math><mtext><table><mglyph><style><img src=x onerror="${SAY}"></style></table></math>`,
  `<p>x</p><iframe srcdoc="<script>${SAY}</script>"></iframe>` +
    '<iframe src="https://evil.example/"></iframe>',
  `<p>x</p><link rel=stylesheet href="https://evil.example/x.css">` +
    '<style>@import "https://evil.example/";</style>',
  `<p>x</p><form action="https://evil.example/"><button formaction="javascript:${SAY}">Go</button></form>`,
  `<p>x</p><meta http-equiv="refresh" content="0;url=https://evil.example/">` +
    '<base href="https://evil.example/">',
  `<p>x</p><video src="https://evil.example/v" onerror="${SAY}"></video>` +
    '<object data="https://evil.example/"></object>',
  `<p>x</p><div id="main" class="skip" name="app" tabindex="1" autofocus onfocus="${SAY}">x</div>`,
  `<p>x</p>${"<div><b>".repeat(50000)}deep`,
  `<p>x</p><!-- --!><img src=x onerror="${SAY}"> --><![CDATA[<img src=x onerror="${SAY}">]]>`,
];

/** Makes an issue with these messages, by turns of the author and the desk. */
async function issueOf(server, name, bodies) {
  const at = Date.now() - 3600000;
  const done = await server.task("issues", "import_issues", [
    {
      title: name,
      created_at: at,
      author_name: "Tomasz Okafor",
      messages: bodies.map((body, n) => ({
        body,
        created_at: at + n,
        origin: n % 2 ? "helpshift" : "end-user",
        ...(n % 2 && { author: { name: "Grace Hopper", emails: ["grace@example.org"] } }),
      })),
      private_notes: [{ body: "Checked.", created_at: at + bodies.length }],
    },
  ]);
  assert.equal(done.counts.succeeded, 1, JSON.stringify(done));
  const query = encodeURIComponent(JSON.stringify({ and: [name] }));
  return (await server.call("GET", `v1/acme/issues?title=${query}`)).issues[0].id;
}

/** Drops or pastes a file on an element. */
const give = (locator, type, name, text) =>
  locator.evaluate(
    (element, [type, name, text]) => {
      const data = new DataTransfer();
      data.items.add(new File([text], name, { type: "text/plain" }));
      const options = { bubbles: true, cancelable: true };
      element.dispatchEvent(
        type === "paste"
          ? new ClipboardEvent(type, { ...options, clipboardData: data })
          : new DragEvent(type, { ...options, dataTransfer: data }),
      );
    },
    [type, name, text],
  );

export const conversation = [
  ...["light", "dark"].map((theme) => [
    `a message in HTML is shown as what it means, and as it was sent, ${theme}`,
    async ({ server, browser, open }) => {
      const plain = "if a < b and c > d:\n  x <me@example.org>";
      const id = await issueOf(server, `In HTML ${theme}`, [RICH, "<b>Noted</b>\nand done", plain]);
      const page = await open({ path: `issue/${id}`, theme, height: 1000 });
      const first = page.locator(".message").first();
      const link = first.getByRole("link", { name: "smtp.example" });
      await link.waitFor();
      for (const [name, value] of [
        ["href", "https://files.example/x?a=1&b=2"],
        ["rel", "noopener noreferrer"],
        ["target", "_blank"],
      ])
        assert.equal(await link.getAttribute(name), value);
      const image = first.getByRole("link", { name: "Image: The error" });
      assert.equal(await image.getAttribute("href"), "https://files.example/shot.png");
      const mail = first.getByRole("link", { name: "me", exact: true });
      assert.equal(await mail.getAttribute("href"), "mailto:me@example.org");
      assert.deepEqual(await first.locator("li").allInnerTexts(), ["port: 587", "user: me"]);
      assert.equal(await first.locator("pre").innerText(), "454 4.7.0\n busy");
      assert.equal(await first.locator("blockquote").innerText(), "Try again");
      assert.equal(await first.locator("img").count(), 0);
      const lines = page.locator(".message.ours .text");
      assert.equal(await lines.innerText(), "Noted\nand done");
      const last = page.locator(".message.theirs").last();
      assert.equal(await last.locator(".text").innerText(), plain);
      assert.equal(await last.getByRole("button", { name: "As sent" }).count(), 0);
      // The two sides, and the note.
      const [theirs, ours, note] = await page.evaluate(() =>
        [".message.theirs", ".message.ours", ".message.note"].map((one) => {
          const element = document.querySelector(one);
          const { left, right } = element.getBoundingClientRect();
          return { left, right, colour: getComputedStyle(element).backgroundColor };
        }),
      );
      assert.ok(ours.left > theirs.left + 20 && ours.right > theirs.right + 20, "the sides");
      assert.equal(new Set([theirs, ours, note].map((one) => one.colour)).size, 3);
      for (const word of ["author", "agent", "private note"])
        await page
          .locator(".message header", { hasText: `· ${word}` })
          .first()
          .waitFor();
      if (process.env.CONSOLE_CHECK_SHOTS)
        await page.screenshot({ path: `${process.env.CONSOLE_CHECK_SHOTS}/html-${theme}.png` });
      assert.deepEqual(await browser.axe(page), []);
      await first.getByRole("button", { name: "As sent" }).click();
      await page.getByRole("button", { name: "As sent", pressed: true }).waitFor();
      assert.equal(await first.locator(".text").innerText(), RICH);
      await first.getByRole("button", { name: "As sent" }).click();
      await link.waitFor();
    },
  ]),
  [
    "hostile messages load nothing, run nothing and say nothing",
    async ({ server, browser, open }) => {
      const id = await issueOf(server, "Hostile HTML", HOSTILE);
      const page = await open({ path: "issues" });
      await page.locator(".issue-row").first().waitFor();
      let [dialogs, requests] = [0, 0];
      page.on("dialog", (dialog) => {
        dialogs += 1;
        dialog.dismiss();
      });
      page.on("request", (request) => !request.url().startsWith(server.url) && (requests += 1));
      await page.evaluate((hash) => (location.hash = hash), `#/issue/${id}`);
      await title(page, "Hostile HTML");
      assert.equal(await page.locator(".message").count(), HOSTILE.length + 1);
      await page.locator(".message .text", { hasText: "deep" }).waitFor();
      const look = () =>
        page.evaluate(() => {
          const allowed = {
            A: ["href", "title", "target", "rel"],
            DIV: ["class", "dir"],
            MARK: ["class"],
          };
          const wrong = [];
          for (const one of document.querySelectorAll(".text *")) {
            if (
              !/^(A|B|BLOCKQUOTE|BR|CODE|DIV|EM|HR|LI|MARK|OL|P|PRE|Q|S|SPAN|STRONG|U|UL)$/.test(
                one.tagName,
              )
            )
              wrong.push(one.tagName);
            for (const { name, value } of one.attributes)
              if (!allowed[one.tagName]?.includes(name))
                wrong.push(`${one.tagName} ${name}=${value}`);
            if (one.href && !/^(https?:\/\/|mailto:)/.test(one.href)) wrong.push(one.href);
          }
          return { wrong, harmed: globalThis.harmed };
        });
      assert.deepEqual(await look(), { wrong: [], harmed: undefined });
      // What is over the text, is pressed or has the focus does nothing either.
      for (const text of await page.locator(".message .text").all()) await text.hover();
      for (const part of await page.locator(".message .text *:not(a)").all())
        if ((await part.innerText()) === "x") await part.mouse();
      for (const one of await page.getByRole("button", { name: "As sent" }).all()) {
        await one.mouse();
        assert.equal((await look()).harmed, undefined);
      }
      await page.waitForTimeout(500);
      assert.deepEqual([dialogs, requests, browser.wrong], [0, 0, []]);
      assert.ok(page.url().endsWith(`#/issue/${id}`), page.url());
    },
  ],
  [
    "a reply and a note are written in one place, with files, and sent by keys",
    async ({ server, browser, open, write }) => {
      const id = await issueOf(server, "To be written to", ["Hello?"]);
      const page = await open({ path: `issue/${id}`, key: write });
      await title(page, "To be written to");
      assert.equal(await page.locator(".compose textarea").count(), 1);
      await keys(page, "n");
      await page.keyboard.type("For us");
      await keys(page, "Control+Enter");
      await page.locator(".message.note", { hasText: "For us" }).waitFor();
      await page.locator("main:not([aria-busy])").waitFor();
      await page.getByRole("button", { name: "Reply", exact: true }).click();
      await page.keyboard.type("With files");
      const field = page.getByLabel("Reply");
      await give(field, "drop", "dropped.txt", "dropped");
      await give(field, "paste", "pasted.txt", "pasted it");
      await give(field, "drop", "wrong.txt", "wrong");
      await page
        .locator('input[type="file"]')
        .setInputFiles({ name: "picked.txt", mimeType: "text/plain", buffer: Buffer.from("p") });
      const files = page.getByRole("list", { name: "Files to send" });
      await files.getByText("9 B").waitFor();
      await files.getByText("Only agents send files").waitFor();
      await files.getByRole("button", { name: "Remove wrong.txt" }).click();
      await page.getByLabel("Author").selectOption({ label: "Grace Hopper" });
      assert.deepEqual(await files.locator(".clip").allInnerTexts(), [
        "dropped.txt",
        "pasted.txt",
        "picked.txt",
      ]);
      if (process.env.CONSOLE_CHECK_SHOTS)
        await page.screenshot({ path: `${process.env.CONSOLE_CHECK_SHOTS}/compose.png` });
      assert.deepEqual(await browser.axe(page), []);
      // A note has no files; they wait for the reply.
      await page.getByRole("button", { name: "Note", exact: true }).click();
      assert.ok(!(await files.isVisible()));
      await page.getByRole("button", { name: "Reply", exact: true }).click();
      await page.getByRole("button", { name: "Send and resolve" }).click();
      await page.locator(".message.ours", { hasText: "With files" }).waitFor();
      await page.getByRole("link", { name: /pasted.txt · 9 B/ }).waitFor();
      await page.locator("main:not([aria-busy])").waitFor();
      assert.equal(await page.getByLabel("State").inputValue(), "resolved");
      assert.equal(await files.count(), 0);
      await keys(page, "r");
      await page.keyboard.type("Without files");
      await keys(page, "Meta+Enter");
      await page.locator(".message.ours", { hasText: "Without files" }).waitFor();
      const { issues } = await server.call("GET", `v1/acme/issues/${id}`);
      const [, first, second] = issues[0].messages;
      assert.deepEqual(
        [first.body, first.attachments.length, second.body, second.author.name],
        ["With files", 3, "Without files", "Grace Hopper"],
      );
    },
  ],
  [
    "a reply of an agent or of the desk resolves the issue in one step",
    async ({ server, open, write }) => {
      const id = await issueOf(server, "To be resolved", ["Hello?"]);
      const page = await open({ path: `issue/${id}`, key: write });
      await title(page, "To be resolved");
      for (const [author, name] of [
        ["Grace Hopper", "Grace Hopper"],
        ["the desk", "Desk"],
      ]) {
        await server.call("PUT", `v1/acme/issues/${id}`, { status: "new" });
        await page.getByLabel("Author").selectOption({ label: author });
        await page.getByLabel("Reply").fill(`By ${author}`);
        await page.getByRole("button", { name: "Send and resolve" }).click();
        const sent = page.locator(".message.ours", { hasText: `By ${author}` });
        await sent.waitFor();
        assert.equal(await sent.locator("b").innerText(), name);
        const { issues } = await server.call("GET", `v1/acme/issues/${id}`);
        assert.equal(issues[0].state_data.state, "resolved");
      }
    },
  ],
  [
    "keys and buttons lead through the list that an issue was opened from",
    async ({ server, open }) => {
      const all = await total(server);
      const page = await open({ path: "issues?sort=creation-time+asc" });
      await page.locator(".issue-row").first().waitFor();
      const name = (at) => page.locator(`#row-${at} .title`).innerText();
      // The list is read in pages of 200 rows, which are read on.
      await page.locator(".long-list").evaluate((list) => (list.scrollTop = 196 * 36));
      await page.locator("#row-201 .title").waitFor();
      const names = await Promise.all([198, 199, 200].map(name));
      await page.locator("#row-198 .title").mouse();
      const place = page.getByRole("group", { name: "Place in the list" });
      const at = async (n) => {
        await title(page, names[n - 199]);
        await place.getByText(`${n} of`).waitFor();
        const text = (await place.locator(".faint").innerText()).replace(/\u202f/g, "");
        assert.equal(text, `${n} of ${all}`);
      };
      await at(199);
      await keys(page, "j");
      await at(200);
      await place.getByRole("button", { name: "Next" }).click();
      await at(201);
      await page.evaluate(() => /** @type {any} */ (document.activeElement)?.blur());
      await keys(page, "k");
      await at(200);
      await place.getByRole("button", { name: "Previous" }).click();
      await at(199);
      await keys(page, "j");
      await at(200);
      // The list shows the place.
      await keys(page, "Escape");
      await page.locator('[aria-selected="true"] .title', { hasText: names[1] }).waitFor();
      await page.goto(`${server.url}/console/#/issues?sort=creation-time+asc&text=number7+in`);
      // The rows of the list before are gone, and the one of this list is there.
      await page.locator(".issue-row").nth(1).waitFor({ state: "detached" });
      await page.locator(".issue-row").first().waitFor();
      await keys(page, "j", "Enter");
      await place.getByText("1 of 1", { exact: true }).waitFor();
      await keys(page, "j");
      await page.getByText("This is the last one of the list.").waitFor();
      // An issue that was opened by its address is in no list.
      await page.reload();
      await page.locator(".message").first().waitFor();
      assert.equal(await place.count(), 0);
    },
  ],
  [
    "the words searched for are marked in the conversation",
    async ({ server, browser, open }) => {
      const words = "Blue (heron)";
      const id = await issueOf(server, `A ${words}`, [
        `<p>a <b>blue (heron)</b> &amp; a <a href="https://a.example/blue (heron)">b</a> BLUE (heron)</p>`,
        "a blue (heron), blue heron",
        "nothing",
      ]);
      const page = await open({ path: `issues?${new URLSearchParams({ text: words })}` });
      await page.locator(".issue-row").first().waitFor();
      await keys(page, "j", "Enter");
      await title(page, `A ${words}`);
      const texts = (locator) => locator.locator("mark").allInnerTexts();
      assert.deepEqual(await texts(page.locator("h1")), ["Blue (heron)"]);
      assert.deepEqual(await texts(page.locator(".message").nth(0)), [
        "blue (heron)",
        "BLUE (heron)",
      ]);
      assert.deepEqual(await texts(page.locator(".message").nth(1)), ["blue (heron)"]);
      assert.deepEqual(await texts(page.locator(".message").nth(2)), []);
      if (process.env.CONSOLE_CHECK_SHOTS)
        await page.screenshot({ path: `${process.env.CONSOLE_CHECK_SHOTS}/marks.png` });
      assert.deepEqual(await browser.axe(page), []);
      // They are in the address.
      await page.reload();
      await page.locator(".message mark").first().waitFor();
      await page.getByRole("button", { name: "As sent" }).first().click();
      assert.equal((await texts(page.locator(".message").nth(0))).length, 3);
      await page.evaluate((hash) => (location.hash = hash), `#/issue/${id}`);
      await page.waitForURL(new RegExp(`issue/${id}$`));
      await page.waitForFunction(() => !document.querySelector("mark"));
    },
  ],
];
