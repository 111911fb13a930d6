// The eight calls through openapi-fetch with the types of openapi-typescript.

import createClient from "openapi-fetch";

import type { components, paths } from "./schema.js";

type Problem = components["schemas"]["Problem"];
// The bodies that the program reads: records are also to be had as text.
type Media = "application/json" | "application/problem+json";

const { CASELOAD_CHECK_URL: baseUrl, CASELOAD_CHECK_KEY: key } = process.env;
const domain = "acme";
const tag = `openapi-fetch-${crypto.randomUUID()}`;
const entries = [
  { title: "No mail", created_at: 1767225600000, tags: [tag] },
  { title: "Wrong total", created_at: 1767225600001, tags: [tag] },
  { title: "Without a time" },
];

const client = createClient<paths, Media>({ baseUrl, headers: { Authorization: `Bearer ${key}` } });

/** The data of the answer, if it is not an error. */
async function good<Data>(answer: Promise<{ data?: Data; error?: Problem }>): Promise<Data> {
  const { data, error } = await answer;
  if (data === undefined) throw new Error(`the call failed: ${JSON.stringify(error)}`);
  return data;
}

/** The records, if they came as a whole and not as a range of their text, or as a page. */
function whole<Record>(records: Record[] | string | object): Record[] {
  if (!Array.isArray(records)) throw new Error(`not an array: ${records}`);
  return records;
}

let task = await good(
  client.POST("/v2/{domain}/issues/bulk_actions", {
    params: { path: { domain }, header: { "Idempotency-Key": crypto.randomUUID() } },
    body: { action: "import_issues", payload: entries },
  }),
);
console.log("create:", task.counts.total);

do {
  task = await good(
    client.GET("/v2/{domain}/issues/bulk_actions/{task_id}", {
      params: { path: { domain, task_id: task.task_id }, query: { wait: 3 } },
    }),
  );
} while (task.status !== "completed");
console.log("poll:", task.outcome, task.counts.succeeded, task.counts.failed);

const file = { params: { path: { domain, task_id: task.task_id } } };
const results = await good(client.GET("/v2/{domain}/issues/bulk_actions/{task_id}/results", file));
console.log("results:", ...whole(results).map((record) => `${record.line} ${record.outcome}`));

const errors = await good(client.GET("/v2/{domain}/issues/bulk_actions/{task_id}/errors", file));
const faults = whole(errors).flatMap((record) => record.errors);
console.log("errors:", ...faults.map((fault) => `${fault.code} ${fault.pointer}`));

const page = await good(
  client.GET("/v1/{domain}/issues", {
    params: {
      path: { domain },
      query: {
        state: ["new", "resolved"],
        tags: JSON.stringify({ or: [tag] }),
        includes: JSON.stringify(["custom_fields", "queue"]),
        "created-since": 1767225600000,
        redacted: false,
        "page-size": 1,
      },
    },
  }),
);
console.log("list:", page["total-hits"], ...page.issues.map((issue) => issue.title));

const { issues } = await good(
  client.GET("/v1/{domain}/issues/{issue_id}", {
    params: { path: { domain, issue_id: page.issues[0]!.id } },
  }),
);
const one = issues[0]!;
console.log("one issue:", one.title, one.state_data.state);

const issue = await good(
  client.POST("/v1/{domain}/issues", {
    params: { path: { domain } },
    body: {
      "message-body": "The screen stays dark.",
      email: "ada@example.org",
      tags: [tag, "dark"],
    },
  }),
);
console.log("create issue:", issue.title, ...issue.tags.slice(1));

const edited = await good(
  client.PUT("/v1/{domain}/issues/{issue_id}", {
    params: { path: { domain, issue_id: Number(issue.id) } },
    body: { status: "resolved", tags: [tag, "done"] },
  }),
);
const { status, tags } = edited["updated-data"];
console.log("edit:", status, ...tags!.slice(1));
