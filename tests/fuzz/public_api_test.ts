import { assert, assertEquals } from "@std/assert";
import { PUBLIC_API, runCampaignProcess } from "./campaign_process.ts";
import { documentedMembers } from "./documented_members.ts";
import { PUBLIC_ARGUMENTS, WEIGHTS } from "./public_arguments.ts";

const SEED = 20_250_101;
const MILLISECONDS = 2_000;

Deno.test("The public API campaign covers every documented member", async () => {
  const documented = await documentedMembers();
  assert(documented.length > 80, `deno doc lists only ${documented.length} members`);
  assertEquals(documented.filter((name) => !PUBLIC_ARGUMENTS.has(name)), []);
  assertEquals([...PUBLIC_ARGUMENTS.keys()].filter((name) => !documented.includes(name)), []);
  assertEquals(Object.keys(WEIGHTS).filter((name) => !documented.includes(name)), []);
});

Deno.test("The public API survives random arguments", async () => {
  const { calls, sequences } = await runCampaignProcess({
    ...PUBLIC_API,
    seed: SEED,
    milliseconds: MILLISECONDS,
  });
  assert(sequences > 3, `only ${sequences} sequences were played`);
  assertEquals([...PUBLIC_ARGUMENTS.keys()].filter((name) => calls[name] === undefined), []);
  const all = Object.values(calls);
  const returned = all.filter((count) => count.returned > 0).length;
  assert(returned > 0.8 * all.length, `only ${returned} of ${all.length} members ever succeeded`);
});
