/**
 * Launch parameters of the built-in kernels that were found by tuning, where operations look them up.
 *
 * @module
 */

import type { Kernel } from "../launch/kernel.ts";

/** Sizes are told apart by powers of two: those of a problem of up to 2^53 elements. */
const SIZE_CLASSES = 54;

/** What was tuned serves sizes up to so many powers of two away, and no others. */
const FARTHEST = 1;

/**
 * The parameters that were tuned for a kind of kernels, by kernel and size. Nothing is in it until a
 * program tunes, and then a look-up costs operations a comparison.
 *
 * @typeParam Parameters What is tuned.
 */
export class TunedParameters<Parameters extends object> {
  readonly #tables = new WeakMap<Kernel, SizeTable<Parameters>>();
  #isUsed = false;
  // While an operation is being timed: the kernel that it is timed for, and with what.
  #tried: { readonly kernel: Kernel; readonly parameters: Parameters } | undefined;

  /** What a kernel is launched with for so many elements; undefined for what it does untuned. */
  of(kernel: Kernel, elements: number): Parameters | undefined {
    return this.#isUsed === true ? this.#lookUp(kernel, elements) : undefined;
  }

  #lookUp(kernel: Kernel, elements: number): Parameters | undefined {
    if (this.#tried?.kernel === kernel) return this.#tried.parameters;
    return this.#tables.get(kernel)?.of(elements);
  }

  /**
   * Notes what is best for a kernel and a size.
   *
   * @param parameters Undefined for what it does untuned.
   */
  set(kernel: Kernel, elements: number, parameters: Parameters | undefined): void {
    const table = this.#tables.get(kernel) ?? new SizeTable<Parameters>();
    table.set(elements, parameters);
    this.#tables.set(kernel, table);
    this.#isUsed = true;
  }

  /** Has a kernel launched with certain parameters by all that an operation does meanwhile. */
  tryOut(kernel: Kernel, parameters: Parameters, operation: () => void): void {
    const before = this.#tried;
    this.#tried = { kernel, parameters };
    this.#isUsed = true;
    try {
      operation();
    } finally {
      this.#tried = before;
    }
  }
}

/** Parameters by size: those of the nearest size that was tuned. */
class SizeTable<Parameters> {
  readonly #tuned = new Map<number, Parameters | undefined>();
  #nearest: (Parameters | undefined)[] = [];

  of(elements: number): Parameters | undefined {
    return this.#nearest[sizeClass(elements)];
  }

  set(elements: number, parameters: Parameters | undefined): void {
    this.#tuned.set(sizeClass(elements), parameters);
    this.#nearest = Array.from({ length: SIZE_CLASSES }, (_, size) => this.#nearestTo(size));
  }

  #nearestTo(size: number): Parameters | undefined {
    for (let distance = 0; distance <= FARTHEST; distance++) {
      for (const near of [size - distance, size + distance]) {
        if (this.#tuned.has(near)) return this.#tuned.get(near);
      }
    }
    return undefined;
  }
}

/** The power of two that is nearest to a size. */
function sizeClass(elements: number): number {
  return elements < 1 ? 0 : Math.round(Math.log2(elements));
}
