/**
 * A kernel's C signature at run time: parsed, laid out, compared and written as text.
 *
 * `signature_types.ts` reads the same language in the compiler, with the same result.
 *
 * @module
 */

import { MAXIMUM_ARGUMENT_BYTES, MAXIMUM_ARGUMENTS } from "../../ffi/command_block.ts";
import { describeValue } from "../../ffi/describe_value.ts";
import { cTypeOf, type DType } from "../../memory/dtype.ts";
import type { VectorType } from "./c_types.ts";
import {
  readKernelName,
  readParameter,
  SignatureReader,
  structsByName,
} from "./signature_reader.ts";
import type { StructType, StructTypes } from "./struct_type.ts";

/**
 * A parameter of a kernel: a number or truth value, a vector such as `float4`, a struct, or a
 * pointer to device memory.
 * @category Launching kernels
 */
export type KernelParameter =
  & {
    /** The parameter's name, if the signature gives one. */
    readonly name?: string;
    /** Its size in bytes. */
    readonly bytes: number;
    /** Its alignment among the parameters, in bytes. */
    readonly alignment: number;
    /** Whether it is `const`: of a pointer, whether the kernel only reads the memory. */
    readonly isConst: boolean;
  }
  & (
    | { readonly kind: "scalar"; readonly type: DType }
    | { readonly kind: "vector"; readonly type: VectorType }
    | { readonly kind: "struct"; readonly type: StructType }
    | {
      readonly kind: "pointer";
      /** The type of the memory. */
      readonly type: DType | VectorType | StructType | "void";
      /**
       * The element type of the memory: of vectors that of their elements, of structs `uint8`;
       * absent for `void*`, which takes any.
       */
      readonly dtype?: DType;
      /** The size of the pointee in bytes; 1 for `void*`. */
      readonly pointeeBytes: number;
      /** The alignment of the address in bytes; 1 for `void*`. */
      readonly pointeeAlignment: number;
    }
  );

export type PointerParameter = Extract<KernelParameter, { readonly kind: "pointer" }>;

export type PointeeType = PointerParameter["type"];

/**
 * A kernel's name and parameters.
 * @category Launching kernels
 */
export interface KernelSignature {
  /**
   * The kernel's name, with namespaces and template arguments, without white space but between two
   * words.
   */
  readonly name: string;
  /** Its parameters in order. */
  readonly parameters: readonly KernelParameter[];
}

/**
 * Reads a kernel's C signature.
 *
 * Parameter names, white space, line breaks, comments, `__restrict__`, attributes, a leading
 * `extern "C"` or `__global__ void`, default values and a closing semicolon are optional.
 *
 * @param text The signature.
 * @param structs The structs that it may name, by the names that it gives them or by their own.
 */
export function parseSignature(text: string, structs: StructTypes = []): KernelSignature {
  if (typeof text !== "string") {
    throw new TypeError(
      `Cannot read a kernel signature as it must be a text: it is ${describeValue(text)}`,
    );
  }
  const reader = new SignatureReader(text);
  const name = readKernelName(reader);
  const parameters = readParameters(reader, structsByName(structs));
  while (reader.takeIf(";"));
  if (!reader.atEnd) {
    reader.fail(`nothing can follow the parameters: it is ${reader.describeNext()}`);
  }
  return { name, parameters };
}

function readParameters(
  reader: SignatureReader,
  structs: ReadonlyMap<string, StructType>,
): KernelParameter[] {
  if (!reader.takeIf("(")) {
    reader.fail(`what follows the kernel's name must be "(": it is ${reader.describeNext()}`);
  }
  const parameters: KernelParameter[] = [];
  if (reader.follows("void", ")")) reader.take();
  if (reader.takeIf(")")) return parameters;
  do {
    const start = reader.next;
    const parameter = readParameter(reader, parameters.length + 1, structs);
    if (parameters.length === MAXIMUM_ARGUMENTS) {
      reader.fail(`a kernel can have at most ${MAXIMUM_ARGUMENTS} parameters`, start);
    }
    parameters.push(parameter);
    if (parameterBytes(parameters) > MAXIMUM_ARGUMENT_BYTES) {
      reader.fail(`the parameters can have at most ${MAXIMUM_ARGUMENT_BYTES} bytes`, start);
    }
  } while (reader.takeIf(","));
  if (!reader.takeIf(")")) {
    const place = `what follows parameter ${parameters.length}`;
    reader.fail(`${place} must be "," or ")": it is ${reader.describeNext()}`);
  }
  return parameters;
}

// ---- Layout --------------------------------------------------------------------------------------

/** The kinds of parameters: `GS_PARAMETER_*` of `csrc/gridstride_kernel.h`. */
export const PARAMETER_KINDS = {
  boolean: 0,
  signed: 1,
  unsigned: 2,
  float16: 3,
  bfloat16: 4,
  float32: 5,
  float64: 6,
  pointer: 7,
  bytes: 8,
} as const;

export interface ParameterLayout {
  readonly kind: number;
  readonly bytes: number;
  readonly alignment: number;
  readonly slot: number;
  readonly slots: number;
}

function slotsOf({ bytes }: KernelParameter): number {
  return Math.ceil(bytes / 8);
}

function kindOf(parameter: KernelParameter): number {
  if (parameter.kind === "pointer") return PARAMETER_KINDS.pointer;
  if (parameter.kind !== "scalar") return PARAMETER_KINDS.bytes;
  const { type } = parameter;
  if (type in PARAMETER_KINDS) return PARAMETER_KINDS[type as keyof typeof PARAMETER_KINDS];
  if (type === "bool") return PARAMETER_KINDS.boolean;
  if (type.startsWith("float8")) return PARAMETER_KINDS.bytes;
  return type.startsWith("uint") ? PARAMETER_KINDS.unsigned : PARAMETER_KINDS.signed;
}

/** The bytes of parameters, each at a multiple of its alignment. */
export function parameterBytes(parameters: readonly KernelParameter[]): number {
  return parameters.reduce(
    (end, { bytes, alignment }) => Math.ceil(end / alignment) * alignment + bytes,
    0,
  );
}

/** The parameters of a signature as the native library sees them. */
export function parameterLayout({ parameters }: KernelSignature): readonly ParameterLayout[] {
  let next = 0;
  return parameters.map((parameter) => {
    const { bytes, alignment } = parameter;
    const slot = next;
    const slots = slotsOf(parameter);
    next += slots;
    return { kind: kindOf(parameter), bytes, alignment, slot, slots };
  });
}

// ---- Text ----------------------------------------------------------------------------------------

function cSpelling(type: PointeeType): string {
  if (typeof type === "object") return type.name;
  if (type === "uint64") return "unsigned long long";
  if (type === "uint16") return "unsigned short";
  return type === "void" ? type : cTypeOf(type);
}

/** A parameter's type in C, without its name: `const float*`. */
export function parameterTypeText(parameter: KernelParameter): string {
  const type = cSpelling(parameter.type);
  if (parameter.kind !== "pointer") return type;
  return parameter.isConst ? `const ${type}*` : `${type}*`;
}

/** A signature in C, one spelling for each type: `axpy(float a, const float* x, float* y)`. */
export function signatureText({ name, parameters }: KernelSignature): string {
  const texts = parameters.map((parameter) => {
    const type = parameterTypeText(parameter);
    return parameter.name === undefined ? type : `${type} ${parameter.name}`;
  });
  return `${name}(${texts.join(", ")})`;
}

function parameterDifference(
  compiled: KernelParameter,
  written: KernelParameter,
): string | undefined {
  const expected = parameterTypeText(compiled);
  const given = parameterTypeText(written);
  if (expected !== given) return `be ${expected}: it is ${given}`;
  // Structs of one name may have been described differently.
  const [one, other] = [compiled.type, written.type];
  if (typeof one === "string" || typeof other === "string" || one === other) return undefined;
  if (one.bytes === other.bytes && one.alignment === other.alignment) return undefined;
  return `be ${one.name} of ${one.bytes} bytes, aligned to ${one.alignment}: ` +
    `it has ${other.bytes}, aligned to ${other.alignment}`;
}

/**
 * The first difference between a caller's signature and the kernel's own: the number of parameters,
 * a type, the size of a struct, or the `const` of a pointer. Parameter names do not matter, and
 * namespaces may be left out.
 *
 * @returns One clause for an error message, or `undefined` if the two agree.
 */
export function signatureDifference(
  compiled: KernelSignature,
  written: KernelSignature,
): string | undefined {
  const [one, other] = [compiled.name, written.name];
  if (one !== other && !one.endsWith(`::${other}`) && !other.endsWith(`::${one}`)) {
    return `the kernel's name is ${one}: it is ${other}`;
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
