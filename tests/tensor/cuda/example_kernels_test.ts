// The kernels of examples/kernels are compiled for CUDA by NVRTC, which needs no GPU.
// Needs no GPU: it compiles for given architectures.

import { assertEquals } from "@std/assert";
import { compileImage, type CompileOptions, type Device } from "../../../mod.ts";
import { countBytes } from "../../../examples/kernels/histogram.ts";
import { matmul } from "../../../examples/kernels/matmul.ts";
import { sum } from "../../../examples/kernels/reduction.ts";
import { scan } from "../../../examples/kernels/scan.ts";
import { spread } from "../../../examples/kernels/stencil.ts";
import { transpose } from "../../../examples/kernels/transpose.ts";
import { nvrtc, withoutNvrtc } from "../../support/nvrtc.ts";
import { recordingDevice } from "./recording_device.ts";

/** What an example compiles. */
class Compilation extends Error {
  constructor(readonly source: string, readonly options: CompileOptions) {
    super("recorded");
  }
}

Deno.test({
  name: `kernels of the examples compile for CUDA without local memory${withoutNvrtc}`,
  ignore: nvrtc === undefined,
  async fn() {
    const { device } = recordingDevice("9.0");
    const recording: Device = Object.create(device, {
      compile: {
        value(source: string, options: CompileOptions) {
          throw new Compilation(source, options);
        },
      },
    });
    const numbers = new Float32Array(16);
    const examples = [
      () => countBytes(recording, new Uint8Array(16)),
      () => matmul(recording, numbers, numbers, { m: 4, n: 4, k: 4 }),
      () => sum(recording, numbers),
      () => scan(recording, numbers),
      () => spread(recording, numbers, 4, 1),
      () => transpose(recording, numbers, 4, 4),
    ];
    for (const run of examples) {
      const made = await run().then(() => undefined, (error) => error);
      if (!(made instanceof Compilation)) throw made;
      for (const capability of ["7.5", "9.0"]) {
        const target = { kind: "cuda", capability } as const;
        const { resources, log } = await compileImage(made.source, { ...made.options, target });
        assertEquals([...resources.values()].filter(({ localMemory }) => localMemory > 0), []);
        assertEquals(log, "");
      }
    }
  },
});
