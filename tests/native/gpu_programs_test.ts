// Builds and runs the C++ programs of this folder that need a GPU.

import { assertEquals } from "@std/assert";
import { findCudaCompiler } from "../../src/ffi/build/compilers.ts";
import { device } from "../support/device.ts";
import { NativeBuild } from "./native_build.ts";
import { KERNELS_CUDA, SHIM, SHIM_LIBRARY_CUDA } from "./native_programs.ts";
import { runTestProgram } from "./program_report.ts";

const { compiler } = await findCudaCompiler((name) => Deno.env.get(name));
const without = compiler === undefined
  ? " (skipped: no nvcc)"
  : device.info.kind === "cuda"
  ? ""
  : " (skipped: GRIDSTRIDE_DEVICE is not cuda)";
const ignore = without !== "";

Deno.test({
  name: `ABI of the CUDA library, with kernels for every type of argument${without}`,
  ignore,
  fn: async () => {
    const path = await (await NativeBuild.open("host")).program(SHIM);
    const args = [await (await NativeBuild.open("cuda")).program(SHIM_LIBRARY_CUDA)];
    const { skips } = await runTestProgram(path, { args });
    assertEquals(skips.filter((skip) => skip.startsWith("what needs a device")), []);
  },
});

Deno.test({
  name: `built-in kernels on a GPU${without}`,
  ignore,
  fn: async () => {
    await runTestProgram(await (await NativeBuild.open("cuda")).program(KERNELS_CUDA));
  },
});
