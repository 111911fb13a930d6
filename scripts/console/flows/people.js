// The flows of people: found, read, changed after a preview, and deleted.
import assert from "node:assert/strict";
import { keys, settled, title } from "../steps.js";

/** A person with an app profile and an issue, and with digits that a float would lose. */
async function flowPerson(server) {
  await server.task(
    "identity",
    "create_core_profiles",
    [
      {
        identities: [{ email: "flow@example.org" }, { uid: "flow" }],
        names: { full_name: "Flow Person" },
        last_country: "DE",
        age: 30,
        lifetime_value: "@@",
      },
    ].map((one) => JSON.stringify(one).replace('"@@"', "1.10")),
  );
  await server.task("issues", "import_issues", [
    {
      title: "From a flow",
      created_at: 1700000000000,
      hs_user_id: "flow-pid",
      author_email: "FLOW@example.org",
    },
  ]);
}

export const people = [
  [
    "people are found by name, e-mail, tag and country, and the address has it all",
    async ({ server, open }) => {
      const people = async (query) =>
        (await server.call("GET", `v2/acme/identity/core_profiles?page-size=1${query}`))[
          "total-hits"
        ];
      const page = await open({ path: "people" });
      await settled(page, await people(""));
      await keys(page, "/");
      await page.keyboard.type("P7@Example.org");
      await page.keyboard.press("Enter");
      await settled(page, 1);
      await page.getByLabel("Find people").fill("byron");
      await page.keyboard.press("Enter");
      await settled(page, await people("&name=byron"));
      await page.getByLabel("Tag").fill("poet");
      await page.keyboard.press("Enter");
      const both = await people("&name=byron&tags=poet");
      assert.ok(both > 0);
      await settled(page, both);
      await page.getByLabel("Country").fill("France");
      await page.keyboard.press("Enter");
      await page.getByText("Nobody found").waitFor();
      await page.getByLabel("Country").fill("gb");
      await page.keyboard.press("Enter");
      await settled(page, both);
      await page.reload();
      await settled(page, both);
      await page.getByLabel("Country").fill("Atlantis");
      await page.keyboard.press("Enter");
      await page.getByText("is not a country").first().waitFor();
    },
  ],
  [
    "people are found by language, segment and times, and tags lead to the others",
    async ({ server, open }) => {
      await server.task("identity", "create_core_profiles", [
        {
          identities: [{ uid: "lang-1" }],
          preferred_language: "fi",
          user_vip_segment: "gold",
          tags: ["northern", "a&b=c"],
        },
        {
          identities: [{ uid: "lang-2" }],
          preferred_language: "fi",
          user_vip_segment: "silver",
          tags: ["northern"],
        },
      ]);
      const page = await open({ path: "people" });
      await page.getByText("More filters").click();
      await page.getByLabel("Language").fill("FI");
      await page.keyboard.press("Enter");
      await settled(page, 2);
      await page.getByLabel("Segment").fill("gold");
      await page.keyboard.press("Enter");
      await settled(page, 1);
      await page.getByLabel("Created until").fill("2001-02-03");
      await page.keyboard.press("Enter");
      await page.getByText("Nobody found").waitFor();
      await page.getByLabel("Created until").fill("");
      await page.getByLabel("Changed since").fill("2001-02-03");
      await page.keyboard.press("Enter");
      await settled(page, 1);
      await page.reload();
      await settled(page, 1);
      assert.equal(await page.getByLabel("Changed since").inputValue(), "2001-02-03");
      await page.keyboard.press("Escape");
      await keys(page, "j", "Enter");
      await page.getByRole("link", { name: "northern", exact: true }).waitFor();
      await page.getByRole("link", { name: "a&b=c", exact: true }).click();
      await settled(page, 1);
      await page.goBack();
      await page.getByRole("link", { name: "northern", exact: true }).click();
      await settled(page, 2);
    },
  ],
  [
    "a person is found, read, changed after a preview and deleted, by keyboard",
    async ({ server, open, write }) => {
      await flowPerson(server);
      const page = await open({ path: "people", key: write });
      await page.locator(".issue-row").first().waitFor();
      await keys(page, "/");
      await page.keyboard.type("uid:flow");
      await page.keyboard.press("Enter");
      await settled(page, 1);
      await page.keyboard.press("Escape");
      await keys(page, "j", "Enter");
      await title(page, "Flow Person");
      await page.getByText("flow-pid").click();
      await page.locator(".app-profile dd", { hasText: "flow-pid" }).waitFor();
      await page.getByRole("link", { name: "From a flow" }).waitFor();
      await page.getByText("1.10", { exact: true }).waitFor();
      const id = decodeURIComponent(page.url().split("/").pop());
      for (const country of ["FR", "DE", "FR"]) {
        await page.getByRole("button", { name: "Change", exact: true }).click();
        await page.getByLabel("Country", { exact: true }).fill(country);
        await page.getByRole("button", { name: "Preview the changes" }).click();
        await page.locator(".preview", { hasText: "Country" }).waitFor();
        await page.getByRole("button", { name: "Save 1 change" }).click();
        await page.locator("dd", { hasText: country }).first().waitFor();
        await page.locator("dialog").waitFor({ state: "detached" });
        await page.locator(".person-form").waitFor({ state: "detached" });
        const stored = await server.call("GET", `v2/acme/identity/core_profiles/${id}`);
        assert.equal(stored.last_country, country);
      }
      await page.getByRole("button", { name: "Delete", exact: true }).click();
      await page.getByText("1 app profile and 1 issue stay").waitFor();
      await page.getByRole("button", { name: "Delete the profile" }).focus();
      await keys(page, "Enter");
      await page.locator(".notice", { hasText: "deleted" }).waitFor();
      await title(page, "People");
      assert.equal(
        (await server.call("GET", "v2/acme/identity/core_profiles?identity=uid:flow"))[
          "total-hits"
        ],
        0,
      );
      assert.equal(
        (await server.call("GET", "v2/acme/identity/app_profiles?pids=flow-pid"))["total-hits"],
        1,
      );
    },
  ],
  [
    "an issue leads to its author and the author to the issue, by the mouse",
    async ({ server, open }) => {
      await server.task("identity", "create_core_profiles", [
        {
          identities: [{ email: "author@example.org" }],
          names: { full_name: "An Author" },
          last_active_date: 1700000000000,
        },
      ]);
      await server.call("POST", "v1/acme/issues", {
        title: "From an author",
        "message-body": "Hello?",
        "author-name": "An Author",
        email: "Author@example.org",
      });
      const page = await open({ path: "issues" });
      // Other flows work by the keyboard alone.
      const press = async (/** @type {any} */ shown) => {
        await shown.waitFor();
        const box = await shown.boundingBox();
        await page.mouse.click(box.x + box.width / 3, box.y + 8);
      };
      await press(page.locator(".issue-row", { hasText: "From an author" }));
      await press(page.getByRole("link", { name: "author@example.org" }));
      await title(page, "An Author");
      await page.locator('time[datetime^="2023-11-14"]').waitFor();
      await press(page.getByRole("link", { name: "From an author" }));
      await title(page, "From an author");
    },
  ],
  [
    "a read key finds people and changes none",
    async ({ open, read }) => {
      const page = await open({ key: read, path: "people" });
      await page.locator(".issue-row").first().waitFor();
      await keys(page, "j", "Enter");
      await page.locator("dl").first().waitFor();
      assert.equal(await page.getByRole("button", { name: /Change|Delete|Erase/ }).count(), 0);
    },
  ],
];
