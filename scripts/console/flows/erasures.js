// The flows of erasures: what would go, the question, and the receipt.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { title } from "../steps.js";

/** A person with an app profile and an issue. */
async function person(server, name, pid = `pid-${name}`) {
  const email = `${name}@example.org`;
  const made = await server.task("identity", "create_core_profiles", [
    { identities: [{ email }], names: { full_name: `Erase ${name}` } },
  ]);
  assert.equal(made.counts.succeeded, 1);
  await server.task("issues", "import_issues", [
    {
      title: `Secret of ${name}`,
      created_at: 1700000000000,
      hs_user_id: pid,
      author_email: email,
      messages: [{ body: `Text of ${name}`, created_at: 1700000000000, origin: "end-user" }],
    },
  ]);
  const found = await server.call("GET", `v2/acme/identity/core_profiles?identity=email:${email}`);
  const issues = await server.call("GET", `v1/acme/issues?author_emails={"or":["${email}"]}`);
  return {
    email,
    id: found.core_profiles[0]["core-profile-id"],
    issue: issues.issues[0].id,
  };
}

export const erasures = [
  [
    "a person is erased after a question, and there is a receipt, by keyboard",
    async ({ server, open, write }) => {
      const { email, id, issue } = await person(server, "one");
      const page = await open({ key: write, path: `person/${id}` });
      await page.getByRole("button", { name: "Erase this person…" }).click();
      await title(page, "Erase one");
      await page.getByRole("link", { name: `#${issue}` }).waitFor();
      await page.locator(".receipt", { hasText: "pid-one" }).waitFor();
      const erase = page.getByRole("button", { name: "Erase this person", exact: true });
      await page.getByLabel("To go on").fill("another@example.org");
      await erase.click();
      await page.locator("[role=alert]", { hasText: "Nothing was erased" }).waitFor();
      await server.call("GET", `v2/acme/identity/core_profiles/${id}`);
      await page.getByLabel("To go on").fill(email);
      await erase.click();
      await title(page, "The person is erased");
      const download = page.waitForEvent("download");
      await page.getByRole("button", { name: "Download the receipt" }).click();
      const receipt = JSON.parse(readFileSync(await (await download).path(), "utf8"));
      assert.deepEqual(receipt.issue_ids, [issue]);
      assert.deepEqual(receipt.core_profile_ids, [id]);
      assert.ok(receipt.erased_at > 0);
      const shown = JSON.stringify(await server.call("GET", `v1/acme/issues/${issue}`));
      assert.match(shown, /"redacted":true/);
      assert.doesNotMatch(shown, /Text of one/);
      // The receipt is found again by its address and by its task.
      await page.reload();
      await title(page, "The person is erased");
      await page.getByRole("link", { name: "See the task" }).click();
      await title(page, "Erase a person");
      await page.getByText("1 erased").waitFor();
      await page.getByRole("link", { name: "See the receipt" }).click();
      await title(page, "The person is erased");
      await page.goto(`${page.url().split("#")[0]}#/imports?action=erase_person`);
      await page.getByRole("link", { name: "Erase a person" }).first().waitFor();
    },
  ],
  [
    "a person is erased with a connected profile and all issues, by the mouse",
    async ({ server, open }) => {
      const { email, id, issue } = await person(server, "two");
      const other = await person(server, "other", "pid-two");
      const page = await open({ path: `erase/${id}` });
      await page.getByText("Another profile shares").waitFor();
      await page.getByRole("link", { name: other.id }).waitFor();
      const box = await page.getByText("Delete them").boundingBox();
      await page.mouse.click(box.x + 10, box.y + 8);
      assert.ok(await page.getByLabel("Delete them").isChecked());
      await page.getByLabel("To go on").fill(email);
      const send = page.getByRole("button", { name: "Erase this person", exact: true });
      const place = await send.boundingBox();
      await page.mouse.click(place.x + 10, place.y + 10);
      await title(page, "The person is erased");
      for (const path of [
        `v1/acme/issues/${issue}`,
        `v1/acme/issues/${other.issue}`,
        `v2/acme/identity/core_profiles/${other.id}`,
      ])
        await assert.rejects(server.call("GET", path), /404/);
    },
  ],
  [
    "a profile without an identity that one can type is erased by its id",
    async ({ server, open }) => {
      await server.task("identity", "create_core_profiles", [{ identities: [{ uid: "à b" }] }]);
      const path = "v2/acme/identity/core_profiles?sort-by=creation-time&page-size=1";
      const [{ "core-profile-id": id }] = (await server.call("GET", path)).core_profiles;
      const page = await open({ path: `erase/${id}` });
      await page.locator("label code", { hasText: id }).waitFor();
      await page.getByLabel("To go on").fill(id);
      await page.getByLabel("To go on").press("Enter");
      await title(page, "The person is erased");
    },
  ],
  [
    "a read key erases no person",
    async ({ open, read, person: id }) => {
      const page = await open({ path: `erase/${id}`, key: read });
      await page.getByText("your key may only read, and not erase").waitFor();
      assert.equal(await page.getByRole("button", { name: "Erase this person" }).count(), 0);
    },
  ],
];
