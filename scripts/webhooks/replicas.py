"""The checks of scripts/webhooks-check with two servers on a PostgreSQL database of their own."""

import os
import shutil
import subprocess
import threading
import time
import urllib.parse
import urllib.request

from common import (CLEAN, PATIENCE, WORK, Receiver, admin, call, changes, create_webhook, import_issues,
                    logged, require_each_once, require_signed, serve, until)

SERVER = urllib.parse.urlsplit(os.environ["TEST_DATABASE_URL"])
DATABASE = f"webhooks_{os.getpid()}"
STORE = SERVER._replace(path=f"/{DATABASE}").geturl()
# Changes of an import, and of the calls that the other server answers after the kill.
ISSUES = 700
CALLS = 60
# The number of the delivery before whose answer its server is killed.
KILL = 3
# So long a delivery waits for its answer, for another server that would send it, too.
WAIT = 3


def query(statement):
    """Runs a statement on the server of the databases."""
    psql = os.path.join(os.environ["TEST_POSTGRES_BIN"], "psql") if "TEST_POSTGRES_BIN" in os.environ else "psql"
    command = [psql, "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", f"--dbname={SERVER.geturl()}"]
    subprocess.run([*command, f"--command={statement}"], check=True, capture_output=True, text=True, env=CLEAN)


def in_flight(url):
    """How many deliveries of this server have no answer yet."""
    with urllib.request.urlopen(f"{url}/metrics", timeout=60) as answer:
        lines = answer.read().decode().splitlines()
    name = "caseload_webhook_deliveries_in_flight "
    return next(int(line.removeprefix(name)) for line in lines if line.startswith(name))


def write(url, key):
    """Makes issues while no server delivers, and after."""
    for number in range(CALLS):
        call(f"{url}/v1/acme/issues", key, **{"message-body": f"call {number}", "email": "ada@example.org"})
        time.sleep(0.1)


def killed(receiver, servers):
    """Kills the server that delivers; the other one."""
    until(PATIENCE, receiver.held.is_set, f"delivery {KILL} does not come")
    time.sleep(WAIT)
    senders = [server for server in servers if in_flight(server[1]) > 0]
    if len(senders) != 1 or len(receiver.taken) != KILL:
        raise SystemExit(f"FAILED: {len(senders)} servers deliver, {len(receiver.taken)} deliveries came")
    sender, = senders
    sender[0].kill()
    sender[0].wait()
    print(f"killed the server of delivery {KILL} before its answer", flush=True)
    receiver.goes_on.set()
    return next(server for server in servers if server is not sender)


def check(servers, key):
    receiver = Receiver(KILL)
    secret = create_webhook(servers[0][1], key, receiver.url)
    import_issues(servers[0][1], key, ISSUES)
    _, url = killed(receiver, servers)
    writer = threading.Thread(target=write, args=(url, key))
    writer.start()
    writer.join()
    expected = logged(url, key)
    if len(expected) != ISSUES + CALLS:
        raise SystemExit(f"FAILED: the log has {len(expected)} changes of issues, not {ISSUES + CALLS}")
    taken = lambda: {int(change["position"]) for one in receiver.taken for change in changes(one)}
    until(PATIENCE, lambda: taken() >= set(expected), "the changes do not come")
    # Nothing comes that was delivered.
    time.sleep(2)
    require_each_once(receiver, expected, 1)
    if receiver.open_max != 1:
        raise SystemExit(f"FAILED: {receiver.open_max} deliveries of one webhook came at a time")
    for delivery in receiver.taken:
        require_signed(secret, delivery)
    print(f"ok: {len(expected)} changes of two servers in {len(receiver.taken)} deliveries, one repeated")


def main():
    query(f"CREATE DATABASE {DATABASE}")
    servers = []
    try:
        admin(STORE, "domain", "create", "acme")
        key = admin(STORE, "key", "create", "--domain", "acme", "--access", "admin")
        servers = [serve(STORE, name) for name in ("one", "two")]
        check(servers, key)
    except BaseException:
        for log in WORK.glob("*.log"):
            print(log.read_text()[-4000:])
        raise
    finally:
        for process, _ in servers:
            process.kill()
            process.wait()
        query(f"DROP DATABASE {DATABASE} WITH (FORCE)")


try:
    main()
finally:
    shutil.rmtree(WORK)
