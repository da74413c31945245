// The occupancy figures of the capability table are those of the toolkit's own calculator,
// cuda_occupancy.h, compiled here.

import { assertEquals } from "@std/assert";
import { capabilityLimits } from "../../src/hardware/capability_limits.ts";
import { KNOWN_CAPABILITIES } from "../../src/hardware/capability_limits.ts";
import { ToolkitProgram } from "../support/toolkit_program.ts";

const FIGURES = [
  "maxBlocksPerMultiprocessor",
  "multiprocessorPartitions",
  "registerAllocationUnit",
  "sharedMemoryAllocationUnit",
  "barriersPerMultiprocessor",
  "sharedMemoryCapacities",
] as const;

const program = new ToolkitProgram(
  new URL("capability_occupancy.cpp", import.meta.url),
  "cuda_occupancy.h",
);

Deno.test({
  name: `capabilityLimits() agrees with cuda_occupancy.h${program.skipped}`,
  ignore: program.skipped !== "",
  async fn() {
    const [printed] = await program.run(KNOWN_CAPABILITIES);
    const theirs = JSON.parse(new TextDecoder().decode(printed));
    const ours = Object.fromEntries(KNOWN_CAPABILITIES.map((capability) => {
      const limits = capabilityLimits(capability);
      return [capability, Object.fromEntries(FIGURES.map((figure) => [figure, limits[figure]]))];
    }));
    assertEquals(ours, theirs);
  },
});
