#!/usr/bin/env python3
"""sbom.py VERSION: prints the software bill of materials (CycloneDX 1.6) of the program for Linux.

It has each crate that `cargo tree` finds in the program, with what links it, its licence and the
checksum of Cargo.lock, and the C libraries that crates bring along, with their own versions.
The same sources always give the same text.
"""

import json
import re
import subprocess
import sys
import tomllib
import uuid
from pathlib import Path

TARGET = "x86_64-unknown-linux-gnu"
# Crate, library, its licence, and the file and pattern of its version; without these, the library has
# no version of its own.
LIBRARIES = [
    ("libsqlite3-sys", "SQLite", "blessing", "sqlite3/sqlite3.h", r'#define SQLITE_VERSION +"([\d.]+)"'),
    ("zstd-sys", "Zstandard", "BSD-3-Clause", "Cargo.toml", r'version = "[\d.]+\+zstd\.([\d.]+)"'),
    ("libmimalloc-sys", "mimalloc", "MIT", "c_src/mimalloc/@/include/mimalloc.h", r"MI_MALLOC_VERSION (\d+)"),
    ("ring", "BoringSSL (parts, in ring)", "Apache-2.0 AND ISC", None, None),
]


def cargo(*args):
    command = ["cargo", args[0], "--locked", *args[1:]]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def crates():
    """The crates in the program: (depth, name, version, features), in the order of the tree."""
    tree = cargo("tree", "-p", "caseload", "-e", "normal", "--target", TARGET, "--prefix", "depth",
                 "--no-dedupe", "-f", " {p} [{f}]")
    line = re.compile(r"(\d+) (\S+) v(\S+)(?: \(.*?\))* \[(.*)\]")
    for text in tree.splitlines():
        depth, name, version, features = line.fullmatch(text).groups()
        yield int(depth), (name, version), features.split(",")


def library_version(package, features, file, pattern):
    if file is None:
        return package["version"]
    # mimalloc has two versions in its sources, and a feature chooses.
    file = file.replace("@", "v2" if "v2" in features else "v3")
    found = re.search(pattern, (Path(package["manifest_path"]).parent / file).read_text())[1]
    return found if "." in found else f"{int(found) // 10000}.{int(found) // 100 % 100}.{int(found) % 100}"


def main(version):
    packages = {(p["name"], p["version"]): p for p in json.loads(cargo("metadata", "--format-version", "1"))["packages"]}
    lock = tomllib.loads(Path("Cargo.lock").read_text())["package"]
    sums = {(p["name"], p["version"]): p["checksum"] for p in lock if "checksum" in p}
    components, links, path, features = {}, {}, [], {}
    for depth, key, named in crates():
        name, number = key
        del path[depth:]
        path.append(f"pkg:cargo/{name}@{number}")
        links.setdefault(path[-1], set())
        if depth:
            links[path[-2]].add(path[-1])
        features[name] = named
        package = packages[key]
        components[path[-1]] = {
            "type": "library", "bom-ref": path[-1], "name": name, "version": number, "purl": path[-1],
            "licenses": [{"expression": package["license"].replace("/", " OR ")}],
        } | ({"hashes": [{"alg": "SHA-256", "content": sums[key]}]} if key in sums else {})
    program = components.pop(f"pkg:cargo/caseload@{version}") | {"type": "application"}
    for crate, library, licence, file, pattern in LIBRARIES:
        for key in [key for key in packages if key[0] == crate and f"pkg:cargo/{key[0]}@{key[1]}" in components]:
            number = library_version(packages[key], features[crate], file, pattern)
            ref = f"{library}@{number}"
            components[ref] = {"type": "library", "bom-ref": ref, "name": library, "version": number,
                               "licenses": [{"expression": licence}]}
            links[f"pkg:cargo/{crate}@{key[1]}"].add(ref)
            links[ref] = set()
    bom = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": program},
        "components": [components[ref] for ref in sorted(components)],
        "dependencies": [{"ref": ref, "dependsOn": sorted(links[ref])} for ref in sorted(links)],
    }
    bom["serialNumber"] = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(bom)).urn
    json.dump(bom, sys.stdout, indent=1, ensure_ascii=False)
    print()


main(sys.argv[1])
