/**
 * Archives of tensors: the `.npz` files of NumPy, which are zip files of `.npy` files.
 *
 * The library for zip files is imported on first use.
 *
 * @module
 */

import type { FileEntry } from "@zip.js/zip.js";
import { cannot, requireOptions } from "../../ffi/arguments.ts";
import { describeValue } from "../../ffi/describe_value.ts";
import { namedFile, writeNamed } from "../../launch/module/named_file.ts";
import type { DType } from "../../memory/dtype.ts";
import { CREATION_NAMES, type CreationOptions } from "../creation.ts";
import type { Tensor } from "../tensor.ts";
import { npyBytesOf, npyFileSize, readNpy, typedArrayIn } from "./npy.ts";
import {
  entrySubject,
  type FileArray,
  namingFile,
  readSource,
  requireTensors,
  TensorFileError,
  uploadArrays,
} from "./tensor_file.ts";

/** Names of arrays are no paths of files, so all that NumPy writes are harmless. */
const ZIP = {
  useWebWorkers: false,
  strictness: "strict",
  filenameValidation: "tolerant",
} as const;

/** The longest name of an entry in bytes. */
const MAX_NAME = 2 ** 16 - 1;

/** Bytes that are inflated before the entry's own header is examined. */
const FIRST = 2 ** 20;
/** No data compress better with deflate: 258 bytes to 2 bits. */
const MAX_RATIO = 1032;

/** Inflates an entry, beyond the first part only if its own header declares as much. */
async function inflate(entry: FileEntry): Promise<Uint8Array<ArrayBuffer>> {
  const { compressedSize, uncompressedSize: size } = entry;
  let file = new Uint8Array(Math.min(size, FIRST));
  let length = 0;
  const write = (part: Uint8Array) => {
    const room = file.length - length;
    file.set(part.subarray(0, room), length);
    length += part.length;
    if (part.length <= room) return;
    const declared = npyFileSize(file);
    if (declared !== BigInt(size) || size > MAX_RATIO * compressedSize || length > size) {
      throw new TensorFileError(
        `would inflate ${compressedSize} bytes to ${size}: its header declares ${declared}`,
      );
    }
    const start = file;
    file = new Uint8Array(size);
    file.set(start);
    file.set(part.subarray(room), start.length);
  };
  await entry.getData(new WritableStream({ write }), { ...ZIP, checkCrc32: true });
  return file;
}

/** The arrays in an archive, by the names of the entries without `.npy`. */
async function readNpz(
  bytes: Uint8Array<ArrayBuffer>,
  dtype: DType | undefined,
  subject: string,
): Promise<[string, FileArray][]> {
  const { Uint8ArrayReader, ZipReader } = await import("@zip.js/zip.js");
  const sound = async <Result>(part: string, f: () => Promise<Result>) => {
    try {
      return await namingFile(part, f);
    } catch (cause) {
      if (cause instanceof TensorFileError || !(cause instanceof Error)) throw cause;
      const { message, reason } = cause as Error & { readonly reason?: string };
      const problem = reason === undefined ? message : `${message} (${reason})`;
      throw new TensorFileError(`is no sound zip file: ${problem}`, part, { cause });
    }
  };
  const reader = new ZipReader(new Uint8ArrayReader(bytes), ZIP);
  const entries = new Map<string, FileEntry>();
  await sound(subject, async () => {
    for await (const entry of reader.getEntriesGenerator()) {
      if (entry.directory) continue;
      const name = entry.filename.replace(/\.npy$/, "");
      if (entries.has(name)) {
        throw new TensorFileError(`has ${JSON.stringify(name)} twice`);
      }
      entries.set(name, entry);
    }
  });
  const arrays: [string, FileArray][] = [];
  for (const [name, entry] of entries) {
    const load = async () => typedArrayIn(readNpy(await inflate(entry)), dtype);
    arrays.push([name, await sound(entrySubject(name, subject), load)]);
  }
  return arrays;
}

/**
 * Loads all tensors of an archive of NumPy's `numpy.savez()` or `numpy.savez_compressed()`.
 *
 * Checksums are verified. An entry that inflates beyond the size in its own header is refused, so a
 * small archive cannot fill the memory unnoticed.
 *
 * @param source A path, the URL of a file, or the bytes of the file.
 * @param options The place of the tensors; `dtype` as for {@linkcode loadNpy}, for all entries.
 * @returns The tensors by name.
 * @throws {TensorFileError} If the archive or one of its arrays is malformed or cut short.
 * @throws {Deno.errors.NotFound} If there is no such file, and other errors of the file system.
 *
 * @example
 * ```ts
 * import { loadNpz, saveNpz, tensor } from "@gridstride/cuda/tensor";
 *
 * const path = await Deno.makeTempFile({ suffix: ".npz" });
 * await saveNpz(path, { x: tensor([1, 2]), y: tensor([3]) });
 * const { x, y } = await loadNpz(path);
 * console.log(await x!.toNested(), await y!.toNested()); // [ 1, 2 ] [ 3 ]
 * ```
 * @category Files of tensors
 */
export async function loadNpz(
  source: string | URL | Uint8Array,
  options: CreationOptions = {},
): Promise<Record<string, Tensor<DType>>> {
  const action = "load an .npz file";
  requireOptions(options, CREATION_NAMES, action);
  const { bytes, subject } = await readSource(source, action);
  return await uploadArrays(subject, await readNpz(bytes, options.dtype, subject), options);
}

function requireName(name: string, action: string): void {
  const { length } = new TextEncoder().encode(`${name}.npy`);
  const problem = length > MAX_NAME
    ? `have at most ${MAX_NAME - 4} bytes: it has ${length - 4}`
    : name.includes("\0")
    ? "have no NUL, which would end it in Python: it has one"
    : name.isWellFormed()
    ? undefined
    : "be well-formed Unicode: it has half of a surrogate pair";
  if (problem === undefined) return;
  throw new RangeError(
    `${cannot(action)} as the name ${describeValue(name.slice(0, 40))} must ${problem}`,
  );
}

/**
 * Saves tensors as an archive that `numpy.load()` reads. Equal tensors give equal bytes.
 *
 * @param path The file, which is replaced once all is written: if that fails, an earlier file stays as
 * it was.
 * @param tensors The tensors by name.
 * @param options `compress` deflates the elements, as `numpy.savez_compressed()` does; without it
 * they are stored.
 * @throws {RangeError} If a name cannot be in an archive: it is too long, has a character NUL, or half
 * of a surrogate pair.
 * @throws {CudaError} If earlier work failed.
 *
 * @example
 * ```ts
 * import { saveNpz, tensor } from "@gridstride/cuda/tensor";
 *
 * const path = await Deno.makeTempFile({ suffix: ".npz" });
 * await saveNpz(path, { x: tensor([1, 2]), y: tensor([3]) }, { compress: true });
 * ```
 * @category Files of tensors
 */
export async function saveNpz(
  path: string | URL,
  tensors: Readonly<Record<string, Tensor<DType>>>,
  options: { readonly compress?: boolean } = {},
): Promise<void> {
  const action = "save an .npz file";
  requireOptions(options, ["compress"], action);
  const named = requireTensors(tensors, action);
  for (const [name] of named) requireName(name, action);
  const { Uint8ArrayReader, ZipWriter } = await import("@zip.js/zip.js");
  await writeNamed(namedFile(path, action), action, async (write) => {
    const writer = new ZipWriter(new WritableStream({ write }), {
      useWebWorkers: false,
      level: options.compress === true ? 6 : 0,
      // The earliest date of the format, so that the bytes depend on the tensors only.
      lastModDate: new Date(1980, 0, 1),
      extendedTimestamp: false,
    });
    for (const [name, tensor] of named) {
      await writer.add(`${name}.npy`, new Uint8ArrayReader(await npyBytesOf(tensor)));
    }
    await writer.close();
  });
}
