"""The checks of scripts/webhooks-check with one server on SQLite."""

import shutil
import signal
import time

from common import (PATIENCE, WORK, Receiver, admin, changes, create_webhook, import_issues, logged,
                    require_each_once, require_signed, serve, until)

STORE = f"sqlite:{WORK}/caseload.db"
ISSUES = 700
# Numbers of deliveries, of which one has up to 100 changes: before the answer to these the server is
# killed, and after the answer to the last it is stopped in peace.
KILLS = (2, 4)
STOP = 5


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
        server, url = serve(STORE)
    until(PATIENCE, lambda: len(receiver.taken) >= STOP, f"delivery {STOP} does not come")
    server.send_signal(signal.SIGTERM)
    if server.wait(30) != 0:
        raise SystemExit("FAILED: the server did not end well")
    return serve(STORE)


def main():
    receiver = Receiver(KILLS[0])
    admin(STORE, "domain", "create", "acme")
    key = admin(STORE, "key", "create", "--domain", "acme", "--access", "admin")
    server, url = serve(STORE)
    secret = create_webhook(url, key, receiver.url)
    try:
        import_issues(url, key, ISSUES)
        server, url = killed_and_stopped(receiver, server, url)
        taken = lambda: sum(len(changes(delivery)) for delivery in receiver.taken)
        until(PATIENCE, lambda: taken() >= ISSUES, "the changes do not come")
        # Nothing comes that was delivered.
        time.sleep(2)
        expected = logged(url, key)
        if len(expected) != ISSUES:
            raise SystemExit(f"FAILED: the log has {len(expected)} changes of issues, not {ISSUES}")
        repeated = require_each_once(receiver, expected, len(KILLS))
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
