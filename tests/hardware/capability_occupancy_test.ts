// The occupancy figures of the capability table are those of the toolkit's own calculator,
// cuda_occupancy.h, compiled here.

import { assertEquals } from "@std/assert";
import { capabilityLimits } from "../../src/hardware/capability_limits.ts";
import { KNOWN_CAPABILITIES } from "../../src/hardware/capability_table.ts";
import { toolkitHeaders } from "../support/cuda_toolkit.ts";

const FIGURES = [
  "maxBlocksPerMultiprocessor",
  "multiprocessorPartitions",
  "registerAllocationUnit",
  "sharedMemoryAllocationUnit",
  "barriersPerMultiprocessor",
  "sharedMemoryCapacities",
] as const;

async function succeed(command: string, args: string[]): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(command, { args }).output();
  const text = new TextDecoder();
  if (!success) throw new Error(`${command} ${args.join(" ")}: ${text.decode(stderr)}`);
  return text.decode(stdout);
}

/** The first C++ compiler that runs. */
function findCompiler(): string | undefined {
  return [Deno.env.get("CXX"), "g++", "clang++"].find((compiler) => {
    if (!compiler) return false;
    try {
      return new Deno.Command(compiler, { args: ["--version"] }).outputSync().success;
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return false;
      throw error;
    }
  });
}

const headers = toolkitHeaders("cuda_occupancy.h");
const compiler = headers === undefined ? undefined : findCompiler();
const skipped = headers === undefined
  ? " (skipped: no CUDA toolkit)"
  : compiler === undefined
  ? " (skipped: no C++ compiler)"
  : "";

Deno.test({
  name: `capabilityLimits() agrees with cuda_occupancy.h${skipped}`,
  ignore: skipped !== "",
  async fn() {
    const directory = await Deno.makeTempDir();
    try {
      const source = new URL("capability_occupancy.cpp", import.meta.url).pathname;
      const program = `${directory}/capability_occupancy`;
      // The header is C and full of what C++ compilers warn about.
      await succeed(compiler!, ["-std=c++17", "-w", "-isystem", headers!, source, "-o", program]);
      const theirs = JSON.parse(await succeed(program, [...KNOWN_CAPABILITIES]));
      const ours = Object.fromEntries(KNOWN_CAPABILITIES.map((capability) => {
        const limits = capabilityLimits(capability);
        return [capability, Object.fromEntries(FIGURES.map((figure) => [figure, limits[figure]]))];
      }));
      assertEquals(ours, theirs);
    } finally {
      await Deno.remove(directory, { recursive: true });
    }
  },
});
