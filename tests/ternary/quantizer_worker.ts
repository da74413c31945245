// A worker: multiplies on a device that is too small, and posts the product and the statistics.

import { openDevice } from "../../mod.ts";
import { DeviceAwareQuantizer, type QuantizedValues } from "../../src/device/ternary.ts";

/** The message to the worker. */
export interface Multiplication {
  readonly selector: string;
  readonly values: Float32Array;
  readonly weights: QuantizedValues;
}

const scope = self as unknown as {
  onmessage: (event: MessageEvent<Multiplication>) => void;
  postMessage(message: unknown): void;
};

scope.onmessage = async ({ data: { selector, values, weights } }) => {
  using device = openDevice(selector, { memory: { maxPoolSize: "4MiB" } });
  using fallback = openDevice(selector);
  using quantizer = new DeviceAwareQuantizer({ device, fallback });
  const product = await quantizer.matmul(values, [1, values.length], weights);
  const { fallbackCount, byKind } = quantizer.stats();
  scope.postMessage({ product, fallbackCount, operations: byKind.matmul!.operations });
};
