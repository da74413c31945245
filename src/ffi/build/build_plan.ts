/**
 * Plans the compilation of a library, and carries plans out.
 *
 * The name of an object is a digest of everything that decides its content. An object that is there
 * is therefore right, and is reused.
 *
 * @module
 */

import { basename, join } from "node:path";
import { install, installText } from "./atomic_install.ts";
import { digest, forEachConcurrently, isCompiled, libraryFiles } from "./source_tree.ts";
import { BuildError } from "./build_error.ts";
import type { BuildSettings, LineWriter } from "./build_options.ts";
import { type ProgramOutput, runProgram } from "./programs.ts";
import type { Toolchain } from "./toolchains.ts";

/** The source that is compiled with the build record, and reports it. */
const RECORD_SOURCE = "csrc/shim/abi.cu";
/** Objects of earlier sources are kept this long, for switching back. */
const OBJECT_AGE_LIMIT = 7 * 24 * 60 * 60 * 1000;

export interface CompileStep {
  readonly source: string;
  readonly object: string;
  readonly prefix?: string;
}

/** A library or program to build. */
export interface BuildPlan {
  readonly toolchain: Toolchain;
  /** The name in messages, such as "host library". */
  readonly title: string;
  readonly output: string;
  /** A digest of everything that decides its content. */
  readonly key: string;
  readonly objects: string;
  readonly steps: readonly CompileStep[];
  /** A header to write before anything is compiled, and its text. */
  readonly header?: { readonly path: string; readonly text: string };
}

/** A library to build. */
export interface LibraryPlan extends BuildPlan {
  /** A digest of its sources, as the library reports it. */
  readonly sourceHash: string;
}

/** The header with the build record of the library, for `csrc/shim/abi.cu`. */
function buildRecordHeader(toolchain: Toolchain, sourceHash: string): string {
  // A header, as nvcc passes -D to its C++ compiler through a shell, which removes quotes.
  const definitions = {
    GS_BUILD_COMPILER: toolchain.compiler,
    GS_BUILD_ARCHITECTURES: toolchain.architectures,
    GS_BUILD_SOURCE_HASH: sourceHash,
    GS_BUILD_FLAGS: toolchain.flags.join(" "),
  };
  return Object.entries(definitions)
    .map(([name, value]) => `#define ${name} ${JSON.stringify(value).replaceAll("?", "\\?")}\n`)
    .join("");
}

/** Plans a library. */
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
  return {
    toolchain,
    title: `${toolchain.kind} library`,
    output: library,
    key: digest(toolchain.identity, ...toolchain.linkArguments(names, "", basename(library))),
    objects,
    steps,
    header: { path: record, text: recordText },
    sourceHash,
  };
}

/**
 * Whether the library was built under this key and is still the same file. The note beside it has the
 * key and the digest of the file.
 */
export async function isUpToDate(library: string, key: string): Promise<boolean> {
  try {
    const stamp = await Deno.readTextFile(`${library}.json`);
    return stamp === await stampOf(library, key);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

async function stampOf(library: string, key: string): Promise<string> {
  return JSON.stringify({ key, library: digest(await Deno.readFile(library)) }) + "\n";
}

type RunOptions = Pick<BuildSettings, "jobs" | "force" | "progress" | "warnings"> & {
  /** The folder of `csrc/`, where compilers run: objects then hold no path of this machine. */
  readonly directory: string;
};

type StepWriter = (name: string, start: number) => void;

/**
 * Builds the library or program of a plan: compiles missing objects, several at a time, and links.
 */
export async function runPlan(
  plan: BuildPlan,
  options: RunOptions,
): Promise<{ readonly compiled: number; readonly reused: number }> {
  await Deno.mkdir(plan.objects, { recursive: true });
  if (plan.header !== undefined) await installText(plan.header.path, plan.header.text);
  const present = new Set((await listFiles(plan.objects)).map(({ name }) => name));
  const missing = plan.steps.filter(({ object }) =>
    options.force || !present.has(basename(object))
  );
  const total = missing.length + 1;
  let done = 0;
  // Such as `host [ 3/27] csrc/shim/memory/copy.cu  1.2 s`.
  const report: StepWriter = (name, start) => {
    const count = String(++done).padStart(String(total).length);
    const seconds = ((performance.now() - start) / 1000).toFixed(1);
    options.progress(`${plan.toolchain.kind} [${count}/${total}] ${name}  ${seconds} s`);
  };
  await compileAll(plan, missing, options, report);
  await link(plan, options, report);
  await removeOldObjects(plan);
  return { compiled: missing.length, reused: plan.steps.length - missing.length };
}

async function compileAll(
  { toolchain, title }: BuildPlan,
  steps: readonly CompileStep[],
  options: RunOptions,
  report: StepWriter,
): Promise<void> {
  const failures = await forEachConcurrently(steps, options.jobs, async (step) => {
    const start = performance.now();
    const { source, prefix } = step;
    await install(step.object, async (temporary) => {
      const args = toolchain.compileArguments(source, temporary, prefix);
      reportWarnings(source, await runStep(toolchain, args, options), options.warnings);
    });
    report(source, start);
  });
  if (failures.length === 0) return;
  const unexpected = failures.find((failure) => !(failure instanceof StepFailure));
  if (unexpected !== undefined) throw unexpected;
  const texts = (failures as StepFailure[]).map(({ message }) => message);
  throw new BuildError(
    `Cannot build the ${title} with ${toolchain.compiler}:\n\n${texts.join("\n\n")}`,
  );
}

async function link(plan: BuildPlan, options: RunOptions, report: StepWriter): Promise<void> {
  const { toolchain, output: file, key, title, steps } = plan;
  const start = performance.now();
  const objects = steps.map(({ object }) => object);
  try {
    await install(file, async (temporary) => {
      const args = toolchain.linkArguments(objects, temporary, basename(file));
      reportWarnings(basename(file), await runStep(toolchain, args, options), options.warnings);
      // The cache's owner check refuses files that others can write to, for any umask.
      await Deno.chmod(temporary, 0o755);
    });
  } catch (error) {
    if (!(error instanceof StepFailure)) throw error;
    throw new BuildError(`Cannot link the ${title}:\n\n${error.message}`);
  }
  await installText(`${file}.json`, await stampOf(file, key));
  report(basename(file), start);
}

/** The failure of a compiler or linker: the command to repeat it by hand, and its output. */
class StepFailure extends Error {}

async function runStep(
  { command }: Toolchain,
  args: readonly string[],
  { directory }: RunOptions,
): Promise<ProgramOutput> {
  const output = await runProgram(command, args, directory);
  if (output.success) return output;
  const line = [...command, ...args].map(shellWord).join(" ");
  const text = `${output.stdout}${output.stderr}`.trimEnd();
  throw new StepFailure(`${line}\n${text}\n(exit status ${output.code})`);
}

function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

function reportWarnings(name: string, output: ProgramOutput, write: LineWriter): void {
  const text = `${output.stdout}${output.stderr}`.trim();
  if (text !== "") write(`${name}:\n${text}`);
}

async function listFiles(directory: string): Promise<Deno.DirEntry[]> {
  return (await Array.fromAsync(Deno.readDir(directory))).filter(({ isFile }) => isFile);
}

async function removeOldObjects({ objects, header, steps }: BuildPlan): Promise<void> {
  const used = new Set([header?.path, ...steps.map(({ object }) => object)]);
  const oldest = Date.now() - OBJECT_AGE_LIMIT;
  for (const { name } of await listFiles(objects)) {
    const path = join(objects, name);
    if (used.has(path)) continue;
    const { mtime } = await Deno.stat(path);
    if (mtime !== null && mtime.getTime() < oldest) await Deno.remove(path);
  }
}
