/**
 * A device that records launches instead of running them.
 *
 * @module
 */

import { DEVICE } from "../../src/ffi/command_block.ts";
import { NativeLibrary } from "../../src/ffi/library.ts";
import { findKernel } from "../../src/ffi/native_kernel.ts";
import { DeviceContext } from "../../src/hardware/device_context.ts";
import { Kernel, type KernelOwner } from "../../src/launch/kernel.ts";
import { parseSignature } from "../../src/launch/signature/signature.ts";
import type { StructTypes } from "../../src/launch/signature/struct_type.ts";
import { device } from "../support/device.ts";

export interface LaunchedKernel {
  launch(config: unknown, ...args: readonly unknown[]): void;
}

/** The device of the tests, but with clusters, over a library that records launches. */
export class RecordedLaunches implements Disposable {
  readonly context: DeviceContext;
  /** The library's handle of the kernel that all launches are said to be of. */
  readonly kernelId: number;
  status = 0;
  #blocks: BigUint64Array[] = [];

  constructor() {
    const { library, ordinal, info } = device.context;
    const record = () => {
      const bits = new BigUint64Array(library.block.buffer);
      this.#blocks.push(bits.slice());
      // The next hot call overwrites the block.
      new Float64Array(library.block.buffer, 8 * DEVICE).fill(-7);
      return this.status;
    };
    const symbols = { ...library.symbols, gs_kernel_launch: record };
    const recording = new NativeLibrary(library.path, symbols);
    this.context = new DeviceContext(recording, ordinal, { ...info, clusterLaunch: true });
    this.kernelId = findKernel(library, "empty")!;
  }

  kernel(signature: string, owner?: KernelOwner, structs?: StructTypes): LaunchedKernel {
    const parsed = parseSignature(signature, structs);
    return new Kernel(this.context, this.kernelId, parsed, owner) as unknown as LaunchedKernel;
  }

  /** The command blocks of the launches since the last call, slot by slot, as bits. */
  take(): readonly BigUint64Array[] {
    const blocks = this.#blocks;
    this.#blocks = [];
    return blocks;
  }

  [Symbol.dispose](): void {
    this.context.release();
  }
}
