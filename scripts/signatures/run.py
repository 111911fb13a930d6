"""Calls the function of verify.py with each case, and prints a line with its answer."""

import sys
from base64 import b64decode

from verify import verify

for line in sys.stdin:
    fields = line.rstrip("\n").split(",")
    *texts, body = (None if field == "-" else b64decode(field) for field in fields)
    # A server reads headers as Latin-1.
    texts = [text if text is None else text.decode("latin-1") for text in texts]
    print("yes" if verify(*texts, body) else "no")
