"""The eight calls through the Python client of openapi-generator. mypy checks them with --strict."""

import json
import os
from uuid import uuid4

from caseload_client import (
    ApiClient,
    Configuration,
    EditJson,
    IssueEnvelope,
    IssueJson,
    IssuesApi,
    IssueState,
    IssueTaskJson,
    IssueTasksApi,
)

TAG = f"openapi-generator-{uuid4()}"
ENTRIES = [
    {"title": "No mail", "created_at": 1767225600000, "tags": [TAG]},
    {"title": "Wrong total", "created_at": 1767225600001, "tags": [TAG]},
    {"title": "Without a time"},
]

configuration = Configuration(
    host=os.environ["CASELOAD_CHECK_URL"], access_token=os.environ["CASELOAD_CHECK_KEY"]
)
client = ApiClient(configuration)
tasks = IssueTasksApi(client)
issues = IssuesApi(client)
domain = "acme"

task = tasks.create_issue_task(
    domain,
    IssueTaskJson(action="import_issues", payload=ENTRIES),
    idempotency_key=str(uuid4()),
)
print("create:", task.counts.total)

task = tasks.get_issue_task(domain, task.task_id, wait=3)
while task.status != "completed":
    task = tasks.get_issue_task(domain, task.task_id, wait=3)
assert task.outcome is not None
print("poll:", task.outcome.value, task.counts.succeeded, task.counts.failed)

results = tasks.get_issue_task_results(domain, task.task_id)
print("results:", *[f"{record.line} {record.outcome}" for record in results])

errors = tasks.get_issue_task_errors(domain, task.task_id).actual_instance
assert isinstance(errors, list)
faults = [fault for record in errors for fault in record.errors]
print("errors:", *[f"{fault.code.value} {fault.pointer}" for fault in faults])

answer = issues.list_issues(
    domain,
    state=["new", "resolved"],
    tags=json.dumps({"or": [TAG]}),
    includes=json.dumps(["custom_fields", "queue"]),
    created_since=1767225600000,
    redacted=False,
    page_size=1,
)
page = answer.actual_instance
assert isinstance(page, IssueEnvelope), page
print("list:", page.total_hits, *[issue.title for issue in page.issues])

one = issues.get_issue(domain, page.issues[0].id).issues[0]
print("one issue:", one.title, one.state_data.state.value)

new = IssueJson.model_validate(
    {
        "message-body": "The screen stays dark.",
        "email": "ada@example.org",
        "tags": [TAG, "dark"],
    }
)
issue = issues.create_issue(domain, new)
print("create issue:", issue.title, *issue.tags[1:])

edit = EditJson(status=IssueState.RESOLVED, tags=[TAG, "done"])
edited = issues.edit_issue(domain, int(issue.id), edit).updated_data
assert edited.status and edited.tags, edited
print("edit:", edited.status.value, *edited.tags[1:])
