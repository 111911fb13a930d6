// Runs flows one after another against a server with records, prints each, and fails if a flow
// fails or if a page had an error, broke the policy or asked anybody else for anything. The first
// argument names a group of flows, or all; a second one a part of their names.
import { Browser } from "./browser.js";
import { access } from "./flows/access.js";
import { authors } from "./flows/authors.js";
import { conversation } from "./flows/conversation.js";
import { edits } from "./flows/edits.js";
import { erasures } from "./flows/erasures.js";
import { exports } from "./flows/exports.js";
import { faults } from "./flows/faults.js";
import { filters } from "./flows/filters.js";
import { first } from "./flows/first.js";
import { files } from "./flows/imports.js";
import { issues as ofIssues } from "./flows/issues.js";
import { log } from "./flows/log.js";
import { long } from "./flows/long.js";
import { looks, times } from "./flows/looks.js";
import { overview } from "./flows/overview.js";
import { people as ofPeople } from "./flows/people.js";
import { settings } from "./flows/settings.js";
import { shell } from "./flows/shell.js";
import { tasks } from "./flows/tasks.js";
import { tenTasks } from "./flows/ten_tasks.js";
import { testServer } from "./flows/test_server.js";
import { webhooks } from "./flows/webhooks.js";
import { words } from "./flows/words.js";
import { faultyProfiles, hostileIssues, hostileProfiles, issues } from "./records.js";
import { Server } from "./server.js";

/** A flow that hangs is over after this time: a page may be waited for without a limit. */
const FLOW_MS_MAX = 600000;
const late = () =>
  new Promise((_, reject) => {
    const fail = () => reject(new Error(`not over after ${FLOW_MS_MAX / 1000} s`));
    setTimeout(fail, FLOW_MS_MAX).unref();
  });

const GROUPS = {
  acts: [
    ...access,
    ...ofIssues,
    ...filters,
    ...edits,
    ...conversation,
    ...ofPeople,
    ...authors,
    ...erasures,
    ...files,
    ...tasks,
    ...faults,
    ...log,
    ...settings,
    ...webhooks,
    ...tenTasks,
  ],
  reads: [...first, ...long, ...exports, ...overview, ...shell, ...testServer, ...words, ...looks],
  times,
};
const [group, only] = process.argv.slice(2);
const chosen = group === "all" ? Object.values(GROUPS).flat() : GROUPS[group];
const server = new Server();
const browser = new Browser();
let failed = 0;
await server.start();
try {
  await browser.start();
  const now = Date.now() - 60000;
  await server.call("POST", "v1/acme/agents", { name: "Grace Hopper", email: "grace@example.org" });
  await server.task("issues", "import_issues", issues(1200, now));
  const hostile = await server.task("issues", "import_issues", hostileIssues(now));
  const people = await server.task("identity", "create_core_profiles", hostileProfiles());
  if (people.counts.failed) throw new Error("a hostile profile was refused");
  const faulty = await server.task("identity", "create_core_profiles", faultyProfiles(400));
  await server.task("identity", "create_core_profiles", [
    "no json",
    '{"identities":[{"email":"<b>x</b>"}],"last_country":"</script>"}',
  ]);
  const [{ "core-profile-id": person }] = (
    await server.call("GET", "v2/acme/identity/core_profiles?identity=email:p5@example.org")
  ).core_profiles;
  // The author of some issues.
  await server.task("identity", "create_core_profiles", [
    { identities: [{ email: "ada49@example.org" }] },
  ]);
  const [{ "core-profile-id": author }] = (
    await server.call("GET", "v2/acme/identity/core_profiles?identity=email:ada49@example.org")
  ).core_profiles;
  const erased = await server.call("POST", "v1/acme/erasures", {
    identity: "email:p6@example.org",
  });
  await server.call("GET", `v2/acme/issues/bulk_actions/${erased.task_id}?wait=60`);
  const webhook = await server.call("POST", "v1/acme/webhooks", {
    url: `${server.url}/no-receiver`,
    resources: ["agent"],
  });
  await server.call("POST", "v1/acme/agents", { name: "Mary Shaw", email: "mary@example.org" });
  const world = {
    server,
    browser,
    author,
    erased,
    webhook,
    hostile,
    faulty,
    person,
    read: server.newKey("read"),
    write: server.newKey("write"),
  };
  const begun = Date.now();
  for (const [name, flow] of chosen) {
    if (only && !name.includes(only)) continue;
    const from = Date.now();
    let page;
    const open = async (options) => (page = await browser.page(server, options));
    try {
      await Promise.race([flow({ ...world, open }), late()]);
      if (browser.wrong.length) throw new Error(browser.wrong.join("; "));
      console.log(`ok   ${String(Date.now() - from).padStart(6)} ms  ${name}`);
    } catch (error) {
      failed += 1;
      const stack = error.stack.split("\n").slice(0, 12).join("\n     ");
      console.log(`FAIL ${String(Date.now() - from).padStart(6)} ms  ${name}\n     ${stack}`);
      await page
        ?.screenshot({
          path: `${process.env.CONSOLE_CHECK_SHOTS ?? server.folder}/failed-${group}-${failed}.png`,
        })
        .catch(() => {});
    }
    browser.wrong.length = 0;
    for (const context of browser.chromium.contexts()) await context.close();
  }
  const said = failed ? `${failed} flows failed` : "all flows passed";
  console.log(`${said}, ${Math.round((Date.now() - begun) / 1000)} s`);
} finally {
  await browser.close();
  await server.close();
}
process.exit(failed ? 1 : 0);
