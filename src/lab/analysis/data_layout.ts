/**
 * Layouts: orders of the elements of an array.
 *
 * @module
 */

import { checkedProduct, rangeError, requireInteger, requireObject } from "./arguments.ts";
import {
  type AccessIndices,
  type IndexArray,
  indexList,
  overlap,
  requireTypedArray,
  type WordArray,
  wordsOf,
} from "./index_batch.ts";

/**
 * The kind of a layout.
 *
 * - `transposed`: a matrix by columns.
 * - `structure-of-arrays`: records by fields.
 * - `tiled`: a matrix by tiles, each of which lies together.
 * - `z-order`: a matrix along Morton's curve, which keeps neighbours in both directions near.
 * - `first-touch`: elements in the order of their first access.
 * - `unchanged`: the original order.
 * @category Data layouts
 */
export type LayoutKind =
  | "transposed"
  | "structure-of-arrays"
  | "tiled"
  | "z-order"
  | "first-touch"
  | "unchanged";

/**
 * Extents of a matrix.
 * @category Data layouts
 */
export interface MatrixShape {
  /** Rows. */
  readonly rows: number;
  /** Elements of a row. */
  readonly columns: number;
}

const TABLE_LENGTH = 2 ** 32;

/** The formulas of a layout: new and old indices, and a faster way to move all elements. */
export interface LayoutMapping {
  readonly placeOf: (index: number) => number;
  readonly originOf: (index: number) => number;
  readonly move?: (from: WordArray, to: WordArray, isForward: boolean) => void;
}

/** Makes a layout: the constructor is private. */
export let makeLayout: (kind: LayoutKind, length: number, mapping: LayoutMapping) => DataLayout;

/**
 * An order of the elements of an array, one to one, and its inverse. Functions such as
 * `transposedLayout()` make layouts.
 *
 * Layouts with a formula take no memory, however many elements there are.
 * @category Data layouts
 */
export class DataLayout {
  /** The kind of the layout. */
  readonly kind: LayoutKind;
  /** Elements of the arrays that it is for. */
  readonly length: number;
  readonly #mapping: LayoutMapping;

  private constructor(kind: LayoutKind, length: number, mapping: LayoutMapping) {
    this.kind = kind;
    this.length = length;
    this.#mapping = mapping;
  }

  static {
    makeLayout = (kind, length, mapping) => new DataLayout(kind, length, mapping);
  }

  /**
   * The index of an element in this layout.
   *
   * @param index Its index in the original array.
   * @throws {RangeError} If that is not an integer in 0..`length` − 1.
   * @throws {TypeError} If it is not a number.
   */
  newIndex(index: number): number {
    requireInteger("find an element's new index", "index", index, 0, this.length - 1);
    return this.#mapping.placeOf(index);
  }

  /**
   * The index of an element in the original array.
   *
   * @param index Its index in this layout.
   * @throws {RangeError} If that is not an integer in 0..`length` − 1.
   * @throws {TypeError} If it is not a number.
   */
  oldIndex(index: number): number {
    requireInteger("find an element's old index", "index", index, 0, this.length - 1);
    return this.#mapping.originOf(index);
  }

  /**
   * The new index of each element, in a new array.
   *
   * @throws {RangeError} If there are more than 2^32 elements.
   */
  newIndices(): Uint32Array<ArrayBuffer> {
    return this.#table(this.#mapping.placeOf);
  }

  /**
   * The old index of each element of this layout, in a new array: the inverse of
   * {@linkcode DataLayout.newIndices}.
   *
   * @throws {RangeError} If there are more than 2^32 elements.
   */
  oldIndices(): Uint32Array<ArrayBuffer> {
    return this.#table(this.#mapping.originOf);
  }

  /**
   * Translates accesses to the original array into this layout.
   *
   * @param indices Their indices.
   * @returns The new index for each, in the same order.
   * @throws {RangeError} If one is not an integer in 0..`length` − 1, or the layout has more than
   * 2^32 elements.
   * @throws {TypeError} If a value is of another type.
   */
  rewrite(indices: AccessIndices): Uint32Array<ArrayBuffer> {
    this.#requireTable();
    const list = indexList("rewrite accesses", indices, this.length);
    const rewritten = new Uint32Array(list.length);
    for (let i = 0; i < list.length; i++) rewritten[i] = this.#mapping.placeOf(list[i]!);
    return rewritten;
  }

  /**
   * Reorders an array.
   *
   * @param data The array, which stays unchanged.
   * @param into The target: an array of the same kind and length that shares no memory with `data`;
   * a new one by default.
   * @returns The target.
   * @throws {RangeError} If an array has another length.
   * @throws {TypeError} If an argument is not a typed array, they are of different kinds, or share
   * memory.
   */
  apply<T extends IndexArray>(data: T, into?: T): T {
    return this.#moved("apply the layout", data, into, true);
  }

  /**
   * Restores the original order of an array, bit for bit.
   *
   * @param data An array in this layout, which stays unchanged.
   * @param into The target, as for {@linkcode DataLayout.apply}.
   * @returns The target.
   * @throws {RangeError} If an array has another length.
   * @throws {TypeError} If an argument is not a typed array, they are of different kinds, or share
   * memory.
   */
  undo<T extends IndexArray>(data: T, into?: T): T {
    return this.#moved("undo the layout", data, into, false);
  }

  #moved<T extends IndexArray>(
    action: string,
    data: T,
    into: T | undefined,
    isForward: boolean,
  ): T {
    const plain = this.#check(action, "data", data);
    const target = into ?? plain.slice() as T;
    const plainTarget = this.#check(action, "into", target);
    if (into !== undefined) {
      const [from, to] = [plain[Symbol.toStringTag], plainTarget[Symbol.toStringTag]];
      if (from !== to) {
        throw new TypeError(
          `Cannot ${action} as into must be of the kind of data, ${from}: it is of ${to}`,
        );
      }
      if (overlap(plain, plainTarget)) {
        throw new TypeError(`Cannot ${action} as into must not share memory with data: it does`);
      }
    }
    const [from, to] = [wordsOf(plain), wordsOf(plainTarget)];
    const { placeOf, originOf, move } = this.#mapping;
    if (move !== undefined) {
      move(from, to, isForward);
      return target;
    }
    const [source, places] = [from as Uint8Array, to as Uint8Array];
    const find = isForward ? originOf : placeOf;
    for (let i = 0; i < source.length; i++) places[i] = source[find(i)]!;
    return target;
  }

  #check<T extends IndexArray>(action: string, name: string, data: T): T {
    const plain = requireTypedArray(action, name, data);
    if (plain.length === this.length) return plain;
    throw new RangeError(
      `Cannot ${action} as ${name} must have ${this.length} elements: it has ${plain.length}`,
    );
  }

  #requireTable(): void {
    if (this.length <= TABLE_LENGTH) return;
    throw new RangeError(
      `Cannot list the indices of a layout as it must have at most ${TABLE_LENGTH} elements: it ` +
        `has ${this.length}`,
    );
  }

  #table(find: (index: number) => number): Uint32Array<ArrayBuffer> {
    this.#requireTable();
    const table = new Uint32Array(this.length);
    for (let index = 0; index < table.length; index++) table[index] = find(index);
    return table;
  }
}

/** Checks a shape, and the length of the arrays that hold such a matrix. */
export function requireMatrix(
  action: string,
  shape: MatrixShape,
  length: number | undefined,
): MatrixShape & { readonly size: number; readonly length: number } {
  requireObject(action, "shape", shape);
  const { rows, columns } = shape;
  requireInteger(action, "rows", rows, 0);
  requireInteger(action, "columns", columns, 0);
  const size = checkedProduct(action, "rows × columns", rows, columns);
  if (length === undefined) return { rows, columns, size, length: size };
  requireInteger(action, "length", length, 0);
  if (size <= length) return { rows, columns, size, length };
  const allowed = `be at most the ${length} elements there are`;
  throw rangeError(action, "rows × columns", allowed, `${rows} × ${columns}`);
}
