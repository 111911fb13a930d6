// What several flows do: totals of the API and of the page, keys, files, and a proxy between the
// two.
import { createServer, request } from "node:http";

export const total = async (server, query = "") =>
  (await server.call("GET", `v1/acme/issues?page-size=1${query}`))["total-hits"];
export const settled = (page, count) =>
  page.waitForFunction(
    (n) => document.querySelector("h1 .number")?.textContent.replace(/\D/g, "") === String(n),
    count,
  );
export const keys = async (page, ...all) => {
  for (const key of all) await page.keyboard.press(key);
};

export const title = (page, text) => page.locator("h1", { hasText: text }).waitFor();
export const pick = (page, name, text, type = "text/plain") =>
  page.locator("#file").setInputFiles({ name, mimeType: type, buffer: Buffer.from(text) });
/** Tries the file of New import, to the end. */
export const dryRun = async (page) => {
  await page.getByRole("button", { name: "Try it" }).click();
  await page.getByText("What would happen: ").waitFor({ timeout: 60000 });
};

/**
 * A proxy that may take a prefix off, or cut the next `cut.left` answers of a path after so many
 * bytes, or let them wait there.
 */
export async function proxyTo(server, { prefix = "", cuts, bytes = Infinity }) {
  const cut = { left: 0, waits: false, bytes };
  const proxy = createServer((from, to) => {
    if (!from.url.startsWith(`${prefix}/`)) return to.writeHead(404).end();
    const headers = {
      ...from.headers,
      "x-forwarded-host": from.headers.host,
      ...(cuts && { "accept-encoding": "identity" }),
    };
    const call = request(
      server.url + from.url.slice(prefix.length),
      { method: from.method, headers },
      (answer) => {
        to.writeHead(answer.statusCode, answer.headers);
        if (!cuts?.test(from.url) || cut.left === 0) return answer.pipe(to);
        let left = cut.bytes;
        answer.on("data", (piece) => {
          if (left <= 0) return;
          left -= piece.length;
          to.write(left < 0 ? piece.subarray(0, left) : piece, () => {
            if (left > 0) return;
            cut.left -= 1;
            if (cut.waits) return answer.pause();
            to.destroy();
            call.destroy();
          });
        });
        answer.on("end", () => left > 0 && to.end());
      },
    );
    call.on("error", () => to.destroy());
    to.on("close", () => call.destroy());
    from.pipe(call);
  });
  await new Promise((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  const close = () => {
    proxy.closeAllConnections();
    proxy.close();
  };
  return { origin: `http://127.0.0.1:${proxy.address().port}`, close, cut };
}
