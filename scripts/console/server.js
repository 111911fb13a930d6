// A server of the program under test, with a store of its own, and calls of its API with a key; a
// test server, whose store ends with it; and the demo.
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const program = process.env.CASELOAD_CHECK_PROGRAM;
const clean = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !name.startsWith("CASELOAD_")),
);

export class Server {
  constructor() {
    this.folder = mkdtempSync(join(tmpdir(), "caseload-console-"));
    this.store = `sqlite:${join(this.folder, "caseload.db")}`;
    this.admin("domain", "create", "acme");
    this.key = this.newKey("admin");
  }
  admin(...args) {
    const options = { env: clean, stdio: ["ignore", "pipe", "ignore"] };
    return execFileSync(program, [...args, "--store", this.store], options)
      .toString()
      .trim();
  }
  newKey(access) {
    return this.admin("key", "create", "--domain", "acme", "--access", access, "--name", access);
  }
  /** Another domain, in which there is nothing. Returns an admin key of it. */
  newDomain(name) {
    this.admin("domain", "create", name);
    return this.admin("key", "create", "--domain", name, "--access", "admin", "--name", name);
  }
  link(url = this.url) {
    return this.admin("console", "--domain", "acme", "--url", url);
  }
  /** Starts the server, on the same port as before. */
  async start(...flags) {
    const listen = this.port ? `0.0.0.0:${this.port}` : "0.0.0.0:0";
    const args = [
      "serve",
      "--listen",
      listen,
      "--store",
      this.store,
      "--rate-limit",
      "0",
      "--trusted-proxy",
      "127.0.0.1",
      "--webhook-allow-private",
      ...flags,
    ];
    this.process = spawn(program, args, { env: clean, stdio: ["ignore", "ignore", "pipe"] });
    this.ended = new Promise((resolve) => this.process.once("exit", resolve));
    this.port = await new Promise((resolve, reject) => {
      let said = "";
      // The log is read to its end: a server whose log nobody reads would stop.
      this.process.stderr.on("data", (piece) => {
        said += piece;
        const found = /listening on http:\/\/[^:]+:(\d+)/.exec(said);
        if (found) resolve(Number(found[1]));
      });
      this.ended.then(() => reject(new Error(`the server did not start: ${said}`)));
    });
    this.url = `http://127.0.0.1:${this.port}`;
  }
  async kill(signal = "SIGKILL") {
    this.process.kill(signal);
    await this.ended;
  }
  async close() {
    await this.kill("SIGTERM");
    rmSync(this.folder, { recursive: true });
  }
  async call(method, path, body, key = this.key) {
    const headers = {
      Authorization: `Bearer ${key}`,
      ...(body && { "Content-Type": "application/json" }),
    };
    const answer = await fetch(`${this.url}/${path}`, {
      method,
      headers,
      body: body && JSON.stringify(body),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text.slice(0, 300)}`);
    return text && JSON.parse(text);
  }
  /** Sends a task. */
  async send(family, action, lines, options = {}, name = "entries.jsonl") {
    const form = new FormData();
    form.append("action", action);
    for (const [name, value] of Object.entries(options)) form.append(name, value);
    form.append(
      "payload",
      new Blob([
        lines.map((line) => (typeof line === "string" ? line : JSON.stringify(line))).join("\n"),
      ]),
      name,
    );
    const answer = await fetch(`${this.url}/v2/acme/${family}/bulk_actions`, {
      method: "POST",
      headers: { Authorization: `Bearer ${this.key}` },
      body: form,
    });
    return answer.json();
  }
  /** Imports a file to its end. */
  async import(family, action, name, text) {
    const form = new FormData();
    form.append("action", action);
    form.append("file", new Blob([text]), name);
    const path = `v2/acme/${family}/imports`;
    const headers = { Authorization: `Bearer ${this.key}` };
    const answer = await fetch(`${this.url}/${path}`, { method: "POST", headers, body: form });
    const made = await answer.json();
    return this.call("GET", `${path}/${made.import_id}?wait=60`);
  }
  /** Runs a task to its end. */
  async task(family, action, lines, options) {
    const made = await this.send(family, action, lines, options);
    return this.call("GET", `v2/acme/${family}/bulk_actions/${made.task_id}?wait=60`);
  }
}

/** A test server, which begins with these issues. */
export class TestServer {
  constructor(issues) {
    this.folder = mkdtempSync(join(tmpdir(), "caseload-test-server-"));
    this.seed = join(this.folder, "issues.jsonl");
    writeFileSync(this.seed, issues.map((issue) => JSON.stringify(issue)).join("\n"));
  }
  /** Takes the address and the key from the line that it prints when it is ready. */
  async start() {
    const listen = ["--listen", "127.0.0.1:0", "--ready-json"];
    const args = ["serve", "--ephemeral", ...listen, "--seed", this.seed];
    this.process = spawn(program, args, { env: clean, stdio: ["ignore", "pipe", "pipe"] });
    this.ended = new Promise((resolve) => this.process.once("exit", resolve));
    let log = "";
    this.process.stderr.on("data", (piece) => (log += piece));
    const line = await new Promise((resolve, reject) => {
      let said = "";
      this.process.stdout.on("data", (piece) => {
        said += piece;
        if (said.includes("\n")) resolve(said);
      });
      this.ended.then(() => reject(new Error(`the test server did not start: ${log}`)));
    });
    const { url, key } = JSON.parse(line);
    Object.assign(this, { url, key });
  }
  async close() {
    this.process.kill("SIGTERM");
    await this.ended;
    rmSync(this.folder, { recursive: true });
  }
}

/** The demo, which serves a store that it filled. */
export class Demo {
  /** Returns the link that it prints. */
  async start() {
    this.folder = mkdtempSync(join(tmpdir(), "caseload-demo-"));
    const args = [
      "demo",
      "--listen",
      "127.0.0.1:0",
      "--store",
      `sqlite:${join(this.folder, "demo.db")}`,
    ];
    this.process = spawn(program, args, { env: clean, stdio: ["ignore", "ignore", "pipe"] });
    this.ended = new Promise((resolve) => this.process.once("exit", resolve));
    return new Promise((resolve, reject) => {
      let said = "";
      this.process.stderr.on("data", (piece) => {
        said += piece;
        const found = /http:\S+#code=\w+/.exec(said);
        if (found && said.includes("serving on")) resolve(found[0]);
      });
      this.ended.then(() => reject(new Error(`the demo did not start: ${said}`)));
    });
  }
  async close() {
    this.process.kill("SIGTERM");
    await this.ended;
    rmSync(this.folder, { recursive: true });
  }
}
