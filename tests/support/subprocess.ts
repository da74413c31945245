/**
 * Runs TypeScript in a process of its own: for programs that lose a device, or need another
 * environment or other permissions.
 *
 * @module
 */

import "./cache_directory.ts";

/** How the process is started. */
export interface SubprocessOptions {
  /** Permission flags; all permissions by default. */
  readonly permissions?: readonly string[];
  /** Environment variables besides the inherited ones; `undefined` removes one. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** Arguments of the program. */
  readonly args?: readonly string[];
  /** How long it may take, in milliseconds. */
  readonly limit?: number;
}

/** The result of the process. */
export interface SubprocessResult {
  /** The exit code; 128 + n where signal n ended it. */
  readonly code: number;
  /** The signal that ended it. */
  readonly signal: string | null;
  /** Its standard output. */
  readonly stdout: string;
  /** Its standard error. */
  readonly stderr: string;
}

const ROOT = new URL("../../", import.meta.url);

/** The path of a file of the repository. */
export function repositoryPath(path: string): string {
  return new URL(path, ROOT).pathname;
}

/** These choose among the devices of this machine, which simulated devices replace. */
const CHOICES = ["GRIDSTRIDE_DEVICE", "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"];

/**
 * The environment of a process: that of this one, with changes. One that simulates devices inherits no
 * choice of a device, because the tests of a GPU run with `GRIDSTRIDE_DEVICE=cuda`.
 */
export function processEnvironment(
  changes: Readonly<Record<string, string | undefined>>,
  inherited: Readonly<Record<string, string>> = Deno.env.toObject(),
): Record<string, string> {
  const all: Record<string, string> = { ...inherited, NO_COLOR: "1" };
  const removed = changes["GRIDSTRIDE_FAKE"] === undefined ? [] : CHOICES;
  for (const name of removed) delete all[name];
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined) delete all[name];
    else all[name] = value;
  }
  return all;
}

async function run(
  file: string,
  { permissions = ["-A"], environment = {}, args = [], limit = 300_000 }: SubprocessOptions,
): Promise<SubprocessResult> {
  const command = new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--no-prompt",
      "--quiet",
      "--cached-only",
      `--config=${repositoryPath("deno.json")}`,
      ...permissions,
      file,
      ...args,
    ],
    env: processEnvironment(environment),
    clearEnv: true,
    signal: AbortSignal.timeout(limit),
  });
  const { code, signal, stdout, stderr } = await command.output();
  const decoder = new TextDecoder();
  return { code, signal, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr) };
}

/** Runs a file of the repository. */
export function runFile(path: string, options: SubprocessOptions = {}): Promise<SubprocessResult> {
  return run(repositoryPath(path), options);
}

/** The text of a program with this repository's modules in the place of the package's. */
async function resolvePackage(source: string): Promise<string> {
  const configuration = await Deno.readTextFile(new URL("deno.json", ROOT));
  const entries: Readonly<Record<string, string>> = JSON.parse(configuration).exports;
  return source.replaceAll(
    /@gridstride\/cuda((?:\/\w+)?)/g,
    (_, entry: string) => new URL(entries[`.${entry}`]!, ROOT).href,
  );
}

/** Runs a program given as text; `@gridstride/cuda…` are this repository's modules in it. */
export async function runProgram(
  source: string,
  options: SubprocessOptions = {},
): Promise<SubprocessResult> {
  const directory = await Deno.makeTempDir();
  try {
    const file = `${directory}/program.ts`;
    await Deno.writeTextFile(file, await resolvePackage(source));
    return await run(file, options);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

/** Writes programs given as text to files, in a directory that lasts as long as `use`. */
async function withPrograms<Result>(
  sources: ReadonlyMap<string, string>,
  use: (files: string[]) => Promise<Result>,
): Promise<Result> {
  const directory = await Deno.makeTempDir();
  try {
    const files = await Promise.all([...sources].map(async ([name, source]) => {
      const file = `${directory}/${name.replaceAll(/[^\w]+/g, "_")}.ts`;
      await Deno.writeTextFile(file, await resolvePackage(source));
      return file;
    }));
    return await use(files);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

/**
 * Runs programs given as text one after the other in one process, because a process for each takes
 * a second. A program that fails is named in standard error, and the next one runs.
 *
 * @param sources The programs by the name that errors call them by.
 */
export function runPrograms(
  sources: ReadonlyMap<string, string>,
  options: SubprocessOptions = {},
): Promise<SubprocessResult> {
  return withPrograms(sources, (files) => {
    const names = [...sources.keys()];
    const imports = files.map((file, at) =>
      `await import(${JSON.stringify(file)}).catch((error) => {
        console.error(${JSON.stringify(`${names[at]} fails:`)}, error);
        failures++;
      });\n`
    );
    const end = 'if (failures === 0) console.log("all have run");\nDeno.exit(Math.sign(failures));';
    return runProgram(`let failures = 0;\n${imports.join("")}${end}`, options);
  });
}

/**
 * Checks the types of programs given as text, in one process.
 *
 * @param sources The programs by the name that errors call them by.
 * @returns The errors; empty if there are none.
 */
export function typeErrors(sources: ReadonlyMap<string, string>): Promise<string> {
  return withPrograms(sources, async (files) => {
    const { success, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["check", "--quiet", `--config=${repositoryPath("deno.json")}`, ...files],
      env: { NO_COLOR: "1" },
    }).output();
    return success ? "" : new TextDecoder().decode(stderr);
  });
}

/** Runs the command line. */
export function runCommandLine(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>> = {},
): Promise<SubprocessResult> {
  return runFile("src/cli/main.ts", { args, environment });
}
