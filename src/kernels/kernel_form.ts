/**
 * The two forms of kernels, and built-in kernels that have both.
 *
 * @module
 */

import type { DeviceContext } from "../hardware/device_context.ts";
import { environment } from "../hardware/device_list.ts";
import { KernelFamily } from "../launch/kernel_library.ts";
import type { Kernel } from "../launch/kernel.ts";
import { cTypeOf, type DType } from "../memory/dtype.ts";

/** The way in which a kernel runs: a block is one thread with a loop, or it has CUDA threads. */
export type KernelForm = "block" | "threads";

const chosenForms = new WeakMap<DeviceContext, KernelForm>();

/** The form of kernels that have both, on a device. The environment is asked once. */
export function kernelFormOf(context: DeviceContext): KernelForm {
  let form = chosenForms.get(context);
  if (form === undefined) {
    form = context.library.kind === "host" && !environment.simulate ? "block" : "threads";
    chosenForms.set(context, form);
  }
  return form;
}

/** The kernels of an operation for element types, in the form of each device. */
export class FormFamily<D extends DType> {
  readonly #families: Readonly<Record<KernelForm, KernelFamily<D>>>;

  /**
   * @param name The name of the kernels without the element type. Those of the block form have `_loops`
   * after it.
   * @param parametersOf The C parameters for the C type of an element type.
   */
  constructor(name: string, parametersOf: (type: string, dtype: D) => string) {
    const family = (ofForm: string) =>
      new KernelFamily<D>((dtype) => `${ofForm}_${dtype}(${parametersOf(cTypeOf(dtype), dtype)})`);
    this.#families = { threads: family(name), block: family(`${name}_loops`) };
  }

  /** The kernel of a device for an element type. */
  of(context: DeviceContext, dtype: D): Kernel {
    return this.#families[kernelFormOf(context)].of(context, dtype);
  }
}
