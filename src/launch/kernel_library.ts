/**
 * The built-in kernels of the native library, by signature.
 *
 * @module
 */

import { findKernel, kernelDeclaration, kernelDeclarations } from "../ffi/native_kernel.ts";
import type { DeviceContext } from "../hardware/device_context.ts";
import { Kernel } from "./kernel.ts";
import { parseSignature, signatureDifference } from "./signature/signature.ts";

const kernels = new WeakMap<DeviceContext, Map<string, Kernel>>();

/** The names of all built-in kernels, sorted. */
export function builtInKernelNames(context: DeviceContext): string[] {
  return kernelDeclarations(context.library)
    .map((declaration) => declaration.slice(0, declaration.indexOf("(")))
    .sort();
}

/** A built-in kernel by its C signature, compared once with the compiled one. */
export function builtInKernel<Signature extends string>(
  context: DeviceContext,
  signature: Signature,
): Kernel<Signature> {
  let known = kernels.get(context);
  if (known === undefined) {
    known = new Map();
    kernels.set(context, known);
  }
  let kernel = known.get(signature);
  if (kernel === undefined) {
    kernel = loadBuiltIn(context, signature);
    known.set(signature, kernel);
  }
  return kernel as unknown as Kernel<Signature>;
}

function loadBuiltIn(context: DeviceContext, text: string): Kernel {
  const signature = parseSignature(text);
  const id = findKernel(context.library, signature.name);
  if (id === undefined) {
    throw new TypeError(
      `Cannot load kernel ${signature.name} as there is no built-in kernel of this name`,
    );
  }
  const compiled = parseSignature(kernelDeclaration(context.library, id));
  const difference = signatureDifference(compiled, signature);
  if (difference !== undefined) {
    throw new TypeError(`Cannot load kernel ${signature.name} as ${difference}`);
  }
  return new Kernel(context, id, signature);
}

/**
 * Built-in kernels that differ in one respect, such as `add_float32` and `add_float64` in their
 * element type. Composing the signature in each call would take longer than the launch.
 *
 * @typeParam Variant The respect.
 */
export class KernelFamily<Variant extends string> {
  readonly #signatureOf: (variant: Variant) => string;
  readonly #kernels = new WeakMap<DeviceContext, Map<Variant, Kernel>>();

  /** Takes a function that composes the signature of each. */
  constructor(signatureOf: (variant: Variant) => string) {
    this.#signatureOf = signatureOf;
  }

  /** The kernel of a device for a variant. */
  of(context: DeviceContext, variant: Variant): Kernel {
    let known = this.#kernels.get(context);
    if (known === undefined) {
      known = new Map();
      this.#kernels.set(context, known);
    }
    let kernel = known.get(variant);
    if (kernel === undefined) {
      kernel = builtInKernel(context, this.#signatureOf(variant));
      known.set(variant, kernel);
    }
    return kernel;
  }
}
