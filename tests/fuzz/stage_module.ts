/**
 * The module of the stage: a source, and its machine code, compiled once for all stages.
 *
 * @module
 */

import { type CompiledImage, compileImage, type Device, type Module } from "../../mod.ts";
import type { StructTypes } from "../../src/launch/signature/struct_type.ts";

/** Kernels with parameters of every kind, which write only the given number of elements. */
export const MODULE_SOURCE = `
  struct Pair { float first; long long second; };
  struct Particle { float3 position; char tags[3]; Pair pair; };

  __device__ int total;
  __constant__ float factors[3] = {1, 2, 3};

  extern "C" __global__ void move(Particle particle, float3 by, double* out, int n) {
    if (n > 0) out[0] = particle.position.x + by.x;
    if (n > 1) out[1] = double(particle.pair.second);
  }

  extern "C" __global__ void mix(bool b, signed char c, unsigned long long l, double* out, int n) {
    if (n > 0) out[0] = b ? double(c) : double(l);
    if (n > 1) out[1] = factors[0];
  }

  extern "C" __global__ void count(int amount) { atomicAdd(&total, amount); }
`;

/** Its kernels. */
export const MODULE_KERNELS: readonly string[] = [
  "move(Particle particle, float3 by, double* out, int n)",
  "mix(bool b, signed char c, unsigned long long l, double* out, int n)",
  "count(int amount)",
];

let image: Promise<CompiledImage> | undefined;

/** Its machine code for the host device. */
export function stageImage(): Promise<CompiledImage> {
  return image ??= compileImage(MODULE_SOURCE, {
    name: "stage.cu",
    target: { kind: "host", capability: "8.9" },
    cache: false,
  });
}

/** The module, loaded. */
export async function loadStageModule(device: Device, structs: StructTypes): Promise<Module> {
  const { image } = await stageImage();
  return await device.loadModule(image, { name: "stage", structs }) as unknown as Module;
}
