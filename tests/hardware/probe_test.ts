// Commands are run with a time limit, and their output is read to its end.

import { assert, assertEquals } from "@std/assert";
import { TemporaryDirectory } from "../support/temporary_file.ts";
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

Deno.test("`MACHINE.run()` kills a command at its time limit, even if a grandchild holds the pipes", async () => {
  const timeout = { kind: "timeout", milliseconds: 100 } as const;
  assertEquals(await MACHINE.run("sleep", ["60"], { milliseconds: 100 }), timeout);
  const script = ["-c", "sleep 20 & sleep 20"];
  assertEquals(await MACHINE.run("sh", script, { milliseconds: 100 }), timeout);
});

Deno.test("`MACHINE.run()` gives a command no input, and reports one that cannot start", async () => {
  const silent = await MACHINE.run("cat", []);
  assert(silent.kind === "exited" && silent.stdout === "");
  assertEquals(await MACHINE.run("gridstride-no-such-command", []), { kind: "absent" });
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
  using directory = new TemporaryDirectory();
  const path = directory.file(new TextEncoder().encode("6.2.4-120\n"));
  assertEquals(await MACHINE.path(path), { kind: "present", text: "6.2.4-120\n" });
  assertEquals(await MACHINE.path(directory.path), { kind: "present", text: "" });
  assertEquals(await MACHINE.path(`${directory.path}/none`), { kind: "absent" });
});

Deno.test({
  name: "`MACHINE.path()` reports a missing permission",
  permissions: { read: false },
  async fn() {
    assertEquals(await MACHINE.path("/"), { kind: "denied" });
  },
});
