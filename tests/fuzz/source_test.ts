// Mistyped kernel sources.

import { assert, assertStrictEquals } from "@std/assert";
import fc from "fast-check";
import { CompileError } from "../../mod.ts";
import { readDeviceSource } from "../../src/launch/source/device_source.ts";
import { runCampaignProcess } from "./campaign_process.ts";
import { SOURCES } from "./campaign_process.ts";
import { mutatedSources, SOUND_SOURCES } from "./source_mutations.ts";

const SEED = 20_250_104;
const MILLISECONDS = 2_000;

function lineCount(text: string): number {
  return text.split("\n").length;
}

Deno.test("readDeviceSource() finds kernels in every source of the examples and tests", () => {
  assert(SOUND_SOURCES.length >= 16, `only ${SOUND_SOURCES.length} sources`);
  for (const { name, text } of SOUND_SOURCES) {
    assert(readDeviceSource(text, { name }).kernels.length > 0, `${name} has no kernels`);
  }
});

Deno.test("readDeviceSource() reads or refuses mistyped sources, and keeps every line", () => {
  let read = 0;
  const property = ({ name, text }: { name: string; text: string }) => {
    try {
      const source = readDeviceSource(text, { name });
      assertStrictEquals(source.text.length, text.length);
      assertStrictEquals(lineCount(source.text), lineCount(text));
      for (const { line } of source.hostCode) {
        assert(line >= 1 && line <= lineCount(text), `line ${line} of ${lineCount(text)}`);
      }
      read++;
    } catch (error) {
      if (!(error instanceof CompileError)) throw error;
      for (const { line, text: shown } of error.diagnostics) {
        assertStrictEquals(text.split("\n")[line! - 1]?.replace(/\r$/, ""), shown);
      }
    }
  };
  fc.assert(fc.property(mutatedSources(8), property), { seed: SEED, numRuns: 300 });
  assert(read > 150, `only ${read} of 300 sources were not refused`);
});

Deno.test("Device.compile() of mutated sources succeeds or names their lines", async () => {
  const { calls, sequences } = await runCampaignProcess({
    ...SOURCES,
    seed: SEED,
    milliseconds: MILLISECONDS,
  });
  assert(sequences > 2, `only ${sequences} sources were compiled`);
  assert((calls.compile?.threw ?? 0) > 0, "every source compiled");
});
