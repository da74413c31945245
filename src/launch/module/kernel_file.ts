/**
 * Reads kernel sources from files, with the headers that they include.
 *
 * The key of the compile cache must cover everything that the machine code depends on, so compilers
 * get the headers by their texts.
 *
 * @module
 */

import { dirname, isAbsolute, join, normalize, relative } from "node:path";
import { refuseOption, requireOptions } from "../../ffi/arguments.ts";
import { absolutePath } from "../../ffi/granted_environment.ts";
import { includedNames } from "../compile/includes.ts";
import { namesIn, textOf } from "../compile/files.ts";
import { SYSTEM_FOLDERS } from "../compile/host_diagnostics.ts";
import { isHostHeader } from "../source/host_names.ts";
import { type NamedFile, namedFile, readNamed } from "./named_file.ts";

interface IncludingText {
  readonly name: string;
  readonly text: string;
  /** The path; absent for a text without a file. */
  readonly path?: string;
  /** The directory of relative names. */
  readonly root?: string;
}

type ProgramFile = Required<IncludingText>;

const ACTION = "read a kernel's file";

/**
 * Reads a source and its headers, which are searched beside the including file and in directories.
 *
 * Conditions are not evaluated: a header that only some macro includes is read too. Headers of the
 * system and of CUDA, and headers that may not be read, are left to the compiler.
 *
 * @param path The source.
 * @param options.include Directories to search besides that of the including file.
 * @throws {Deno.errors.NotFound | Deno.errors.NotCapable} If the file is not there, or may not be
 * read.
 * @throws {TypeError} If the path or an option is invalid, or two headers have one name.
 *
 * @example
 * ```ts
 * import { openDevice, readKernelFile } from "@gridstride/cuda";
 *
 * const folder = await Deno.makeTempDir();
 * await Deno.writeTextFile(`${folder}/one.h`, "#define ONE 1");
 * await Deno.writeTextFile(
 *   `${folder}/set.cu`,
 *   '#include "one.h"\n__global__ void set(int* x) { *x = ONE; }',
 * );
 * const { source, ...file } = await readKernelFile(`${folder}/set.cu`);
 * using device = openDevice();
 * using module = await device.compile(source, { ...file, defines: { NDEBUG: true } });
 * console.log(module.name, module.kernelNames); // set.cu [ "set" ]
 * await Deno.remove(folder, { recursive: true });
 * ```
 * @category Launching kernels
 */
export async function readKernelFile(
  path: string | URL,
  options: { readonly include?: readonly string[] } = {},
): Promise<{
  /** The file's name, for diagnostics. */
  readonly name: string;
  /** The file's text. */
  readonly source: string;
  /**
   * The texts of headers, by their paths relative to the directory that was searched. Headers that
   * were not found are left to the compiler.
   */
  readonly headers: Readonly<Record<string, string>>;
}> {
  requireOptions(options, ["include"], ACTION);
  const include: unknown = options.include ?? [];
  if (!Array.isArray(include) || include.some((one) => typeof one !== "string" || one === "")) {
    refuseOption(TypeError, ACTION, "include", "an array of paths", include);
  }
  return await readNamedKernel(namedFile(path, ACTION), ACTION, include);
}

/** Reads a source by its checked name; `action` completes "Cannot …" in messages. */
export async function readNamedKernel(
  file: NamedFile,
  action: string,
  directories: readonly string[] = [],
): ReturnType<typeof readKernelFile> {
  const source = await readNamed(file, action, Deno.readTextFile);
  const path = absolutePath(file.path, action);
  const root = dirname(path);
  const roots = [root, ...directories.map((directory) => absolutePath(directory, action))];
  const headers = headersOf([{ path, root, name: file.name, text: source }], roots, action);
  return { name: file.name, source, headers };
}

/** Directories of the system, whose headers are not the program's. */
function isOfSystem(directory: string): boolean {
  if (SYSTEM_FOLDERS.some((folder) => `${directory}/`.startsWith(`${folder}/`))) return true;
  const names = namesIn(directory) ?? [];
  return names.includes("cuda_runtime.h") || ["cuda", "nv"].every((name) => names.includes(name));
}

/**
 * The headers of the program that a source includes from directories in its options, by their names
 * there; none if one name means several files, which only the compiler tells apart.
 *
 * @param headers The headers that are known by their texts.
 */
export function headersInDirectories(
  source: string,
  headers: ReadonlyMap<string, string>,
  directories: readonly string[],
): ReadonlyMap<string, string> {
  const roots = directories.filter((directory) => !isOfSystem(directory));
  if (roots.length === 0) return new Map();
  const known = [["", source] as const, ...headers].map(([name, text]) => ({ name, text }));
  try {
    return new Map(Object.entries(headersOf(known, roots, ACTION, headers)));
  } catch (error) {
    if (error instanceof TypeError) return new Map();
    throw error;
  }
}

function headersOf(
  sources: readonly IncludingText[],
  roots: readonly string[],
  action: string,
  known: ReadonlyMap<string, string> = new Map(),
): Record<string, string> {
  const found = new Map<string, ProgramFile>();
  const waiting = [...sources];
  for (let from = waiting.pop(); from !== undefined; from = waiting.pop()) {
    for (const included of includedNames(from.text)) {
      const name = included.slice(1, -1);
      if (known.has(normalize(name)) || known.has(join(dirname(from.name), name))) continue;
      const header = findHeader(name, from, roots);
      if (header === undefined) continue;
      const other = found.get(header.name);
      if (other?.path === header.path) continue;
      if (other !== undefined) {
        throw new TypeError(
          `Cannot ${action} as one name of a header must mean one file: "${header.name}" is ` +
            `${other.path} and ${header.path}`,
        );
      }
      found.set(header.name, header);
      waiting.push(header);
    }
  }
  return Object.fromEntries([...found].map(([name, { text }]) => [name, text]));
}

/** Finds a header: beside the including file, else in the first root that has it. */
function findHeader(
  name: string,
  from: IncludingText,
  roots: readonly string[],
): ProgramFile | undefined {
  // Headers for host code are blanked out of the source.
  if (isAbsolute(name) || isHostHeader(name)) return undefined;
  const beside = from.path === undefined
    ? []
    : [{ root: from.root!, path: join(dirname(from.path), name) }];
  for (
    const { root, path } of [...beside, ...roots.map((root) => ({ root, path: join(root, name) }))]
  ) {
    const text = textOf(path);
    // The compiler gets headers by their paths from a directory.
    if (text !== undefined) return { path, root, name: relative(root, path), text };
  }
  return undefined;
}
