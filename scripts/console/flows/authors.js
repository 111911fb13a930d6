// The flows of authors and of the form of a person.
import assert from "node:assert/strict";
import { keys, settled, title } from "../steps.js";

const profileOf = async (server, email) =>
  (await server.call("GET", `v2/acme/identity/core_profiles?identity=email:${email}`))
    .core_profiles[0];

/** An author of three issues without a profile, of whom one app profile is deleted. */
async function author(server, name) {
  const email = `${name}@authors.example`;
  const issue = (n, state, pid) => ({
    title: `Issue ${n} of ${name}`,
    created_at: 1700000000000 + n,
    hs_user_id: pid,
    author_email: email,
    author_name: `The author ${name}`,
    state_data: { state, changed_at: 1700000000000 + n },
  });
  await server.task("issues", "import_issues", [
    issue(1, "new", `${name}-1`),
    issue(2, "resolved", `${name}-1`),
    issue(3, "new", `${name}-2`),
  ]);
  await server.task("identity", "delete_app_profiles", [{ pid: `${name}-2` }]);
  return email;
}

export const authors = [
  [
    "an author without a profile has a page, gets a profile, and is erased, by keyboard",
    async ({ server, open, write }) => {
      const email = await author(server, "nora");
      const page = await open({ path: `issues?author=${email}`, key: write });
      await settled(page, 3);
      await page.keyboard.press("Escape");
      await keys(page, "j", "a");
      await title(page, "The author nora");
      await page.locator("dd", { hasText: email }).waitFor();
      await page.locator("h2 .number", { hasText: /^3$/ }).waitFor();
      await page.locator(".pill", { hasText: "new 2" }).waitFor();
      await page.locator(".pill", { hasText: "resolved 1" }).waitFor();
      await page.getByRole("link", { name: "Issue 1 of nora" }).waitFor();
      await page.getByRole("button", { name: "Create a profile" }).click();
      await page.locator("dialog .preview", { hasText: "The author nora" }).waitFor();
      assert.equal(await profileOf(server, email), undefined);
      await page.getByRole("button", { name: "Create the profile" }).click();
      await page.getByRole("button", { name: "Change", exact: true }).waitFor();
      await title(page, "The author nora");
      assert.deepEqual((await profileOf(server, email)).names, { full_name: "The author nora" });
      // With the app profile deleted, the address alone leads to the third issue.
      await page.locator("h2 .number", { hasText: /^3$/ }).waitFor();
      await page.getByRole("link", { name: "Issue 3 of nora" }).waitFor();
    },
  ],
  [
    "an author without a profile is erased from their page",
    async ({ server, open, write }) => {
      const email = await author(server, "gone");
      const page = await open({ path: `author?email=${email}`, key: write });
      await title(page, "The author gone");
      await page.getByRole("button", { name: "Erase this person…" }).click();
      await title(page, `Erase ${email}`);
      await page.locator(".receipt", { hasText: "gone-1" }).waitFor();
      await page.getByLabel("To go on").fill(email);
      await page.getByRole("button", { name: "Erase this person", exact: true }).click();
      await title(page, "The person is erased");
      const left = await server.call("GET", `v1/acme/issues?author_emails={"or":["${email}"]}`);
      assert.equal(left["total-hits"], 0);
    },
  ],
  [
    "people are found by id, phone number, app profile, author, and part of an address",
    async ({ server, open }) => {
      await server.task("identity", "create_core_profiles", [
        {
          identities: [{ uid: "C002000" }, { phone_number: "+49 (30) 1234-5678" }],
          names: { full_name: "Found By Id" },
        },
        { identities: [{ email: "user-35971@found.example" }] },
      ]);
      const lost = await author(server, "lost");
      await server.task("identity", "delete_app_profiles", [{ pid: "lost-1" }]);
      await author(server, "apponly");
      const page = await open({ path: "people" });
      await page.locator(".issue-row").first().waitFor();
      const finds = async (/** @type {string} */ text, /** @type {string} */ name) => {
        await page.getByLabel("Find people").fill(text);
        await page.keyboard.press("Enter");
        await page.waitForURL((url) => url.hash.includes(new URLSearchParams({ q: text })));
        // Until then the page shows the list of the search before, which may have the same person.
        await page.locator("main:not([aria-busy])").waitFor();
        await settled(page, 1);
        await page.locator(".person-row", { hasText: name }).waitFor();
      };
      await finds("C002000", "Found By Id");
      await finds("0049 30 12345678", "Found By Id");
      await finds("+493012345678", "Found By Id");
      await finds("author apponly", "The author apponly");
      await finds("apponly-1", "no profile");
      await finds(lost.toUpperCase(), "author of 3 issues");
      await page.keyboard.press("Escape");
      await keys(page, "j", "Enter");
      await title(page, "The author lost");
      await page.goBack();
      await page.getByLabel("Find people").fill("35971@FOUND");
      await page.keyboard.press("Enter");
      await page.getByRole("button", { name: "Look for it in all addresses" }).click();
      await settled(page, 1);
      await page.locator(".person-row", { hasText: "user-35971@found.example" }).waitFor();
    },
  ],
  [
    "the form of a person changes, clears and refuses in place, and sends only what changed",
    async ({ server, open, write }) => {
      const email = "form@people.example";
      await server.task("identity", "create_core_profiles", [
        {
          identities: [{ email, verified: "yes" }],
          names: { first_name: "Form", last_name: "Person" },
          last_country: "DE",
          last_city: "Bonn",
          age: 30,
          accepted_t_and_c: false,
          tags: ["one", "two"],
          custom_fields: { seats: 3, note: "as it was" },
          last_active_date: 1700000000123,
        },
      ]);
      const { "core-profile-id": id } = await profileOf(server, email);
      const page = await open({ path: `person/${id}`, key: write });
      await page.getByRole("button", { name: "Change", exact: true }).click();
      const field = (/** @type {string} */ label) => page.getByLabel(label, { exact: true });
      const preview = page.getByRole("button", { name: "Preview the changes" });
      await field("Country").fill("Atlantis");
      await field("Age").fill("old");
      await page.locator(".note.bad", { hasText: "has to be a number" }).waitFor();
      await preview.click();
      assert.equal(await page.locator("dialog").count(), 0);
      await field("Age").fill("200");
      await page.getByRole("button", { name: "Add identity" }).click();
      await preview.click();
      await page.locator(".form-bar", { hasText: "the server found 3 faults" }).waitFor();
      const fault = page.locator(".edit", { has: field("Country") }).locator(".note.bad");
      assert.match(await fault.innerText(), /"Atlantis" is not a country/);
      await page.locator(".edit .item", { hasText: "The email is empty" }).waitFor();
      assert.doesNotMatch(await page.locator(".person-form").innerText(), /\/last_country|last_c/);
      await page.getByRole("button", { name: "Remove identity 2" }).click();
      await page.getByRole("button", { name: "Undo Country" }).click();
      await field("Age").fill("31");
      await page.getByRole("button", { name: "Clear City" }).click();
      await page.locator(".edit.cleared", { hasText: "Removed when you save: Bonn" }).waitFor();
      await field("Terms accepted").selectOption("yes");
      await field("Tag 2").fill("three");
      await field("Name of a new custom field").fill("Shoe/size");
      await field("Its type").selectOption("number");
      await page.getByRole("button", { name: "Add a custom field" }).click();
      await field("Shoe/size").fill("42.50");
      // The other view has the same edits, and those made there.
      await page.getByRole("button", { name: "Edit as JSON" }).click();
      const text = page.getByLabel("Profile as JSON");
      assert.match(await text.inputValue(), /"Shoe\/size": 42.50/);
      assert.doesNotMatch(await text.inputValue(), /Bonn/);
      await text.fill((await text.inputValue()).replace("as it was", "as it is"));
      await page.getByRole("button", { name: "Edit as a form" }).click();
      assert.equal(await field("note").inputValue(), "as it is");
      await preview.click();
      await page.locator("dialog .preview", { hasText: "Custom field “Shoe/size”" }).waitFor();
      await page.getByRole("button", { name: "Save 6 changes" }).click();
      await page.locator(".person-form").waitFor({ state: "detached" });
      const stored = await server.call("GET", `v2/acme/identity/core_profiles/${id}`);
      assert.equal(stored.age, 31);
      assert.equal(stored.last_city, undefined);
      assert.equal(stored.accepted_t_and_c, true);
      assert.equal(stored.last_active_date, 1700000000123);
      assert.deepEqual(stored.tags, ["one", "three"]);
      assert.deepEqual(stored.identities, [{ email, verified: "yes" }]);
      assert.deepEqual(stored.custom_fields, { seats: 3, note: "as it is", "Shoe/size": 42.5 });
    },
  ],
  [
    "edits of a person that were not saved are asked about, and come back",
    async ({ server, open, write, person }) => {
      const page = await open({ path: `person/${person}`, key: write });
      const change = page.getByRole("button", { name: "Change", exact: true });
      const city = page.getByLabel("City", { exact: true });
      await change.click();
      await city.fill("Basel");
      await page.getByRole("button", { name: "Cancel" }).click();
      await page.getByText("Discard your changes?").waitFor();
      await page.locator("dialog").getByRole("button", { name: "Cancel" }).click();
      assert.equal(await city.inputValue(), "Basel");
      await keys(page, "g", "i");
      await title(page, "Issues");
      // Somebody else changes another field in the meantime.
      await server.task("identity", "update_core_profiles", [
        { "core-profile-id": person, user_persona: "explorer" },
      ]);
      await page.goBack();
      await page.getByText("You did not save these edits").waitFor();
      assert.equal(await city.inputValue(), "Basel");
      assert.equal(await page.getByLabel("Persona", { exact: true }).inputValue(), "explorer");
      await page.getByRole("button", { name: "Cancel" }).click();
      await page.getByRole("button", { name: "Discard the changes" }).click();
      await change.waitFor();
      await page.locator("dd", { hasText: "Basel" }).waitFor({ state: "detached" });
    },
  ],
];
