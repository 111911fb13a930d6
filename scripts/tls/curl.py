"""Runs curl for some seconds, over HTTP/1.1 and over HTTP/2: each run reads a URL three times over
one connection.

Arguments: URL, file of the authority, key, seconds.
"""

import json
import subprocess
import sys
import time

url, ca, key, seconds = sys.argv[1:]
READS = 3
FORMAT = "%{http_code} %{http_version} %{num_connects} %{certs}\n"
for version, flag in (("1.1", "--http1.1"), ("2", "--http2")):
    failures, certificates, requests, reconnects = [], set(), 0, 0
    end = time.monotonic() + float(seconds) / 2
    while time.monotonic() < end:
        command = ["curl", "-sS", flag, "--cacert", ca, "-u", f"{key}:", "--max-time", "10", "-w", FORMAT]
        done = subprocess.run(command + ["-o", "/dev/null", url] * READS, capture_output=True, text=True)
        heads = [line.split() for line in done.stdout.splitlines() if line.startswith(("2", "4", "5", "0"))]
        heads = [head for head in heads if len(head) >= 3]
        requests += READS
        certificates |= {line for line in done.stdout.splitlines() if line.startswith("Serial Number:")}
        if done.returncode or [head[:2] for head in heads] != [["200", version]] * READS:
            failures.append(done.stderr or done.stdout)
        reconnects += sum(int(head[2]) for head in heads) - 1
    print(json.dumps({"protocol": f"HTTP/{version}", "requests": requests, "reconnects": reconnects,
                      "certificates": len(certificates), "failures": failures[:5]}))
