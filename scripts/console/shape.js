// The sizes of JavaScript files, which are those of Rust files: fails and names each file, function
// and line that is too long. The rules for Rust are in xtask/src/tidy/shape.rs. The parser comes
// with the npm packages that scripts/console-check installs.
import { readFileSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const require = createRequire(join(process.env.CONSOLE_CHECK_MODULES, "x.js"));
/** @type {import("typescript")} */
const ts = require("typescript");

const FILE_LINES_MAX = 500;
const FUNCTION_LINES_LIMIT = 70;
const LINE_COLUMNS_MAX = 100;
const FOLDERS = ["console", "scripts/console", "scripts/clients"];

/** The faults of one file. */
function faults(path) {
  const text = readFileSync(path, "utf8");
  const lines = text.split("\n");
  const found = [];
  if (lines.length - 1 > FILE_LINES_MAX) {
    found.push(`${path}: ${lines.length - 1} lines; the limit is ${FILE_LINES_MAX}`);
  }
  lines.forEach((line, n) => {
    if ([...line].length > LINE_COLUMNS_MAX && !line.includes("://")) {
      found.push(`${path}:${n + 1}: ${[...line].length} columns; the limit is ${LINE_COLUMNS_MAX}`);
    }
  });
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const line = (place) => file.getLineAndCharacterOfPosition(place).line;
  const visit = (node) => {
    const length = line(node.end) - line(node.getStart(file)) + 1;
    if (ts.isFunctionLike(node) && node.body && length >= FUNCTION_LINES_LIMIT) {
      found.push(`${path}:${line(node.getStart(file)) + 1}: a function of ${length} lines`);
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

const files = FOLDERS.flatMap((folder) => {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return names.filter((name) => /\.(js|ts)$/.test(name)).map((name) => join(folder, name));
});
const all = files.flatMap(faults);
for (const fault of all) console.log(fault);
console.log(`${files.length} files of JavaScript, ${all.length} too long or with parts too long`);
process.exitCode = all.length ? 1 : 0;
