/**
 * One parameter of a kernel's C signature at run time.
 *
 * @module
 */

import { describeValue } from "../ffi/describe_value.ts";
import {
  bytesOfScalar,
  C_TYPE_WORDS,
  ELABORATED_WORDS,
  IGNORED_QUALIFIERS,
  pointeeDType,
  RESTRICT_QUALIFIERS,
  scalarTypeOf,
} from "./c_types.ts";
import type { KernelParameter, PointeeType, PointerParameter } from "./signature.ts";
import { OpenBrackets, takeBracketed } from "./signature_brackets.ts";
import { atName, readQualifiedName } from "./signature_name.ts";
import type { SignatureReader, SignatureToken } from "./signature_reader.ts";
import { StructType, type StructTypes } from "./struct_type.ts";
import { vectorTypeOf } from "./vector_types.ts";

/** The bytes of a device pointer. */
const POINTER_BYTES = 8;

/** A name of a type without white space and without a leading `::`, by which types are found. */
function typeKey(name: string): string {
  return name.replaceAll(/\s+/g, "").replace(/^::/, "");
}

/** Structs by the names that signatures give them. */
export class StructNames {
  readonly #structs = new Map<string, StructType>();

  /**
   * Takes them by their own names, or by those of a record.
   *
   * @throws {TypeError} If one is no struct, or two have one name.
   */
  constructor(structs: StructTypes) {
    for (const [name, struct] of namedStructs(structs)) {
      if (!(struct instanceof StructType)) {
        throw new TypeError(
          `Cannot read a kernel signature as struct ${name} must be what defineStruct() gives: ` +
            `it is ${describeValue(struct)}`,
        );
      }
      const key = typeKey(name ?? struct.name);
      const known = this.#structs.get(key);
      if (known !== undefined && known !== struct) {
        throw new TypeError(
          `Cannot read a kernel signature as structs must have different names: two are ${key}`,
        );
      }
      this.#structs.set(key, struct);
    }
  }

  /** The struct of a name; `undefined` where there is none. */
  find(name: string): StructType | undefined {
    return this.#structs.get(typeKey(name));
  }
}

function namedStructs(structs: StructTypes): [string | undefined, unknown][] {
  if (Array.isArray(structs)) return structs.map((struct: unknown) => [undefined, struct]);
  if (typeof structs === "object" && structs !== null) return Object.entries(structs);
  throw new TypeError(
    `Cannot read a kernel signature as its structs must be an array or an object: they are ${
      describeValue(structs)
    }`,
  );
}

/** The type that a parameter's leading words name. */
interface NamedType {
  readonly type: PointeeType;
  readonly isConst: boolean;
  readonly at: SignatureToken;
}

/** Reads a parameter up to the comma or parenthesis that ends it. */
export function readParameter(
  reader: SignatureReader,
  position: number,
  structs: StructNames,
): KernelParameter {
  const place = `parameter ${position}`;
  const named = readType(reader, place, structs);
  const parameter = reader.takeIf("*")
    ? readPointer(reader, named, place)
    : readValue(reader, named, place);
  if (reader.takeIf("=")) skipValue(reader, place);
  return parameter;
}

/** Reads what follows the type of a parameter that is no pointer, or an array. */
function readValue(reader: SignatureReader, named: NamedType, place: string): KernelParameter {
  refuseDeclarator(reader, place);
  const name = readOptionalName(reader);
  if (reader.next.text === "[") {
    // The extents say nothing to who passes a pointer.
    while (reader.next.text === "[") takeBracketed(reader, `${place}: an array`);
    return pointerParameter(named, name);
  }
  const { type, isConst, at } = named;
  if (type === "void") reader.fail(`${place}: "void" is no parameter by itself`, at);
  if (typeof type === "string") {
    const bytes = bytesOfScalar(type);
    return { kind: "scalar", ...name, type, isConst, bytes, alignment: bytes };
  }
  const { bytes, alignment } = type;
  return type instanceof StructType
    ? { kind: "struct", ...name, type, isConst, bytes, alignment }
    : { kind: "vector", ...name, type, isConst, bytes, alignment };
}

/** Reads what follows the `*` of a pointer. */
function readPointer(reader: SignatureReader, named: NamedType, place: string): PointerParameter {
  while (atPointerQualifier(reader)) reader.take();
  if (reader.next.text === "*") {
    reader.fail(`${place}: a pointer to a pointer has no device memory that fits`);
  }
  refuseDeclarator(reader, place);
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

function refuseDeclarator(reader: SignatureReader, place: string): void {
  if (reader.next.text === "&") {
    reader.fail(`${place}: a reference cannot be passed: a kernel takes a value or a pointer`);
  }
  if (reader.next.text === "(") {
    reader.fail(`${place}: a pointer to a function or an array cannot be passed`);
  }
}

function pointerParameter(named: NamedType, name: { readonly name?: string }): PointerParameter {
  const { type, isConst } = named;
  const bytes = POINTER_BYTES;
  return { kind: "pointer", ...name, type, ...pointee(type), isConst, bytes, alignment: bytes };
}

/** What a pointer to a type says of the memory that it takes. */
function pointee(
  type: PointeeType,
): Pick<PointerParameter, "dtype" | "pointeeBytes" | "pointeeAlignment"> {
  if (type === "void") return { pointeeBytes: 1, pointeeAlignment: 1 };
  if (typeof type === "string") {
    const bytes = bytesOfScalar(type);
    return { dtype: pointeeDType(type), pointeeBytes: bytes, pointeeAlignment: bytes };
  }
  const dtype = type instanceof StructType ? "uint8" : pointeeDType(type.element);
  return { dtype, pointeeBytes: type.bytes, pointeeAlignment: type.alignment };
}

function readOptionalName(reader: SignatureReader): { readonly name?: string } {
  return atName(reader) ? { name: reader.take().text } : {};
}

/** Skips a parameter's default value: a launch gives every argument. */
function skipValue(reader: SignatureReader, place: string): void {
  const start = reader.next;
  const brackets = new OpenBrackets();
  if (atEndOfValue(reader, brackets)) reader.fail(`${place} must have a value behind "="`);
  while (!atEndOfValue(reader, brackets)) brackets.note(reader.take().text);
  if (!brackets.areClosed) {
    reader.fail(`${place}: the brackets of the default value that begins here do not match`, start);
  }
}

function atEndOfValue(reader: SignatureReader, brackets: OpenBrackets): boolean {
  const { text } = reader.next;
  return brackets.isBeyond(text) || (text === "," && brackets.areClosed);
}

/** Reads the type that stands first in a parameter: its words and qualifiers. */
function readType(reader: SignatureReader, place: string, structs: StructNames): NamedType {
  let at = reader.next;
  let spelling = "";
  let isConst = false;
  while (true) {
    const { text } = reader.next;
    if (text === "const") {
      isConst = true;
      reader.take();
    } else if (IGNORED_QUALIFIERS.has(text) || (spelling === "" && ELABORATED_WORDS.has(text))) {
      reader.take();
    } else if (
      spelling === "" && (reader.atWord || text === "::") && !RESTRICT_QUALIFIERS.has(text)
    ) {
      at = reader.next;
      spelling = readQualifiedName(reader);
    } else if (C_TYPE_WORDS.has(text)) spelling += ` ${reader.take().text}`;
    else break;
  }
  const type = typeOf(spelling, structs);
  if (type !== undefined) return { type, isConst, at };
  if (spelling !== "") reader.fail(`${place}: ${unknownType(spelling)}`, at);
  return reader.fail(`${place}: a type is expected: it is ${reader.describeNext()}`);
}

function typeOf(spelling: string, structs: StructNames): PointeeType | undefined {
  const plain = spelling.replace(/^::/, "");
  if (plain === "void") return "void";
  return scalarTypeOf(plain) ?? vectorTypeOf(plain) ?? structs.find(plain);
}

function unknownType(spelling: string): string {
  const problem = `"${spelling}" is not a type a kernel can take`;
  // What consists of C's own words is no struct that could be described.
  if (spelling.split(" ").every((word) => C_TYPE_WORDS.has(word))) return problem;
  return `${problem}: a struct must be described`;
}
