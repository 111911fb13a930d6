"""The checks of scripts/signatures-check, which explains them."""

import hmac
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from base64 import b64decode, b64encode
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

from standardwebhooks import Webhook, WebhookVerificationError

PROGRAM = os.environ["CASELOAD_CHECK_PROGRAM"]
PAGE = Path("docs/how-do-i.md").read_text()
HERE = Path(__file__).parent
WORK = Path(tempfile.mkdtemp(prefix="caseload-signatures-"))
STORE = f"sqlite:{WORK}/caseload.db"
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith("CASELOAD_")}
# The file of each language on the page, and the command that runs it.
LANGUAGES = {
    "Python": ("verify.py", "python3 -B run.py"),
    "JavaScript": ("verify.mjs", "node run.mjs"),
    "Java": ("Verify.java", "java -cp . Run"),
    "PHP": ("verify.php", "php run.php"),
}
# The whole compiler is part of a Java that has no command for it.
COMPILE = "java -m jdk.compiler/com.sun.tools.javac.Main Verify.java Run.java"


class Receiver(BaseHTTPRequestHandler):
    """Stores each delivery as it came."""

    deliveries = []

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        names = ("webhook-id", "webhook-timestamp", "webhook-signature")
        self.deliveries.append((*(self.headers[name] for name in names), body))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


def delivery(number):
    """The delivery of this number, once it has come."""
    for _ in range(300):
        if len(Receiver.deliveries) > number:
            return Receiver.deliveries[number]
        time.sleep(0.1)
    raise SystemExit(f"FAILED: delivery {number} did not come\n{(WORK / 'server.log').read_text()}")


def run(*command, **variables):
    env = CLEAN | variables
    done = subprocess.run([PROGRAM, *command], capture_output=True, text=True, env=env)
    if done.returncode != 0:
        raise SystemExit(f"FAILED: caseload {' '.join(command)}\n{done.stderr}")
    return done.stdout.strip()


def serve():
    log = open(WORK / "server.log", "wb")
    flags = ["--listen", "127.0.0.1:0", "--store", STORE, "--webhook-allow-private"]
    process = subprocess.Popen([PROGRAM, "serve", *flags], stderr=log, env=CLEAN)
    for _ in range(300):
        for line in (WORK / "server.log").read_text().splitlines():
            if line.startswith("listening on "):
                return process, line.removeprefix("listening on ")
        time.sleep(0.1)
    raise SystemExit("FAILED: the server did not start")


def deliveries(url, key, receiver):
    """The first secret, a delivery that it signed, the secret after it, and a delivery that both
    signed. The name of the key is in the bodies, and not ASCII."""
    to = {"CASELOAD_URL": url, "CASELOAD_DOMAIN": "acme", "CASELOAD_API_KEY": key}

    def submit(address):
        entry = WORK / "entry.jsonl"
        entry.write_text(json.dumps({"identities": [{"email": address}]}))
        run("bulk", "submit", "create_core_profiles", str(entry), **to)

    made = run("webhook", "create", receiver, "--resource", "task", "--action", "created", **to)
    webhook, secret = made.split("\t")
    submit("ada@example.org")
    first = delivery(0)
    new = run("webhook", "rotate-secret", webhook, **to)
    submit("bob@example.org")
    return secret, first, new, delivery(1)


def signed(secret, id, body, seconds):
    """A delivery that others' code signs, so many seconds from now."""
    at = datetime.fromtimestamp(int(time.time()) + seconds, timezone.utc)
    return id, str(int(at.timestamp())), Webhook(secret).sign(id, at, body.decode()), body


def signed_at(secret, id, at, body):
    """A delivery with any text as its time, which the package would not sign."""
    key = b64decode(secret.removeprefix("whsec_"))
    mac = hmac.digest(key, f"{id}.{at}.".encode() + body, "sha256")
    return id, at, "v1," + b64encode(mac).decode(), body


def cases(secret, first, new, second):
    """Each with a name, whether it is right, the secret and the delivery."""
    id, at, signature, body = first
    other = "whsec_" + b64encode(b"another secret of 32 bytes......").decode()
    later = str(int(at) + 1)
    both = second[2].split(" ")
    if len(both) != 2 or body.isascii():
        raise SystemExit(f"FAILED: two signatures and another body were to come: {first} {second}")
    return [
        ("as the server sent it", True, secret, first),
        ("two signatures, the new secret", True, new, second),
        ("two signatures, the old secret", True, secret, second),
        ("one of them, the other secret", False, secret, (*second[:2], both[0], second[3])),
        ("signed by others' code", True, secret, signed(secret, id, body, 0)),
        ("four minutes old", True, secret, signed(secret, id, body, -240)),
        ("four minutes ahead", True, secret, signed(secret, id, body, 240)),
        ("six minutes old", False, secret, signed(secret, id, body, -360)),
        ("six minutes ahead", False, secret, signed(secret, id, body, 360)),
        ("another secret", False, other, first),
        ("a secret that came later", False, new, first),
        ("a changed body", False, secret, (id, at, signature, body.replace(b"task", b"tusk", 1))),
        ("a longer body", False, secret, (id, at, signature, body + b" ")),
        ("another id", False, secret, (id + "0", at, signature, body)),
        ("another time", False, secret, (id, later, signature, body)),
        ("a signature of version 2", False, secret, (id, at, signature.replace("v1", "v2"), body)),
        ("half of a signature", False, secret, (id, at, signature[:20], body)),
        ("letters beyond ASCII", False, secret, (id, at, "v1,ÄÖ " + signature[:-1] + "é", body)),
        ("no signature", False, secret, (id, at, None, body)),
        ("an empty signature", False, secret, (id, at, "", body)),
        ("no id", False, secret, (None, at, signature, body)),
        ("no time", False, secret, (id, None, signature, body)),
        ("a time of letters", False, secret, (id, "now", signature, body)),
        ("a time with a letter, signed", False, secret, signed_at(secret, id, f"{at}s", body)),
        ("a time of 5,000 digits", False, secret, (id, "9" * 5000, signature, body)),
    ]


def standard(secret, id, at, signature, body):
    """The answer of the package standardwebhooks. Headers that are absent are not passed."""
    headers = {"webhook-id": id, "webhook-timestamp": at, "webhook-signature": signature}
    try:
        Webhook(secret).verify(body, {name: value for name, value in headers.items() if value})
    except (WebhookVerificationError, ValueError):
        return False
    return True


def answers(language, all):
    """What the function of the page answers to all cases."""
    file, command = LANGUAGES[language]
    blocks = re.findall(rf"^```\w+ {re.escape(file)}\n(.*?)^```$", PAGE, re.M | re.S)
    if len(blocks) != 1:
        raise SystemExit(f"FAILED: the page has {len(blocks)} blocks named {file}")
    (WORK / file).write_text(blocks[0])
    for runner in HERE.glob("[rR]un.*"):
        shutil.copy(runner, WORK)
    if language == "Java":
        subprocess.run(COMPILE.split(), check=True, cwd=WORK)
    lines = ""
    for _, _, secret, (*headers, body) in all:
        texts = [text if text is None else text.encode("latin-1") for text in (secret, *headers)]
        fields = ["-" if field is None else b64encode(field).decode() for field in (*texts, body)]
        lines += ",".join(fields) + "\n"
    done = subprocess.run(command.split(), input=lines, stdout=subprocess.PIPE, text=True, cwd=WORK)
    if done.returncode != 0:
        raise SystemExit(f"FAILED: {language}")
    return [answer == "yes" for answer in done.stdout.split()]


def judge(name, all, found):
    """Prints which cases have another answer; returns whether there are none."""
    if len(found) != len(all):
        print(f"FAILED: {name}: {len(found)} answers to {len(all)} cases")
        return False
    wrong = [case for (case, right, *_), answer in zip(all, found) if answer != right]
    for case in wrong:
        print(f"FAILED: {name}: {case}")
    if not wrong:
        accepted = sum(found)
        print(f"ok: {name}, {accepted} accepted, {len(all) - accepted} refused", flush=True)
    return not wrong


def main(languages):
    run("domain", "create", "acme", "--store", STORE)
    name = ["--access", "admin", "--name", "Schlüssel für Importe"]
    key = run("key", "create", "--domain", "acme", *name, "--store", STORE)
    receiver = HTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=receiver.serve_forever, daemon=True).start()
    server, url = serve()
    try:
        all = cases(*deliveries(url, key, f"http://127.0.0.1:{receiver.server_port}/"))
    finally:
        server.terminate()
        server.wait(20)
    found = [standard(secret, *sent) for _, _, secret, sent in all]
    holds = judge("the package standardwebhooks", all, found)
    for language in languages:
        holds = judge(language, all, answers(language, all)) and holds
    if not holds:
        raise SystemExit(1)


try:
    main(sys.argv[1:])
finally:
    shutil.rmtree(WORK)
