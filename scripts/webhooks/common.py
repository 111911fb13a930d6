"""What the checks of scripts/webhooks-check share: a receiver, servers, and calls."""

import base64
import hashlib
import hmac
import json
import os
import subprocess
import tempfile
import threading
import time
import urllib.parse
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

PROGRAM = os.environ["CASELOAD_CHECK_PROGRAM"]
WORK = Path(tempfile.mkdtemp(prefix="caseload-webhooks-"))
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith("CASELOAD_")}
# The lease of a killed server ends after 30 s.
PATIENCE = 90


class Receiver(ThreadingHTTPServer):
    def __init__(self, hold_at):
        super().__init__(("127.0.0.1", 0), Handler)
        self.taken = []
        # Deliveries without an answer, and the most of them at a time.
        self.lock, self.open, self.open_max = threading.Lock(), 0, 0
        # The delivery that waits for its answer until the check lets it go.
        self.held, self.goes_on = threading.Event(), threading.Event()
        self.hold_at = hold_at
        self.url = f"http://127.0.0.1:{self.server_port}/hook"
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        names = ("webhook-id", "webhook-timestamp", "webhook-signature")
        server = self.server
        with server.lock:
            server.taken.append((*(self.headers[name] for name in names), body))
            is_held = len(server.taken) == server.hold_at
            server.open += 1
            server.open_max = max(server.open, server.open_max)
        if is_held:
            server.held.set()
            server.goes_on.wait(PATIENCE)
        with server.lock:
            server.open -= 1
        if is_held:
            return
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


def admin(store, *args):
    command = [PROGRAM, *args, "--store", store]
    return subprocess.run(command, check=True, capture_output=True, text=True, env=CLEAN).stdout.strip()


def serve(store, name="server"):
    log = WORK / f"{name}.log"
    flags = ["--rate-limit", "0", "--webhook-allow-private", "--lease", "3"]
    command = [PROGRAM, "serve", "--listen", "127.0.0.1:0", "--store", store, *flags]
    with open(log, "wb") as file:
        process = subprocess.Popen(command, stderr=file, env=CLEAN)
    until(30, lambda: "listening on " in log.read_text(), "the server does not start")
    lines = log.read_text().splitlines()
    return process, next(line.split()[-1] for line in lines if line.startswith("listening on "))


def until(seconds, holds, fault):
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise SystemExit(f"FAILED: {fault} within {seconds} s")
        time.sleep(0.05)


def call(url, key, **form):
    data = urllib.parse.urlencode(form).encode() if form else None
    token = base64.b64encode(f"{key}:".encode()).decode()
    request = urllib.request.Request(url, data, {"Authorization": f"Basic {token}"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def issue(number):
    author = {"id": f"user-{number}", "name": "Ada", "emails": ["ada@example.org"]}
    message = {"body": f"text {number}", "origin": "end-user", "author": author}
    return {"title": f"issue {number}", "messages": [message], "created_at": 1_600_000_000_000 + number}


def require_signed(secret, delivery):
    message_id, timestamp, signatures, body = delivery
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = b".".join((message_id.encode(), timestamp.encode(), body))
    wanted = "v1," + base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()
    if wanted not in signatures.split(" "):
        raise SystemExit(f"FAILED: the delivery {message_id} is not signed by the secret")


def changes(delivery):
    return json.loads(delivery[3])["changes"]


def positions(delivery):
    return [int(change["position"]) for change in changes(delivery)]


def logged(url, key):
    """Positions of the log's changes of issues."""
    found, cursor = [], "*"
    while True:
        query = urllib.parse.urlencode({"cursor": cursor, "resources": '["issue"]', "page-size": 1000})
        page = call(f"{url}/v1/acme/changes?{query}", key)
        found += [int(change["position"]) for change in page["changes"]]
        if not page["changes"] and page["next-cursor"] == cursor:
            return found
        cursor = page["next-cursor"]


def create_webhook(url, key, hook):
    """The secret of a new webhook for changes of issues."""
    client = CLEAN | {"CASELOAD_URL": url, "CASELOAD_DOMAIN": "acme", "CASELOAD_API_KEY": key}
    made = subprocess.run([PROGRAM, "webhook", "create", hook, "--resource", "issue"],
                          check=True, capture_output=True, text=True, env=client).stdout
    return made.split()[1]


def import_issues(url, key, count):
    payload = json.dumps([issue(number) for number in range(count)])
    call(f"{url}/v2/acme/issues/bulk_actions", key, action="import_issues", payload=payload)


def require_each_once(receiver, expected, kills):
    """In order; a repeated delivery is the one before it, with the same id."""
    deliveries, repeated = [], 0
    for delivery in receiver.taken:
        if deliveries and delivery[0] == deliveries[-1][0]:
            if positions(delivery)[: len(positions(deliveries[-1]))] != positions(deliveries[-1]):
                raise SystemExit(f"FAILED: the delivery {delivery[0]} was repeated with other changes")
            deliveries.pop()
            repeated += 1
        deliveries.append(delivery)
    got = [position for delivery in deliveries for position in positions(delivery)]
    if got != expected:
        lost, more = set(expected) - set(got), set(got) - set(expected)
        raise SystemExit(f"FAILED: {len(got)} of {len(expected)} changes, lost {lost}, not in the log {more}")
    if repeated != kills:
        raise SystemExit(f"FAILED: {repeated} deliveries were repeated, not {kills}")
    return repeated
