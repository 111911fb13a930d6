"""What schemathesis cannot read from openapi.json: how to make what the server takes.

The formats are those of form fields whose text is JSON. The rules on pages, cursors and edits tie
parameters together, which OpenAPI has no words for. The domain is the one that the key opens.
"""

import gzip
import json
import os
import re

import schemathesis
from hypothesis import strategies as st
from schemathesis.core.parameters import ParameterLocation

PAGE_DEPTH_MAX = 50_000
DOMAIN = re.compile("[a-z0-9][a-z0-9-]{0,62}")

texts = st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), max_size=20)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)
good = st.sampled_from(
    [
        {"identities": [{"email": "ada@example.org", "verified": "true"}], "age": 36},
        {"core-profile-id": "188474421477632", "last_country": "SE"},
        {"pid": "acme_profile_0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c", "city": "Lund"},
        {"title": "No mail", "created_at": 1767225600000, "tags": ["billing"]},
    ]
)
entries = st.lists(good | st.dictionaries(texts, values, max_size=4), min_size=1, max_size=4)

custom_fields = st.sampled_from(
    [
        {"type": "singleline", "value": "x"},
        {"type": "number", "value": 43},
        {"type": "date", "value": 1767225600000},
        {"type": "checkbox", "value": "true"},
        {"type": "dropdown", "value": "gold"},
    ]
)
keys = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20)
formats = {
    "json-array": entries,
    "json-texts": st.lists(texts, max_size=4),
    "json-map": st.dictionaries(texts, texts | st.integers() | st.booleans(), max_size=4),
    "json-custom-fields": st.dictionaries(keys, custom_fields, max_size=4),
    "json-ids": st.sampled_from([[12], ["12"], [12, "13"]]),
}
for name, strategy in formats.items():
    schemathesis.openapi.format(name, strategy.map(json.dumps))
schemathesis.openapi.format(
    "json-lines", entries.map(lambda all: "".join(json.dumps(entry) + "\n" for entry in all))
)

AGENT = os.environ["CASELOAD_CHECK_AGENT"]
# A referenced record has to exist; every good value becomes the id of an existing one.
REFERENCES = {
    "app-id": "app-1",
    "agent-id": AGENT,
    "profile-id": AGENT,
    "agent-profile-id": AGENT,
    "assignee-id": AGENT,
    "assignee-email": "grace@example.org",
    "queue_id": "123",
}

# Fields, and parameters (filled in below), that the server reads in more forms than the document gives
# them: lists of texts and ids also as one text, booleans also as digits.
FIELDS_OF_MORE_FORMS = {"tags", "cc", "issue-ids", "dry_run"}
PARAMETERS_OF_MORE_FORMS = set()

# A token comes from an answer; the generator cannot invent one.
schemathesis.openapi.format("cursor", st.just(""))
# Names of databases and standards that the document does not repeat.
schemathesis.openapi.format("country", st.sampled_from(["DE", "Germany", "fra"]))
schemathesis.openapi.format("language", st.sampled_from(["de", "EN"]))
schemathesis.openapi.format("time-zone", st.sampled_from(["UTC", "Europe/Berlin", "Asia/Kolkata"]))


def is_issue_id(value):
    """Digits, or a whole number. To a schema 12.0 is one, and no client writes an id like that."""
    if isinstance(value, str):
        return re.fullmatch("[0-9]+", value, re.ASCII) is not None
    if isinstance(value, float):
        return value.is_integer() and value >= 1
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


@schemathesis.hook
def before_load_schema(context, document):
    """Says in the strictest words what openapi.json says in words that generators of clients know.

    A query parameter whose text is JSON becomes one with `content`, so that its content is generated
    too. A boolean of a form is also 1 or 0. An error has to have its status and one of its codes. A
    part of a JSON text is not JSON.
    """
    for parameter in document["components"]["parameters"].values():
        schema = parameter["schema"]
        if parameter["in"] == "query" and ("contentSchema" in schema or schema.get("type") == "boolean"):
            PARAMETERS_OF_MORE_FORMS.add(parameter["name"])
        if parameter["in"] == "query" and "contentSchema" in schema:
            example = json.loads(parameter.pop("example"))
            parameter["content"] = {
                "application/json": {"schema": schema["contentSchema"], "example": example}
            }
            del parameter["schema"]
    for name, schema in document["components"]["schemas"].items():
        if name.endswith(("Form", "Upload")):
            for field in schema["properties"].values():
                if field.get("type") == "boolean":
                    field.pop("type")
                    field["enum"] = [True, False, "true", "false", 1, 0, "1", "0"]
    shared = document["components"]["responses"].values()
    operations = [operation for path in document["paths"].values() for operation in path.values()]
    for operation in operations:
        for media in operation["responses"].get("206", {}).get("content", {}).values():
            media.pop("schema", None)
    own = [answer for operation in operations for answer in operation["responses"].values()]
    for answer in [*shared, *own]:
        media = answer.get("content", {}).get("application/problem+json")
        if media:
            codes = media["x-error-codes"]
            examples = document["components"]["examples"]
            statuses = [examples[code]["value"]["status"] for code in codes]
            narrower = {"status": {"enum": statuses}, "code": {"enum": codes}}
            media["schema"] = {"allOf": [media["schema"], {"properties": narrower}]}


# The fields that change nothing by themselves, and the one that may be empty.
UNCHANGING = {
    "editIssue": {"agent-profile-id"},
    "editIssues": {"issue-ids", "action_taken_by"},
}
MAY_BE_EMPTY = "title"
# The keys that the document shows, because every client can send them.
PLAIN_KEY = re.compile("[!-~]([ -~]{0,253}[!-~])?")


def changes_nothing(case):
    """Whether a body has the fields that the document asks for, and changes nothing."""
    others = UNCHANGING.get(case.operation.definition.raw.get("operationId"))
    if others is None or not isinstance(case.body, dict) or not case.body:
        return False
    changing = {
        name
        for name, value in case.body.items()
        if value is not None and (value != "" or name == MAY_BE_EMPTY)
    }
    return changing <= others


@schemathesis.hook
def filter_case(context, case):
    """Leaves out pages that are too deep, parameters that do not go together, and empty edits.

    `page` x `page-size` is at most 50000; `page`, `cursor` and `after` exclude each other, and
    `count` needs one of the last two. A stream has no `page`, only a table has `columns`, and a page
    is not downloaded. Groups differ. An edit has a field that changes something. An empty list is
    taken for an empty map. `tags` replaces all tags, and a tag is added or removed. `upsert` goes with one action, and a token is never invented. An
    erasure names one person, and the log is read from one place. Also left
    out are idempotency keys that the server takes and the document does not show, and a single wrong
    parameter of which `map_case` would leave nothing.
    """
    if case.meta is not None and case.meta.is_negative_at(ParameterLocation.QUERY):
        data = case.meta.phase.data
        # The fault may be inside the value of a parameter: /properties/NAME/properties/…
        inside = str(getattr(data, "location", None) or "").split("/")[2:3]
        if PARAMETERS_OF_MORE_FORMS & {getattr(data, "parameter", None), *inside}:
            return False
    key = (case.headers or {}).get("Idempotency-Key")
    if isinstance(key, str) and 1 <= len(key) <= 255 and not PLAIN_KEY.fullmatch(key):
        return False
    body = case.body if isinstance(case.body, dict) else {}
    if changes_nothing(case) or [] in (body.get("meta"), body.get("custom_fields")):
        return False
    if sum(name in body for name in ("tags", "add_tags", "remove_tags")) > 1:
        return False
    selectors = sum(name in body for name in ("identity", "core-profile-id", "pid"))
    if case.operation.path.endswith("/erasures") and selectors != 1:
        return False
    if "upsert" in body and body.get("action") != "import_issues":
        return False
    query = case.query or {}
    is_wrong = case.meta is not None and case.meta.is_negative_at(ParameterLocation.QUERY)
    if not is_wrong and query.get("cursor", "") not in ("", "*"):
        return False
    if "cursor" in query and "since" in query:
        return False
    by_place = "cursor" in query or "after" in query
    if ("cursor" in query) + ("after" in query) + ("page" in query) > 1:
        return False
    if "download" in query and ("page" in query or "cursor" in query):
        return False
    groups = query.get("group-by", [])
    groups = groups.split(",") if isinstance(groups, str) else groups
    if isinstance(groups, list) and len(groups) == 2 and groups[0] == groups[1]:
        return False
    if query.get("format") in ("jsonl", "ndjson", "csv") and "page" in query:
        return False
    if "columns" in query and query.get("format") != "csv":
        return False
    if "count" in query and not by_place and query["count"] in ("true", "false", True, False):
        return False
    try:
        page = int((case.query or {}).get("page", 1))
        size = int((case.query or {}).get("page-size", 100))
    except (TypeError, ValueError):
        return True
    return page * size <= PAGE_DEPTH_MAX or page < 1 or not 1 <= size <= 1000


def without_more_forms(case):
    """Leaves out of a wrong request what may be right in a form that the document does not have."""
    if case.meta is None:
        return
    for location, values, names in (
        (ParameterLocation.QUERY, case.query, PARAMETERS_OF_MORE_FORMS),
        (ParameterLocation.BODY, case.body, FIELDS_OF_MORE_FORMS),
    ):
        if isinstance(values, dict) and case.meta.is_negative_at(location):
            for name in names & values.keys():
                del values[name]


@schemathesis.hook
def map_case(context, case):
    """A key opens one domain: every good name becomes that one, bad names stay as they are.

    The two imported issues stay for the other calls: a request to delete one of them names a third.
    """
    without_more_forms(case)
    if case.method == "DELETE" and str((case.path_parameters or {}).get("issue_id")) in ("12", "13"):
        case.path_parameters["issue_id"] = "14"
    domain = (case.path_parameters or {}).get("domain")
    if isinstance(domain, str) and DOMAIN.fullmatch(domain):
        case.path_parameters["domain"] = "acme"
    body = case.body if isinstance(case.body, dict) else {}
    for name in REFERENCES.keys() & body.keys():
        value = body[name]
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            body[name] = REFERENCES[name]
        if isinstance(value, str) and 0 < len(value) <= 255:
            body[name] = REFERENCES[name]
    ids = body.get("issue-ids")
    if isinstance(ids, list) and ids and all(is_issue_id(id) for id in ids):
        body["issue-ids"] = [12, "13"]
    return case


@schemathesis.serializer("application/x-ndjson")
def lines(context, value):
    """What is no text already is one line of JSON."""
    if isinstance(value, bytes):
        return value
    return (value if isinstance(value, str) else json.dumps(value)).encode()


@schemathesis.deserializer("application/gzip")
def packed(context, response):
    """A download has to unpack; what is in it is described in words."""
    return gzip.decompress(response.content).decode()
