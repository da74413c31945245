import { assert, assertEquals } from "@std/assert";
import { runFile } from "../../support/subprocess.ts";

const MIB = 2 ** 20;
const BYTES = 160 * MIB;

interface Attempt {
  readonly served?: boolean;
  readonly reserved: number;
}

Deno.test("an isolate without memory makes another return memory", async () => {
  const { code, stdout, stderr } = await runFile("tests/memory/pool/programs/pressure_program.ts", {
    environment: { GRIDSTRIDE_FAKE: "1x256MiB@8.9" },
  });
  assertEquals([code, stderr], [0, ""]);
  const steps: Readonly<Record<string, Attempt>> = JSON.parse(stdout);
  const served = (name: string) => {
    assertEquals(steps[name]!.served, true, name);
    assert(steps[name]!.reserved >= BYTES, name);
  };
  const refused = (name: string) => {
    assertEquals(steps[name]!.served, false, name);
    assert(steps[name]!.reserved < 4 * MIB, name);
  };
  const trimmed = (name: string) => assert(steps[name]!.reserved <= 4 * MIB, name);
  served("ours");
  refused("theirs, while we hold free memory");
  trimmed("ours after our next work");
  served("theirs, when we have given it back");
  refused("ours, while they hold free memory");
  trimmed("theirs after their next work");
  served("ours, when they have given it back");
});
