"""The checks of scripts/proxy-check, which explains them."""

import base64
import json
import os
import re
import selectors
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

PROGRAM = os.environ["CASELOAD_CHECK_PROGRAM"]
WORK = Path(tempfile.mkdtemp(prefix="caseload-proxy-"))
STORE = f"sqlite:{WORK}/caseload.db"
CERTIFICATE, KEY = WORK / "site.pem", WORK / "site.key"
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith("CASELOAD_")}
CLEAN |= {"HOME": str(WORK), "XDG_DATA_HOME": str(WORK), "XDG_CONFIG_HOME": str(WORK)}
PUBLIC = "https://desk.example"
# What a caller must not be able to say.
FORGED = ["-H", "Forwarded: host=evil.example;proto=http", "-H", "X-Forwarded-Host: evil.example"]
UPLOAD_BYTES = 64 << 20
BOUNDARY = "boundary-of-the-form"
running = []


def free_port():
    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        return opened.getsockname()[1]


def check(holds, text):
    print(f"{'ok' if holds else 'FAILED'}: {text}", flush=True)
    if not holds:
        raise SystemExit(1)


def until(seconds, holds, what):
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise SystemExit(f"FAILED: waited {seconds} s: {what}")
        time.sleep(0.05)


def start(name, *command):
    log = open(WORK / f"{name}.log", "ab")
    process = subprocess.Popen(command, stdout=log, stderr=log, env=CLEAN)
    running.append(process)
    return process


def stop(process):
    """Not by SIGKILL at once, after which the workers of nginx go on."""
    running.remove(process)
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def answers(port):
    with socket.socket() as opened:
        return opened.connect_ex(("127.0.0.1", port)) == 0


def admin(*args):
    command = [PROGRAM, *args, "--store", STORE]
    return subprocess.run(command, check=True, capture_output=True, text=True, env=CLEAN).stdout.strip()


class Server:
    """The program, on the same port at each start."""

    port = free_port()

    def __init__(self, *flags):
        listen = f"127.0.0.1:{self.port}"
        command = [PROGRAM, "serve", "--listen", listen, "--store", STORE, "--rate-limit", "0"]
        self.process = start("server", *command, "--trusted-proxy", "127.0.0.1", *flags)
        until(30, lambda: answers(self.port), "the server starts")


class Proxy:
    """nginx or Caddy with its file of docs/proxy, with the path variant or without it."""

    def __init__(self, name, below_path):
        self.name, self.port = name, free_port()
        own = {"nginx": self.nginx, "caddy": self.caddy}[name]
        self.process = start(name, *own(below_path))
        until(20, lambda: answers(self.port) or self.process.poll() is not None, f"{name} starts")
        check(self.process.poll() is None, f"{name} runs with its file")

    def file(self, name, changes):
        text = Path("docs/proxy", name).read_text()
        for old, new in changes:
            if old not in text:
                raise SystemExit(f"FAILED: docs/proxy/{name} has no {old!r}")
            text = text.replace(old, new)
        (WORK / name).write_text(text)

    def nginx(self, below_path):
        changes = [
            ("    server 127.0.0.1:8080;", f"    server 127.0.0.1:{Server.port};"),
            ("listen 80;", f"listen 127.0.0.1:{free_port()};"),
            ("listen 443 ", f"listen 127.0.0.1:{self.port} "),
            ("/etc/ssl/desk.example.pem", str(CERTIFICATE)),
            ("/etc/ssl/private/desk.example.key", str(KEY)),
        ]
        if below_path:
            changes += [("location / {", "location /unused/ {"), ("#location /desk/", "location /desk/")]
        self.file("nginx.conf", changes)
        kinds = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        paths = "".join(f"{kind}_temp_path {WORK}/{kind};\n" for kind in kinds)
        (WORK / "main.conf").write_text(
            f"daemon off; pid {WORK}/nginx.pid; user root; worker_processes 1;\n"
            f"events {{}}\nhttp {{\naccess_log off;\n{paths}include {WORK}/nginx.conf;\n}}\n"
        )
        return "nginx", "-e", "stderr", "-c", str(WORK / "main.conf")

    def caddy(self, below_path):
        site = f"desk.example:{self.port} {{\n\tbind 127.0.0.1\n\ttls {CERTIFICATE} {KEY}"
        changes = [
            ("(caseload) {", "{\n\tadmin off\n\tauto_https disable_redirects\n}\n\n(caseload) {"),
            ("reverse_proxy 127.0.0.1:8080", f"reverse_proxy 127.0.0.1:{Server.port}"),
            ("\ndesk.example {", f"\n{site}"),
        ]
        if below_path:
            variant = "\t#handle_path /desk/* {\n\t#\timport caseload\n\t#}\n"
            changes += [(f"{KEY}\n\timport caseload\n", f"{KEY}\n"), (variant, variant.replace("#", ""))]
        self.file("Caddyfile", changes)
        return "caddy", "run", "--adapter", "caddyfile", "--config", str(WORK / "Caddyfile")

    def curl(self, url, *args):
        """The command that calls a URL of the public address through this proxy."""
        url = url if url.startswith("https:") else PUBLIC + url
        to = ["--connect-to", f"desk.example:443:127.0.0.1:{self.port}", "--cacert", str(CERTIFICATE)]
        quiet = ["--no-progress-meter", "--max-time", "30", "--noproxy", "*"]
        return ["curl", *quiet, *to, *FORGED, "-u", f"{API_KEY}:", *args, url]

    def call(self, url, *args):
        """Returns status, headers with small names, and body."""
        out = subprocess.run(self.curl(url, "-D", "-", *args), capture_output=True, check=True).stdout
        head, _, body = out.partition(b"\r\n\r\n")
        while re.match(rb"HTTP/\S+ 100", head):
            head, _, body = body.partition(b"\r\n\r\n")
        status, *lines = head.decode().split("\r\n")
        pairs = (line.split(": ", 1) for line in lines)
        return int(status.split()[1]), {name.lower(): value for name, value in pairs}, body


def form_head(name):
    part = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name='
    return f'{part}"action"\r\n\r\ncreate_core_profiles\r\n{part}"file"; filename="{name}"\r\n\r\n'


def rows(name, size):
    """A file of profiles whose texts cannot be packed."""
    yield b"uid,first_name,custom_fields.note\n"
    for number in range(size // 1024):
        yield f"{name}-{number},Ada,{base64.b64encode(os.urandom(750)).decode()}\n".encode()


def stored_bytes():
    return sum(file.stat().st_size for file in WORK.glob("caseload.db*"))


def fill():
    """Profiles for a table of 20 MiB."""
    (WORK / "fill.csv").write_bytes(b"".join(rows("fill", 20 << 20)))
    command = [PROGRAM, "profiles", "import", str(WORK / "fill.csv"), "--domain", "acme"]
    env = CLEAN | {"CASELOAD_API_KEY": API_KEY, "CASELOAD_URL": f"http://127.0.0.1:{Server.port}"}
    subprocess.run(command, check=True, capture_output=True, env=env)


def connections():
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    return sum(line.split()[2].endswith(f":{Server.port:04X}") for line in lines)


def check_keep_alive(proxy):
    before = connections()
    for _ in range(20):
        proxy.call("/healthz")
    made = connections() - before
    check(made <= 3, f"{proxy.name}: 20 calls over new connections made {max(made, 0)} to the server")


def check_table(proxy, server, version):
    """A table whose server is frozen after its first bytes has arrived in part. That its last bytes
    wait for nothing either is for the events to show."""
    process = subprocess.Popen(
        proxy.curl("/v2/acme/identity/core_profiles?format=csv", version), stdout=subprocess.PIPE
    )
    total = len(process.stdout.read1(1 << 16))
    server.process.send_signal(signal.SIGSTOP)
    try:
        is_over = False
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while not is_over and selector.select(0.7):
                piece = os.read(process.stdout.fileno(), 1 << 20)
                total, is_over = total + len(piece), not piece
    finally:
        server.process.send_signal(signal.SIGCONT)
    rest = len(process.stdout.read())
    check(process.wait() == 0 and not is_over and rest > 0, f"{proxy.name}, {version}: {total >> 10} "
          f"KiB of a table arrived before the server wrote the other {rest >> 10} KiB")


def check_upload(proxy, version):
    """Half of a file reaches the store before the other half is sent. Returns the import."""
    kind = f"Content-Type: multipart/form-data; boundary={BOUNDARY}"
    args = [version, "-X", "POST", "-H", kind, "-H", "Expect:", "-T", "."]
    before = stored_bytes()
    process = subprocess.Popen(
        proxy.curl("/v2/acme/identity/imports", *args), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    process.stdin.write(form_head("people.csv").encode())
    sent, grown = 0, 0
    for row in rows(f"{proxy.name}-{version}", UPLOAD_BYTES):
        is_first_half = sent < UPLOAD_BYTES // 2
        sent += len(row)
        process.stdin.write(row)
        if is_first_half and sent >= UPLOAD_BYTES // 2:
            process.stdin.flush()
            until(20, lambda: stored_bytes() - before > 8 << 20, "the server stores the first half")
            grown = stored_bytes() - before
    process.stdin.write(f"\r\n--{BOUNDARY}--\r\n".encode())
    task = json.loads(process.communicate()[0])
    check(task.get("counts", {}).get("total") == UPLOAD_BYTES // 1024, f"{proxy.name}, {version}: an "
          f"upload of 64 MiB; the store grew by {grown >> 20} MiB at half of it")
    links = list(task["links"].values())
    check(all(link.startswith(f"{PUBLIC}/v2/acme/") for link in links), f"  its links: {links[0]}")
    return task


def check_events(proxy, task, version):
    """Events of a running import arrive one after another; then it is cancelled."""
    path = task["links"]["self"]
    accept = ["-N", "-H", "Accept: text/event-stream"]
    process = subprocess.Popen(proxy.curl(path, version, *accept), stdout=subprocess.PIPE)
    begun, seen = time.monotonic(), []
    while len(seen) < 3 and (line := process.stdout.readline()):
        if line.startswith(b"data:"):
            seen.append((time.monotonic() - begun, json.loads(line[5:])))
    process.kill()
    process.wait()
    at = ", ".join(f"{seconds:.2f} s" for seconds, _ in seen)
    check(len(seen) == 3 and seen[0][1]["status"] != "completed" and seen[2][0] > seen[0][0] + 0.05,
          f"{proxy.name}, {version}: events of a running import after {at}")
    status, _, _ = proxy.call(f"{path}/cancel", "-X", "POST")
    check(status in (200, 202), f"  cancelled: {status}")


def check_links(proxy, public):
    """Links, `Location` and attachments have the public address, and lead somewhere."""
    attached = WORK / "note.txt"
    attached.write_text("attached\n")
    form = ["-F", "email=ada@example.org", "-F", "title=Hello", "-F", "message-body=Hi"]
    path = public.removeprefix(PUBLIC)
    status, head, body = proxy.call(f"{path}/v1/acme/issues", *form, "-F", f"attachments=@{attached}")
    place, file = head.get("location", ""), json.loads(body)["attachment"]["url"]
    check(status == 201 and place.startswith(f"{public}/v1/acme/issues/"), f"{proxy.name}: {place}")
    check(proxy.call(place)[0] == 200, "  Location leads to the issue")
    check(file.startswith(f"{public}/v1/acme/attachments/"), f"  {file}")
    check(proxy.call(file)[2] == b"attached\n", "  the attachment is there")
    proxy.call(f"{path}/v1/acme/issues", *form)
    _, head, _ = proxy.call(f"{path}/v1/acme/issues?page-size=1")
    following = re.search(r'<([^>]*)>; rel="?next', head["link"])[1]
    check(following.startswith(f"{public}/v1/acme/issues?"), f"  Link: {following}")
    check(proxy.call(following)[0] == 200, "  Link leads to the next page")


def check_console(proxy, path):
    status, head, _ = proxy.call(f"{path}/console", "--http1.1")
    check((status, head["location"]) == (308, "console/"), f"{proxy.name}: {path}/console leads on")
    status, _, body = proxy.call(f"{path}/console/")
    files = re.findall(rb'(?:src|href)="([^"]+)"', body)
    found = [proxy.call(f"{path}/console/{file.decode()}")[0] for file in files]
    check(status == 200 and len(found) > 3 and set(found) == {200}, f"  its {len(files)} files load")


def check_too_large(proxy):
    """A client that goes on sending gets the answer, of the server or of the proxy."""
    for path, size in [("issues/bulk_actions", 200 << 20), ("identity/imports", 3 << 30)]:
        with open(WORK / "large", "wb") as file:
            file.truncate(size)
        kind = f"Content-Type: multipart/form-data; boundary={BOUNDARY}"
        said = ["-X", "POST", "-H", "Expect:", "-H", kind, "-T", str(WORK / "large")]
        for version in ["--http1.1", "--http2"]:
            status, head, body = proxy.call(f"/v2/acme/{path}", version, *said)
            who = "the server" if b"too_large" in body else "the proxy"
            check(status == 413, f"{proxy.name}, {version}: {size >> 20} MiB to {path}: 413 of {who}")


def check_stopped(proxy):
    status, head, body = proxy.call("/v1/acme/issues")
    kind = head.get("content-type", "without a body")
    check(status == 502, f"{proxy.name}: server stopped: 502 {kind}, {len(body)} bytes")


def main():
    names = ["nginx", "caddy"]
    subject = ["-subj", "/CN=desk.example", "-addext", "subjectAltName=DNS:desk.example"]
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
    subprocess.run(["openssl", "req", "-x509", *key, *subject, "-keyout", KEY, "-out", CERTIFICATE],
                   check=True, capture_output=True)
    server = Server()
    proxies = [Proxy(name, below_path=False) for name in names]
    fill()
    for proxy in proxies:
        check_keep_alive(proxy)
        for version in ["--http1.1", "--http2"]:
            check_table(proxy, server, version)
    for proxy in proxies:
        check_links(proxy, PUBLIC)
        check_console(proxy, "")
        check_too_large(proxy)
        for version in ["--http1.1", "--http2"]:
            check_events(proxy, check_upload(proxy, version), version)
    stop(server.process)
    for proxy in proxies:
        check_stopped(proxy)
        stop(proxy.process)
    server = Server("--public-url", f"{PUBLIC}/desk")
    for name in names:
        proxy = Proxy(name, below_path=True)
        check_links(proxy, f"{PUBLIC}/desk")
        check_console(proxy, "/desk")
        stop(proxy.process)
    print(f"all checks of the proxies passed in {time.monotonic() - begun:.0f} s")


begun = time.monotonic()
try:
    admin("domain", "create", "acme")
    API_KEY = admin("key", "create", "--domain", "acme")
    main()
except BaseException:
    for log in WORK.glob("*.log"):
        print(f"-- {log.name}", *log.read_text().splitlines()[-15:], sep="\n")
    raise
finally:
    for process in list(running):
        stop(process)
    shutil.rmtree(WORK)
