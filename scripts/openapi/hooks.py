"""What schemathesis cannot read from openapi.json: how to make what the server takes.

The formats are those of form fields whose text is JSON. The rules on pages and cursors tie parameters
together, which OpenAPI has no words for. The domain is the one that the key opens.
"""

import gzip
import json
import os
import re

import schemathesis
from hypothesis import strategies as st

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
        {"core-profile-id": "1666311221477632", "last_country": "SE"},
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

# A token comes from an answer; the generator cannot invent one.
schemathesis.openapi.format("cursor", st.just(""))


@schemathesis.hook
def filter_case(context, case):
    """Leaves out pages that are too deep, and parameters that do not go together.

    `page` x `page-size` is at most 50000; `page`, `cursor` and `after` exclude each other, and
    `count` needs one of the last two.
    """
    query = case.query or {}
    by_place = "cursor" in query or "after" in query
    if ("cursor" in query) + ("after" in query) + ("page" in query) > 1:
        return False
    if "count" in query and not by_place and query["count"] in ("true", "false", True, False):
        return False
    try:
        page = int((case.query or {}).get("page", 1))
        size = int((case.query or {}).get("page-size", 100))
    except (TypeError, ValueError):
        return True
    return page * size <= PAGE_DEPTH_MAX or page < 1 or not 1 <= size <= 1000


@schemathesis.hook
def map_case(context, case):
    """A key opens one domain: every good name becomes that one, bad names stay as they are."""
    domain = (case.path_parameters or {}).get("domain")
    if isinstance(domain, str) and DOMAIN.fullmatch(domain):
        case.path_parameters["domain"] = "acme"
    body = case.body if isinstance(case.body, dict) else {}
    for name in REFERENCES.keys() & body.keys():
        if isinstance(body[name], str) and 0 < len(body[name]) <= 255:
            body[name] = REFERENCES[name]
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
