/**
 * Structs that kernels take, described once.
 *
 * @module
 */

import { requireObject } from "../ffi/arguments.ts";
import { describeValue } from "../ffi/describe_value.ts";
import { decodeStruct, encodeStruct } from "./struct_encoding.ts";
import type {
  ReadableFields,
  StructArgument,
  StructFields,
  StructResult,
} from "./struct_fields.ts";
import { StructLayout } from "./struct_layout.ts";
import { encodingError, type EncodingProblem } from "./value_encoding.ts";

/** How a struct is declared besides its fields. */
export interface StructOptions {
  /**
   * What its address must at least be a multiple of, in bytes, as `__align__(16)` in its
   * declaration says: a power of two up to 256.
   */
  readonly alignment?: number;
}

/** Structs by the names that signatures give them, or by their own. */
export type StructTypes = readonly StructType[] | Readonly<Record<string, StructType>>;

/** No structs: signatures name scalars and vectors only. */
export type NoStructs = readonly [];

/**
 * A struct as C++ lays it out. Made by {@linkcode defineStruct}.
 *
 * @typeParam Name Its name in C++.
 * @typeParam Argument What its values are encoded from.
 * @typeParam Result What they are decoded to.
 */
export class StructType<
  Name extends string = string,
  Argument extends object = object,
  Result extends object = object,
> extends StructLayout {
  /** Its name in C++, as signatures name it. */
  declare readonly name: Name;

  /**
   * Lays a struct out; {@linkcode defineStruct} has the compiler check the types of fields too.
   *
   * @throws {TypeError} If the name or a field is none.
   * @throws {RangeError} If an array is empty, or the alignment is no power of two up to 256.
   */
  constructor(name: Name, fields: StructFields, options: StructOptions = {}) {
    requireName(name);
    requireObject(options, "options", `define struct ${name}`);
    super(name, fields, options.alignment ?? 1);
  }

  /**
   * Writes a value as the bytes that a kernel sees. Padding becomes zero.
   *
   * @param target Where to: `bytes` from `offset` on.
   * @throws {TypeError} If a field is missing or of another kind, or one that it has not is there.
   * @throws {RangeError} If a number does not fit its field, an array has another length, or there
   * is no room.
   */
  encode(value: Argument, target: Uint8Array, offset = 0): void {
    const view = this.#viewOf("encode", target, offset);
    const problem = this.tryEncode(value, view, 0);
    if (problem === undefined) return;
    const subject = problem.path === "" ? "it" : "its ";
    const path = problem.path.replace(/^\./, "");
    throw encodingError(`Cannot encode a ${this.name} as ${subject}`, { ...problem, path });
  }

  /**
   * Writes a value and says what was wrong with it.
   *
   * @param value Any value: it is checked.
   * @param view Has room for the struct at the offset.
   * @internal
   */
  tryEncode(value: unknown, view: DataView, offset: number): EncodingProblem | undefined {
    return encodeStruct(this, value, view, offset);
  }

  /**
   * Reads a value: 64-bit integers as `bigint`, arrays and vectors as arrays.
   *
   * @param source From where: `bytes` from `offset` on.
   * @throws {RangeError} If there are fewer bytes.
   */
  decode(source: Uint8Array, offset = 0): Result {
    const view = this.#viewOf("decode", source, offset);
    return decodeStruct(this, view, 0) as Result;
  }

  #viewOf(action: string, memory: Uint8Array, offset: number): DataView {
    if (!(memory instanceof Uint8Array)) {
      throw new TypeError(
        `Cannot ${action} a ${this.name} as its bytes must be a Uint8Array: they are ${
          describeValue(memory)
        }`,
      );
    }
    if (Number.isInteger(offset) && offset >= 0 && offset + this.bytes <= memory.length) {
      return new DataView(memory.buffer, memory.byteOffset + offset, this.bytes);
    }
    throw new RangeError(
      `Cannot ${action} a ${this.name} as its ${this.bytes} bytes must lie in the ` +
        `${memory.length} bytes there are: they begin at ${describeValue(offset)}`,
    );
  }
}

const NAME = /^(?:::)?[A-Za-z_]\w*(?:::[A-Za-z_]\w*)*(?:<.*>)?$/s;

function requireName(name: unknown): void {
  if (typeof name === "string" && NAME.test(name)) return;
  throw new TypeError(
    `Cannot define a struct as its name must be one of C++, such as "Particle": it is ${
      describeValue(name)
    }`,
  );
}

/**
 * Describes a struct, so that signatures can name it, its values are typed, and their bytes are
 * those that C++ gives it.
 *
 * @param name Its name in C++, as signatures name it: `Particle`, `physics::Particle`,
 * `Pair<float, 2>`.
 * @param fields Its fields in the order of their declaration, each a type in C's words, an array of
 * one, another struct, or a struct and how many of it.
 * @throws {TypeError} If the name or a field is none.
 * @throws {RangeError} If an array is empty, or the alignment is no power of two up to 256.
 *
 * @example
 * ```ts
 * import { defineStruct } from "@gridstride/cuda";
 *
 * // struct Particle { float3 position; float mass; double energy; int tags[3]; };
 * const Particle = defineStruct("Particle", {
 *   position: "float3",
 *   mass: "float",
 *   energy: "double",
 *   tags: "int[3]",
 * });
 * console.log(Particle.bytes, Particle.alignment); // 40 8
 *
 * const bytes = new Uint8Array(Particle.bytes);
 * Particle.encode({ position: [1, 2, 3], mass: 4, energy: 5, tags: [6, 7, 8] }, bytes);
 * console.log(Particle.decode(bytes).position); // [ 1, 2, 3 ]
 * ```
 */
export function defineStruct<
  const Name extends string,
  const Fields extends StructFields = Readonly<Record<never, never>>,
>(
  name: Name,
  // Of a conditional type TypeScript infers from the branches that are the parameter itself, and
  // reports the one that is not.
  fields: string extends keyof Fields ? Fields
    : Fields extends ReadableFields<Fields> ? Fields
    : ReadableFields<NoInfer<Fields>>,
  options?: StructOptions,
): StructType<Name, StructArgument<Fields>, StructResult<Fields>> {
  return new StructType(name, fields, options);
}
