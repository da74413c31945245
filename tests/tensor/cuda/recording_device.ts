/**
 * A device that records the kernels it would compile. Nothing runs, and no GPU is needed: the memory
 * is that of the host device, and planners see the kind and the capability they are given.
 *
 * @module
 */

import "../../support/cache_directory.ts";
import { Device, openDevice } from "../../../mod.ts";
import { DeviceContext } from "../../../src/hardware/device_context.ts";
import { DeviceBuffer } from "../../../src/memory/device_buffer.ts";
import {
  DeviceWork,
  type GeneratedKernel,
  type GeneratedModule,
} from "../../../src/tensor/kit/device_work.ts";
import { findCublasLt } from "../../../src/tensor/matmul/cublaslt_search.ts";

/** A device, and the kernels that it has been given. */
export interface RecordingDevice {
  readonly device: Device;
  readonly kernels: readonly GeneratedKernel[];
  /** The launches so far. */
  readonly launches: number;
}

// Opened with this module, because the resource sanitizer takes a library that is opened inside a
// test for a leak.
const host = openDevice("host");

/** The kind of a device, and what its operations see. */
export interface RecordingOptions {
  /** `"host"` for the planners of the host device. */
  readonly kind?: "cuda" | "host";
  /** The version of NVRTC that planners see. */
  readonly nvrtc?: readonly [major: number, minor: number];
  /** Decides between large and small tiles. */
  readonly multiprocessorCount?: number;
  /** The 64-bit integers that kernels seem to write, such as counts that an operation reads back. */
  readonly integer?: bigint;
}

/** A device of a compute capability. */
export function recordingDevice(
  computeCapability: string,
  { kind = "cuda", nvrtc = [13, 0], multiprocessorCount = 8, integer = 0n }: RecordingOptions = {},
): RecordingDevice {
  const { library, ordinal, info } = host.context;
  const own = Object.create(library, { kind: { value: kind } }) as typeof library;
  // Products go to our own kernels: the variable names a directory without cuBLASLt.
  findCublasLt(own, (name) => name === "GRIDSTRIDE_CUBLASLT" ? "/nowhere" : undefined);
  const context = new DeviceContext(own, ordinal, {
    ...info,
    kind,
    computeCapability,
    clusterLaunch: Number(computeCapability) >= 9,
    multiprocessorCount,
    // That of compute capability 9.0; without tensor cores it does not matter.
    sharedMemoryPerBlockOptIn: 227 * 1024,
  });
  const kernels: GeneratedKernel[] = [];
  let launches = 0;
  const moduleOf = ({ text }: GeneratedKernel) => {
    // Nothing is wrong with the values that a kernel checks.
    const faults = text.parameters.findIndex((it) => it.endsWith(" faults"));
    const launch = (_: unknown, ...operands: readonly unknown[]) => {
      launches++;
      for (const [at, operand] of operands.entries()) {
        if (!(operand instanceof DeviceBuffer) || operand.dtype !== "int64") continue;
        operand.copyFrom(new BigInt64Array(operand.length).fill(at === faults ? 0n : integer));
      }
    };
    // Modules hold their device.
    context.retain();
    return {
      kernel: () => ({ launch }),
      [Symbol.dispose]: () => context.release(),
    } as unknown as GeneratedModule;
  };
  DeviceWork.of(context, {
    // Operations compile their kernels one at a time.
    compile([generated]) {
      kernels.push(generated!);
      return Promise.resolve(moduleOf(generated!));
    },
    // Their compilations have begun, so they are recorded.
    compileNow: (generated) => generated.map(moduleOf),
    nvrtcVersion: () => nvrtc,
  });
  return {
    device: new Device(context),
    kernels,
    get launches() {
      return launches;
    },
  };
}
