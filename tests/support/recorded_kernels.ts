/**
 * Records the generated kernels that calls take, which are neither compiled nor launched.
 *
 * @module
 */

import type { KernelArgument } from "../../src/launch/signature/signature_types.ts";
import { DeviceBuffer } from "../../src/memory/device_buffer.ts";
import { tidy } from "../../src/device/tensor.ts";
import { DeviceWork, type GeneratedKernel } from "../../src/tensor/kit/device_work.ts";
import type { KernelText } from "../../src/tensor/kit/expression/kernel_text.ts";
import type { device } from "./device.ts";

/** A kernel as an operation requests it, and the arguments of its launch by their names. */
export interface RecordedLaunch {
  readonly key: string;
  readonly text: KernelText;
  /** Addresses stand for buffers. */
  readonly launchArguments: ReadonlyMap<string, unknown>;
}

/**
 * Calls a function whose operations on a device do nothing, but for those that make tensors of values.
 *
 * @returns The launches in order.
 */
export function recordKernels(on: typeof device, call: () => void): readonly RecordedLaunch[] {
  const work = DeviceWork.of(on.context);
  const launches: RecordedLaunch[] = [];
  work.kernel = (key, make) => {
    const text = make();
    const launch = (_: unknown, ...values: KernelArgument[]) => {
      const names = text.parameters.map((parameter) => parameter.split(" ").at(-1)!);
      const entries = values.map((value, at) =>
        [names[at]!, value instanceof DeviceBuffer ? value.address : value] as const
      );
      launches.push({ key, text, launchArguments: new Map(entries) });
    };
    return { text, source: "", kernel: { launch } } as unknown as GeneratedKernel;
  };
  work.enqueue = (_kernel, _operands, _results, launch) => void launch();
  // Reports are not read, because no kernel writes them.
  using words = on.allocate("int64", 2);
  const report = { page: undefined, slot: 0, error: undefined };
  work.reports.open = (errorOf) => ({ report: { ...report, errorOf }, words });
  try {
    tidy(call);
  } finally {
    // The methods of the class again.
    delete (work as Partial<DeviceWork>).kernel;
    delete (work as Partial<DeviceWork>).enqueue;
    delete (work.reports as Partial<DeviceWork["reports"]>).open;
  }
  return launches;
}
