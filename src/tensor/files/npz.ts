/**
 * Archives of tensors: the `.npz` files of NumPy, which are zip files of `.npy` files.
 *
 * The library for zip files is imported on first use.
 *
 * @module
 */

import type { FileEntry } from "@zip.js/zip.js";
import { requireObject } from "../../ffi/arguments.ts";
import { namedFile, openNamedFile } from "../../launch/module/named_file.ts";
import type { DType } from "../../memory/dtype.ts";
import type { CreationOptions } from "../creation.ts";
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

const ZIP = { useWebWorkers: false, strictness: "strict" } as const;

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
  const arrays = new Map<string, FileArray>();
  const sound = async <Result>(part: string, f: () => Promise<Result>) => {
    try {
      return await namingFile(part, f);
    } catch (cause) {
      if (cause instanceof TensorFileError || !(cause instanceof Error)) throw cause;
      throw new TensorFileError(`is no sound zip file: ${cause.message}`, part, { cause });
    }
  };
  const reader = new ZipReader(new Uint8ArrayReader(bytes), ZIP);
  for (const entry of await sound(subject, () => reader.getEntries())) {
    if (entry.directory) continue;
    const name = entry.filename.replace(/\.npy$/, "");
    const part = entrySubject(name, subject);
    if (arrays.has(name)) throw new TensorFileError("is in the archive twice", part);
    arrays.set(
      name,
      await sound(part, async () => typedArrayIn(readNpy(await inflate(entry)), dtype)),
    );
  }
  return [...arrays];
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
 * ```ts ignore
 * import { loadNpz, saveNpz, tensor } from "@gridstride/cuda/tensor";
 *
 * using x = tensor([1, 2, 3]);
 * await saveNpz("xy.npz", { x, y: x.square() });
 * const { y } = await loadNpz("xy.npz");
 * ```
 * @category Files of tensors
 */
export async function loadNpz(
  source: string | URL | Uint8Array,
  options: CreationOptions = {},
): Promise<Record<string, Tensor<DType>>> {
  const action = "load an .npz file";
  requireObject(options, "options", action);
  const { bytes, subject } = await readSource(source, action);
  return await uploadArrays(subject, await readNpz(bytes, options.dtype, subject), options);
}

/**
 * Saves tensors as an archive that `numpy.load()` reads. Equal tensors give equal bytes.
 *
 * @param path The file, which is replaced.
 * @param tensors The tensors by name.
 * @param options `compress` deflates the elements, as `numpy.savez_compressed()` does; without it
 * they are stored.
 * @throws {CudaError} If earlier work failed.
 * @category Files of tensors
 */
export async function saveNpz(
  path: string | URL,
  tensors: Readonly<Record<string, Tensor<DType>>>,
  options: { readonly compress?: boolean } = {},
): Promise<void> {
  const action = "save an .npz file";
  requireObject(options, "options", action);
  const named = requireTensors(tensors, action);
  const { Uint8ArrayReader, ZipWriter } = await import("@zip.js/zip.js");
  using file = await openNamedFile(namedFile(path, action), action);
  const writer = new ZipWriter(file.writable, {
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
}
