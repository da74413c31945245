/**
 * Structs to the bytes that a kernel sees, and back.
 *
 * @module
 */

import {
  bytesOfElement,
  type ElementType,
  type FieldLayout,
  type StructLayout,
} from "./struct_layout.ts";
import {
  arrayProblem,
  decodeScalar,
  decodeVector,
  encodeScalar,
  encodeVector,
  type EncodingProblem,
  isArrayValue,
} from "./value_encoding.ts";

/**
 * Encodes a struct; what lies between its fields becomes zero.
 *
 * @returns Why it cannot be; `undefined` once it is.
 */
export function encodeStruct(
  struct: StructLayout,
  value: unknown,
  view: DataView,
  offset: number,
): EncodingProblem | undefined {
  if (typeof value !== "object" || value === null || isArrayValue(value)) {
    return {
      path: "",
      allowed: `an object with the fields of ${struct.name}`,
      value,
      isRange: false,
    };
  }
  new Uint8Array(view.buffer, view.byteOffset + offset, struct.bytes).fill(0);
  for (const field of struct.fields) {
    // A getter may throw; that is the caller's error, and passes.
    const member = (value as Readonly<Record<string, unknown>>)[field.name];
    const problem = encodeArray(field, 0, member, view, offset + field.offset);
    if (problem !== undefined) return { ...problem, path: `.${field.name}${problem.path}` };
  }
  return unknownField(struct, value);
}

/** A field that is there and not described is a misspelt one, or one that would be lost. */
function unknownField(struct: StructLayout, value: object): EncodingProblem | undefined {
  const names = Object.keys(value);
  if (names.length <= struct.fields.length) return undefined;
  const unknown = names.find((name) => !struct.fields.some((field) => field.name === name));
  if (unknown === undefined) return undefined;
  const member = (value as Readonly<Record<string, unknown>>)[unknown];
  const allowed = `absent, as ${struct.name} has no such field`;
  return { path: `.${unknown}`, allowed, value: member, isRange: false };
}

/** Encodes a field, from its extent of this number on. */
function encodeArray(
  field: FieldLayout,
  dimension: number,
  value: unknown,
  view: DataView,
  offset: number,
): EncodingProblem | undefined {
  const { element, extents } = field;
  const extent = extents[dimension];
  if (extent === undefined) return encodeElement(element, value, view, offset);
  if (!isArrayValue(value) || value.length !== extent) {
    return arrayProblem(`an array of ${extent}`, value);
  }
  const step = stepOf(field, dimension);
  for (let i = 0; i < extent; i++) {
    const problem = encodeArray(field, dimension + 1, value[i], view, offset + i * step);
    if (problem !== undefined) return { ...problem, path: `[${i}]${problem.path}` };
  }
  return undefined;
}

/** The bytes from one element of a dimension to the next. */
function stepOf({ element, extents }: FieldLayout, dimension: number): number {
  return extents.slice(dimension + 1)
    .reduce((product, extent) => product * extent, bytesOfElement(element));
}

function encodeElement(
  element: ElementType,
  value: unknown,
  view: DataView,
  offset: number,
): EncodingProblem | undefined {
  if (typeof element === "string") return encodeScalar(element, value, view, offset);
  return "fields" in element
    ? encodeStruct(element, value, view, offset)
    : encodeVector(element, value, view, offset);
}

/** Decodes what {@linkcode encodeStruct} encodes. */
export function decodeStruct(
  struct: StructLayout,
  view: DataView,
  offset: number,
): Record<string, unknown> {
  return Object.fromEntries(
    struct.fields.map((field) => [
      field.name,
      decodeArray(field, 0, view, offset + field.offset),
    ]),
  );
}

function decodeArray(
  field: FieldLayout,
  dimension: number,
  view: DataView,
  offset: number,
): unknown {
  const length = field.extents[dimension];
  if (length === undefined) return decodeElement(field.element, view, offset);
  const step = stepOf(field, dimension);
  return Array.from(
    { length },
    (_, i) => decodeArray(field, dimension + 1, view, offset + i * step),
  );
}

function decodeElement(element: ElementType, view: DataView, offset: number): unknown {
  if (typeof element === "string") return decodeScalar(element, view, offset);
  return "fields" in element
    ? decodeStruct(element, view, offset)
    : decodeVector(element, view, offset);
}
