/**
 * Layouts: orders in which the elements of an array can lie.
 *
 * @module
 */

import type { AccessIndices } from "./access_analyzer.ts";
import {
  type DataArray,
  emptyLike,
  overlap,
  requireData,
  type WordArray,
  wordsOf,
} from "./element_words.ts";
import { indexList } from "./index_list.ts";
import { requireInteger } from "./integer_argument.ts";
import { typedArrayKind } from "./index_batch.ts";

/**
 * What a layout is.
 *
 * - `transposed`: a matrix by columns.
 * - `structure-of-arrays`: records by fields.
 * - `tiled`: a matrix by tiles, each of which lies together.
 * - `z-order`: a matrix along Morton's curve, so that what is near in both directions lies near.
 * - `first-touch`: elements in the order of their first access.
 * - `unchanged`: as they were.
 */
export type LayoutKind =
  | "transposed"
  | "structure-of-arrays"
  | "tiled"
  | "z-order"
  | "first-touch"
  | "unchanged";

const APPLY = "apply the layout";
const UNDO = "undo the layout";
const TABLE_LENGTH = 2 ** 32;

/**
 * An order of the elements of an array, one to one: where each lies, and the way back.
 *
 * Layouts with a formula take no memory, however many elements there are.
 */
export abstract class DataLayout {
  /** What the layout is. */
  abstract readonly kind: LayoutKind;
  /** Elements of the arrays that it is for. */
  readonly length: number;

  /**
   * Layouts are made by functions such as {@linkcode transposedLayout}.
   *
   * @param length Elements of the arrays that it is for.
   */
  constructor(length: number) {
    this.length = length;
  }

  /**
   * Where an element lies in this layout.
   *
   * @param index Its index in the original array.
   * @throws {RangeError} If that is no integer in 0..`length` − 1.
   * @throws {TypeError} If it is no number.
   */
  newIndex(index: number): number {
    requireInteger("find an element's new index", "index", index, 0, this.length - 1);
    return this.placeOf(index);
  }

  /**
   * The reverse of {@linkcode DataLayout.newIndex}.
   *
   * @param index An index in this layout.
   * @throws {RangeError} If that is no integer in 0..`length` − 1.
   * @throws {TypeError} If it is no number.
   */
  oldIndex(index: number): number {
    requireInteger("find an element's old index", "index", index, 0, this.length - 1);
    return this.originOf(index);
  }

  /**
   * The new index of each element, in a new array.
   *
   * @throws {RangeError} If there are more than 2^32 elements.
   */
  newIndices(): Uint32Array<ArrayBuffer> {
    const table = new Uint32Array(this.#tableLength());
    for (let index = 0; index < table.length; index++) table[index] = this.placeOf(index);
    return table;
  }

  /**
   * The old index of each element of this layout, in a new array: the inverse of
   * {@linkcode DataLayout.newIndices}.
   *
   * @throws {RangeError} If there are more than 2^32 elements.
   */
  oldIndices(): Uint32Array<ArrayBuffer> {
    const table = new Uint32Array(this.#tableLength());
    for (let index = 0; index < table.length; index++) table[index] = this.originOf(index);
    return table;
  }

  /**
   * What accesses to the original array are in this layout.
   *
   * @param indices Their indices.
   * @returns The new index for each, in the same order.
   * @throws {RangeError} If one is no integer in 0..`length` − 1, or the layout has more than 2^32
   * elements.
   * @throws {TypeError} If something else than indices came.
   */
  rewrite(indices: AccessIndices): Uint32Array<ArrayBuffer> {
    this.#tableLength();
    const list = indexList("rewrite accesses", indices, this.length);
    return this.rewriteList(list, new Uint32Array(list.length));
  }

  /**
   * Reorders an array.
   *
   * @param data The array, which stays as it is.
   * @param into Where the elements go: an array of the same kind and length that shares no memory
   * with it; a new one by default.
   * @returns Where they went.
   * @throws {RangeError} If an array has another length.
   * @throws {TypeError} If something is no typed array, they are of different kinds, or share memory.
   */
  apply<T extends DataArray>(data: T, into?: T): T {
    return this.#moved(APPLY, data, into, true);
  }

  /**
   * Reorders an array back, bit for bit.
   *
   * @param data An array in this layout, which stays as it is.
   * @param into Where the elements go, as for {@linkcode DataLayout.apply}.
   * @returns Where they went.
   * @throws {RangeError} If an array has another length.
   * @throws {TypeError} If something is no typed array, they are of different kinds, or share memory.
   */
  undo<T extends DataArray>(data: T, into?: T): T {
    return this.#moved(UNDO, data, into, false);
  }

  #moved<T extends DataArray>(
    action: string,
    data: T,
    into: T | undefined,
    isForward: boolean,
  ): T {
    this.#check(action, "data", data);
    const target = into ?? emptyLike(data);
    if (into !== undefined) {
      this.#check(action, "into", into);
      const [from, to] = [typedArrayKind(data)!, typedArrayKind(into)!];
      if (from !== to) {
        throw new TypeError(
          `Cannot ${action} as into must be of the kind of data, ${from}: it is of ${to}`,
        );
      }
      if (overlap(data, into)) {
        throw new TypeError(`Cannot ${action} as into must not share memory with data: it does`);
      }
    }
    this.move(wordsOf(data), wordsOf(target), isForward);
    return target;
  }

  #check(action: string, name: string, data: DataArray): void {
    requireData(action, name, data);
    if (data.length !== this.length) {
      throw new RangeError(
        `Cannot ${action} as ${name} must have ${this.length} elements: it has ${data.length}`,
      );
    }
  }

  #tableLength(): number {
    if (this.length <= TABLE_LENGTH) return this.length;
    throw new RangeError(
      `Cannot list the indices of a layout as it must have at most ${TABLE_LENGTH} elements: it ` +
        `has ${this.length}`,
    );
  }

  /**
   * Rewrites indices that are known to be below the length.
   *
   * @internal
   */
  rewriteList(
    list: Uint32Array,
    into: Uint32Array<ArrayBuffer>,
  ): Uint32Array<ArrayBuffer> {
    for (let i = 0; i < list.length; i++) into[i] = this.placeOf(list[i]!);
    return into;
  }

  /** The new index of an element. */
  protected abstract placeOf(index: number): number;
  /** The old index of an element. */
  protected abstract originOf(index: number): number;
  /** Moves all elements, from the original to this layout or back. */
  protected abstract move(from: WordArray, to: WordArray, isForward: boolean): void;
}

/** The layout that arrays have. */
export class UnchangedLayout extends DataLayout {
  override readonly kind = "unchanged";

  protected override placeOf(index: number): number {
    return index;
  }

  protected override originOf(index: number): number {
    return index;
  }

  protected override move(from: WordArray, to: WordArray): void {
    (to as Uint8Array).set(from as Uint8Array);
  }
}
