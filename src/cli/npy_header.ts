/**
 * The header of a `.npy` file: magic and version, and a Python dictionary of three entries, as text.
 *
 * Read by its grammar and not by a handful of patterns, since anything may be in a file. The format
 * is NumPy Enhancement Proposal 1.
 *
 * @module
 */

/** What a header says. */
export interface NpyHeader {
  /** The element type in NumPy's words: byte order, kind and bytes, such as `<f4`. */
  readonly descr: string;
  /** Whether the first index runs fastest; otherwise the last does. */
  readonly fortranOrder: boolean;
  /** The extent in each dimension; of a single number there is none. */
  readonly shape: readonly number[];
}

/** Thrown for a file that is no array that can be used; its message completes "it …". */
export class NpyError extends Error {
  override name = "NpyError";
}

type Literal = string | boolean | number | readonly Literal[];

const TOKEN = /\s*(?:('(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")|(\d+)L?|(\w+)|([^\s\w]))/y;

/** Reads Python's literals as they stand in headers: texts, numbers, truth values, tuples, lists. */
class LiteralReader {
  readonly #text: string;
  #offset = 0;
  #depth = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** The dictionary that the whole text is. */
  dictionary(): Map<string, Literal> {
    const entries = new Map<string, Literal>();
    this.#expect("{");
    while (!this.#takeIf("}")) {
      const key = this.#literal();
      if (typeof key !== "string") this.#fail();
      if (entries.has(key)) throw new NpyError(`has a header with two entries '${key}'`);
      this.#expect(":");
      entries.set(key, this.#literal());
      if (this.#takeIf(",")) continue;
      this.#expect("}");
      break;
    }
    if (this.#text.slice(this.#offset).trim() !== "") this.#fail();
    return entries;
  }

  #literal(): Literal {
    const [, quoted, digits, word, symbol] = this.#next();
    if (quoted !== undefined) return quoted.slice(1, -1);
    if (digits !== undefined) return Number(digits);
    if (word === "True" || word === "False") return word === "True";
    if (symbol === "(") return this.#sequence(")");
    if (symbol === "[") return this.#sequence("]");
    return this.#fail();
  }

  #sequence(end: string): Literal[] {
    // NumPy nests them three deep; a file that is all brackets would exhaust the stack.
    if (++this.#depth > 16) this.#fail();
    const elements: Literal[] = [];
    while (!this.#takeIf(end)) {
      elements.push(this.#literal());
      if (this.#takeIf(",")) continue;
      this.#expect(end);
      break;
    }
    this.#depth--;
    return elements;
  }

  #match(): RegExpExecArray | null {
    TOKEN.lastIndex = this.#offset;
    return TOKEN.exec(this.#text);
  }

  #next(): RegExpExecArray {
    const match = this.#match();
    if (match === null) return this.#fail();
    this.#offset += match[0].length;
    return match;
  }

  #takeIf(symbol: string): boolean {
    const match = this.#match();
    if (match?.[4] !== symbol) return false;
    this.#offset += match[0].length;
    return true;
  }

  #expect(symbol: string): void {
    if (!this.#takeIf(symbol)) this.#fail();
  }

  #fail(): never {
    throw new NpyError(`has a header that is no dictionary in Python at character ${this.#offset}`);
  }
}

const KEYS: readonly string[] = ["descr", "fortran_order", "shape"];

/**
 * Reads a header's text.
 *
 * @throws {NpyError} If it is none, or one of an array that is no plain array of numbers.
 */
export function parseNpyHeader(text: string): NpyHeader {
  const entries = new LiteralReader(text).dictionary();
  const missing = KEYS.find((key) => !entries.has(key));
  if (missing !== undefined) throw new NpyError(`has a header without '${missing}'`);
  const unknown = [...entries.keys()].find((key) => !KEYS.includes(key));
  if (unknown !== undefined) {
    throw new NpyError(`has a header with ${JSON.stringify(unknown)}, which no version knows`);
  }
  return {
    descr: descrOf(entries.get("descr")!),
    fortranOrder: orderOf(entries.get("fortran_order")!),
    shape: shapeOf(entries.get("shape")!),
  };
}

function descrOf(value: Literal): string {
  if (typeof value === "string") return value;
  throw new NpyError("holds structures: an array of numbers is needed");
}

function orderOf(value: Literal): boolean {
  if (typeof value === "boolean") return value;
  throw new NpyError("has a header whose 'fortran_order' is neither True nor False");
}

function shapeOf(value: Literal): readonly number[] {
  const isExtent = (extent: Literal) => typeof extent === "number" && Number.isSafeInteger(extent);
  if (Array.isArray(value) && value.every(isExtent)) return value;
  throw new NpyError("has a header whose 'shape' is no tuple of integers from 0 to 2^53-1");
}

/** The text of a header, as NumPy writes it. */
export function npyHeaderText({ descr, fortranOrder, shape }: NpyHeader): string {
  const order = fortranOrder ? "True" : "False";
  // A tuple of one needs a comma to be one.
  const extents = shape.length === 1 ? `${shape[0]},` : shape.join(", ");
  return `{'descr': '${descr}', 'fortran_order': ${order}, 'shape': (${extents}), }`;
}

/** What a file begins with. */
export const NPY_MAGIC: Uint8Array<ArrayBuffer> = Uint8Array.of(
  0x93,
  ...new TextEncoder().encode("NUMPY"),
);
/** Bytes of the version, which follows. */
export const NPY_VERSION_BYTES = 2;

/** A header that is longer is none: NumPy's own have less than a tenth of it. */
const LONGEST_HEADER = 2 ** 16;

/** So many bytes of a file have its whole header among them. */
export const NPY_BEGINNING: number = NPY_MAGIC.length + NPY_VERSION_BYTES + 4 + LONGEST_HEADER;

/**
 * The header of a file, and what follows it.
 *
 * @param file The file, or at least as much of its beginning as {@linkcode NPY_BEGINNING} says.
 * @throws {NpyError} If it has none.
 */
export function splitNpy(
  file: Uint8Array<ArrayBuffer>,
): { header: NpyHeader; data: Uint8Array<ArrayBuffer> } {
  if (!NPY_MAGIC.every((byte, index) => file[index] === byte)) {
    throw new NpyError("is no .npy file: it does not begin with \\x93NUMPY");
  }
  const start = NPY_MAGIC.length + NPY_VERSION_BYTES;
  const [major, minor] = file.subarray(NPY_MAGIC.length, start);
  if (minor === undefined) throw new NpyError("is cut short in its header");
  if (major! < 1 || major! > 3 || minor !== 0) {
    throw new NpyError(`is of version ${major}.${minor}, and 1.0, 2.0 and 3.0 are known`);
  }
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const lengthBytes = major === 1 ? 2 : 4;
  const before = start + lengthBytes;
  if (file.length < before) throw new NpyError("is cut short in its header");
  const length = major === 1 ? view.getUint16(start, true) : view.getUint32(start, true);
  if (length > LONGEST_HEADER) {
    throw new NpyError(`has a header of ${length} bytes, and ${LONGEST_HEADER} are the most`);
  }
  if (file.length < before + length) throw new NpyError("is cut short in its header");
  // Version 3 says UTF-8 where the others say Latin-1; what is beyond ASCII is only ever a name in
  // a structure, which is refused.
  const text = new TextDecoder(major === 3 ? "utf-8" : "latin1")
    .decode(file.subarray(before, before + length));
  return { header: parseNpyHeader(text), data: file.subarray(before + length) };
}

/**
 * Checks that a file has as many bytes as its shape needs.
 *
 * @param size Bytes of an element.
 * @param bytes What follows the header.
 * @throws {NpyError} If it has fewer or more.
 */
export function requireNpyData(shape: readonly number[], size: number, bytes: number): void {
  const elements = shape.reduce((product, extent) => product * BigInt(extent), 1n);
  const needed = elements * BigInt(size);
  if (needed === BigInt(bytes)) return;
  const array = `its shape (${shape.join(", ")}) takes ${needed} bytes and there are ${bytes}`;
  throw new NpyError(needed > bytes ? `is cut short: ${array}` : `is too long: ${array}`);
}
