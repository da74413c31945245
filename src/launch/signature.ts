/**
 * A kernel's C signature at run time: what `signature_types.ts` reads in the compiler, read again
 * from the same text and with the same result.
 *
 * @module
 */

import { MAXIMUM_ARGUMENTS } from "../ffi/command_block.ts";
import type { DType } from "../memory/dtype.ts";
import { describeValue } from "../ffi/describe_value.ts";
import {
  bytesOfScalar,
  C_TYPE_WORDS,
  IGNORED_QUALIFIERS,
  pointeeDType,
  RESTRICT_QUALIFIERS,
  type ScalarType,
  scalarTypeOf,
} from "./c_types.ts";
import { SignatureReader, type SignatureToken } from "./signature_reader.ts";

/** The bytes of a device pointer. */
const POINTER_BYTES = 8;

/** A parameter that takes a number or a truth value. */
export interface ScalarParameter {
  /** Tells it from a pointer. */
  readonly kind: "scalar";
  /** The parameter's name, where the signature gives one. */
  readonly name?: string;
  /** Its type. */
  readonly type: ScalarType;
  /** Whether the kernel declares it `const`, which no caller notices. */
  readonly isConst: boolean;
  /** Its size in bytes. */
  readonly bytes: number;
}

/** A parameter that takes device memory. */
export interface PointerParameter {
  /** Tells it from a scalar. */
  readonly kind: "pointer";
  /** The parameter's name, where the signature gives one. */
  readonly name?: string;
  /** The type of what it points to. */
  readonly type: ScalarType | "void";
  /** The element type of the memory it takes; absent for `void*`, which takes any. */
  readonly dtype?: DType;
  /** Whether the kernel promises not to write through it. */
  readonly isConst: boolean;
  /** Its size in bytes. */
  readonly bytes: number;
}

/** A parameter of a kernel. */
export type KernelParameter = ScalarParameter | PointerParameter;

/** A kernel's name and parameters. */
export interface KernelSignature {
  /** The kernel's name. */
  readonly name: string;
  /** Its parameters in order. */
  readonly parameters: readonly KernelParameter[];
}

/** Words that may stand before a kernel's name. */
const HEAD_WORDS: ReadonlySet<string> = new Set(["extern", '"C"', "static", "__global__", "void"]);

/** The type that a parameter's leading words name. */
interface NamedType {
  readonly type: ScalarType | "void";
  readonly isConst: boolean;
  readonly at: SignatureToken;
}

/**
 * Reads a kernel's C signature.
 *
 * Parameter names, white space, line breaks, `__restrict__`, a leading `extern "C"`,
 * `__global__ void` or `__launch_bounds__(…)` and a closing semicolon are optional.
 *
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
export function parseSignature(text: string): KernelSignature {
  if (typeof text !== "string") {
    throw new TypeError(
      `Cannot read a kernel signature as it must be a text: it is ${describeValue(text)}`,
    );
  }
  const reader = new SignatureReader(text);
  const name = readName(reader);
  const parameters = readParameters(reader);
  while (reader.takeIf(";"));
  if (!reader.atEnd) {
    reader.fail(`nothing can follow the parameters: it is ${reader.describeNext()}`);
  }
  return { name, parameters };
}

function readName(reader: SignatureReader): string {
  while (true) {
    if (reader.follows("__launch_bounds__", "(")) skipLaunchBounds(reader);
    else if (HEAD_WORDS.has(reader.next.text)) reader.take();
    else break;
  }
  if (!atName(reader)) reader.fail(`a kernel's name is expected: it is ${reader.describeNext()}`);
  return reader.take().text;
}

function skipLaunchBounds(reader: SignatureReader): void {
  while (!reader.atEnd && reader.next.text !== ")") reader.take();
  reader.expect(")", "the end of __launch_bounds__");
}

/** Whether the next token can be the name of a kernel or a parameter. */
function atName(reader: SignatureReader): boolean {
  const { text } = reader.next;
  return reader.atWord && text !== "const" && !C_TYPE_WORDS.has(text) &&
    !IGNORED_QUALIFIERS.has(text) && !RESTRICT_QUALIFIERS.has(text);
}

function readParameters(reader: SignatureReader): KernelParameter[] {
  reader.expect("(", "what follows the kernel's name");
  const parameters: KernelParameter[] = [];
  if (reader.follows("void", ")")) reader.take();
  if (reader.takeIf(")")) return parameters;
  do {
    const start = reader.next;
    const parameter = readParameter(reader, parameters.length + 1);
    const { name } = parameter;
    if (name !== undefined && parameters.some((earlier) => earlier.name === name)) {
      reader.fail(`parameters must have different names: two are "${name}"`, start);
    }
    if (parameters.length === MAXIMUM_ARGUMENTS) {
      reader.fail(`a kernel can have at most ${MAXIMUM_ARGUMENTS} parameters`, start);
    }
    parameters.push(parameter);
  } while (reader.takeIf(","));
  if (!reader.takeIf(")")) {
    const place = `what follows parameter ${parameters.length}`;
    reader.fail(`${place} must be "," or ")": it is ${reader.describeNext()}`);
  }
  return parameters;
}

function readParameter(reader: SignatureReader, position: number): KernelParameter {
  const place = `parameter ${position}`;
  const named = readType(reader, place);
  if (reader.takeIf("*")) return readPointer(reader, named, place);
  const name = readOptionalName(reader);
  if (reader.takeIf("[")) {
    if (/^[0-9]/.test(reader.next.text)) reader.take();
    reader.expect("]", `${place}: the end of the array`);
    if (reader.next.text === "[") reader.fail(`${place}: an array has one dimension here`);
    return pointerParameter(named, name);
  }
  const { type, isConst, at } = named;
  if (type === "void") reader.fail(`${place}: "void" is no parameter by itself`, at);
  return { kind: "scalar", ...name, type, isConst, bytes: bytesOfScalar(type) };
}

/** Reads what follows the `*` of a pointer. */
function readPointer(reader: SignatureReader, named: NamedType, place: string): PointerParameter {
  while (atPointerQualifier(reader)) reader.take();
  if (reader.next.text === "*") {
    reader.fail(`${place}: a pointer to a pointer has no device memory that fits`);
  }
  const name = readOptionalName(reader);
  if (reader.next.text === "[") {
    reader.fail(`${place}: an array of pointers has no device memory that fits`);
  }
  return pointerParameter(named, name);
}

function atPointerQualifier(reader: SignatureReader): boolean {
  const { text } = reader.next;
  return text === "const" || IGNORED_QUALIFIERS.has(text) || RESTRICT_QUALIFIERS.has(text);
}

function pointerParameter(named: NamedType, name: { readonly name?: string }): PointerParameter {
  const { type, isConst } = named;
  const dtype = type === "void" ? {} : { dtype: pointeeDType(type) };
  return { kind: "pointer", ...name, type, ...dtype, isConst, bytes: POINTER_BYTES };
}

function readOptionalName(reader: SignatureReader): { readonly name?: string } {
  return atName(reader) ? { name: reader.take().text } : {};
}

/** Reads the type that stands first in a parameter: its words and qualifiers. */
function readType(reader: SignatureReader, place: string): NamedType {
  const at = reader.next;
  const words: string[] = [];
  let isConst = false;
  while (true) {
    const { text } = reader.next;
    if (text === "const") isConst = true;
    else if (C_TYPE_WORDS.has(text)) words.push(text);
    else if (!IGNORED_QUALIFIERS.has(text)) break;
    reader.take();
  }
  const spelling = words.join(" ");
  const type = spelling === "void" ? spelling : scalarTypeOf(spelling);
  if (type !== undefined) return { type, isConst, at };
  if (spelling !== "") reader.fail(`${place}: "${spelling}" is not a type a kernel can take`, at);
  if (!reader.atWord) reader.fail(`${place}: a type is expected: it is ${reader.describeNext()}`);
  return reader.fail(`${place}: ${reader.describeNext()} is not a type a kernel can take`);
}
