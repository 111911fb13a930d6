"""What schemathesis cannot read from openapi.json: how to make a payload that the server takes.

The two formats are those of the field `payload`; the rule on pages is the one rule that ties two
parameters together, which OpenAPI has no words for.
"""

import json

import schemathesis
from hypothesis import strategies as st

PAGE_DEPTH_MAX = 50_000

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

schemathesis.openapi.format("json-array", entries.map(json.dumps))
schemathesis.openapi.format(
    "json-lines", entries.map(lambda all: "".join(json.dumps(entry) + "\n" for entry in all))
)


@schemathesis.hook
def filter_case(context, case):
    """Leaves out pages that are too deep: `page` x `page-size` is at most 50000."""
    try:
        page = int((case.query or {}).get("page", 1))
        size = int((case.query or {}).get("page-size", 100))
    except (TypeError, ValueError):
        return True
    return page * size <= PAGE_DEPTH_MAX or page < 1 or not 1 <= size <= 1000
