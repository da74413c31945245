/**
 * Signatures back to text, and where two of them differ.
 *
 * @module
 */

import { cTypeOf } from "../memory/dtype.ts";
import type { KernelParameter, KernelSignature, PointeeType } from "./signature.ts";

function cSpelling(type: PointeeType): string {
  if (typeof type === "object") return type.name;
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
  if (parameter.kind !== "pointer") return type;
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

/** Whether one name is the other, perhaps without the namespaces that it is declared in. */
function isSameKernel(one: string, other: string): boolean {
  return one === other || one.endsWith(`::${other}`) || other.endsWith(`::${one}`);
}

/** Why two parameters of one spelling are not of one layout; `undefined` where they are. */
function layoutDifference(
  compiled: KernelParameter,
  written: KernelParameter,
): string | undefined {
  const [one, other] = [compiled.type, written.type];
  if (typeof one === "string" || typeof other === "string" || one === other) return undefined;
  if (one.bytes === other.bytes && one.alignment === other.alignment) return undefined;
  return `be ${one.name} of ${one.bytes} bytes, aligned to ${one.alignment}: ` +
    `it has ${other.bytes}, aligned to ${other.alignment}`;
}

function parameterDifference(
  compiled: KernelParameter,
  written: KernelParameter,
): string | undefined {
  const expected = parameterTypeText(compiled);
  const given = parameterTypeText(written);
  if (expected !== given) return `be ${expected}: it is ${given}`;
  return layoutDifference(compiled, written);
}

/**
 * Where a signature that somebody wrote departs from what a kernel was compiled with: the number
 * of parameters, a type, the size of a struct, or the `const` of a pointer. Parameter names do not
 * matter, and namespaces may be left out.
 *
 * @param compiled The kernel's own signature.
 * @param written The signature to hold against it.
 * @returns One clause for an error message, or `undefined` where the two agree.
 */
export function signatureDifference(
  compiled: KernelSignature,
  written: KernelSignature,
): string | undefined {
  if (!isSameKernel(compiled.name, written.name)) {
    return `the kernel's name is ${compiled.name}: it is ${written.name}`;
  }
  const count = compiled.parameters.length;
  if (count !== written.parameters.length) {
    return `the kernel has ${count} parameters, ${signatureText(compiled)}: ` +
      `there are ${written.parameters.length}`;
  }
  for (const [index, parameter] of compiled.parameters.entries()) {
    const difference = parameterDifference(parameter, written.parameters[index]!);
    if (difference !== undefined) return `parameter ${index + 1} of ${count} must ${difference}`;
  }
  return undefined;
}
