/**
 * Transposition of matrices that are narrow, or low: records by fields, and back.
 *
 * Of some records at a time, so that the first cache holds them, one field after the other is
 * gathered, or scattered.
 *
 * There is one loop for each width, and for each direction, on purpose: a loop that saw arrays of
 * several kinds would ask for the kind at every element, and one with a step on both sides takes up
 * to 1.2 times as long. Masks say to the engine in what range an index is, which spares it checks
 * for overflow: with one bit more, which does not spare them, bytes take 2.7 times as long.
 *
 * @module
 */

import type { WordArray } from "./element_words.ts";

/** Elements that masked indices reach. */
const MOST_ELEMENTS = 2 ** 30;
/** Fields that there are fewer of. */
const MOST_FIELDS = 64;
/** Bytes of the records that are gone through field by field. */
const BLOCK_BYTES = 8192;
/** And how many elements they have at most. */
const BLOCK_ELEMENTS = 4096;

/** Copies so many elements, of which those on one side are `step` apart. */
type FieldCopy = (i: number, o: number, step: number, count: number) => void;

/** Whether a matrix is so narrow, or low, that it is transposed as records. */
export function areRecords(from: WordArray, rows: number, columns: number): boolean {
  // Of more fields, squares whose sides are a cache line are faster.
  const fields = Math.min(rows, columns);
  return fields > 0 && fields < MOST_FIELDS / from.BYTES_PER_ELEMENT &&
    from.length <= MOST_ELEMENTS;
}

/**
 * Transposes a matrix with fewer columns, or rows, than a cache line has elements.
 *
 * @param from The matrix, by rows.
 * @param to Where it goes: other memory, of elements of the same width.
 * @param rows Its rows.
 * @param columns Its columns.
 */
export function transposeRecords(
  from: WordArray,
  to: WordArray,
  rows: number,
  columns: number,
): void {
  const isGathered = columns < rows;
  const copy = fieldCopyOf(from, to, isGathered);
  const [records, fields] = isGathered ? [rows, columns] : [columns, rows];
  const elements = Math.min(BLOCK_ELEMENTS, BLOCK_BYTES / from.BYTES_PER_ELEMENT);
  const height = elements / fields >>> 0;
  for (let record = 0; record < records; record += height) {
    const count = record + height < records ? height : records - record;
    for (let field = 0; field < fields; field++) {
      const inRecords = record * fields + field;
      const inFields = field * records + record;
      if (isGathered) copy(inRecords, inFields, fields, count);
      else copy(inFields, inRecords, fields, count);
    }
  }
}

function fieldCopyOf(from: WordArray, to: WordArray, isGathered: boolean): FieldCopy {
  if (from instanceof BigUint64Array) {
    const target = to as BigUint64Array;
    return isGathered
      ? (...field) => gather64(from, target, ...field)
      : (...field) => scatter64(from, target, ...field);
  }
  if (from instanceof Int32Array) {
    const target = to as Int32Array;
    return isGathered
      ? (...field) => gather32(from, target, ...field)
      : (...field) => scatter32(from, target, ...field);
  }
  if (from instanceof Uint16Array) {
    const target = to as Uint16Array;
    return isGathered
      ? (...field) => gather16(from, target, ...field)
      : (...field) => scatter16(from, target, ...field);
  }
  const target = to as Uint8Array;
  return isGathered
    ? (...field) => gather8(from, target, ...field)
    : (...field) => scatter8(from, target, ...field);
}

function gather64(
  from: BigUint64Array,
  to: BigUint64Array,
  begin: number,
  place: number,
  step: number,
  count: number,
): void {
  step &= 0x3f;
  let i = begin & 0x3fffffff;
  let o = place & 0x3fffffff;
  let rest = count & 0xffff;
  for (; rest >= 8; rest -= 8) {
    to[o] = from[i]!;
    to[o + 1] = from[i + step]!;
    to[o + 2] = from[i + 2 * step]!;
    to[o + 3] = from[i + 3 * step]!;
    to[o + 4] = from[i + 4 * step]!;
    to[o + 5] = from[i + 5 * step]!;
    to[o + 6] = from[i + 6 * step]!;
    to[o + 7] = from[i + 7 * step]!;
    i = i + 8 * step & 0x3fffffff;
    o = o + 8 & 0x3fffffff;
  }
  for (; rest > 0; rest--) {
    to[o] = from[i]!;
    i = i + step & 0x3fffffff;
    o = o + 1 & 0x3fffffff;
  }
}

function scatter64(
  from: BigUint64Array,
  to: BigUint64Array,
  begin: number,
  place: number,
  step: number,
  count: number,
): void {
  step &= 0x3f;
  let i = begin & 0x3fffffff;
  let o = place & 0x3fffffff;
  let rest = count & 0xffff;
  for (; rest >= 8; rest -= 8) {
    to[o] = from[i]!;
    to[o + step] = from[i + 1]!;
    to[o + 2 * step] = from[i + 2]!;
    to[o + 3 * step] = from[i + 3]!;
    to[o + 4 * step] = from[i + 4]!;
    to[o + 5 * step] = from[i + 5]!;
    to[o + 6 * step] = from[i + 6]!;
    to[o + 7 * step] = from[i + 7]!;
    i = i + 8 & 0x3fffffff;
    o = o + 8 * step & 0x3fffffff;
  }
  for (; rest > 0; rest--) {
    to[o] = from[i]!;
    i = i + 1 & 0x3fffffff;
    o = o + step & 0x3fffffff;
  }
}

function gather32(
  from: Int32Array,
  to: Int32Array,
  begin: number,
  place: number,
  step: number,
  count: number,
): void {
  step &= 0x3f;
  let i = begin & 0x3fffffff;
  let o = place & 0x3fffffff;
  let rest = count & 0xffff;
  for (; rest >= 8; rest -= 8) {
    to[o] = from[i]!;
    to[o + 1] = from[i + step]!;
    to[o + 2] = from[i + 2 * step]!;
    to[o + 3] = from[i + 3 * step]!;
    to[o + 4] = from[i + 4 * step]!;
    to[o + 5] = from[i + 5 * step]!;
    to[o + 6] = from[i + 6 * step]!;
    to[o + 7] = from[i + 7 * step]!;
    i = i + 8 * step & 0x3fffffff;
    o = o + 8 & 0x3fffffff;
  }
  for (; rest > 0; rest--) {
    to[o] = from[i]!;
    i = i + step & 0x3fffffff;
    o = o + 1 & 0x3fffffff;
  }
}

function scatter32(
  from: Int32Array,
  to: Int32Array,
  begin: number,
  place: number,
  step: number,
  count: number,
): void {
  step &= 0x3f;
  let i = begin & 0x3fffffff;
  let o = place & 0x3fffffff;
  let rest = count & 0xffff;
  for (; rest >= 8; rest -= 8) {
    to[o] = from[i]!;
    to[o + step] = from[i + 1]!;
    to[o + 2 * step] = from[i + 2]!;
    to[o + 3 * step] = from[i + 3]!;
    to[o + 4 * step] = from[i + 4]!;
    to[o + 5 * step] = from[i + 5]!;
    to[o + 6 * step] = from[i + 6]!;
    to[o + 7 * step] = from[i + 7]!;
    i = i + 8 & 0x3fffffff;
    o = o + 8 * step & 0x3fffffff;
  }
  for (; rest > 0; rest--) {
    to[o] = from[i]!;
    i = i + 1 & 0x3fffffff;
    o = o + step & 0x3fffffff;
  }
}

function gather16(
  from: Uint16Array,
  to: Uint16Array,
  begin: number,
  place: number,
  step: number,
  count: number,
): void {
  step &= 0x3f;
  let i = begin & 0x3fffffff;
  let o = place & 0x3fffffff;
  let rest = count & 0xffff;
  for (; rest >= 8; rest -= 8) {
    to[o] = from[i]!;
    to[o + 1] = from[i + step]!;
    to[o + 2] = from[i + 2 * step]!;
    to[o + 3] = from[i + 3 * step]!;
    to[o + 4] = from[i + 4 * step]!;
    to[o + 5] = from[i + 5 * step]!;
    to[o + 6] = from[i + 6 * step]!;
    to[o + 7] = from[i + 7 * step]!;
    i = i + 8 * step & 0x3fffffff;
    o = o + 8 & 0x3fffffff;
  }
  for (; rest > 0; rest--) {
    to[o] = from[i]!;
    i = i + step & 0x3fffffff;
    o = o + 1 & 0x3fffffff;
  }
}

function scatter16(
  from: Uint16Array,
  to: Uint16Array,
  begin: number,
  place: number,
  step: number,
  count: number,
): void {
  step &= 0x3f;
  let i = begin & 0x3fffffff;
  let o = place & 0x3fffffff;
  let rest = count & 0xffff;
  for (; rest >= 8; rest -= 8) {
    to[o] = from[i]!;
    to[o + step] = from[i + 1]!;
    to[o + 2 * step] = from[i + 2]!;
    to[o + 3 * step] = from[i + 3]!;
    to[o + 4 * step] = from[i + 4]!;
    to[o + 5 * step] = from[i + 5]!;
    to[o + 6 * step] = from[i + 6]!;
    to[o + 7 * step] = from[i + 7]!;
    i = i + 8 & 0x3fffffff;
    o = o + 8 * step & 0x3fffffff;
  }
  for (; rest > 0; rest--) {
    to[o] = from[i]!;
    i = i + 1 & 0x3fffffff;
    o = o + step & 0x3fffffff;
  }
}

function gather8(
  from: Uint8Array,
  to: Uint8Array,
  begin: number,
  place: number,
  step: number,
  count: number,
): void {
  step &= 0x3f;
  let i = begin & 0x3fffffff;
  let o = place & 0x3fffffff;
  let rest = count & 0xffff;
  for (; rest >= 8; rest -= 8) {
    to[o] = from[i]!;
    to[o + 1] = from[i + step]!;
    to[o + 2] = from[i + 2 * step]!;
    to[o + 3] = from[i + 3 * step]!;
    to[o + 4] = from[i + 4 * step]!;
    to[o + 5] = from[i + 5 * step]!;
    to[o + 6] = from[i + 6 * step]!;
    to[o + 7] = from[i + 7 * step]!;
    i = i + 8 * step & 0x3fffffff;
    o = o + 8 & 0x3fffffff;
  }
  for (; rest > 0; rest--) {
    to[o] = from[i]!;
    i = i + step & 0x3fffffff;
    o = o + 1 & 0x3fffffff;
  }
}

function scatter8(
  from: Uint8Array,
  to: Uint8Array,
  begin: number,
  place: number,
  step: number,
  count: number,
): void {
  step &= 0x3f;
  let i = begin & 0x3fffffff;
  let o = place & 0x3fffffff;
  let rest = count & 0xffff;
  for (; rest >= 8; rest -= 8) {
    to[o] = from[i]!;
    to[o + step] = from[i + 1]!;
    to[o + 2 * step] = from[i + 2]!;
    to[o + 3 * step] = from[i + 3]!;
    to[o + 4 * step] = from[i + 4]!;
    to[o + 5 * step] = from[i + 5]!;
    to[o + 6 * step] = from[i + 6]!;
    to[o + 7 * step] = from[i + 7]!;
    i = i + 8 & 0x3fffffff;
    o = o + 8 * step & 0x3fffffff;
  }
  for (; rest > 0; rest--) {
    to[o] = from[i]!;
    i = i + 1 & 0x3fffffff;
    o = o + step & 0x3fffffff;
  }
}
