// Calls the function of verify.mjs with each case, and prints a line with its answer.

import { readFileSync } from "node:fs";
import { verify } from "./verify.mjs";

for (const line of readFileSync(0, "latin1").trimEnd().split("\n")) {
  const fields = line
    .split(",")
    .map((field) => (field === "-" ? undefined : Buffer.from(field, "base64")));
  const body = fields.pop();
  // Node reads headers as Latin-1.
  const texts = fields.map((field) => field?.toString("latin1"));
  console.log(verify(...texts, body) ? "yes" : "no");
}
