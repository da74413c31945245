/**
 * Configurations of known cost: a kernel that runs for a given time.
 *
 * @module
 */

import type { Device, DeviceBuffer } from "../../../mod.ts";

/** A configuration. */
export type Spin = { readonly microseconds: number };

const SIGNATURE = "spin_float32(float* out, unsigned long long nanoseconds, float value)";

/** Launches the kernel, and records the launches. */
export class Spinner {
  readonly #device: Device;
  readonly #out: DeviceBuffer<"float32">;
  /** The configurations that were launched, in order. */
  readonly launched: number[] = [];

  /** Writes to a buffer of one element. */
  constructor(device: Device, out: DeviceBuffer<"float32">) {
    this.#device = device;
    this.#out = out;
  }

  /** For `options.launch`. */
  readonly launch = ({ microseconds }: Spin): void => {
    this.launched.push(microseconds);
    this.#device.kernels.load(SIGNATURE)
      .launch({ grid: 1, block: 1 }, this.#out, 1000 * microseconds, 1);
  };

  /** The configurations that were launched, each once. */
  get distinct(): number[] {
    return [...new Set(this.launched)].sort((one, other) => one - other);
  }
}
