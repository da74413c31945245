/**
 * What has to be compiled for a library and under which names the objects are kept. The name of an
 * object is a digest of everything that decides its content, so that an object that is there is
 * right, whoever made it and whenever.
 *
 * @module
 */

import { basename, join } from "node:path";
import { digest, isCompiled, libraryFiles } from "./source_tree.ts";
import type { Toolchain } from "./toolchain.ts";

/** The file that is compiled with the build record: the one that reports it. */
const RECORD_SOURCE = "csrc/shim/abi.cu";

/** One source to compile. */
export interface CompileStep {
  /** The source, relative to the folder of `csrc/`. */
  readonly source: string;
  /** The object file. */
  readonly object: string;
  /** The header to include first. */
  readonly prefix?: string;
}

/** A library or program to build. */
export interface BuildPlan {
  /** What it is built with. */
  readonly toolchain: Toolchain;
  /** What messages call it, such as "host library". */
  readonly title: string;
  /** The file. */
  readonly output: string;
  /** A digest of everything that decides its content. */
  readonly key: string;
  /** The directory of the object files. */
  readonly objects: string;
  /** One step for each source. */
  readonly steps: readonly CompileStep[];
  /** A header to write before anything is compiled, and its text. */
  readonly header?: { readonly path: string; readonly text: string };
}

/** A library to build. */
export interface LibraryPlan extends BuildPlan {
  /** A digest of its sources, as the library reports it. */
  readonly sourceHash: string;
}

/** A C string literal. */
function quote(text: string): string {
  return JSON.stringify(text).replaceAll("?", "\\?");
}

/** The header that tells `csrc/shim/abi.cu` how the library is built. */
export function buildRecordHeader(toolchain: Toolchain, sourceHash: string): string {
  // nvcc hands -D to its C++ compiler through a shell, which takes the quotes of a string off.
  const definitions = {
    GS_BUILD_COMPILER: toolchain.compiler,
    GS_BUILD_ARCHITECTURES: toolchain.architectures,
    GS_BUILD_SOURCE_HASH: sourceHash,
    GS_BUILD_FLAGS: toolchain.flags.join(" "),
  };
  const lines = Object.entries(definitions)
    .map(([name, value]) => `#define ${name} ${quote(value)}\n`);
  return lines.join("");
}

/**
 * Plans a library.
 *
 * @param digests The digest of every source and header, by its name.
 * @param objects The directory of the object files.
 * @param library The library file.
 */
export function planLibrary(
  toolchain: Toolchain,
  digests: ReadonlyMap<string, string>,
  objects: string,
  library: string,
): LibraryPlan {
  const files = libraryFiles([...digests.keys()], toolchain.kind).sort();
  const parts = (selected: readonly string[]) =>
    selected.flatMap((file) => [file, digests.get(file)!]);
  const sourceHash = digest(...parts(files));
  const headers = digest(...parts(files.filter((file) => !isCompiled(file))));
  const recordText = buildRecordHeader(toolchain, sourceHash);
  const record = join(objects, `build_record-${digest(recordText).slice(0, 16)}.h`);
  const steps = files.filter(isCompiled).map((source): CompileStep => {
    const reports = source === RECORD_SOURCE;
    const key = digest(
      toolchain.identity,
      ...toolchain.compileArguments(source, "", reports ? recordText : undefined)
        .filter((argument) => !argument.startsWith("--threads=")),
      headers,
      digests.get(source)!,
    );
    const name = source.replace(/^csrc\//, "").replaceAll("/", "_");
    const object = join(objects, `${name}-${key.slice(0, 16)}.o`);
    return reports ? { source, object, prefix: record } : { source, object };
  });
  const names = steps.map(({ object }) => basename(object));
  const key = digest(
    toolchain.identity,
    ...toolchain.linkArguments(names, "", basename(library)),
  );
  return {
    toolchain,
    title: `${toolchain.kind} library`,
    output: library,
    key,
    objects,
    steps,
    header: { path: record, text: recordText },
    sourceHash,
  };
}
