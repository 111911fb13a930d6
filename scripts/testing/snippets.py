"""Runs the tests of docs/testing.md by their own runners: scripts/testing-check explains it. A test
must start a server and pass, and no server may outlive it."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from page import CLEAN, PROGRAM, blocks

LINES_MAX = 15
# Each compiles nothing or one file, and starts one server.
PATIENCE = 180
# The whole compiler is part of a Java that has no command for it.
JAVAC = "java -m jdk.compiler/com.sun.tools.javac.Main -cp $JUNIT DeskTest.java"
JUNIT = "java -jar $JUNIT --disable-banner --fail-if-no-tests -cp . -c DeskTest"
# The file of each runner on the page, and the commands that run it in its folder.
RUNNERS = {
    "pytest": ("test_desk.py", "PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 python3 -m pytest -q"),
    "Node": ("desk.test.mjs", "node --test"),
    "JUnit": ("DeskTest.java", f"{JAVAC} && {JUNIT}"),
    "Go": ("desk_test.go", "GOTOOLCHAIN=local go test"),
    # The compiler of the project is the one of its folder.
    "Rust": ("desk.rs", 'cd "$ROOT" && rustc --edition 2024 --test "$HERE/desk.rs" -o "$HERE/desk" && "$HERE/desk"'),
}
# A program caseload that notes its process and becomes the one that is tested.
WRAPPER = """#!/bin/sh
echo $$ >>"$SERVERS"
exec "$PROGRAM" "$@"
"""


def is_alive(server):
    try:
        os.kill(server, 0)
    except ProcessLookupError:
        return False
    return True


def run(name, text, folder):
    """Runs a test in a folder of its own; returns the servers that it started."""
    file, command = RUNNERS[name]
    (folder / file).write_text(text)
    (folder / "go.mod").write_text("module desk\n\ngo 1.19\n")
    (folder / "bin").mkdir()
    wrapper = folder / "bin/caseload"
    wrapper.write_text(WRAPPER)
    wrapper.chmod(0o755)
    servers = folder / "servers"
    servers.touch()
    own = {"PATH": f"{folder}/bin:{os.environ['PATH']}", "SERVERS": servers, "PROGRAM": PROGRAM}
    own |= {"ROOT": Path.cwd(), "HERE": folder}
    output = folder / "output"
    with open(output, "w") as log:
        streams = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log}
        status = subprocess.call(
            ["timeout", str(PATIENCE), "sh", "-c", command], cwd=folder, env=CLEAN | own, **streams
        )
    if status != 0:
        raise SystemExit(f"{output.read_text()}FAILED: {name}: {file} of docs/testing.md")
    return [int(line) for line in servers.read_text().split()]


def main(runners):
    texts = blocks()
    for name, (file, _) in RUNNERS.items():
        lines = texts.get(file, "").count("\n")
        if not 1 <= lines <= LINES_MAX:
            raise SystemExit(f"FAILED: {name}: {file} has {lines} lines, not 1 to {LINES_MAX}")
    for name in runners:
        started = time.monotonic()
        file = RUNNERS[name][0]
        with tempfile.TemporaryDirectory(prefix="caseload-testing-") as folder:
            servers = run(name, texts[file], Path(folder).resolve())
        if not servers:
            raise SystemExit(f"FAILED: {name}: the test started no server")
        end = time.monotonic() + 10
        while any(is_alive(server) for server in servers):
            if time.monotonic() > end:
                for server in filter(is_alive, servers):
                    os.kill(server, signal.SIGTERM)
                raise SystemExit(f"FAILED: {name}: a server outlives the test")
            time.sleep(0.05)
        seconds = time.monotonic() - started
        print(f"ok: {name}, {texts[file].count(chr(10))} lines, {seconds:.1f} s", flush=True)


main(sys.argv[1:])
