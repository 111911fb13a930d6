// The eight calls through the client of @hey-api/openapi-ts.

import { client } from "./client/client.gen.js";
import {
  createIssue,
  createIssueTask,
  editIssue,
  getIssue,
  getIssueTask,
  getIssueTaskErrors,
  getIssueTaskResults,
  listIssues,
} from "./client/index.js";

const { CASELOAD_CHECK_URL: baseUrl, CASELOAD_CHECK_KEY: key } = process.env;
const domain = "acme";
const tag = `hey-api-${crypto.randomUUID()}`;
const entries = [
  { title: "No mail", created_at: 1767225600000, tags: [tag] },
  { title: "Wrong total", created_at: 1767225600001, tags: [tag] },
  { title: "Without a time" },
];

client.setConfig({ baseUrl: baseUrl!, auth: key!, throwOnError: true });
const throwOnError = true;

/** The records, if they came as a whole and not as a range of their text, or as a page. */
function whole<Record>(records: Record[] | string | object): Record[] {
  if (!Array.isArray(records)) throw new Error(`not an array: ${records}`);
  return records;
}

const created = await createIssueTask({
  throwOnError,
  path: { domain },
  headers: { "Idempotency-Key": crypto.randomUUID() },
  body: { action: "import_issues", payload: entries },
});
let task = created.data;
console.log("create:", task.counts.total);

const path = { domain, task_id: task.task_id };
do {
  task = (await getIssueTask({ throwOnError, path, query: { wait: 3 } })).data;
} while (task.status !== "completed");
console.log("poll:", task.outcome, task.counts.succeeded, task.counts.failed);

const { data: results } = await getIssueTaskResults({ throwOnError, path });
console.log("results:", ...whole(results).map((record) => `${record.line} ${record.outcome}`));

const { data: errors } = await getIssueTaskErrors({ throwOnError, path });
const faults = whole(errors).flatMap((record) => record.errors);
console.log("errors:", ...faults.map((fault) => `${fault.code} ${fault.pointer}`));

const { data: page } = await listIssues({
  throwOnError,
  path: { domain },
  query: {
    state: ["new", "resolved"],
    tags: JSON.stringify({ or: [tag] }),
    includes: JSON.stringify(["custom_fields", "queue"]),
    "created-since": 1767225600000,
    redacted: false,
    "page-size": 1,
  },
});
console.log("list:", page["total-hits"], ...page.issues.map((issue) => issue.title));

const { data: single } = await getIssue({
  throwOnError,
  path: { domain, issue_id: page.issues[0]!.id },
});
const one = single.issues[0]!;
console.log("one issue:", one.title, one.state_data.state);

const { data: issue } = await createIssue({
  throwOnError,
  path: { domain },
  body: {
    "message-body": "The screen stays dark.",
    email: "ada@example.org",
    tags: [tag, "dark"],
  },
});
console.log("create issue:", issue.title, ...issue.tags.slice(1));

const { data: edited } = await editIssue({
  throwOnError,
  path: { domain, issue_id: Number(issue.id) },
  body: { status: "resolved", tags: [tag, "done"] },
});
const { status, tags } = edited["updated-data"];
console.log("edit:", status, ...tags!.slice(1));
