"""Checks that no generator left out an operation of openapi.json.

Usage: generated.py openapi.json FOLDER. FOLDER has the four generated clients; exit status 1 if one of
them lacks an operation.
"""

import json
import re
import sys
from pathlib import Path


def snake(name):
    return re.sub("(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def texts(folder, pattern):
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted(folder.glob(pattern)))


def operation_ids(document):
    for methods in document["paths"].values():
        for operation in methods.values():
            yield operation["operationId"]


def main():
    document = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    root = Path(sys.argv[2])
    modules = {path.stem for path in (root / "openapi-python-client").glob("*/api/*/*.py")}
    methods = texts(root / "openapi-generator", "caseload_client/api/*.py")
    types = (root / "typescript/openapi-fetch/schema.ts").read_text(encoding="utf-8")
    functions = (root / "typescript/hey-api/client/sdk.gen.ts").read_text(encoding="utf-8")
    found = {
        "openapi-python-client": lambda name: snake(name) in modules,
        "openapi-generator": lambda name: f" def {snake(name)}(" in methods,
        "openapi-typescript": lambda name: f'operations["{name}"]' in types,
        "@hey-api/openapi-ts": lambda name: f"export const {name} = " in functions,
    }
    ids = list(operation_ids(document))
    missing = [(client, name) for client, has in found.items() for name in ids if not has(name)]
    for client, name in missing:
        print(f"{client} left out {name}", file=sys.stderr)
    print(f"{len(ids)} operations in each of {len(found)} generated clients")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
