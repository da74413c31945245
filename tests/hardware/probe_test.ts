// Commands are run with a time limit, and their output is read to its end.

import { assert, assertEquals } from "@std/assert";
import { MACHINE, PROBE_OUTPUT_BYTES } from "../../src/hardware/probe.ts";

Deno.test("`MACHINE.run()` returns both outputs and the exit code", async () => {
  assertEquals(await MACHINE.run("sh", ["-c", "echo out; echo err >&2; exit 3"]), {
    kind: "exited",
    code: 3,
    stdout: "out\n",
    stderr: "err\n",
  });
});

Deno.test("`MACHINE.run()` keeps the first part of a long output", async () => {
  const bytes = PROBE_OUTPUT_BYTES + 100000;
  const outcome = await MACHINE.run("sh", ["-c", `head -c ${bytes} /dev/zero; exit 5`]);
  assert(outcome.kind === "exited");
  assertEquals([outcome.stdout.length, outcome.code], [PROBE_OUTPUT_BYTES, 5]);
});

Deno.test("`MACHINE.run()` decodes a character in two chunks", async () => {
  const script = "printf '\\303'; sleep 0.05; printf '\\244'";
  const outcome = await MACHINE.run("sh", ["-c", script]);
  assert(outcome.kind === "exited");
  assertEquals(outcome.stdout, "ä");
});

Deno.test("`MACHINE.run()` kills a command at its time limit", async () => {
  const outcome = await MACHINE.run("sleep", ["60"], { milliseconds: 100 });
  assertEquals(outcome, { kind: "timeout", milliseconds: 100 });
});

Deno.test("`MACHINE.run()` returns at the time limit when a grandchild holds the pipes", async () => {
  const outcome = await MACHINE.run("sh", ["-c", "sleep 20 & sleep 20"], { milliseconds: 100 });
  assertEquals(outcome.kind, "timeout");
});

Deno.test("`MACHINE.run()` gives a command no input", async () => {
  const outcome = await MACHINE.run("cat", []);
  assert(outcome.kind === "exited");
  assertEquals(outcome.stdout, "");
});

Deno.test("`MACHINE.run()` reports an absent command", async () => {
  assertEquals(await MACHINE.run("gridstride-no-such-command", []), { kind: "absent" });
});

Deno.test("`MACHINE.run()` reports the reason when a command cannot start", async () => {
  const outcome = await MACHINE.run("/etc/passwd", []);
  assert(outcome.kind === "failed");
  assert(outcome.message.includes("ermission denied"), outcome.message);
});

Deno.test({
  name: "`MACHINE.run()` reports a missing permission without a prompt",
  permissions: { run: ["true"] },
  async fn() {
    assertEquals(await MACHINE.run("sh", ["-c", "true"]), { kind: "denied" });
    assertEquals((await MACHINE.run("true", [])).kind, "exited");
  },
});

Deno.test("`MACHINE.path()` reads files and recognises directories", async () => {
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
  name: "`MACHINE.path()` reports a missing permission",
  permissions: { read: false },
  async fn() {
    assertEquals(await MACHINE.path("/"), { kind: "denied" });
  },
});
