/**
 * Finds kernels of modules by signature, and compares the signature with the machine code.
 *
 * @module
 */

import { MAXIMUM_ARGUMENT_BYTES } from "../../ffi/command_block.ts";
import { CudaError } from "../../ffi/cuda_error.ts";
import { type CompiledParameter, moduleKernel, moduleParameters } from "../../ffi/native_module.ts";
import type { DeviceContext } from "../../hardware/device_context.ts";
import { Kernel, type KernelOwner } from "../kernel.ts";
import { canonicalExpression, type KernelEntry, type ModuleContents } from "./module_contents.ts";
import {
  type KernelSignature,
  parameterBytes,
  type ParameterLayout,
  parameterLayout,
  parameterTypeText,
  parseSignature,
  signatureDifference,
  signatureText,
} from "../signature/signature.ts";
import { requestedKernel } from "../signature/signature_reader.ts";

/** `GS_ERROR_LAUNCH`: the kernel was compiled with other parameters. */
const OTHER_PARAMETERS = -15;

/**
 * Finds a kernel of a module.
 *
 * @param home The module.
 * @param id The library's handle of the module.
 * @param text The signature, or the name where the source is known.
 */
export function kernelOfModule(
  home: KernelOwner & { readonly context: DeviceContext },
  id: number,
  contents: ModuleContents,
  text: string,
): Kernel {
  const { context: { library }, label } = home;
  const { name, parameters } = requestedKernel(text);
  const candidates = contents.kernels(name);
  if (candidates.length === 0) throw new TypeError(unknownKernel(label, contents, name));
  const written = parameters === undefined
    ? undefined
    : parseSignature(text, contents.parts.structs);
  const entry = candidates.length === 1
    ? candidates[0]!
    : chosenOverload(label, contents, candidates, name, text, written);
  const signature = written === undefined
    ? declaredSignature(label, contents, entry.signature, name)
    : checkedSignature(label, contents, entry, written);
  requireParameterSize(home.context.info, label, signature);
  const layout = parameterLayout(signature);
  try {
    // The library compares the parameters with the machine code.
    const kernel = moduleKernel(library, id, entry.lowered, layout);
    return new Kernel(home.context, kernel, signature, home);
  } catch (error) {
    const areRefused = error instanceof CudaError && error.code === OTHER_PARAMETERS;
    const compiled = areRefused ? moduleParameters(library, id, entry.lowered) : undefined;
    const difference = compiled && sizeDifference(compiled, signature, layout);
    if (difference === undefined) throw error;
    throw new TypeError(`Cannot find kernel ${signature.name} of ${label} as ${difference}`, {
      cause: error,
    });
  }
}

/** Bytes of parameters that all devices and drivers allow. */
const MAX_BYTES_EVERYWHERE = 4096;

/** Refuses parameters that are too large for the device or the driver. */
export function requireParameterSize(
  { computeCapability, driverVersion }: Pick<
    DeviceContext["info"],
    "computeCapability" | "driverVersion"
  >,
  label: string,
  { name, parameters }: KernelSignature,
): void {
  const bytes = parameterBytes(parameters);
  if (bytes <= MAX_BYTES_EVERYWHERE) return;
  const [major = 0, minor = 0] = (driverVersion ?? "13.0").split(".").map(Number);
  const isOldDriver = major < 12 || (major === 12 && minor < 1);
  if (!isOldDriver && Number(computeCapability) >= 7) return;
  const reason = isOldDriver
    ? `the driver is of CUDA ${driverVersion}: 12.1 allows ${MAXIMUM_ARGUMENT_BYTES}`
    : `the compute capability is ${computeCapability}: 7.0 allows ${MAXIMUM_ARGUMENT_BYTES}`;
  throw new TypeError(
    `Cannot find kernel ${name} of ${label} as its parameters must have at most ` +
      `${MAX_BYTES_EVERYWHERE} bytes: they have ${bytes}, and ${reason}`,
  );
}

/**
 * Selects the overload with the given parameters.
 *
 * @param written The signature; undefined where the caller gave only a name.
 */
function chosenOverload(
  label: string,
  contents: ModuleContents,
  candidates: readonly KernelEntry[],
  name: string,
  text: string,
  written: KernelSignature | undefined,
): KernelEntry {
  const signatures = candidates.map(({ signature }) => signature ?? name).join(", ");
  const refuse = (problem: string): never => {
    throw new TypeError(`Cannot find kernel ${name} of ${label} ${problem}: ${signatures}`);
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
  if (fitting.length === 1) return fitting[0]!;
  // Different types of C++ may take the same arguments, such as long and long long.
  const asDeclared = canonicalExpression(text);
  const exact = fitting.filter(({ signature = "" }) =>
    canonicalExpression(signature) === asDeclared
  );
  return exact.length === 1
    ? exact[0]!
    : refuse("as several fit its signature, which must be written as in the source");
}

/** The caller's signature, which must agree with the source. */
function checkedSignature(
  label: string,
  contents: ModuleContents,
  { signature: declared }: KernelEntry,
  written: KernelSignature,
): KernelSignature {
  const compiled = declared === undefined ? undefined : readable(declared, contents);
  const difference = compiled && signatureDifference(compiled, written);
  if (difference !== undefined) {
    throw new TypeError(`Cannot find kernel ${written.name} of ${label} as ${difference}`);
  }
  return written;
}

/** The signature in the source; undefined where it names unknown types. */
function readable(declared: string, contents: ModuleContents): KernelSignature | undefined {
  try {
    return parseSignature(declared, contents.parts.structs);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return undefined;
  }
}

function declaredSignature(
  label: string,
  contents: ModuleContents,
  declared: string | undefined,
  name: string,
): KernelSignature {
  if (declared !== undefined) return parseSignature(declared, contents.parts.structs);
  throw new TypeError(
    `Cannot find kernel ${name} of ${label} by its name as the source does not say what ` +
      `its parameters are: give its signature, such as "${name}(const float* x, int n)"`,
  );
}

/** A difference in the number or size of parameters: machine code has no more about them. */
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

function unknownKernel(label: string, contents: ModuleContents, name: string): string {
  const { kernelNames, parts: { uncompiled } } = contents;
  const head = `Cannot find kernel ${name} of ${label} as`;
  const plain = canonicalExpression(name.replace(/<.*/s, ""));
  const declared = uncompiled.find(({ expression }) => canonicalExpression(expression) === plain);
  if (declared?.reason === "condition") {
    return `${head} it stands behind a condition that only the compiler can decide: have it ` +
      `compiled by the options of compile(), { instances: ["${name}"] }`;
  }
  if (declared?.reason === "option") {
    return `${head} it is left out: name it in the options of compile(), { kernels: ["${name}"] }`;
  }
  if (declared !== undefined) {
    const instance = name.includes("<") ? name : `${name}<…>`;
    return `${head} it is an instance of a template that was not compiled: name it as ${instance} ` +
      `in the signature, and in the options of compile(), { instances: ["${instance}"] }`;
  }
  const known = kernelNames.length === 0 ? "there is none" : `it has ${kernelNames.join(", ")}`;
  return `${head} there is no kernel of this name: ${known}. Name a kernel that a macro declares ` +
    `in the options of compile(), { instances: ["${name}"] }, and load it by its signature`;
}
