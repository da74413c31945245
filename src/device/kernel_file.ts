/**
 * Kernel sources in files, with the headers that they include.
 *
 * Compilers see no file that they are not given, so that the compile cache knows everything that the
 * machine code depends on. The headers are therefore looked up here.
 *
 * @module
 */

import { dirname, isAbsolute, join, relative, resolve } from "node:path";
import { requireObject } from "../ffi/arguments.ts";
import { describeValue } from "../ffi/describe_value.ts";
import { includeDirectives } from "../launch/compile/include_directives.ts";
import type { CompileSettings } from "../launch/compile_options.ts";
import { textOf } from "../launch/compile/readable_files.ts";
import { isHostHeader } from "../launch/source/host_names.ts";
import { type NamedFile, namedFile, readNamedText } from "./named_file.ts";

/** Options of {@linkcode readKernelFile}. */
export interface KernelFileOptions {
  /** Directories in which headers are looked for, besides that of what includes them. */
  readonly include?: readonly string[];
}

/** A source from a file, and what it includes: what `device.compile()` takes. */
export interface KernelFile {
  /** The file's name, as diagnostics call it. */
  readonly name: string;
  /** The file's text. */
  readonly source: string;
  /**
   * The texts of headers, by their paths from the directory that they were found in or below. What
   * was found nowhere, or has no such path, is left to the compiler.
   */
  readonly headers: Readonly<Record<string, string>>;
}

/** A file of the program's. */
interface ProgramFile {
  readonly path: string;
  /** The directory that its name is relative to. */
  readonly root: string;
  readonly name: string;
  readonly text: string;
}

/** More than any source includes. */
const MOST_HEADERS = 4096;

const ACTION = "read a kernel's file";

/**
 * Reads a source and the headers that it includes: beside what includes them, and in directories.
 *
 * Conditions are not looked at: a header that only some macro brings in is read too. Of headers
 * that may not be read, or that are the system's or CUDA's, the compiler has its own or says which
 * line misses them.
 *
 * @throws {Deno.errors.NotFound | Deno.errors.NotCapable} If the file is not there, or may not be
 * read.
 * @throws {TypeError} If the path or an option is none, or two headers have one name.
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
 */
export async function readKernelFile(
  path: string | URL,
  options: KernelFileOptions = {},
): Promise<KernelFile> {
  requireObject(options, "options", ACTION);
  const directories = checkedDirectories(options.include ?? []);
  return await readNamedKernel(namedFile(path, ACTION), ACTION, directories);
}

/**
 * Reads a source whose name has been checked.
 *
 * @param action What the caller is doing, as error messages say it.
 */
export async function readNamedKernel(
  file: NamedFile,
  action: string,
  directories: readonly string[] = [],
): Promise<KernelFile> {
  const source = await readNamedText(file, action);
  const path = resolve(file.path);
  const root = dirname(path);
  const roots = [root, ...directories.map((directory) => resolve(directory))];
  const headers = await headersOf({ path, root, name: file.name, text: source }, roots, action);
  return { name: file.name, source, headers };
}

/** The headers of a compilation: what its options give goes before what was found. */
export function withFileHeaders(
  { headers }: CompileSettings,
  found: KernelFile["headers"],
): ReadonlyMap<string, string> {
  return new Map([...Object.entries(found), ...headers]);
}

function checkedDirectories(directories: unknown): readonly string[] {
  const isList = Array.isArray(directories) &&
    directories.every((directory) => typeof directory === "string" && directory !== "");
  if (isList) return directories as string[];
  throw new TypeError(
    `Cannot ${ACTION} as options.include must be an array of paths: it is ` +
      describeValue(directories),
  );
}

async function headersOf(
  source: ProgramFile,
  roots: readonly string[],
  action: string,
): Promise<Record<string, string>> {
  const found = new Map<string, ProgramFile>();
  const waiting = [source];
  for (let from = waiting.pop(); from !== undefined; from = waiting.pop()) {
    for (const { name } of includeDirectives(from.text)) {
      const header = await findHeader(name, from, roots);
      if (header === undefined) continue;
      const known = found.get(header.name);
      if (known?.path === header.path) continue;
      if (known !== undefined) {
        throw new TypeError(
          `Cannot ${action} as one name of a header must mean one file: "${header.name}" is ` +
            `${known.path} and ${header.path}`,
        );
      }
      if (found.size === MOST_HEADERS) {
        throw new TypeError(
          `Cannot ${action} as ${source.name} must include at most ${MOST_HEADERS} headers`,
        );
      }
      found.set(header.name, header);
      waiting.push(header);
    }
  }
  return Object.fromEntries([...found].map(([name, { text }]) => [name, text]));
}

/** The header that a line means: beside the file that it is in, else in the first root with one. */
async function findHeader(
  name: string,
  from: ProgramFile,
  roots: readonly string[],
): Promise<ProgramFile | undefined> {
  // What only hosts have is left out of the source; its text would bring it back.
  if (isAbsolute(name) || isHostHeader(name)) return undefined;
  const places = [
    { root: from.root, path: join(dirname(from.path), name) },
    ...roots.map((root) => ({ root, path: join(root, name) })),
  ];
  for (const { root, path } of places) {
    const named = relative(root, path);
    // The compiler gets headers below a directory, by their paths in there.
    if (named.startsWith("..") || isAbsolute(named)) continue;
    const text = await textOf(path);
    if (text !== undefined) return { path, root, name: named, text };
  }
  return undefined;
}
