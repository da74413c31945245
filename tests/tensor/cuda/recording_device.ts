/**
 * A CUDA device that records the kernels it would compile. Nothing runs, and no GPU is needed: the
 * memory is that of the host device, and planners see the kind and the capability they are given.
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
} from "../../../src/tensor/device_work.ts";
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

/**
 * A device of a compute capability.
 *
 * @param nvrtc The version of NVRTC that planners see.
 */
export function recordingDevice(
  computeCapability: string,
  nvrtc: readonly [major: number, minor: number] = [13, 0],
): RecordingDevice {
  const { library, ordinal, info } = host.context;
  const cuda = Object.create(library, { kind: { value: "cuda" } }) as typeof library;
  // Products go to our own kernels: the variable names a directory without cuBLASLt.
  findCublasLt(cuda, (name) => name === "GRIDSTRIDE_CUBLASLT" ? "/nowhere" : undefined);
  const context = new DeviceContext(cuda, ordinal, {
    ...info,
    kind: "cuda",
    computeCapability,
    // Decides between large and small tiles.
    multiprocessorCount: 8,
  });
  const kernels: GeneratedKernel[] = [];
  let launches = 0;
  // Counts that an operation reads back are 0.
  const launch = (_: unknown, ...operands: readonly unknown[]) => {
    launches++;
    for (const operand of operands) {
      if (operand instanceof DeviceBuffer && operand.dtype === "int64") {
        operand.copyFrom(new BigInt64Array(operand.length));
      }
    }
  };
  // A module holds its device.
  const load = () => {
    context.retain();
    const module = { kernel: () => ({ launch }), [Symbol.dispose]: () => context.release() };
    return module as unknown as GeneratedModule;
  };
  DeviceWork.of(context, {
    compile(generated) {
      kernels.push(generated);
      return Promise.resolve(load());
    },
    // Their compilations have begun, so they are recorded.
    compileNow: (generated) => generated.map(load),
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
