/**
 * Kernels of modules: finding one by its signature, and holding that against what was compiled.
 *
 * @module
 */

import { CudaError } from "../ffi/cuda_error.ts";
import { type CompiledParameter, moduleKernel, moduleParameters } from "../ffi/native_module.ts";
import type { DeviceContext } from "../hardware/device_context.ts";
import { Kernel, type KernelOwner } from "./kernel.ts";
import {
  canonicalExpression,
  type KernelEntry,
  type ModuleContents,
  type ReadKernel,
  type UncompiledKernel,
} from "./module_contents.ts";
import {
  type KernelSignature,
  type ParameterLayout,
  parameterLayout,
  parameterTypeText,
  parseSignature,
  signatureDifference,
  signatureText,
} from "./signature/signature.ts";
import { requestedKernel } from "./signature/signature_reader.ts";

/** `GS_ERROR_LAUNCH`: of a kernel, that it was compiled with other parameters. */
const OTHER_PARAMETERS = -15;

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
  const { entry, signature } = contents.readKernel(text) ?? findKernel(home, contents, text);
  const layout = parameterLayout(signature);
  return new Kernel(home.context, launchable(home, id, entry, signature, layout), signature, home);
}

/** The library's handle of a kernel with these parameters, which it compares with the machine code. */
function launchable(
  { context: { library }, label }: KernelHome,
  id: number,
  { lowered }: KernelEntry,
  signature: KernelSignature,
  layout: readonly ParameterLayout[],
): number {
  try {
    return moduleKernel(library, id, lowered, layout);
  } catch (error) {
    const areRefused = error instanceof CudaError && error.code === OTHER_PARAMETERS;
    const compiled = areRefused ? moduleParameters(library, id, lowered) : undefined;
    const difference = compiled && sizeDifference(compiled, signature, layout);
    if (difference === undefined) throw error;
    throw new TypeError(`Cannot find kernel ${signature.name} of ${label} as ${difference}`, {
      cause: error,
    });
  }
}

function findKernel(home: KernelHome, contents: ModuleContents, text: string): ReadKernel {
  const { name, parameters } = requestedKernel(text);
  const candidates = contents.kernels(name);
  if (candidates.length === 0) throw new TypeError(unknownKernel(home, contents, name));
  const written = parameters === undefined ? undefined : parseSignature(text, contents.structs);
  const entry = candidates.length === 1
    ? candidates[0]!
    : chosenOverload(home, contents, candidates, { name, text, written });
  const signature = written === undefined
    ? declaredSignature(home, contents, entry.signature, name)
    : checkedSignature(home, contents, entry, written);
  return { entry, signature };
}

/** What somebody asked for, by a name that several kernels have. */
interface OverloadRequest {
  readonly name: string;
  readonly text: string;
  /** The signature; `undefined` where only the name was given. */
  readonly written: KernelSignature | undefined;
}

/** Of kernels of one name the one whose parameters are those that were written. */
function chosenOverload(
  home: KernelHome,
  contents: ModuleContents,
  candidates: readonly KernelEntry[],
  { name, text, written }: OverloadRequest,
): KernelEntry {
  const signatures = candidates.map(({ signature }) => signature ?? name).join(", ");
  const refuse = (problem: string): never => {
    throw new TypeError(`Cannot find kernel ${name} of ${home.label} ${problem}: ${signatures}`);
  };
  if (written === undefined) {
    return refuse("by its name alone as several have it, of which a signature chooses one");
  }
  const fits = (declared: string | undefined) => {
    const read = declared === undefined ? undefined : readable(declared, contents);
    return read !== undefined && signatureDifference(read, written) === undefined;
  };
  const fitting = candidates.filter(({ signature, outside }) => fits(signature) || fits(outside));
  if (fitting.length === 0) {
    const parameters = written.parameters.map(parameterTypeText).join(", ");
    return refuse(`as the parameters of one of that name must be (${parameters}): there are`);
  }
  // Types of C++ that are one to whoever passes an argument, such as long and long long.
  const asDeclared = canonicalExpression(text);
  const exact = fitting.filter(({ signature = "" }) =>
    canonicalExpression(signature) === asDeclared
  );
  if (exact.length === 1) return exact[0]!;
  return fitting.length === 1
    ? fitting[0]!
    : refuse("as several fit its signature, which must be written as in the source");
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

/** How the parameters of the machine code, which knows no more of them, differ in number or size. */
function sizeDifference(
  compiled: readonly CompiledParameter[],
  signature: KernelSignature,
  layout: readonly ParameterLayout[],
): string | undefined {
  if (compiled.length !== layout.length) {
    return `it has ${compiled.length} parameters: ${signatureText(signature)} has ${layout.length}`;
  }
  const index = compiled.findIndex(({ bytes }, index) => bytes !== layout[index]!.bytes);
  if (index < 0) return undefined;
  return `parameter ${index + 1} of ${layout.length} must have ${compiled[index]!.bytes} bytes: ` +
    `of ${signatureText(signature)} it has ${layout[index]!.bytes}`;
}

function unknownKernel(home: KernelHome, contents: ModuleContents, name: string): string {
  const { kernelNames, uncompiled } = contents;
  const head = `Cannot find kernel ${name} of ${home.label} as`;
  const plain = canonicalExpression(name.replace(/<.*/s, ""));
  const declared = uncompiled.find(({ expression }) => canonicalExpression(expression) === plain);
  if (declared !== undefined) return `${head} ${uncompiledReason(declared, name)}`;
  const known = kernelNames.length === 0 ? "there is none" : `it has ${kernelNames.join(", ")}`;
  return `${head} there is no kernel of this name: ${known}. Name a kernel that a macro declares ` +
    `in the options of compile(), { instances: ["${name}"] }, and load it by its signature`;
}

function uncompiledReason({ reason }: UncompiledKernel, name: string): string {
  switch (reason) {
    case "condition":
      return "it stands behind a condition that only the compiler can decide: have it compiled " +
        `by the options of compile(), { instances: ["${name}"] }`;
    case "template": {
      const instance = name.includes("<") ? name : `${name}<…>`;
      return "it is an instance of a template that was not compiled: " +
        `name it as ${instance} in the signature, and in the options of compile(), ` +
        `{ instances: ["${instance}"] }`;
    }
  }
}
