// Commands are run with a time limit, their output is read to its end however much it is, and a
// missing permission is told apart from a missing command.

import { assert, assertEquals, assertLess } from "@std/assert";
import { MACHINE, PROBE_OUTPUT_BYTES } from "../../src/hardware/probe.ts";

Deno.test("MACHINE.run() gives both outputs and the exit code", async () => {
  assertEquals(await MACHINE.run("sh", ["-c", "echo out; echo err >&2; exit 3"]), {
    kind: "exited",
    code: 3,
    stdout: "out\n",
    stderr: "err\n",
  });
});

Deno.test("MACHINE.run() passes arguments as they are, without a shell", async () => {
  const outcome = await MACHINE.run("printf", ["%s|", "a b", "$HOME", "*"]);
  assert(outcome.kind === "exited");
  assertEquals(outcome.stdout, "a b|$HOME|*|");
});

Deno.test("MACHINE.run() drains more than a pipe holds on both pipes", async () => {
  const script = "head -c 300000 /dev/zero | tr '\\0' a; head -c 300000 /dev/zero | tr '\\0' b >&2";
  const outcome = await MACHINE.run("sh", ["-c", script]);
  assert(outcome.kind === "exited");
  assertEquals([outcome.stdout.length, outcome.stderr.length], [300000, 300000]);
});

Deno.test("MACHINE.run() keeps the first part of a long output, drains the rest", async () => {
  const bytes = PROBE_OUTPUT_BYTES + 100000;
  const outcome = await MACHINE.run("sh", ["-c", `head -c ${bytes} /dev/zero; exit 5`]);
  assert(outcome.kind === "exited");
  assertEquals([outcome.stdout.length, outcome.code], [PROBE_OUTPUT_BYTES, 5]);
});

Deno.test("MACHINE.run() does not split a character between two chunks", async () => {
  const script = "printf '\\303'; sleep 0.05; printf '\\244'";
  const outcome = await MACHINE.run("sh", ["-c", script]);
  assert(outcome.kind === "exited");
  assertEquals(outcome.stdout, "ä");
});

Deno.test("MACHINE.run() kills a command at its time limit", async () => {
  const begin = performance.now();
  const outcome = await MACHINE.run("sleep", ["60"], { milliseconds: 100 });
  assertEquals(outcome, { kind: "timeout", milliseconds: 100 });
  assertLess(performance.now() - begin, 10_000);
});

Deno.test("MACHINE.run() does not wait for a grandchild that holds the pipes", async () => {
  const begin = performance.now();
  const outcome = await MACHINE.run("sh", ["-c", "sleep 20 & sleep 20"], { milliseconds: 100 });
  assertEquals(outcome.kind, "timeout");
  assertLess(performance.now() - begin, 10_000);
});

Deno.test("MACHINE.run() gives a command no input", async () => {
  const outcome = await MACHINE.run("cat", []);
  assert(outcome.kind === "exited");
  assertEquals(outcome.stdout, "");
});

Deno.test("MACHINE.run() tells that a command is absent", async () => {
  assertEquals(await MACHINE.run("gridstride-no-such-command", []), { kind: "absent" });
});

Deno.test("MACHINE.run() tells why a command failed to start", async () => {
  const outcome = await MACHINE.run("/etc/passwd", []);
  assert(outcome.kind === "failed");
  assert(outcome.message.includes("ermission denied"), outcome.message);
});

Deno.test({
  name: "MACHINE.run() tells a missing permission and does not prompt",
  permissions: { run: ["true"] },
  async fn() {
    assertEquals(await MACHINE.run("sh", ["-c", "true"]), { kind: "denied" });
    assertEquals((await MACHINE.run("true", [])).kind, "exited");
  },
});

Deno.test("MACHINE.path() reads files and recognises directories", async () => {
  const directory = await Deno.makeTempDir();
  try {
    await Deno.writeTextFile(`${directory}/version`, "6.2.4-120\n");
    assertEquals(await MACHINE.path(`${directory}/version`), {
      kind: "present",
      text: "6.2.4-120\n",
    });
    assertEquals(await MACHINE.path(directory), { kind: "present", text: "" });
    assertEquals(await MACHINE.path(`${directory}/none`), { kind: "absent" });
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test({
  name: "MACHINE.path() tells a missing permission",
  permissions: { read: false },
  async fn() {
    assertEquals(await MACHINE.path("/"), { kind: "denied" });
  },
});
