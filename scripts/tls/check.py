"""The checks of scripts/tls-check, which explains them."""

import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

PROGRAM = os.environ["CASELOAD_CHECK_PROGRAM"]
HERE = Path(__file__).parent
WORK = Path(tempfile.mkdtemp(prefix="caseload-tls-"))
STORE = f"sqlite:{WORK}/caseload.db"
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith("CASELOAD_")}
SECONDS = 12
# The server looks for new files every 2 s.
PAUSE = 2.1


def run(*command):
    subprocess.run(command, check=True, capture_output=True, cwd=WORK)


def make_authority():
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
    run("openssl", "req", "-x509", *key, "-subj", "/CN=authority", "-keyout", "ca.key", "-out", "ca.pem")


def renew():
    """A new key and certificate of localhost, which replace those before by a rename each."""
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
    name = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    signed = ["-CA", "ca.pem", "-CAkey", "ca.key"]
    run("openssl", "req", "-x509", *key, *name, *signed, "-keyout", "new.key", "-out", "new.pem")
    (WORK / "new.key").rename(WORK / "key.pem")
    (WORK / "new.pem").rename(WORK / "cert.pem")


def admin(*args):
    command = [PROGRAM, *args, "--store", STORE]
    return subprocess.run(command, check=True, capture_output=True, text=True, env=CLEAN).stdout.strip()


def serve():
    log = open(WORK / "server.log", "wb")
    flags = ["--tls-cert", WORK / "cert.pem", "--tls-key", WORK / "key.pem", "--rate-limit", "0"]
    command = [PROGRAM, "serve", "--listen", "127.0.0.1:0", "--store", STORE, *flags]
    process = subprocess.Popen(command, stderr=log, env=CLEAN)
    for _ in range(300):
        for line in (WORK / "server.log").read_text().splitlines():
            if line.startswith("listening on https://"):
                return process, int(line.rsplit(":", 1)[1])
        time.sleep(0.1)
    raise SystemExit("FAILED: the server did not start")


def java():
    """Java that runs a source file, or None."""
    command = ["java", "--source", "11", HERE / "Client.java", "--version"]
    try:
        found = subprocess.run(command, capture_output=True).returncode == 0
    except FileNotFoundError:
        found = False
    if not found:
        return None
    trust = [f"-Djavax.net.ssl.trustStore={trust_store()}", "-Djavax.net.ssl.trustStorePassword=changeit"]
    return ["java", *trust, "--source", "11", HERE / "Client.java"]


def trust_store():
    store = WORK / "trust.p12"
    if not store.exists():
        run("keytool", "-importcert", "-noprompt", "-alias", "ca", "-file", "ca.pem", "-keystore", store,
            "-storetype", "PKCS12", "-storepass", "changeit")
    return store


def clients(port, key):
    """The command of each client. Each prints one line of JSON when its time is over."""
    url, auth = f"https://localhost:{port}/v1/acme/issues?page-size=1", [key, str(SECONDS)]
    ca = str(WORK / "ca.pem")
    commands = {
        "curl": ["python3", "-B", HERE / "curl.py", url, ca, *auth],
        "Python": ["python3", "-B", HERE / "client.py", url, ca, *auth],
        "Node": ["node", HERE / "client.mjs", url, ca, *auth],
    }
    if source := java():
        commands["Java"] = [*source, url, *auth]
    else:
        print("Java: not tried, because no Java here runs source files")
    return commands


def main():
    make_authority()
    renew()
    admin("domain", "create", "acme")
    key = admin("key", "create", "--domain", "acme")
    server, port = serve()
    failed = False
    try:
        env = CLEAN | {"NO_PROXY": "*"}
        started = {name: subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env)
                   for name, command in clients(port, key).items()}
        renewals = 0
        while any(process.poll() is None for process in started.values()):
            time.sleep(PAUSE)
            renew()
            renewals += 1
        for name, process in started.items():
            output, _ = process.communicate(timeout=60)
            for line in output.splitlines():
                seen = json.loads(line)
                holds = seen["failures"] == [] and seen["requests"] >= 10 and seen["reconnects"] == 0
                holds = holds and seen["certificates"] >= 2
                failed = failed or not holds
                print(f"{'ok' if holds else 'FAILED'}: {name}, {json.dumps(seen)}", flush=True)
            failed = failed or process.returncode != 0 or not output
        log = (WORK / "server.log").read_text()
        if failed or server.poll() is not None:
            raise SystemExit(f"FAILED: {renewals} renewals\n{log}")
        print(f"all clients kept reading through {renewals} renewals of the certificate")
    finally:
        server.terminate()
        server.wait(20)


try:
    main()
finally:
    shutil.rmtree(WORK)
