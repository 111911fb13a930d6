"""The eight calls through the client of openapi-python-client. mypy checks them with --strict."""

import json
import os
from typing import TypeVar
from uuid import uuid4

from caseload_client import AuthenticatedClient
from caseload_client.api.issue_tasks import (
    create_issue_task,
    get_issue_task,
    get_issue_task_errors,
    get_issue_task_results,
)
from caseload_client.api.issues import create_issue, edit_issue, get_issue, list_issues
from caseload_client.models import (
    EditJson,
    IssueEnvelope,
    IssueJson,
    IssueState,
    IssueTaskJson,
    IssueTaskJsonAction,
    ListIssuesStateItem,
    Problem,
)

Answer = TypeVar("Answer")

TAG = f"openapi-python-client-{uuid4()}"
ENTRIES = [
    {"title": "No mail", "created_at": 1767225600000, "tags": [TAG]},
    {"title": "Wrong total", "created_at": 1767225600001, "tags": [TAG]},
    {"title": "Without a time"},
]


def good(answer: Answer | Problem | None) -> Answer:
    """The answer, if it is not an error."""
    if answer is None or isinstance(answer, Problem):
        raise SystemExit(f"the call failed: {answer}")
    return answer


client = AuthenticatedClient(os.environ["CASELOAD_CHECK_URL"], os.environ["CASELOAD_CHECK_KEY"])
domain = "acme"

body = IssueTaskJson(IssueTaskJsonAction.IMPORT_ISSUES, ENTRIES)
task = good(create_issue_task.sync(domain, client=client, body=body, idempotency_key=str(uuid4())))
print("create:", task.counts.total)

task = good(get_issue_task.sync(domain, task.task_id, client=client, wait=3))
while task.status != "completed":
    task = good(get_issue_task.sync(domain, task.task_id, client=client, wait=3))
print("poll:", task.outcome, task.counts.succeeded, task.counts.failed)

results = good(get_issue_task_results.sync(domain, task.task_id, client=client))
print("results:", *[f"{record.line} {record.outcome}" for record in results])

errors = good(get_issue_task_errors.sync(domain, task.task_id, client=client))
records = errors if isinstance(errors, list) else errors.errors
faults = [fault for record in records for fault in record.errors]
print("errors:", *[f"{fault.code} {fault.pointer}" for fault in faults])

page = good(
    list_issues.sync(
        domain,
        client=client,
        state=[ListIssuesStateItem.NEW, ListIssuesStateItem.RESOLVED],
        tags=json.dumps({"or": [TAG]}),
        includes=json.dumps(["custom_fields", "queue"]),
        created_since=1767225600000,
        redacted=False,
        page_size=1,
    )
)
assert isinstance(page, IssueEnvelope), page
print("list:", page.total_hits, *[issue.title for issue in page.issues])

one = good(get_issue.sync(domain, page.issues[0].id, client=client)).issues[0]
print("one issue:", one.title, one.state_data.state)

new = IssueJson("The screen stays dark.", email="ada@example.org", tags=[TAG, "dark"])
issue = good(create_issue.sync(domain, client=client, body=new))
print("create issue:", issue.title, *issue.tags[1:])

edit = EditJson(status=IssueState.RESOLVED, tags=[TAG, "done"])
edited = good(edit_issue.sync(domain, int(issue.id), client=client, body=edit)).updated_data
assert edited.tags, edited
print("edit:", edited.status, *edited.tags[1:])
