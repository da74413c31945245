/**
 * The header of a GGUF file: its keys and the table of its tensors.
 *
 * Every length is compared with the bytes that are left in the file before it is used, and nothing
 * is allocated by a number of the header. Arrays, such as the tokens, stay bytes until they are
 * read.
 *
 * @module
 */

import { describeValue } from "../../ffi/describe_value.ts";
import { TensorFileError } from "../../tensor/mod.ts";
import { entrySubject } from "../../tensor/files/tensor_file.ts";
import type { SourceFile } from "./source_file.ts";

/** Bytes that are read first, which nearly every header fits into, and of the largest header. */
const FIRST_READ = 2 ** 24;
const MAX_HEADER = 2 ** 28;
/** Bytes of the longest name. */
const MAX_NAME = 2 ** 16;
/** ggml has no tensors of more dimensions. */
const MAX_DIMENSIONS = 4;
const MAX_ALIGNMENT = 2 ** 20;
const MAX_DEPTH = 4;

/** The types of values: their names, and bytes of those of fixed size. */
const TYPES = [
  ["uint8", 1],
  ["int8", 1],
  ["uint16", 2],
  ["int16", 2],
  ["uint32", 4],
  ["int32", 4],
  ["float32", 4],
  ["bool", 1],
  ["string", 0],
  ["array", 0],
  ["uint64", 8],
  ["int64", 8],
  ["float64", 8],
] as const;

/** The name of a type of values. */
type ValueType = typeof TYPES[number][0];

/** A value of a key. */
export type GgufValue = string | number | bigint | boolean | GgufArray;

/** A tensor in the table. */
export interface GgufTensor {
  readonly name: string;
  /** Extents, the last one that of neighbours: the reverse of the file's order. */
  readonly shape: readonly number[];
  /** The type id of ggml. */
  readonly type: number;
  /** The first byte in the file. */
  readonly offset: number;
  /** The bytes up to the next tensor, or to the end of the file. */
  readonly room: number;
  /** Whether no tensor follows in the file. */
  readonly isLast: boolean;
}

/** The content of a header. */
export interface GgufHeader {
  readonly version: number;
  readonly values: ReadonlyMap<string, GgufValue>;
  readonly tensors: readonly GgufTensor[];
  readonly alignment: number;
}

/** Signals that the bytes read so far end within the header. */
class MoreBytes extends Error {}

/** Texts of tokens are not always valid UTF-8. */
const TEXT = new TextDecoder("utf-8");
const STRICT_TEXT = new TextDecoder("utf-8", { fatal: true });

/** Reads values from the first bytes of a file. */
class Reader {
  at = 0;
  readonly #bytes: Uint8Array<ArrayBuffer>;
  readonly #view: DataView;

  constructor(bytes: Uint8Array<ArrayBuffer>, readonly fileSize: number, readonly subject: string) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /** The error for a field. */
  error(field: string, problem: string): TensorFileError {
    return new TensorFileError(problem, `${field} in ${this.subject}`);
  }

  /** Passes over bytes and returns the place of the first one. */
  take(length: number, field: string): number {
    const start = this.at;
    const end = start + length;
    if (end > this.fileSize) throw this.error(field, "is cut short");
    if (end > this.#bytes.length) throw new MoreBytes();
    this.at = end;
    return start;
  }

  uint32(field: string): number {
    return this.#view.getUint32(this.take(4, field), true);
  }

  uint64(field: string): bigint {
    return this.#view.getBigUint64(this.take(8, field), true);
  }

  /** A number of things that need at least some bytes each, which the rest of the file must have. */
  count(field: string, things: string, least: number): number {
    const start = this.take(8, field);
    const left = this.fileSize - this.at;
    // A vocabulary has hundreds of thousands of lengths: numbers are faster than big integers, and
    // inexact ones are too large in any case.
    const count = this.#view.getUint32(start + 4, true) * 2 ** 32 +
      this.#view.getUint32(start, true);
    if (count * least <= left) return count;
    const exact = this.#view.getBigUint64(start, true);
    throw this.error(field, `has ${exact} ${things}, and ${left} bytes are left in the file`);
  }

  /** The bytes of a text. */
  textBytes(field: string, most: number): Uint8Array<ArrayBuffer> {
    const length = this.count(field, "bytes", 1);
    if (length > most) throw this.error(field, `has ${length} bytes: the maximum is ${most}`);
    const start = this.take(length, field);
    return this.#bytes.subarray(start, start + length);
  }

  /** A name, which must be valid UTF-8. */
  name(field: string): string {
    const bytes = this.textBytes(field, MAX_NAME);
    try {
      return STRICT_TEXT.decode(bytes);
    } catch {
      throw this.error(field, "has a name that is not UTF-8");
    }
  }

  type(field: string): ValueType {
    const id = this.uint32(field);
    const [type] = TYPES[id] ?? [];
    if (type !== undefined) return type;
    throw this.error(field, `has the type ${id}, which must be in 0..${TYPES.length - 1}`);
  }

  value(type: ValueType, field: string, depth = 0): GgufValue {
    const view = this.#view;
    const { bytes: size } = sizeOf(type);
    if (type === "string") return TEXT.decode(this.textBytes(field, MAX_HEADER));
    if (type === "array") return this.array(field, depth);
    const at = this.take(size, field);
    switch (type) {
      case "uint8":
        return view.getUint8(at);
      case "int8":
        return view.getInt8(at);
      case "uint16":
        return view.getUint16(at, true);
      case "int16":
        return view.getInt16(at, true);
      case "uint32":
        return view.getUint32(at, true);
      case "int32":
        return view.getInt32(at, true);
      case "float32":
        return view.getFloat32(at, true);
      case "bool":
        return view.getUint8(at) !== 0;
      case "uint64":
        return view.getBigUint64(at, true);
      case "int64":
        return view.getBigInt64(at, true);
      case "float64":
        return view.getFloat64(at, true);
    }
  }

  /** Passes over an array. */
  array(field: string, depth: number): GgufArray {
    if (depth === MAX_DEPTH) throw this.error(field, `has arrays more than ${MAX_DEPTH} deep`);
    const type = this.type(field);
    const { bytes: size, least } = sizeOf(type);
    const length = this.count(field, "elements", least);
    const start = this.at;
    if (size > 0) {
      this.take(length * size, field);
    } else {
      for (let index = 0; index < length; index++) {
        if (type === "array") this.array(field, depth + 1);
        else this.textBytes(field, MAX_HEADER);
      }
    }
    return new GgufArray(type, length, this.#bytes.subarray(start, this.at));
  }
}

/** The bytes of a value of fixed size, otherwise 0, and the least number of bytes of a value. */
function sizeOf(type: ValueType): { readonly bytes: number; readonly least: number } {
  const [, bytes] = TYPES.find(([name]) => name === type)!;
  // A text has its length, an array also its type.
  return { bytes, least: bytes || (type === "string" ? 8 : 12) };
}

/** An array of a header, as bytes. */
export class GgufArray {
  readonly #bytes: Uint8Array<ArrayBuffer>;

  constructor(
    readonly type: ValueType,
    readonly length: number,
    bytes: Uint8Array<ArrayBuffer>,
  ) {
    this.#bytes = bytes;
  }

  /** The elements. */
  values(): GgufValue[] {
    const reader = this.#reader();
    return Array.from({ length: this.length }, () => reader.value(this.type, "an element"));
  }

  /** The index of a text in an array of texts, without decoding others; -1 if it is not there. */
  indexOfText(text: string): number {
    const sought = new TextEncoder().encode(text);
    const reader = this.#reader();
    for (let index = 0; index < this.length; index++) {
      const bytes = reader.textBytes("an element", MAX_HEADER);
      const isEqual = bytes.length === sought.length && bytes.every((it, at) => it === sought[at]);
      if (isEqual) return index;
    }
    return -1;
  }

  #reader(): Reader {
    return new Reader(this.#bytes, this.#bytes.length, "an array");
  }
}

/**
 * Reads the header of a GGUF file.
 *
 * @throws {TensorFileError} If it is malformed, cut short or contradicts the size of the file.
 */
export async function readGgufHeader(file: SourceFile): Promise<GgufHeader> {
  for (let size = FIRST_READ;; size *= 2) {
    const bytes = await file.bytes(0, Math.min(size, file.size));
    try {
      return parseGgufHeader(bytes, file.size, file.path);
    } catch (error) {
      if (!(error instanceof MoreBytes)) throw error;
      if (size < MAX_HEADER) continue;
      throw new TensorFileError(`has a header of more than ${MAX_HEADER} bytes`, file.path);
    }
  }
}

/** Reads the header in the first bytes of a file. */
function parseGgufHeader(
  bytes: Uint8Array<ArrayBuffer>,
  fileSize: number,
  subject: string,
): GgufHeader {
  const reader = new Reader(bytes, fileSize, subject);
  if (reader.uint32("the magic number") !== 0x46554747) {
    throw reader.error("the magic number", 'is not "GGUF"');
  }
  const version = reader.uint32("the version");
  if (version !== 2 && version !== 3) {
    const isSwapped = (version & 0xffff) === 0;
    throw reader.error(
      "the version",
      isSwapped ? "is in big-endian order, which is not supported" : `is ${version}, not 2 or 3`,
    );
  }
  // A tensor has at least a name of 1 byte, a count, an extent, a type and an offset; a key a value.
  const tensorCount = reader.count("the tensor count", "tensors", 33);
  const keyCount = reader.count("the key count", "keys", 14);
  const values = new Map<string, GgufValue>();
  for (let index = 0; index < keyCount; index++) {
    const key = reader.name(`key ${index}`);
    const field = JSON.stringify(key);
    if (values.has(key)) throw reader.error(field, "is there twice");
    values.set(key, reader.value(reader.type(field), field));
  }
  const alignment = values.get("general.alignment") ?? 32;
  const isAlignment = typeof alignment === "number" && alignment >= 1 &&
    alignment <= MAX_ALIGNMENT && Number.isInteger(Math.log2(alignment));
  if (!isAlignment) {
    const problem = `is ${describe(alignment)}, which must be a power of two up to 2^20`;
    throw reader.error('"general.alignment"', problem);
  }
  const infos = readInfos(reader, tensorCount, alignment);
  const dataStart = Math.ceil(reader.at / alignment) * alignment;
  return { version, values, alignment, tensors: placed(infos, dataStart, fileSize, subject) };
}

/** Reads the table of tensors, with offsets from the beginning of the data. */
function readInfos(reader: Reader, count: number, alignment: number): GgufTensor[] {
  const names = new Set<string>();
  const infos: GgufTensor[] = [];
  for (let index = 0; index < count; index++) {
    const name = reader.name(`tensor ${index}`);
    const field = JSON.stringify(name);
    if (names.has(name)) throw reader.error(field, "is there twice");
    names.add(name);
    const dimensions = reader.uint32(field);
    if (dimensions < 1 || dimensions > MAX_DIMENSIONS) {
      throw reader.error(field, `has ${dimensions} dimensions, not 1..${MAX_DIMENSIONS}`);
    }
    const extents = Array.from({ length: dimensions }, () => reader.uint64(field));
    const elements = extents.reduce((product, extent) => product * extent, 1n);
    if (elements < 1n || elements > BigInt(Number.MAX_SAFE_INTEGER)) {
      throw reader.error(field, `has a shape of ${elements} elements, not 1..2^53-1`);
    }
    const type = reader.uint32(field);
    const offset = reader.uint64(field);
    if (offset % BigInt(alignment) !== 0n) {
      throw reader.error(field, `begins at ${offset}, which must be a multiple of ${alignment}`);
    }
    if (offset > BigInt(reader.fileSize)) {
      throw reader.error(field, `begins at ${offset}, and the file has ${reader.fileSize} bytes`);
    }
    const shape = extents.reverse().map(Number);
    infos.push({ name, shape, type, offset: Number(offset), room: 0, isLast: false });
  }
  return infos;
}

/** Tensors with their places in the file, and the room that the next one leaves. */
function placed(
  infos: readonly GgufTensor[],
  dataStart: number,
  fileSize: number,
  subject: string,
): GgufTensor[] {
  const sorted = infos.toSorted((a, b) => a.offset - b.offset);
  const rooms = new Map<GgufTensor, number>();
  sorted.forEach((info, index) => {
    const next = sorted[index + 1];
    const end = next === undefined ? fileSize - dataStart : next.offset;
    if (end <= info.offset) {
      throw new TensorFileError(
        next === undefined
          ? `begins at byte ${dataStart + info.offset}, and the file has ${fileSize} bytes`
          : `begins where ${JSON.stringify(next.name)} does`,
        entrySubject(info.name, subject),
      );
    }
    rooms.set(info, end - info.offset);
  });
  return infos.map((info) => ({
    ...info,
    offset: dataStart + info.offset,
    room: rooms.get(info)!,
    isLast: info === sorted.at(-1),
  }));
}

/** A value in messages. */
export function describe(value: GgufValue): string {
  return value instanceof GgufArray ? `an array of ${value.length}` : describeValue(value);
}
