"""Reads a URL for some seconds: over one kept connection, and over a new one each time.

Arguments: URL, file of the authority, key, seconds.
"""

import base64
import hashlib
import http.client
import json
import ssl
import sys
import time
from urllib.parse import urlsplit

url, ca, key, seconds = sys.argv[1:]
parts = urlsplit(url)
context = ssl.create_default_context(cafile=ca)
headers = {"Authorization": "Basic " + base64.b64encode(f"{key}:".encode()).decode()}
failures, certificates, requests, reconnects = [], set(), 0, 0


def connect():
    connection = http.client.HTTPSConnection(parts.hostname, parts.port, context=context, timeout=10)
    connection.connect()
    # A connection that would open again by itself hides that it was cut.
    connection.auto_open = 0
    certificates.add(hashlib.sha256(connection.sock.getpeercert(True)).hexdigest())
    return connection


def read(connection):
    connection.request("GET", f"{parts.path}?{parts.query}", headers=headers)
    answer = connection.getresponse()
    answer.read()
    if answer.status != 200:
        failures.append(str(answer.status))


kept = connect()
end = time.monotonic() + float(seconds)
while time.monotonic() < end:
    try:
        read(kept)
    except (OSError, http.client.HTTPException) as error:
        failures.append(repr(error))
        kept, reconnects = connect(), reconnects + 1
    try:
        other = connect()
        read(other)
        other.close()
    except (OSError, http.client.HTTPException) as error:
        failures.append(repr(error))
    requests += 2
    time.sleep(0.02)
print(json.dumps({"protocol": "HTTP/1.1", "requests": requests, "certificates": len(certificates),
                  "reconnects": reconnects, "failures": failures[:5]}))
