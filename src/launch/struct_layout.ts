/**
 * Where C++ puts the fields of a struct.
 *
 * @module
 */

import { describeValue } from "../ffi/describe_value.ts";
import { bytesOfScalar, type ScalarType, scalarTypeOf } from "./c_types.ts";
import type { StructFields } from "./struct_fields.ts";
import { type VectorType, vectorTypeOf } from "./vector_types.ts";

/** A scalar, a vector or a struct: what arrays consist of. */
export type ElementType = ScalarType | VectorType | StructLayout;

/** A field where C++ puts it. */
export interface FieldLayout {
  /** Its name. */
  readonly name: string;
  /** What it is, or consists of. */
  readonly element: ElementType;
  /** The extents of an array, outermost first; empty where it is none. */
  readonly extents: readonly number[];
  /** Where it begins, in bytes from the beginning of the struct. */
  readonly offset: number;
  /** What its offset is a multiple of, in bytes. */
  readonly alignment: number;
  /** Its size in bytes. */
  readonly bytes: number;
}

/** The bytes of one element. */
export function bytesOfElement(element: ElementType): number {
  return typeof element === "string" ? bytesOfScalar(element) : element.bytes;
}

/** The alignment of one element: C++'s natural one of scalars. */
function alignmentOfElement(element: ElementType): number {
  return typeof element === "string" ? bytesOfScalar(element) : element.alignment;
}

/** The next multiple of an alignment. */
function aligned(offset: number, alignment: number): number {
  return Math.ceil(offset / alignment) * alignment;
}

/**
 * The largest struct, in bytes. A parameter can have 4096; one in memory may be larger, but with so
 * many bytes an extent is a mistake.
 */
const MAXIMUM_BYTES = 2 ** 24;

/** The largest alignment that CUDA promises of memory that it gives. */
const MAXIMUM_ALIGNMENT = 256;

const ARRAY = /^([^[]*)((?:\[[0-9]+\])*)$/;

function refuseField(place: string, problem: string): never {
  throw new TypeError(`${place} ${problem}`);
}

function textField(place: string, text: string): Pick<FieldLayout, "element" | "extents"> {
  const [, spelling = text, array = ""] = ARRAY.exec(text) ?? [];
  const element = scalarTypeOf(spelling) ?? vectorTypeOf(spelling);
  const extents = [...array.matchAll(/[0-9]+/g)].map(([digits]) => Number(digits));
  if (element !== undefined) return { element, extents };
  return refuseField(
    place,
    text.endsWith("*")
      ? `must be no pointer, which is a parameter of its own: it is ${describeValue(text)}`
      : `must be a type such as "float", "float3" or "float[4]", or a struct: it is ${
        describeValue(text)
      }`,
  );
}

function readField(place: string, field: unknown): Pick<FieldLayout, "element" | "extents"> {
  if (typeof field === "string") return textField(place, field);
  if (field instanceof StructLayout) return { element: field, extents: [] };
  if (Array.isArray(field) && field.length === 2 && field[0] instanceof StructLayout) {
    return { element: field[0], extents: [field[1]] };
  }
  return refuseField(
    place,
    `must be a type such as "float", a struct, or [struct, count]: it is ${describeValue(field)}`,
  );
}

function requireExtents(place: string, extents: readonly unknown[]): void {
  for (const extent of extents) {
    if (typeof extent === "number" && Number.isInteger(extent) && extent >= 1) continue;
    throw new RangeError(`${place} must have at least one element: it is ${describeValue(extent)}`);
  }
}

/** Puts fields where C++ puts them: each at the next multiple of its alignment. */
function layOutFields(struct: string, fields: StructFields): readonly FieldLayout[] {
  let end = 0;
  return Object.entries(fields).map(([name, field]) => {
    const place = `Cannot define struct ${struct} as field ${name}`;
    // The name in C++ too: and no key that an object takes for something else.
    if (!/^[A-Za-z_]\w*$/.test(name) || name === "__proto__") {
      refuseField(place, "must have a name that C++ allows");
    }
    const { element, extents } = readField(place, field);
    requireExtents(place, extents);
    const bytes = extents.reduce((product, extent) => product * extent, bytesOfElement(element));
    const alignment = alignmentOfElement(element);
    const offset = aligned(end, alignment);
    end = offset + bytes;
    if (end > MAXIMUM_BYTES) {
      throw new RangeError(`${place} must end within ${MAXIMUM_BYTES} bytes: it ends at ${end}`);
    }
    return { name, element, extents, offset, alignment, bytes };
  });
}

function requireFields(name: string, fields: unknown): void {
  if (typeof fields === "object" && fields !== null && !Array.isArray(fields)) return;
  throw new TypeError(
    `Cannot define struct ${name} as its fields must be an object: they are ${
      describeValue(fields)
    }`,
  );
}

function requireAlignment(name: string, alignment: unknown): void {
  const isPower = typeof alignment === "number" && Number.isInteger(Math.log2(alignment));
  if (isPower && alignment >= 1 && alignment <= MAXIMUM_ALIGNMENT) return;
  throw new RangeError(
    `Cannot define struct ${name} as its alignment must be a power of two up to ` +
      `${MAXIMUM_ALIGNMENT}: it is ${describeValue(alignment)}`,
  );
}

/** A struct as C++ lays it out. */
export class StructLayout {
  /** The fields where C++ puts them. */
  readonly fields: readonly FieldLayout[];
  /** What its address must be a multiple of, in bytes. */
  readonly alignment: number;
  /** Its size in bytes: a multiple of its alignment, and 1 where it has no fields. */
  readonly bytes: number;

  /**
   * Lays a struct out.
   *
   * @param name Its name, as messages name it too.
   * @param alignment What its declaration says of it; 1 where that says nothing.
   * @throws {TypeError} If a field is none.
   * @throws {RangeError} If an array is empty, or the alignment is no power of two up to 256.
   */
  constructor(readonly name: string, fields: StructFields, alignment: number) {
    requireFields(name, fields);
    requireAlignment(name, alignment);
    this.fields = layOutFields(name, fields);
    this.alignment = Math.max(alignment, ...this.fields.map((field) => field.alignment));
    const last = this.fields.at(-1);
    this.bytes = aligned(last === undefined ? 1 : last.offset + last.bytes, this.alignment);
  }
}
