/**
 * The last step of a build for the host device: the headers of the language, precompiled for the
 * kernels that are compiled at run time.
 *
 * @module
 */

import { isAbsolute, join } from "node:path";
import { install, installText, removeIfPresent, temporaryName } from "./atomic_install.ts";
import { fileStates, STATE_MODIFIED, STATE_SLOTS } from "../file_states.ts";
import type { BuildSettings } from "./build_settings.ts";
import { ambientSettings, NO_SEARCH_PATHS } from "./compiler_environment.ts";
import type { CppCompiler } from "./compilers.ts";
import { readDependencies } from "./dependency_rule.ts";
import { includedNames, isBelow, searchedDirectories, searchedNames } from "./header_names.ts";
import { KERNEL_HEADERS, kernelFlags } from "./host_toolchain.ts";
import {
  basisText,
  hasOwnerOf,
  parseRecord,
  type PreludeBasis,
  preludeDigest,
  preludeDirectory,
  type PreludeFiles,
  preludeFiles,
  type PreludeRecord,
  recordHolds,
  recordText,
} from "./prelude_record.ts";
import { type ProgramOutput, runProgram } from "./programs.ts";
import { secondsSince } from "./progress.ts";
import type { SourceTree } from "./source_tree.ts";

/** Where kernels find the headers of the language, below the folder of `csrc/`. */
const LANGUAGE = "csrc/host/include";

/** How often it is tried where headers are saved while they are read. */
const MOST_ATTEMPTS = 3;

/** Times of files may lag behind the clock by this, in milliseconds: a tick of the system. */
const TIME_STEP = 20;

/** Why there is no precompiled header: something about the compiler. */
class PreludeProblem extends Error {}

/** The host library that kernels are compiled for. */
interface BuiltHostLibrary {
  /** Its file. */
  readonly path: string;
  /** The architecture that it was built for. */
  readonly architectures: string;
}

/**
 * Precompiles the headers of the language beside a host library, unless that was done already. Where
 * it cannot be done, there is none, and a line says why: kernels then take longer to compile.
 */
export async function precompilePrelude(
  compiler: CppCompiler,
  tree: SourceTree,
  library: BuiltHostLibrary,
  settings: BuildSettings,
): Promise<void> {
  if (!KERNEL_HEADERS.every((name) => tree.files.includes(`${LANGUAGE}/${name}`))) return;
  const directory = preludeDirectory(library.path);
  const start = performance.now();
  try {
    const basis = await basisOf(compiler, tree, library, settings);
    const files = preludeFiles(directory, basis.family);
    const text = basisText(basis, directory);
    if (!settings.force && await isUpToDate(text, files, library)) return;
    await make(compiler, basis, directory, files);
    if (!hasOwnerOf(library.path, files)) {
      throw new PreludeProblem(`${directory} must belong to the user that ${library.path} does`);
    }
    const { size } = await Deno.stat(files.compiled);
    settings.progress(
      `host kernels' headers, precompiled  ${secondsSince(start)}, ${
        (size / 1e6).toFixed(1)
      } MB in ${directory}`,
    );
  } catch (error) {
    if (!isOfSystem(error)) throw error;
    settings.warnings(
      `Cannot precompile the headers of kernels for the host device, which are read anew for ` +
        `each: ${error.message}`,
    );
    await removeRemains(directory);
  }
}

/** Whether an error is the compiler's or the file system's, and none of ours. */
function isOfSystem(error: unknown): error is Error {
  return error instanceof PreludeProblem || error instanceof Deno.errors.NotCapable ||
    (error instanceof Error && "code" in error);
}

async function basisOf(
  { command, family, identity }: CppCompiler,
  { directory }: SourceTree,
  { architectures }: BuiltHostLibrary,
  { environment }: BuildSettings,
): Promise<PreludeBasis> {
  const machine = await runProgram(command, ["-dumpmachine"]);
  return {
    command,
    family,
    version: identity,
    machine: machine.stdout.trim(),
    flags: kernelFlags(family, architectures),
    language: join(directory, LANGUAGE),
    ambient: ambientSettings(environment),
  };
}

async function isUpToDate(
  basis: string,
  files: PreludeFiles,
  { path }: BuiltHostLibrary,
): Promise<boolean> {
  try {
    const record = parseRecord(await Deno.readTextFile(files.record));
    return record?.basis === basis && hasOwnerOf(path, files) && await recordHolds(record, files);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/** Runs the compiler as for kernels, with some arguments more. */
type CompilerRun = (args: readonly string[]) => Promise<ProgramOutput>;

/** Makes the files in this order: whoever sees the record sees what it is about. */
async function make(
  { command }: CppCompiler,
  basis: PreludeBasis,
  directory: string,
  files: PreludeFiles,
): Promise<void> {
  const run: CompilerRun = async (args) => {
    const all = [...basis.flags, `-I${basis.language}`, ...args];
    const output = await runProgram(command, all, Deno.cwd(), NO_SEARCH_PATHS);
    if (output.success) return output;
    const { code, stderr } = output;
    throw new PreludeProblem(`${command.join(" ")} ends with ${code}: ${stderr.trim()}`);
  };
  // Made anew where that is possible: so it belongs to who makes the files.
  await removeRemains(directory);
  await Deno.mkdir(directory, { recursive: true });
  const lines = KERNEL_HEADERS.map((name) => `#include <${name}>\n`);
  await installText(files.header, lines.join(""));
  const read = await install(files.compiled, (temporary) => compile(run, basis, files, temporary));
  const directories = await searchedBy(run);
  const parts = { files: read, directories, names: await namesIn(read, directories) };
  const digest = await preludeDigest(parts, files);
  const record: PreludeRecord = { basis: basisText(basis, directory), ...parts, digest };
  await installText(files.record, recordText(record));
}

/** Precompiles to a file, until nobody saves a header meanwhile. Returns what was read for it. */
async function compile(
  run: CompilerRun,
  basis: PreludeBasis,
  files: PreludeFiles,
  output: string,
): Promise<string[]> {
  let before = "";
  for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
    const start = Date.now();
    const read = await compileOnce(run, basis, files, output);
    const states = fileStates(read, { followsLinks: true });
    const after = JSON.stringify([read, ...states]);
    // Times may lie in the future, as those in an archive from elsewhere: then they must stay so.
    if (lastModified(states) < start - TIME_STEP || after === before) return read;
    before = after;
  }
  throw new PreludeProblem("they change while they are read");
}

/** When the last of the files of these states was changed, in milliseconds since 1970. */
function lastModified(states: Float64Array): number {
  return Math.max(...states.filter((_, index) => index % STATE_SLOTS === STATE_MODIFIED));
}

/** Precompiles to a file. Returns the files that were read besides the prelude's own. */
async function compileOnce(
  run: CompilerRun,
  { family }: PreludeBasis,
  { header }: PreludeFiles,
  output: string,
): Promise<string[]> {
  const dependencies = temporaryName(`${header}.d`);
  try {
    await run([
      // clang++ would compare times, and a checkout gives files new ones that have the same text.
      ...(family === "clang" ? ["-Xclang", "-fno-pch-timestamp"] : []),
      ...["-x", "c++-header", header, "-o", output, "-MD", "-MF", dependencies],
    ]);
    const read = readDependencies(await Deno.readTextFile(dependencies));
    return [...new Set(read.map(absolutePath))].filter((file) => file !== header);
  } finally {
    await removeIfPresent(dependencies);
  }
}

/** A path that the compiler tells: relative where an option of its command is. */
function absolutePath(path: string): string {
  return isAbsolute(path) ? path : join(Deno.cwd(), path);
}

/** The directories where the compiler looks for headers. */
async function searchedBy(run: CompilerRun): Promise<string[]> {
  const { stderr } = await run(["-x", "c++", "-E", "-v", "/dev/null"]);
  const directories = searchedDirectories(stderr);
  if (directories.length > 0) return directories.map(absolutePath);
  throw new PreludeProblem("the compiler does not tell where it looks for headers");
}

/** All names that files may have looked for. */
async function namesIn(
  files: readonly string[],
  directories: readonly string[],
): Promise<string[]> {
  const names = await Promise.all(files.map(async (file) => [
    ...includedNames(await Deno.readTextFile(file)).filter(isBelow),
    // Of a name that a macro stands for, the text says nothing.
    ...searchedNames(file, directories),
  ]));
  return [...new Set(names.flat())].sort();
}

/** The names of a prelude's files, also of those that are not whole yet. */
const OWN_FILE = /^\.?(?:prelude|record)\./;

/**
 * Removes what earlier builds left, first of all what has others believe it. A directory of this
 * name may be somebody's own: nothing else in it is touched.
 */
async function removeFiles(directory: string): Promise<void> {
  await removeIfPresent(preludeFiles(directory, "gcc").record);
  for await (const { name, isDirectory } of Deno.readDir(directory)) {
    if (OWN_FILE.test(name) && !isDirectory) await Deno.remove(join(directory, name));
  }
}

/** What is left behind where nothing can be made; that may be beyond reach too. */
async function removeRemains(directory: string): Promise<void> {
  try {
    await removeFiles(directory);
    await Deno.remove(directory);
  } catch (error) {
    if (!isOfSystem(error)) throw error;
  }
}
