// Starts the service on a free port with an empty data directory, runs the compiled client against
// it, and ends it. The program is PWS.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

const program = process.env.PWS;
if (!program) throw new Error("PWS is not set");
const data = mkdtempSync(join(tmpdir(), "pws-openapi-"));
const service = spawn(program, ["serve", "--listen", "127.0.0.1:0", "--data", data], {
  stdio: ["ignore", "pipe", "inherit"],
});
const ended = new Promise((resolve) => service.once("exit", resolve));
try {
  const lines = createInterface({ input: service.stdout });
  const first = await Promise.race([
    new Promise((resolve) => lines.once("line", resolve)),
    ended.then((code) => Promise.reject(new Error(`the service ended with ${code}`))),
  ]);
  const base = /^listening on (http:\S+)$/.exec(first)?.[1];
  if (!base) throw new Error(`the service said ${first}`);
  const client = spawn(process.execPath, ["build/js/client.js", base], { stdio: "inherit" });
  process.exitCode = await new Promise((resolve) => client.once("exit", resolve)) ?? 1;
} finally {
  service.kill("SIGTERM");
  await ended;
  rmSync(data, { recursive: true, force: true });
}
