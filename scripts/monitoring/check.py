"""Compares the alert rules and the dashboard of a folder with the metrics of a running server.

Usage: check.py FOLDER, below scripts/with-server. Prints every finding; exit status 1 if there is
one. promql.py judges each expression; this file reads the two documents and the metrics.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

import yaml
from promql import Metrics, Problem, judge

# The units of a panel and of a filter in a summary, as dimensions of promql.py.
PANEL_UNITS = {
    "s": {"seconds": 1},
    "bytes": {"bytes": 1},
    "Bps": {"bytes": 1, "seconds": -1},
    "reqps": {"items": 1, "seconds": -1},
    "ops": {"items": 1, "seconds": -1},
    "percentunit": {},
    "short": {"items": 1},
}
FILTER_UNITS = {
    "humanizeDuration": {"seconds": 1},
    "humanizePercentage": {},
    "humanize1024": {"bytes": 1},
    None: {"items": 1},
}
# The rows of a screen. Grafana has 24 columns.
SCREEN = (24, 24)
ISSUES = [
    {"id": 1, "title": "No mail", "created_at": 1767225600000, "author_email": "a@example.org",
     "messages": [{"body": "Nothing arrives."}]},
    {"id": "not a number"},
]


def make_traffic(url, key):
    """Reads, a call of no route, and a task with one entry that succeeds and one that fails."""
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        file.writelines(json.dumps(issue) + "\n" for issue in ISSUES)
        file.flush()
        command = [os.environ["CASELOAD_CHECK_PROGRAM"], "issues", "import", file.name]
        command += ["--url", url, "--domain", "acme", "--api-key", key]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 1:
        sys.exit(f"the import should end with status 1:\n{done.stderr}")
    for path in ["/v2/acme/issues", "/nowhere"]:
        request = urllib.request.Request(url + path, headers={"Authorization": f"Bearer {key}"})
        try:
            urllib.request.urlopen(request).close()
        except urllib.error.HTTPError as error:
            error.close()


def rules(folder):
    document = yaml.safe_load((folder / "alerts.yml").read_text(encoding="utf-8"))
    return [rule for group in document["groups"] for rule in group["rules"]]


def headings(page):
    lines = page.read_text(encoding="utf-8").splitlines()
    titles = [line.lstrip("#").strip().lower() for line in lines if line.startswith("#")]
    return {re.sub(r"[^\w-]", "", title.replace(" ", "-")) for title in titles}


def check_rule(rule, metrics):
    result = judge(rule["expr"], metrics)
    summary = rule["annotations"]["summary"]
    for label in re.findall(r"\$labels\.(\w+)", summary):
        if label not in result.labels:
            yield f"the summary names the label {label}, which the result does not have"
    for name in re.findall(r"\$value(?: \| (\w+))? ?}}", summary):
        if result.unit != FILTER_UNITS[name or None]:
            yield f"the summary prints {result.unit} by {name or 'no filter'}"
    if rule["labels"].get("severity") not in ("page", "ticket"):
        yield "its severity is neither page nor ticket"
    page, anchor = rule["annotations"]["page"].split("#")
    if anchor not in headings(pathlib.Path(page)):
        yield f"{page} has no heading {anchor}"


def check_target(target, unit, metrics):
    expression = target["expr"].replace("$job", "caseload").replace("$__rate_interval", "5m")
    result = judge(expression, metrics)
    if unit is not None and result.unit != unit:
        yield f"the panel shows {unit}, and the expression has {result.unit}"
    for label in re.findall(r"{{\s*(\w+)\s*}}", target.get("legendFormat", "")):
        if label not in result.labels:
            yield f"the legend names the label {label}, which the result does not have"


def cells(panel):
    place = panel["gridPos"]
    columns = range(place["x"], place["x"] + place["w"])
    rows = range(place["y"], place["y"] + place["h"])
    return {(column, row) for column in columns for row in rows}


def check_places(panels):
    taken = set()
    for panel in panels:
        own = cells(panel)
        if taken & own:
            yield f"panel {panel['title']}: covers another one"
        if any(column >= SCREEN[0] or row >= SCREEN[1] for column, row in own):
            yield f"panel {panel['title']}: does not fit on one screen"
        taken |= own


def findings(folder, metrics):
    """All findings, and the number of expressions."""
    found = []
    count = 0

    def add(place, check):
        nonlocal count
        count += 1
        try:
            found.extend(f"{place}: {finding}" for finding in check)
        except Problem as problem:
            found.append(f"{place}: {problem}")

    for rule in rules(folder):
        add(f"rule {rule['alert']}", check_rule(rule, metrics))
    dashboard = json.loads((folder / "dashboard.json").read_text(encoding="utf-8"))
    panels = dashboard["panels"]
    for variable in dashboard["templating"]["list"]:
        for name, label in re.findall(r"label_values\((\w+), (\w+)\)", variable["query"]):
            by_label = f"count by ({label}) ({name})"
            add(f"variable {variable['name']}", check_target({"expr": by_label}, None, metrics))
    for panel in panels:
        unit = PANEL_UNITS[panel["fieldConfig"]["defaults"]["unit"]]
        for target in panel["targets"]:
            place = f"panel {panel['title']}, {target['refId']}"
            add(place, check_target(target, unit, metrics))
    found.extend(check_places(panels))
    return found, count


def main():
    url = os.environ["CASELOAD_CHECK_URL"]
    make_traffic(url, os.environ["CASELOAD_CHECK_KEY"])
    with urllib.request.urlopen(url + "/metrics") as answer:
        metrics = Metrics(answer.read().decode())
    found, count = findings(pathlib.Path(sys.argv[1]), metrics)
    for finding in found:
        print(finding, file=sys.stderr)
    unused = sorted(metrics.kinds.keys() - metrics.used)
    print(f"{sys.argv[1]}: {count} expressions, {len(found)} findings; used by none: {unused}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
