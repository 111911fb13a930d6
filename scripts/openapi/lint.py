"""Checks that openapi.json is a valid OpenAPI 3.1 document and that its examples fit its schemas.

Usage: lint.py openapi.json. Prints every finding; exit status 1 where there is one.
"""

import json
import sys

from openapi_schema_validator import OAS31Validator
from openapi_spec_validator import OpenAPIV31SpecValidator


def pointer(parts):
    return "#/" + "/".join(str(part).replace("~", "~0").replace("/", "~1") for part in parts)


def examples(node, path=()):
    """Every place with a schema and examples of it: (place, schema, example)."""
    if isinstance(node, list):
        for index, item in enumerate(node):
            yield from examples(item, (*path, index))
    if not isinstance(node, dict):
        return
    if isinstance(node.get("schema"), dict):
        if "example" in node:
            yield path, node["schema"], node["example"]
        for name, example in (node.get("examples") or {}).items():
            yield (*path, "examples", name), node["schema"], example
    is_schema = "type" in node or "$ref" in node or "properties" in node
    if is_schema and isinstance(node.get("examples"), list):
        for index, example in enumerate(node["examples"]):
            yield (*path, "examples", index), node, example
    for key, value in node.items():
        if key not in ("example", "examples"):
            yield from examples(value, (*path, key))


def resolve(document, node):
    while isinstance(node, dict) and "$ref" in node:
        target = document
        for part in node["$ref"].removeprefix("#/").split("/"):
            target = target[part.replace("~1", "/").replace("~0", "~")]
        node = target
    return node


def findings(document):
    errors = list(OpenAPIV31SpecValidator(document).iter_errors())
    for error in errors:
        yield f"{pointer(error.absolute_path)}: {error.message}"
    if errors:
        # Schemas that are none cannot be held against examples.
        return
    shown = 0
    for path, schema, example in examples(document):
        example = resolve(document, example)
        if isinstance(example, dict) and path[-2:-1] == ("examples",) and "value" in example:
            example = example["value"]
        root = {"components": document["components"], **schema}
        for error in OAS31Validator(root).iter_errors(example):
            yield f"{pointer(path)}: the example does not fit its schema: {error.message}"
        if "contentSchema" in schema:
            root = {"components": document["components"], **schema["contentSchema"]}
            for error in OAS31Validator(root).iter_errors(json.loads(example)):
                yield f"{pointer(path)}: the JSON in the example does not fit: {error.message}"
        shown += 1
    if shown < 100:
        yield f"only {shown} examples were found; the walk that looks for them is broken"


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        document = json.load(file)
    found = list(findings(document))
    for finding in found:
        print(finding, file=sys.stderr)
    operations = sum(len(methods) for methods in document["paths"].values())
    print(f"{sys.argv[1]}: {operations} operations, {len(found)} findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
