// Kernel sources with mistakes, as people mistype them.

import { assert, assertStrictEquals } from "@std/assert";
import fc from "fast-check";
import { CompileError } from "../../mod.ts";
import { readDeviceSource } from "../../src/launch/source/device_source.ts";
import { runCampaignProcess } from "./campaign_process.ts";
import { SOURCES } from "./campaigns.ts";
import { mutatedSources, SOUND_SOURCES } from "./source_mutations.ts";

const SEED = 20_250_104;
const MILLISECONDS = 8_000;

/** Longer than any of these takes by far: what is not linear, or does not end. */
const SLOW = 2000;

function lineCount(text: string): number {
  return text.split("\n").length;
}

Deno.test("there are sources of every example and test to change, and all of them are read", () => {
  assert(SOUND_SOURCES.length >= 16, `only ${SOUND_SOURCES.length} sources`);
  for (const { name, text } of SOUND_SOURCES) {
    assert(readDeviceSource(text, { name }).kernels.length > 0, `${name} has no kernels`);
  }
});

Deno.test("a source with mistakes is read or refused, and every line stays where it was", () => {
  let read = 0;
  const property = ({ name, text }: { name: string; text: string }) => {
    const start = performance.now();
    try {
      const source = readDeviceSource(text, { name });
      assertStrictEquals(source.text.length, text.length);
      assertStrictEquals(lineCount(source.text), lineCount(text));
      for (const { line } of [...source.kernels, ...source.variables, ...source.hostCode]) {
        assert(line >= 1 && line <= lineCount(text), `line ${line} of ${lineCount(text)}`);
      }
      read++;
    } catch (error) {
      if (!(error instanceof CompileError)) throw error;
      for (const { line, text: shown } of error.diagnostics) {
        assertStrictEquals(text.split("\n")[line! - 1]?.replace(/\r$/, ""), shown);
      }
    }
    const milliseconds = performance.now() - start;
    assert(milliseconds < SLOW, `${milliseconds} ms`);
  };
  fc.assert(fc.property(mutatedSources(8), property), { seed: SEED, numRuns: 600 });
  assert(read > 300, `only ${read} of 600 sources were not refused`);
});

Deno.test("a source with mistakes compiles, or the error tells its lines; nothing crashes or leaks", async () => {
  const { calls, sequences } = await runCampaignProcess({
    ...SOURCES,
    seed: SEED,
    milliseconds: MILLISECONDS,
  });
  assert(sequences > 2, `only ${sequences} sources were compiled`);
  assert((calls.compile?.threw ?? 0) > 0, "every source compiled");
});
