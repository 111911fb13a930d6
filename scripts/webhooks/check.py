"""The checks of scripts/webhooks-check, which explains them."""

import base64
import hashlib
import hmac
import json
import os
import shutil
import signal
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
STORE = f"sqlite:{WORK}/caseload.db"
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith("CASELOAD_")}
ISSUES = 700
# Numbers of deliveries, of which one has up to 100 changes: before the answer to these the server is
# killed, and after the answer to the last it is stopped in peace.
KILLS = (2, 4)
STOP = 5
# The lease of a killed server ends after 30 s.
PATIENCE = 90


class Receiver(ThreadingHTTPServer):
    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.taken = []
        # The delivery that waits for its answer until the check lets it go.
        self.held, self.goes_on = threading.Event(), threading.Event()
        self.hold_at = KILLS[0]
        self.url = f"http://127.0.0.1:{self.server_port}/hook"
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        names = ("webhook-id", "webhook-timestamp", "webhook-signature")
        self.server.taken.append((*(self.headers[name] for name in names), body))
        if len(self.server.taken) == self.server.hold_at:
            self.server.held.set()
            self.server.goes_on.wait(PATIENCE)
            return
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


def admin(*args):
    command = [PROGRAM, *args, "--store", STORE]
    return subprocess.run(command, check=True, capture_output=True, text=True, env=CLEAN).stdout.strip()


def serve():
    log = WORK / "server.log"
    flags = ["--rate-limit", "0", "--webhook-allow-private", "--lease", "3"]
    command = [PROGRAM, "serve", "--listen", "127.0.0.1:0", "--store", STORE, *flags]
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


def killed_and_stopped(receiver, server, url):
    """Kills the server before two answers and stops it after another; the last server."""
    for kill, following in zip(KILLS, (*KILLS[1:], 0)):
        until(PATIENCE, receiver.held.is_set, f"delivery {kill} does not come")
        server.kill()
        server.wait()
        print(f"killed before the answer to delivery {kill}", flush=True)
        receiver.hold_at = following
        receiver.held.clear()
        receiver.goes_on.set()
        time.sleep(0.2)
        receiver.goes_on.clear()
        server, url = serve()
    until(PATIENCE, lambda: len(receiver.taken) >= STOP, f"delivery {STOP} does not come")
    server.send_signal(signal.SIGTERM)
    if server.wait(30) != 0:
        raise SystemExit("FAILED: the server did not end well")
    return serve()


def require_each_once(receiver, expected):
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
    if repeated != len(KILLS):
        raise SystemExit(f"FAILED: {repeated} deliveries were repeated, not {len(KILLS)}")
    return repeated


def main():
    receiver = Receiver()
    admin("domain", "create", "acme")
    key = admin("key", "create", "--domain", "acme", "--access", "admin")
    server, url = serve()
    client = CLEAN | {"CASELOAD_URL": url, "CASELOAD_DOMAIN": "acme", "CASELOAD_API_KEY": key}
    made = subprocess.run([PROGRAM, "webhook", "create", receiver.url, "--resource", "issue"],
                          check=True, capture_output=True, text=True, env=client).stdout
    secret = made.split()[1]
    try:
        payload = json.dumps([issue(number) for number in range(ISSUES)])
        call(f"{url}/v2/acme/issues/bulk_actions", key, action="import_issues", payload=payload)
        server, url = killed_and_stopped(receiver, server, url)
        taken = lambda: sum(len(changes(delivery)) for delivery in receiver.taken)
        until(PATIENCE, lambda: taken() >= ISSUES, "the changes do not come")
        # Nothing comes that was delivered.
        time.sleep(2)
        expected = logged(url, key)
        if len(expected) != ISSUES:
            raise SystemExit(f"FAILED: the log has {len(expected)} changes of issues, not {ISSUES}")
        repeated = require_each_once(receiver, expected)
        for delivery in receiver.taken:
            require_signed(secret, delivery)
        print(f"ok: {ISSUES} changes in {len(receiver.taken)} deliveries, {repeated} of them repeated")
    except BaseException:
        print((WORK / "server.log").read_text()[-4000:])
        raise
    finally:
        server.kill()
        server.wait()


try:
    main()
finally:
    shutil.rmtree(WORK)
