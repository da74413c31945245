/**
 * Tensors in the safetensors format: a header in JSON, then the elements of all tensors in row-major
 * order without gaps.
 *
 * @module
 */

import { cannot, refuseOption, requireOptions } from "../../ffi/arguments.ts";
import { describeValue } from "../../ffi/describe_value.ts";
import { namedFile, writeNamed } from "../../launch/module/named_file.ts";
import { bytesPerElement, type DType, DTYPES } from "../../memory/dtype.ts";
import type { CreationOptions } from "../creation.ts";
import type { Tensor } from "../tensor.ts";
import {
  bytesOf,
  entrySubject,
  type FileArray,
  isSize,
  neededBytes,
  readSource,
  requireTensors,
  TensorFileError,
  uploadArrays,
} from "./tensor_file.ts";

/** The format's name of an element type: `F8_E4M3` for `float8_e4m3`. */
export function safetensorsName(dtype: DType): string {
  return dtype.replace("float", "F").replace("uint", "U").replace("int", "I").toUpperCase();
}

/** Bytes of the header's length, which the file begins with. */
export const PREFIX = 8;
/** Bytes of the largest header: the limit of the format's own library. */
const MAX_HEADER = 100_000_000;
const METADATA = "__metadata__";

/** The place of an array after the header. */
export interface PlacedArray extends Omit<FileArray, "bytes"> {
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isTexts(value: unknown): value is Record<string, string> {
  return isRecord(value) && Object.values(value).every((text) => typeof text === "string");
}

/**
 * A key that an object in a JSON text has twice: `JSON.parse()` would take the last one.
 *
 * @param json A valid text.
 */
function repeatedKey(json: string): string | undefined {
  const objects: Set<string>[] = [];
  for (let position = 0; position < json.length; position++) {
    if (json[position] === "{") objects.push(new Set());
    else if (json[position] === "}") objects.pop();
    if (json[position] !== '"') continue;
    const begin = position++;
    while (json[position] !== '"') position += json[position] === "\\" ? 2 : 1;
    let next = position + 1;
    while (" \t\n\r".includes(json[next] ?? "x")) next++;
    if (json[next] !== ":") continue;
    const key: string = JSON.parse(json.slice(begin, position + 1));
    if (objects.at(-1)!.has(key)) return key;
    objects.at(-1)!.add(key);
  }
  return undefined;
}

/**
 * The length of the header, which must fit into the file.
 *
 * @param prefix The first bytes of the file.
 * @param fileBytes The length of the file.
 */
export function headerLength(
  prefix: Uint8Array<ArrayBuffer>,
  fileBytes: number,
  subject: string,
): number {
  const isShort = () => new TensorFileError("is cut short in its header", subject);
  if (fileBytes < PREFIX) throw isShort();
  const length = new DataView(prefix.buffer, prefix.byteOffset).getBigUint64(0, true);
  if (length > MAX_HEADER) {
    const problem = `would have a header of ${length} bytes: the maximum is ${MAX_HEADER}`;
    throw new TensorFileError(problem, subject);
  }
  if (fileBytes < PREFIX + Number(length)) throw isShort();
  return Number(length);
}

/** The header as an object. */
function parsedHeader(bytes: Uint8Array<ArrayBuffer>, subject: string): Record<string, unknown> {
  let text: string;
  let header: unknown;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    header = JSON.parse(text);
  } catch (cause) {
    throw new TensorFileError("has a header that is not JSON", subject, { cause });
  }
  const repeated = repeatedKey(text);
  if (repeated !== undefined) {
    throw new TensorFileError(`has ${JSON.stringify(repeated)} twice in its header`, subject);
  }
  if (!isRecord(header)) throw new TensorFileError("has a header that is no object", subject);
  return header;
}

/** Checks the entry of a tensor in the header. */
function placedArray(
  name: string,
  entry: unknown,
  subject: string,
): PlacedArray {
  const part = entrySubject(name, subject);
  const { dtype: type, shape, data_offsets: offsets } = Object(entry);
  const dtype = DTYPES.find((candidate) => safetensorsName(candidate) === type);
  if (dtype === undefined) {
    const known = DTYPES.map(safetensorsName).join(", ");
    throw new TensorFileError(`has elements of type ${describeValue(type)}, not ${known}`, part);
  }
  if (!Array.isArray(shape) || !shape.every(isSize)) {
    throw new TensorFileError("has no shape of integers from 0 to 2^53-1", part);
  }
  const [start, end, ...rest]: unknown[] = Array.isArray(offsets) ? offsets : [];
  if (!isSize(start) || !isSize(end) || start > end || rest.length > 0) {
    throw new TensorFileError("has no data_offsets of two integers in order", part);
  }
  const needed = neededBytes(shape, bytesPerElement(dtype));
  if (needed === BigInt(end - start)) {
    return { name, dtype, shape, start, end };
  }
  const extents = shape.join(", ");
  const problem = `has a shape (${extents}) that needs ${needed} bytes, and ${end - start} of data`;
  throw new TensorFileError(problem, part);
}

/**
 * The places of the arrays, in order, and the metadata.
 *
 * @param bytes The header.
 * @param dataBytes The bytes of the file after it, which the arrays must fill.
 */
export function readHeader(
  bytes: Uint8Array<ArrayBuffer>,
  dataBytes: number,
  subject: string,
): { readonly placed: readonly PlacedArray[]; readonly metadata: Record<string, string> } {
  const { [METADATA]: metadata = {}, ...entries } = parsedHeader(bytes, subject);
  if (!isTexts(metadata)) {
    throw new TensorFileError(`has ${METADATA} that is no object of texts`, subject);
  }
  const placed = Object.entries(entries).map(([name, entry]) => placedArray(name, entry, subject))
    .sort((a, b) => a.start - b.start || a.end - b.end);
  let offset = 0;
  for (const { name, start, end } of placed) {
    if (start !== offset) {
      const problem = start < offset ? "overlaps the tensor before it" : "follows a gap";
      throw new TensorFileError(
        `${problem}: it begins at byte ${start}, and the tensors before it end offset ${offset}`,
        entrySubject(name, subject),
      );
    }
    offset = end;
  }
  if (offset !== dataBytes) {
    const problem = offset > dataBytes ? "is cut short" : "is too long";
    throw new TensorFileError(
      `${problem}: the tensors need ${offset} bytes, and there are ${dataBytes}`,
      subject,
    );
  }
  return { placed, metadata };
}

/** The arrays and the metadata in a file. */
function readSafetensors(bytes: Uint8Array<ArrayBuffer>, subject: string) {
  const length = headerLength(bytes, bytes.length, subject);
  const data = bytes.subarray(PREFIX + length);
  const header = bytes.subarray(PREFIX, PREFIX + length);
  const { placed, metadata } = readHeader(header, data.length, subject);
  const arrays = placed.map((array) => {
    const bytes = data.subarray(array.start, array.end);
    return [array.name, { ...array, bytes }] as const;
  });
  return { arrays, metadata };
}

/**
 * Loads all tensors of a safetensors file.
 *
 * @param source A path, the URL of a file, or the bytes of the file.
 * @param options The place of the tensors.
 * @returns The tensors by name, in the order of the file, and the file's own texts.
 * @throws {TensorFileError} If the file is malformed or cut short, tensors overlap or leave gaps, or an
 * element type is not supported.
 * @throws {Deno.errors.NotFound} If there is no such file, and other errors of the file system.
 *
 * @example
 * ```ts
 * import { loadSafetensors, saveSafetensors, tensor } from "@gridstride/cuda/tensor";
 *
 * const path = await Deno.makeTempFile({ suffix: ".safetensors" });
 * await saveSafetensors(path, { weight: tensor([1, 2]) }, { metadata: { epoch: "3" } });
 * const { tensors, metadata } = await loadSafetensors(path);
 * console.log(await tensors.weight!.toNested(), metadata.epoch); // [ 1, 2 ] 3
 * ```
 * @category Files of tensors
 */
export async function loadSafetensors(
  source: string | URL | Uint8Array,
  options: Omit<CreationOptions, "dtype"> = {},
): Promise<{
  readonly tensors: Record<string, Tensor<DType>>;
  readonly metadata: Readonly<Record<string, string>>;
}> {
  const action = "load a safetensors file";
  requireOptions(options, ["device", "stream"], action);
  const { bytes, subject } = await readSource(source, action);
  const { arrays, metadata } = readSafetensors(bytes, subject);
  return { tensors: await uploadArrays(subject, arrays, options), metadata };
}

/**
 * Saves tensors as a safetensors file. Tensors are downloaded and written one after the other.
 *
 * @param path The file, which is replaced once all is written: if that fails, an earlier file stays as
 * it was.
 * @param tensors The tensors by name.
 * @param options `metadata` are texts by name, such as the version of a model.
 * @throws {TypeError} If a value is no tensor, a text is none, or the reserved name `__metadata__` is
 * used.
 * @throws {CudaError} If earlier work failed.
 *
 * @example
 * ```ts
 * import { saveSafetensors, tensor } from "@gridstride/cuda/tensor";
 *
 * const path = await Deno.makeTempFile({ suffix: ".safetensors" });
 * await saveSafetensors(path, { weight: tensor([1, 2]) }, { metadata: { epoch: "3" } });
 * ```
 * @category Files of tensors
 */
export async function saveSafetensors(
  path: string | URL,
  tensors: Readonly<Record<string, Tensor<DType>>>,
  options: { readonly metadata?: Readonly<Record<string, string>> } = {},
): Promise<void> {
  const action = "save a safetensors file";
  requireOptions(options, ["metadata"], action);
  const { metadata } = options;
  const named = requireTensors(tensors, action);
  if (Object.hasOwn(tensors, METADATA)) {
    throw new TypeError(`${cannot(action)} as ${METADATA} must not name a tensor: it is reserved`);
  }
  if (metadata !== undefined && !isTexts(metadata)) {
    refuseOption(TypeError, action, "metadata", "an object of texts", metadata);
  }
  // The largest elements first, so that all are aligned.
  named.sort(([a, x], [b, y]) =>
    bytesPerElement(y.dtype) - bytesPerElement(x.dtype) || (a < b ? -1 : 1)
  );
  let offset = 0;
  const entries = named.map(([name, { dtype, shape, size }]) => {
    const start = offset;
    offset += size * bytesPerElement(dtype);
    return [name, { dtype: safetensorsName(dtype), shape, data_offsets: [start, offset] }];
  });
  const metadataEntries = metadata === undefined ? [] : [[METADATA, metadata]];
  const text = new TextEncoder().encode(
    JSON.stringify(Object.fromEntries([...metadataEntries, ...entries])),
  );
  const header = new Uint8Array(PREFIX + Math.ceil(text.length / PREFIX) * PREFIX).fill(0x20);
  header.set(text, PREFIX);
  new DataView(header.buffer).setBigUint64(0, BigInt(header.length - PREFIX), true);
  await writeNamed(namedFile(path, action), action, async (write) => {
    await write(header);
    for (const [, tensor] of named) await write(await bytesOf(tensor));
  });
}
