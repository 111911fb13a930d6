"""Makes each recipe of docs/testing.md happen, with the JSON of the page, and looks at it from the
side of the client: scripts/testing-check explains it. Each recipe has a server of its own."""

import http.client
import json
import subprocess
import tempfile
import threading
import time
import traceback
from contextlib import closing, contextmanager
from datetime import datetime, timezone
from urllib.parse import urlencode, urlsplit

from page import CLEAN, PROGRAM, blocks

FLAGS = "--ephemeral --test-endpoints --listen 127.0.0.1:0 --ready-json --exit-with-parent"
ISSUES = "/v1/acme/issues"
TASKS = "/v2/acme/identity/bulk_actions"
DAY_MS = 86_400_000
BLOCKS = blocks()


class Answer:
    def __init__(self, response):
        self.status, self.headers = response.status, response.headers
        # Raises IncompleteRead if the body is cut.
        body = response.read()
        self.json = json.loads(body) if body else None


class Server:
    """What a client has: an address and a key."""

    def __init__(self, ready):
        self.address, self.key = urlsplit(ready["url"]).netloc, ready["key"]

    def call(self, method, path, body=None, key=None, **headers):
        """The answer to one call on a connection of its own."""
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        headers |= {"Authorization": f"Bearer {key or self.key}", "Content-Type": "application/json"}
        with closing(http.client.HTTPConnection(self.address, timeout=60)) as connection:
            connection.request(method, path, json.dumps(body) if body else None, headers)
            return Answer(connection.getresponse())

    def get(self, path, **query):
        answer = self.call("GET", f"{path}?{urlencode(query)}" if query else path)
        same(answer.status, 200)
        return answer.json

    def new_issue(self, text, **options):
        return self.call("POST", ISSUES, {"message-body": text}, **options)

    def fault(self, name):
        """Adds the fault of the page's block; returns its id."""
        answer = self.call("POST", "/_test/faults", json.loads(BLOCKS[name]))
        same(answer.status, 201)
        return answer.json["id"]

    def remove(self, fault):
        same(self.call("DELETE", f"/_test/faults/{fault}").status, 204)

    def submit(self, *addresses):
        """A task that creates these people; returns its path."""
        people = [{"identities": [{"email": address}]} for address in addresses]
        body = {"action": "create_core_profiles", "payload": people}
        answer = self.call("POST", TASKS, body)
        same(answer.status, 201)
        return urlsplit(answer.headers["Location"]).path


@contextmanager
def server(log, *flags):
    command = [PROGRAM, "serve", *FLAGS.split(), *flags]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=log, env=CLEAN) as process:
        yield Server(json.loads(process.stdout.readline()))
    same(process.returncode, 0)


def same(found, expected):
    if found != expected:
        raise AssertionError(f"{found!r}, not {expected!r}")


def raised(kind, act):
    """Whether the client meets this error of its HTTP library."""
    try:
        act()
    except kind:
        return True
    return False


def flaky_network(one, name):
    one.new_issue("a body that is long enough to be cut")
    one.fault(name)

    def is_cut():
        return raised(http.client.IncompleteRead, lambda: one.get(ISSUES))

    same([is_cut() for _ in range(8)], [False, False, False, True] * 2)


def rate_limit(one, name):
    one.fault(name)
    for _ in range(3):
        answer = one.new_issue("a call over the limit")
        same((answer.status, answer.headers["Retry-After"]), (429, "1"))
    same(one.new_issue("a call after the wait").status, 201)
    same(one.get(ISSUES)["total-hits"], 1)


def long_task(one, name):
    fault = one.fault(name)
    task = one.submit("ada@example.org")

    def status():
        return one.get(task)["status"]

    until(lambda: status() == "processing")
    for _ in range(5):
        same(status(), "processing")
    same(one.get(task, wait=1)["status"], "processing")
    same(one.call("POST", "/_test/clock", {"advance": "1h"}).status, 200)
    same(status(), "processing")
    one.remove(fault)
    done = one.get(task, wait=30)
    same((done["status"], done["outcome"]), ("completed", "succeeded"))


def until(holds):
    end = time.monotonic() + 10
    while not holds():
        if time.monotonic() > end:
            raise AssertionError("it does not happen within 10 s")
        time.sleep(0.02)


def lost_answer(one, name):
    for key, made in [("the same for both", 1), (None, 3)]:
        one.fault(name)
        options = {"Idempotency_Key": key} if key else {}
        # RemoteDisconnected is one, too.
        lost = raised(ConnectionError, lambda: one.new_issue("created once?", **options))
        same(lost, True)
        again = one.new_issue("created once?", **options)
        same(again.status, 201)
        same(again.headers["Idempotent-Replayed"], "true" if key else None)
        same(one.get(ISSUES)["total-hits"], made)
    posts = [one for one in one.get("/_test/calls")["calls"] if one["method"] == "POST"]
    same([call["status"] for call in posts], [None, 201] * 2)


def entries_that_fail(one, name):
    one.fault(name)
    task = one.submit("ada@example.org", "bob@example.org")
    done = one.get(task, wait=30)
    same((done["status"], done["outcome"]), ("completed", "completed_with_errors"))
    (error,) = one.get(f"{task}/errors")
    (given,) = json.loads(BLOCKS[name])["task_errors"]
    same(error["index"], given["index"])
    found = [{key: fault[key] for key in ("code", "pointer", "detail")} for fault in error["errors"]]
    same(found, [{key: given[key] for key in ("code", "pointer", "detail")}])
    (result,) = one.get(f"{task}/results")
    same((result["index"], result["outcome"]), (1, "created"))


def walk(one):
    """The cursor procedure: the ids of the issues, in the order in which they come."""
    seen, since = [], 0
    while True:
        query = {"created_since": since, "sort-by": "creation-time", "sort-order": "asc"}
        page = one.get(ISSUES, **query, **{"page-size": 3})["issues"]
        if len(page) <= 1:
            return seen + [issue["id"] for issue in page]
        seen += [issue["id"] for issue in page[:-1]]
        since = page[-1]["created_at"]


def slow_pages(one, name):
    for number in range(6):
        one.new_issue(f"before the walk {number}")
    one.fault(name)
    during = threading.Thread(target=lambda: [one.new_issue(f"during {n}") for n in range(12)])
    started = time.monotonic()
    during.start()
    seen = walk(one)
    during.join()
    same(time.monotonic() - started > 0.15, True)
    # The last ones may have come after the end of the walk.
    every = sorted(issue["id"] for issue in one.get(ISSUES)["issues"])
    same(len(every), 18)
    same(seen, every[: len(seen)])
    same(len(seen) > 6, True)


def next_day(one, name):
    one.new_issue("the first day")
    moved = one.call("POST", "/_test/clock", json.loads(BLOCKS[name]))
    same((moved.status, moved.json["now"][:10]), (200, "2026-02-01"))
    one.new_issue("the next day")
    next_one, first = one.get(ISSUES)["issues"]
    day = datetime.fromtimestamp(next_one["created_at"] / 1000, timezone.utc).date().isoformat()
    same(day, "2026-02-01")
    same(abs(next_one["created_at"] - first["created_at"] - DAY_MS) < 60_000, True)
    until_then = one.get(ISSUES, **{"created-until": "2026-01-31"})["issues"]
    same([issue["id"] for issue in until_then], [first["id"]])
    same(one.call("POST", "/_test/reset").status, 204)
    same(one.get(ISSUES)["total-hits"], 0)
    same(one.get("/_test/clock")["now"][:10], "2026-01-31")


def new_key(one, name):
    made = one.call("POST", "/v1/acme/keys", json.loads(BLOCKS[name]))
    same(made.status, 201)
    same(one.new_issue("a good key", key=made.json["secret"]).status, 201)
    same(one.call("DELETE", f"/v1/acme/keys/{made.json['id']}").status, 204)
    for _ in range(2):
        same(one.new_issue("a revoked key", key=made.json["secret"]).status, 401)
    same(one.get(ISSUES)["total-hits"], 1)


# The recipe of each block, and the flags of its server.
RECIPES = {
    "flaky-network.json": (flaky_network, ""),
    "rate-limit.json": (rate_limit, ""),
    "long-task.json": (long_task, ""),
    "lost-answer.json": (lost_answer, ""),
    "entries-that-fail.json": (entries_that_fail, ""),
    "slow-pages.json": (slow_pages, ""),
    "next-day.json": (next_day, "--clock 2026-01-31T23:59:00Z"),
    "new-key.json": (new_key, ""),
}

failed = False
same({name for name in BLOCKS if name.endswith(".json")}, RECIPES.keys())
for name, (recipe, flags) in RECIPES.items():
    with tempfile.TemporaryFile("w+") as log:
        try:
            with server(log, *flags.split()) as one:
                recipe(one, name)
            print(f"ok: recipe {name}", flush=True)
        except Exception:
            failed = True
            log.seek(0)
            print(f"{log.read()}{traceback.format_exc()}FAILED: recipe {name}", flush=True)
raise SystemExit(failed)
