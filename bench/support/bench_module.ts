/**
 * A module for measurements of launches: its kernels do almost nothing.
 *
 * @module
 */

import { defineStruct, type Kernel, type LaunchConfig } from "../../mod.ts";
import { compileText } from "../../src/launch/module/compile.ts";
import type { DeviceContext } from "../../src/hardware/device_context.ts";
import type { DeviceBuffer } from "../../src/memory/device_buffer.ts";

const SOURCE = `
  struct Scaling { float factor; float offset; unsigned long long elements; };

  extern "C" __global__ void module_empty() {}

  extern "C" __global__ void module_axpy(float a, const float* x, float* y, unsigned long long n) {
    const unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
  }

  extern "C" __global__ void vector_axpy(float4 a, const float* x, float* y,
                                         unsigned long long n) {
    const unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += (a.x + a.y + a.z + a.w) * x[i];
  }

  extern "C" __global__ void struct_axpy(Scaling scaling, const float* x, float* y) {
    const unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < scaling.elements) y[i] += scaling.factor * x[i] + scaling.offset;
  }
`;

const Scaling = defineStruct("Scaling", {
  factor: "float",
  offset: "float",
  elements: "unsigned long long",
});

/** Launches of a module's kernels, by their arguments. */
export interface ModuleLaunches {
  /** Nothing. */
  readonly empty: () => void;
  /** Two numbers and two buffers. */
  readonly fourArguments: () => void;
  /** The same, with blocks that run at once. */
  readonly cooperative: () => void;
  /** A vector in the place of one of the numbers. */
  readonly vector: () => void;
  /** A struct of three numbers in the place of both. */
  readonly struct: () => void;
}

/**
 * Compiles the module for a device, where it stays until the process ends.
 *
 * @param x The buffer that is read, of at least 32 elements.
 * @param y The buffer that is written.
 */
export async function moduleLaunches(
  context: DeviceContext,
  config: LaunchConfig,
  x: DeviceBuffer<"float32">,
  y: DeviceBuffer<"float32">,
): Promise<ModuleLaunches> {
  const options = { name: "launches.cu", structs: [Scaling] } as const;
  const module = await compileText(context, SOURCE, options);
  const empty: Kernel<"module_empty()"> = module.kernel("module_empty()");
  const axpy = module.kernel(
    "module_axpy(float a, const float* x, float* y, unsigned long long n)",
  );
  const vector = module.kernel(
    "vector_axpy(float4 a, const float* x, float* y, unsigned long long n)",
  );
  const struct = module.kernel("struct_axpy(Scaling scaling, const float* x, float* y)");
  const together = { ...config, cooperative: true };
  const sides = [1, 2, 3, 4] as const;
  const scaling = { factor: 2, offset: 1, elements: x.length };
  return {
    empty: () => empty.launch(config),
    fourArguments: () => axpy.launch(config, 2, x, y, x.length),
    cooperative: () => axpy.launch(together, 2, x, y, x.length),
    vector: () => vector.launch(config, sides, x, y, x.length),
    struct: () => struct.launch(config, scaling, x, y),
  };
}
