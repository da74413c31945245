/**
 * Kernels of modules: finding one by its signature, and holding that against what was compiled.
 *
 * @module
 */

import { moduleKernel, moduleParameters } from "../ffi/native_module.ts";
import type { DeviceContext } from "../hardware/device_context.ts";
import { Kernel, type KernelOwner } from "./kernel.ts";
import {
  canonicalExpression,
  type KernelEntry,
  type ModuleContents,
  type UncompiledKernel,
} from "./module_contents.ts";
import { type KernelSignature, parseSignature } from "./signature.ts";
import { type ParameterLayout, parameterLayout } from "./signature_layout.ts";
import { requestedKernel } from "./signature_name.ts";
import { signatureDifference, signatureText } from "./signature_text.ts";

/** What a kernel is found in. */
export interface KernelHome extends KernelOwner {
  /** The device it is loaded on. */
  readonly context: DeviceContext;
}

/**
 * A kernel of a module.
 *
 * @param id The library's handle of the module.
 * @param text Its signature, or its name where the source is known.
 * @throws {SyntaxError} If the signature cannot be read.
 * @throws {TypeError} If there is no such kernel or its parameters differ.
 */
export function kernelOfModule(
  home: KernelHome,
  id: number,
  contents: ModuleContents,
  text: string,
): Kernel {
  const { name, hasParameters } = requestedKernel(text);
  const entry = contents.kernel(name);
  if (entry === undefined) throw new TypeError(unknownKernel(home, contents, name));
  const signature = hasParameters
    ? checkedSignature(home, contents, entry, parseSignature(text, contents.structs))
    : declaredSignature(home, contents, entry.signature, name);
  const layout = parameterLayout(signature);
  requireSizes(home, id, entry, signature, layout);
  const { library } = home.context;
  const kernel = moduleKernel(library, id, entry.lowered, layout);
  return new Kernel(home.context, kernel, signature, home);
}

/** A signature that somebody wrote, which must agree with the source. */
function checkedSignature(
  home: KernelHome,
  contents: ModuleContents,
  { signature: declared }: KernelEntry,
  written: KernelSignature,
): KernelSignature {
  const compiled = declared === undefined ? undefined : readable(declared, contents);
  const difference = compiled && signatureDifference(compiled, written);
  if (difference !== undefined) {
    throw new TypeError(`Cannot find kernel ${written.name} of ${home.label} as ${difference}`);
  }
  return written;
}

/** The signature in the source; `undefined` where types are named there that nobody here knows. */
function readable(declared: string, contents: ModuleContents): KernelSignature | undefined {
  try {
    return parseSignature(declared, contents.structs);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return undefined;
  }
}

function declaredSignature(
  home: KernelHome,
  contents: ModuleContents,
  declared: string | undefined,
  name: string,
): KernelSignature {
  if (declared !== undefined) return parseSignature(declared, contents.structs);
  throw new TypeError(
    `Cannot find kernel ${name} of ${home.label} by its name as the source does not say what ` +
      `its parameters are: give its signature, such as "${name}(const float* x, int n)"`,
  );
}

/** Compares number and sizes of the parameters with the machine code, which knows no more. */
function requireSizes(
  home: KernelHome,
  id: number,
  { lowered }: KernelEntry,
  signature: KernelSignature,
  layout: readonly ParameterLayout[],
): void {
  const compiled = moduleParameters(home.context.library, id, lowered);
  // The driver does not tell before CUDA 12.4; the launch is what it was compiled for or fails.
  if (compiled === undefined) return;
  const refuse = (problem: string) => {
    throw new TypeError(`Cannot find kernel ${signature.name} of ${home.label} as ${problem}`);
  };
  const text = signatureText(signature);
  if (compiled.length !== layout.length) {
    refuse(`it has ${compiled.length} parameters: ${text} has ${layout.length}`);
  }
  for (const [index, { bytes }] of compiled.entries()) {
    const given = layout[index]!.bytes;
    if (given === bytes) continue;
    const place = `parameter ${index + 1} of ${layout.length}`;
    refuse(`${place} must have ${bytes} bytes: of ${text} it has ${given}`);
  }
}

function unknownKernel(home: KernelHome, contents: ModuleContents, name: string): string {
  const { kernelNames, uncompiled } = contents;
  const head = `Cannot find kernel ${name} of ${home.label} as`;
  const plain = canonicalExpression(name.replace(/<.*/s, ""));
  const declared = uncompiled.find(({ expression }) => canonicalExpression(expression) === plain);
  if (declared !== undefined) return `${head} ${uncompiledReason(declared, name)}`;
  const known = kernelNames.length === 0 ? "there is none" : `it has ${kernelNames.join(", ")}`;
  return `${head} there is no kernel of this name: ${known}`;
}

function uncompiledReason({ reason }: UncompiledKernel, name: string): string {
  switch (reason) {
    case "overload":
      return "several kernels have this name, which therefore names none: give each its own";
    case "condition":
      return "it stands behind a condition that only the compiler can decide: have it compiled " +
        `by the options of compile(), { instances: ["${name}"] }`;
    case "template": {
      const instance = name.includes("<") ? name : `${name}<…>`;
      return "it is an instance of a template that was not compiled: " +
        `name it in the options of compile(), { instances: ["${instance}"] }`;
    }
  }
}
