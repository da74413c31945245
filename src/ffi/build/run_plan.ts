/**
 * Carrying out a plan: compile what is missing, several sources at a time, and link.
 *
 * @module
 */

import { basename, join } from "node:path";
import { install, installText } from "./atomic_install.ts";
import { BuildError } from "./build_error.ts";
import type { BuildPlan, CompileStep } from "./compile_plan.ts";
import { forEachConcurrently } from "./concurrently.ts";
import { writeStamp } from "./library_stamp.ts";
import { type LineWriter, Progress } from "./progress.ts";
import { type ProgramOutput, runProgram } from "./programs.ts";

/** Objects of earlier states of the sources are kept this long, for switching back to one. */
const OBJECT_AGE_LIMIT = 7 * 24 * 60 * 60 * 1000;

/** How a plan is carried out. */
export interface RunOptions {
  /** The folder of `csrc/`, where compilers run: no path of this machine gets into an object. */
  readonly directory: string;
  /** How many sources are compiled at a time. */
  readonly jobs: number;
  /** Compile everything, whatever is there. */
  readonly force: boolean;
  /** Takes the lines that say how far it is. */
  readonly progress: LineWriter;
  /** Takes what compilers print when they succeed: warnings. */
  readonly warnings: LineWriter;
}

/** What was done. */
export interface RunSummary {
  /** How many sources were compiled. */
  readonly compiled: number;
  /** How many objects of earlier builds were used. */
  readonly reused: number;
}

/**
 * Builds the library or program of a plan.
 *
 * @throws {BuildError} With the compiler's output, if a source does not compile or the objects do
 * not link. The file that was there before stays.
 */
export async function runPlan(plan: BuildPlan, options: RunOptions): Promise<RunSummary> {
  await Deno.mkdir(plan.objects, { recursive: true });
  if (plan.header !== undefined) await installText(plan.header.path, plan.header.text);
  const present = new Set((await listFiles(plan.objects)).map(({ name }) => name));
  const missing = plan.steps.filter(({ object }) =>
    options.force || !present.has(basename(object))
  );
  const progress = new Progress(plan.toolchain.kind, missing.length + 1, options.progress);
  await compileAll(plan, missing, options, progress);
  await link(plan, options, progress);
  await removeOldObjects(plan);
  return { compiled: missing.length, reused: plan.steps.length - missing.length };
}

async function compileAll(
  plan: BuildPlan,
  steps: readonly CompileStep[],
  options: RunOptions,
  progress: Progress,
): Promise<void> {
  const failures = await forEachConcurrently(steps, options.jobs, async (step) => {
    const start = performance.now();
    await compile(plan, step, options);
    progress.step(step.source, start);
  });
  if (failures.length === 0) return;
  const unexpected = failures.find((failure) => !(failure instanceof StepFailure));
  if (unexpected !== undefined) throw unexpected;
  const texts = (failures as StepFailure[]).map(({ message }) => message);
  throw new BuildError(
    `Cannot build the ${plan.title} with ${plan.toolchain.compiler}:\n\n${texts.join("\n\n")}`,
  );
}

async function compile(plan: BuildPlan, step: CompileStep, options: RunOptions): Promise<void> {
  const { toolchain } = plan;
  await install(step.object, async (temporary) => {
    const args = toolchain.compileArguments(step.source, temporary, step.prefix);
    const output = await runProgram(toolchain.command, args, options.directory);
    if (!output.success) throw new StepFailure(toolchain.command, args, output);
    reportWarnings(step.source, output, options.warnings);
  });
}

async function link(plan: BuildPlan, options: RunOptions, progress: Progress): Promise<void> {
  const { toolchain, output: file, key } = plan;
  const start = performance.now();
  const objects = plan.steps.map(({ object }) => object);
  try {
    await install(file, async (temporary) => {
      const args = toolchain.linkArguments(objects, temporary, basename(file));
      const output = await runProgram(toolchain.command, args, options.directory);
      if (!output.success) throw new StepFailure(toolchain.command, args, output);
      reportWarnings(basename(file), output, options.warnings);
      // The cache's owner check refuses what others can write to, whatever the umask allows.
      await Deno.chmod(temporary, 0o755);
    });
  } catch (error) {
    if (!(error instanceof StepFailure)) throw error;
    throw new BuildError(`Cannot link the ${plan.title}:\n\n${error.message}`);
  }
  await writeStamp(file, key);
  progress.step(basename(file), start);
}

/** A compiler or linker that reported failure: the command to repeat it by hand, and its output. */
class StepFailure extends Error {
  constructor(command: readonly string[], args: readonly string[], output: ProgramOutput) {
    const line = [...command, ...args].map(shellWord).join(" ");
    const text = `${output.stdout}${output.stderr}`.trimEnd();
    super(`${line}\n${text}\n(exit status ${output.code})`);
  }
}

function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

function reportWarnings(name: string, output: ProgramOutput, write: LineWriter): void {
  const text = `${output.stdout}${output.stderr}`.trim();
  if (text !== "") write(`${name}:\n${text}`);
}

async function listFiles(directory: string): Promise<Deno.DirEntry[]> {
  const entries: Deno.DirEntry[] = [];
  for await (const entry of Deno.readDir(directory)) if (entry.isFile) entries.push(entry);
  return entries;
}

/** Removes what earlier builds left behind, temporary files of interrupted ones included. */
async function removeOldObjects(plan: BuildPlan): Promise<void> {
  const { objects, header } = plan;
  const used = new Set([header?.path, ...plan.steps.map(({ object }) => object)]);
  const oldest = Date.now() - OBJECT_AGE_LIMIT;
  for (const { name } of await listFiles(objects)) {
    const path = join(objects, name);
    if (used.has(path)) continue;
    const { mtime } = await Deno.stat(path);
    if (mtime !== null && mtime.getTime() < oldest) await Deno.remove(path);
  }
}
