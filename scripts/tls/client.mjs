// Reads a URL for some seconds, over HTTP/1.1 and HTTP/2 of the standard library: each over one kept
// connection, and over a new one each time.
//
// Arguments: URL, file of the authority, key, seconds.
import { readFileSync } from "node:fs";
import http2 from "node:http2";
import https from "node:https";
import { setTimeout as sleep } from "node:timers/promises";

const [url, file, key, seconds] = process.argv.slice(2);
const ca = readFileSync(file);
const authorization = `Basic ${Buffer.from(`${key}:`).toString("base64")}`;
const target = new URL(url);
const path = target.pathname + target.search;

/** One request of HTTP/1.1 over `agent`; resolves to its status. */
function readOne(agent, seen) {
  return new Promise((resolve, reject) => {
    const request = https.get(url, { agent, ca, headers: { authorization } }, (answer) => {
      seen.certificates.add(answer.socket.getPeerCertificate().fingerprint256);
      seen.ports.add(answer.socket.localPort);
      answer.resume().on("end", () => resolve(answer.statusCode)).on("error", reject);
    });
    request.on("error", reject);
  });
}

/** One stream of an HTTP/2 session; resolves to its status. */
function readStream(session, seen) {
  return new Promise((resolve, reject) => {
    const stream = session.request({ ":path": path, authorization });
    let status;
    stream.on("response", (headers) => (status = headers[":status"]));
    stream.on("error", reject);
    stream.on("end", () => resolve(status));
    seen.certificates.add(session.socket.getPeerCertificate().fingerprint256);
    stream.resume();
  });
}

function connect() {
  return new Promise((resolve, reject) => {
    const session = http2.connect(target.origin, { ca });
    session.once("connect", () => resolve(session)).once("error", reject);
  });
}

/** Calls `kept` and `fresh` in turn until the time is over, and prints the counts. */
async function load(protocol, kept, fresh, seen, reconnects) {
  const end = Date.now() + (1000 * seconds) / 2;
  const failures = [];
  let requests = 0;
  while (Date.now() < end) {
    for (const read of [kept, fresh]) {
      requests += 1;
      const status = await read().catch((error) => String(error));
      if (status !== 200) failures.push(String(status));
    }
    await sleep(20);
  }
  const certificates = seen.certificates.size;
  const counts = { protocol, requests, certificates, reconnects: reconnects() };
  console.log(JSON.stringify({ ...counts, failures: failures.slice(0, 5) }));
}

async function http1() {
  const seen = { certificates: new Set(), ports: new Set() };
  const agent = new https.Agent({ keepAlive: true, maxSockets: 1 });
  const keptSeen = { certificates: new Set(), ports: new Set() };
  const fresh = () => readOne(new https.Agent({ keepAlive: false, maxCachedSessions: 0 }), seen);
  await load("HTTP/1.1", () => readOne(agent, keptSeen), fresh, seen, () => keptSeen.ports.size - 1);
  agent.destroy();
}

async function http2Load() {
  const seen = { certificates: new Set() };
  const kept = await connect();
  let closed = 0;
  const noteClosed = () => (closed += 1);
  kept.on("close", noteClosed);
  const fresh = async () => {
    const session = await connect();
    const status = await readStream(session, seen);
    session.close();
    return status;
  };
  await load("HTTP/2", () => readStream(kept, seen), fresh, seen, () => closed);
  kept.off("close", noteClosed);
  kept.close();
}

await http1();
await http2Load();
