/**
 * Indices in `.npy` files, read in pieces: of any number of them no more are in memory at once than
 * a few megabytes hold.
 *
 * They come with the last index of the array fastest, whatever the file's order is, as a kernel
 * walks an array.
 *
 * @module
 */

import type { IndexArray } from "../lab/analysis/mod.ts";
import { swappedBytes } from "./npy.ts";
import { NPY_BEGINNING, NpyError, requireNpyData, splitNpy } from "./npy_header.ts";

/** Bytes of a piece. */
const PIECE_BYTES = 2 ** 20;
/** Bytes of rows that are turned at once where the file has the first index fastest. */
const PANEL_BYTES = 2 ** 25;
/** Bytes that are read for an element that is far from the one before. */
const PAGE_BYTES = 4096;

interface IndexArrayClass {
  new (buffer: ArrayBuffer, offset: number, length: number): IndexArray;
  readonly BYTES_PER_ELEMENT: number;
}

/** The arrays for NumPy's types. Whether a floating-point number is an index is asked of each. */
const ARRAYS: Readonly<Record<string, IndexArrayClass>> = {
  i1: Int8Array,
  u1: Uint8Array,
  i2: Int16Array,
  u2: Uint16Array,
  i4: Int32Array,
  u4: Uint32Array,
  i8: BigInt64Array,
  u8: BigUint64Array,
  f2: Float16Array,
  f4: Float32Array,
  f8: Float64Array,
};

/** Indices in a file. */
export class NpyIndices implements Disposable {
  /** The extent of the array in each dimension. */
  readonly shape: readonly number[];
  readonly #file: Deno.FsFile;
  readonly #dataOffset: number;
  readonly #isSwapped: boolean;
  readonly #array: IndexArrayClass;
  readonly #isFortran: boolean;
  readonly #panelBytes: number;

  /**
   * Opens a file.
   *
   * @param path Where it is.
   * @param panelBytes Most bytes of rows that are turned at once.
   * @throws {NpyError} If it is no file, or no array of integers, or cut short, or too long.
   */
  constructor(path: string, panelBytes: number = PANEL_BYTES) {
    this.#panelBytes = panelBytes;
    this.#file = Deno.openSync(path);
    try {
      const { isFile, isDirectory, size } = this.#file.statSync();
      if (!isFile) {
        const what = isDirectory ? "a directory" : "a pipe or a device";
        throw new NpyError(`must be a file that can be read from any place: it is ${what}`);
      }
      const beginning = this.#read(0, Math.min(NPY_BEGINNING, size));
      const { header, data } = splitNpy(beginning);
      const [, order, type = ""] = /^([<>|=])([iuf]\d+)$/.exec(header.descr) ?? [];
      const array = ARRAYS[type];
      if (array === undefined) {
        throw new NpyError(
          `has elements of type ${
            JSON.stringify(header.descr)
          }, and indices are integers: one of ` +
            Object.keys(ARRAYS).join(", "),
        );
      }
      this.shape = header.shape;
      this.#array = array;
      this.#isSwapped = order === ">";
      this.#isFortran = header.fortranOrder && header.shape.length > 1;
      this.#dataOffset = data.byteOffset;
      requireNpyData(header.shape, array.BYTES_PER_ELEMENT, size - this.#dataOffset);
    } catch (error) {
      this.#file.close();
      throw error;
    }
  }

  /** How many indices there are. */
  get count(): number {
    return this.shape.reduce((product, extent) => product * extent, 1);
  }

  /** The indices, piece by piece. */
  *pieces(): Generator<IndexArray> {
    if (this.count === 0) return;
    if (!this.#isFortran) yield* this.#inOrder();
    else if (this.#rowElements() * this.#size <= this.#panelBytes) yield* this.#panels();
    else yield* this.#longRows();
  }

  /** Closes the file. */
  [Symbol.dispose](): void {
    this.#file.close();
  }

  get #size(): number {
    return this.#array.BYTES_PER_ELEMENT;
  }

  *#inOrder(): Generator<IndexArray> {
    const most = PIECE_BYTES / this.#size;
    for (let from = 0; from < this.count; from += most) {
      yield this.#indices(this.#elements(from, Math.min(most, this.count - from)));
    }
  }

  /** Elements of a row: of all that have one first index. */
  #rowElements(): number {
    return this.count / this.shape[0]!;
  }

  /**
   * As many rows at a time as fit: of each other index the file has their elements side by side.
   */
  *#panels(): Generator<IndexArray> {
    const size = this.#size;
    const rows = this.shape[0]!;
    const columns = this.#rowElements();
    const most = Math.min(rows, Math.floor(this.#panelBytes / (columns * size)));
    for (let row = 0; row < rows; row += most) {
      const count = Math.min(most, rows - row);
      const panel = new Uint8Array(count * columns * size);
      let column = 0;
      for (const place of this.#columnPlaces(0, columns)) {
        const run = this.#elements(place * rows + row, count);
        for (let i = 0; i < count; i++) {
          const target = (i * columns + column) * size;
          for (let byte = 0; byte < size; byte++) panel[target + byte] = run[i * size + byte]!;
        }
        column++;
      }
      yield this.#indices(panel);
    }
  }

  /** One row in pieces, then the next; the file has their elements far from each other. */
  *#longRows(): Generator<IndexArray> {
    const size = this.#size;
    const rows = this.shape[0]!;
    const columns = this.#rowElements();
    const most = PIECE_BYTES / size;
    const page = new ElementPages((from, count) => this.#elements(from, count), this.count, size);
    for (let row = 0; row < rows; row++) {
      for (let from = 0; from < columns; from += most) {
        const count = Math.min(most, columns - from);
        const piece = new Uint8Array(count * size);
        let i = 0;
        for (const place of this.#columnPlaces(from, count)) {
          piece.set(page.element(place * rows + row), i * size);
          i++;
        }
        yield this.#indices(piece);
      }
    }
  }

  /**
   * Where the file has the columns `from` and on, as a number of columns: they are counted with the
   * last index fastest, and lie with the second index fastest.
   */
  *#columnPlaces(from: number, count: number): Generator<number> {
    const extents = this.shape.slice(1);
    const strides: number[] = [];
    let stride = 1;
    for (const extent of extents) {
      strides.push(stride);
      stride *= extent;
    }
    const index = extents.map(() => 0);
    let rest = from;
    let place = 0;
    for (let axis = extents.length - 1; axis >= 0; axis--) {
      index[axis] = rest % extents[axis]!;
      rest = Math.floor(rest / extents[axis]!);
      place += index[axis]! * strides[axis]!;
    }
    for (let i = 0; i < count; i++) {
      yield place;
      // The next index, as an odometer counts.
      for (let axis = extents.length - 1; axis >= 0; axis--) {
        place += strides[axis]!;
        if (++index[axis]! < extents[axis]!) break;
        place -= strides[axis]! * extents[axis]!;
        index[axis] = 0;
      }
    }
  }

  /** The bytes of elements that lie side by side, as the file has them. */
  #elements(from: number, count: number): Uint8Array<ArrayBuffer> {
    return this.#read(this.#dataOffset + from * this.#size, count * this.#size);
  }

  #indices(bytes: Uint8Array<ArrayBuffer>): IndexArray {
    const ordered = this.#isSwapped ? swappedBytes(bytes, this.#size) : bytes;
    return new this.#array(ordered.buffer, ordered.byteOffset, ordered.length / this.#size);
  }

  #read(offset: number, length: number): Uint8Array<ArrayBuffer> {
    const bytes = new Uint8Array(length);
    this.#file.seekSync(offset, Deno.SeekMode.Start);
    for (let read = 0; read < length;) {
      const more = this.#file.readSync(bytes.subarray(read));
      if (more === null) throw new NpyError("is cut short: it became shorter while it was read");
      read += more;
    }
    return bytes;
  }
}

/** Elements one by one, read in pages: neighbours come from the page of the last one. */
class ElementPages {
  readonly #read: (from: number, count: number) => Uint8Array<ArrayBuffer>;
  readonly #elements: number;
  readonly #size: number;
  #from = 0;
  #page = new Uint8Array();

  constructor(
    read: (from: number, count: number) => Uint8Array<ArrayBuffer>,
    elements: number,
    size: number,
  ) {
    this.#read = read;
    this.#elements = elements;
    this.#size = size;
  }

  element(index: number): Uint8Array<ArrayBuffer> {
    const size = this.#size;
    if (index < this.#from || (index - this.#from + 1) * size > this.#page.length) {
      this.#from = index;
      this.#page = this.#read(index, Math.min(PAGE_BYTES / size, this.#elements - index));
    }
    const place = (index - this.#from) * size;
    return this.#page.subarray(place, place + size);
  }
}
