/**
 * Signatures back to text, and where two of them differ.
 *
 * @module
 */

import { cTypeOf } from "../memory/dtype.ts";
import type { ScalarType } from "./c_types.ts";
import type { KernelParameter, KernelSignature } from "./signature.ts";

function cSpelling(type: ScalarType | "void"): string {
  switch (type) {
    case "void":
      return "void";
    case "uint64":
      return "unsigned long long";
    case "uint16":
      return "unsigned short";
    default:
      return cTypeOf(type);
  }
}

/** A parameter's type in C, without its name: `const float*`. */
export function parameterTypeText(parameter: KernelParameter): string {
  const type = cSpelling(parameter.type);
  if (parameter.kind === "scalar") return type;
  return parameter.isConst ? `const ${type}*` : `${type}*`;
}

/**
 * A signature in C, one spelling for each type: `axpy(float a, const float* x, float* y)`.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { parseSignature } from "./signature.ts";
 * import { signatureText } from "./signature_text.ts";
 *
 * const signature = parseSignature("f(float const *x, uint64_t)");
 * assertEquals(signatureText(signature), "f(const float* x, unsigned long long)");
 * ```
 */
export function signatureText(signature: KernelSignature): string {
  const parameters = signature.parameters.map((parameter) => {
    const type = parameterTypeText(parameter);
    return parameter.name === undefined ? type : `${type} ${parameter.name}`;
  });
  return `${signature.name}(${parameters.join(", ")})`;
}

/**
 * Where a signature that somebody wrote departs from what a kernel was compiled with: the number
 * of parameters, a type, or the `const` of a pointer. Parameter names do not matter.
 *
 * @param compiled The kernel's own signature.
 * @param written The signature to hold against it.
 * @returns One clause for an error message, or `undefined` where the two agree.
 */
export function signatureDifference(
  compiled: KernelSignature,
  written: KernelSignature,
): string | undefined {
  if (compiled.name !== written.name) {
    return `the kernel's name is ${compiled.name}: it is ${written.name}`;
  }
  const count = compiled.parameters.length;
  if (count !== written.parameters.length) {
    return `the kernel has ${count} parameters, ${signatureText(compiled)}: ` +
      `there are ${written.parameters.length}`;
  }
  for (const [index, parameter] of compiled.parameters.entries()) {
    const expected = parameterTypeText(parameter);
    const given = parameterTypeText(written.parameters[index]!);
    if (expected !== given) {
      return `parameter ${index + 1} of ${count} must be ${expected}: it is ${given}`;
    }
  }
  return undefined;
}
