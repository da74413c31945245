/**
 * A kernel's C signature at run time: what `signature_types.ts` reads in the compiler, read again
 * from the same text and with the same result.
 *
 * @module
 */

import { ARGUMENT_SLOTS, MAXIMUM_ARGUMENTS } from "../ffi/command_block.ts";
import { describeValue } from "../ffi/describe_value.ts";
import type { DType } from "../memory/dtype.ts";
import type { ScalarType } from "./c_types.ts";
import { readKernelName } from "./signature_name.ts";
import { readParameter, StructNames } from "./signature_parameter.ts";
import { SignatureReader } from "./signature_reader.ts";
import type { StructType, StructTypes } from "./struct_type.ts";
import type { VectorType } from "./vector_types.ts";

/** What all parameters say of themselves. */
export interface ParameterBase {
  /** The parameter's name, where the signature gives one. */
  readonly name?: string;
  /** Its size in bytes. */
  readonly bytes: number;
  /** What its place among the parameters is a multiple of, in bytes. */
  readonly alignment: number;
}

/** A parameter that takes a number or a truth value. */
export interface ScalarParameter extends ParameterBase {
  /** Tells it from others. */
  readonly kind: "scalar";
  /** Its type. */
  readonly type: ScalarType;
  /** Whether the kernel declares it `const`, which no caller notices. */
  readonly isConst: boolean;
}

/** A parameter that takes a vector, such as `float4`: an array of numbers. */
export interface VectorParameter extends ParameterBase {
  /** Tells it from others. */
  readonly kind: "vector";
  /** Its type. */
  readonly type: VectorType;
  /** Whether the kernel declares it `const`, which no caller notices. */
  readonly isConst: boolean;
}

/** A parameter that takes a struct. */
export interface StructParameter extends ParameterBase {
  /** Tells it from others. */
  readonly kind: "struct";
  /** Its type, as it was described. */
  readonly type: StructType;
  /** Whether the kernel declares it `const`, which no caller notices. */
  readonly isConst: boolean;
}

/** A parameter that takes device memory. */
export interface PointerParameter extends ParameterBase {
  /** Tells it from others. */
  readonly kind: "pointer";
  /** The type of what it points to. */
  readonly type: PointeeType;
  /**
   * The element type of the memory it takes: of vectors that of their elements, of structs `uint8`;
   * absent for `void*`, which takes any.
   */
  readonly dtype?: DType;
  /** Whether the kernel promises not to write through it. */
  readonly isConst: boolean;
  /** The size of what it points to in bytes; 1 for `void*`. */
  readonly pointeeBytes: number;
  /** What an address that it takes must be a multiple of, in bytes; 1 for `void*`. */
  readonly pointeeAlignment: number;
}

/** What a pointer points to. */
export type PointeeType = ScalarType | VectorType | StructType | "void";

/** A parameter of a kernel. */
export type KernelParameter =
  | ScalarParameter
  | VectorParameter
  | StructParameter
  | PointerParameter;

/** A kernel's name and parameters. */
export interface KernelSignature {
  /**
   * The kernel's name, with namespaces and template arguments; it has no white space, but between
   * two words.
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
 * @throws {SyntaxError} If the text is no signature, or a parameter has a type that no argument
 * can be passed for; it names the character and the text there.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * import { parseSignature } from "./signature.ts";
 *
 * const { name, parameters } = parseSignature("axpy(float a, const float* x, float* y)");
 * assertEquals(name, "axpy");
 * assertEquals(parameters[1]!.kind, "pointer");
 * assertEquals(parameters[1]!.isConst, true);
 * ```
 */
export function parseSignature(text: string, structs: StructTypes = []): KernelSignature {
  if (typeof text !== "string") {
    throw new TypeError(
      `Cannot read a kernel signature as it must be a text: it is ${describeValue(text)}`,
    );
  }
  const reader = new SignatureReader(text);
  const name = readKernelName(reader);
  const parameters = readParameters(reader, new StructNames(structs));
  while (reader.takeIf(";"));
  if (!reader.atEnd) {
    reader.fail(`nothing can follow the parameters: it is ${reader.describeNext()}`);
  }
  return { name, parameters };
}

function readParameters(reader: SignatureReader, structs: StructNames): KernelParameter[] {
  reader.expect("(", "what follows the kernel's name");
  const parameters: KernelParameter[] = [];
  if (reader.follows("void", ")")) reader.take();
  if (reader.takeIf(")")) return parameters;
  let slots = 0;
  do {
    const start = reader.next;
    const parameter = readParameter(reader, parameters.length + 1, structs);
    const { name } = parameter;
    if (name !== undefined && parameters.some((earlier) => earlier.name === name)) {
      reader.fail(`parameters must have different names: two are "${name}"`, start);
    }
    if (parameters.length === MAXIMUM_ARGUMENTS) {
      reader.fail(`a kernel can have at most ${MAXIMUM_ARGUMENTS} parameters`, start);
    }
    slots += slotsOf(parameter);
    if (slots > ARGUMENT_SLOTS) {
      const bytes = 8 * ARGUMENT_SLOTS;
      reader.fail(
        `the parameters can have at most ${bytes} bytes, each from a multiple of 8`,
        start,
      );
    }
    parameters.push(parameter);
  } while (reader.takeIf(","));
  if (!reader.takeIf(")")) {
    const place = `what follows parameter ${parameters.length}`;
    reader.fail(`${place} must be "," or ")": it is ${reader.describeNext()}`);
  }
  return parameters;
}

/** The argument slots of 8 bytes that a parameter fills. */
export function slotsOf({ bytes }: KernelParameter): number {
  return Math.ceil(bytes / 8);
}
