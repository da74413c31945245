/**
 * The C++ compiler that makes machine code for the host device.
 *
 * @module
 */

import { basename, delimiter, isAbsolute, join } from "node:path";
import { type CompilerFamily, compilerFamily } from "../../ffi/build/compilers.ts";
import { compilerInstallation, readOsRelease } from "../../ffi/build/install_advice.ts";
import { findProgram, runProgram } from "../../ffi/build/programs.ts";
import { mayReadAll } from "../../ffi/file_states.ts";
import { environmentGranted, type EnvironmentReader } from "../../ffi/granted_environment.ts";
import { rememberedIdentity } from "../cache/compiler_identity.ts";
import { CompilerUnavailableError } from "./compiler_unavailable_error.ts";
import { hasName, mayRead } from "./readable_files.ts";

/** A compiler's program, which has not been started yet. */
export interface HostProgram {
  /** The program, after a wrapper such as ccache if there is one. */
  readonly command: readonly [string, ...string[]];
  /** What named it. */
  readonly source: string;
}

/** What a compiler says of itself. */
export interface HostProgramVersion {
  /** How messages name it: `g++ 12.2.0`. */
  readonly label: string;
  /** Whose flags it takes. */
  readonly family: CompilerFamily;
  /** All it says of its version. */
  readonly version: string;
  /** The machine that it compiles for. */
  readonly machine: string;
}

/** Variables that name the compiler, the first that is set. */
const VARIABLES: readonly string[] = ["CXX", "CUDAHOSTCXX"];

const ACTION = "compile kernels for the host device";

/** What the variables say that name the compiler. */
export function programVariables(environment: EnvironmentReader): string[] {
  return VARIABLES.map((variable) => environment(variable)?.trim() ?? "");
}

/**
 * Finds the compiler: what `CXX` or `CUDAHOSTCXX` names, else on `PATH` one of the family that
 * built the host library, else one of the other. Starts no process.
 *
 * @param builtWith What the host library's build record says of its compiler.
 * @throws {CompilerUnavailableError} If there is none; the message lists what was looked for.
 */
export function findHostProgram(builtWith: string, environment: EnvironmentReader): HostProgram {
  const tried: string[] = [];
  for (const variable of VARIABLES) {
    const text = environment(variable)?.trim();
    if (text === undefined || text === "") {
      tried.push(environmentGranted(variable) ? `${variable} (not set)` : `${variable} (unread)`);
      continue;
    }
    const command = commandOf(text, environment);
    if (command !== undefined) return { command, source: variable };
    throw new CompilerUnavailableError(
      `Cannot ${ACTION} as ${variable} must name a C++ compiler: it is ${JSON.stringify(text)}, ` +
        "which is no program",
    );
  }
  for (const name of compilerNames(builtWith)) {
    const path = find(name, environment);
    if (path !== undefined) return { command: [path], source: "PATH" };
    tried.push(`${name} on PATH`);
  }
  const osRelease = mayRead("/etc/os-release") ? readOsRelease() : "";
  throw new CompilerUnavailableError(
    `Cannot ${ACTION} as there is no C++17 compiler in ${tried.join(", ")}.` +
      `${missingPermissions(environment)} Install one with ` +
      compilerInstallation(Deno.build.os, osRelease),
  );
}

/** What is looked for on `PATH`, in this order. */
function compilerNames(builtWith: string): readonly string[] {
  return /clang/i.test(builtWith) ? ["clang++", "g++", "c++"] : ["g++", "clang++", "c++"];
}

/** The variables may hold a wrapper and the compiler, such as "ccache g++". */
function commandOf(
  text: string,
  environment: EnvironmentReader,
): [string, ...string[]] | undefined {
  const whole = find(text, environment);
  if (whole !== undefined) return [whole];
  const [name = "", ...rest] = text.split(/\s+/);
  const path = find(name, environment);
  return path === undefined || rest.length === 0 ? undefined : [path, ...rest];
}

/** The program of this name, looked for only where that needs no prompt. */
function find(name: string, environment: EnvironmentReader): string | undefined {
  if (name.includes("/")) {
    if (mayRead(name)) return findProgram(name, environment);
    throw new CompilerUnavailableError(
      `Cannot ${ACTION} as looking for ${name} is not permitted: run again with ` +
        `--allow-read=${name}`,
    );
  }
  const directories = readable(pathOf(environment)).join(delimiter);
  return findProgram(name, (variable) => variable === "PATH" ? directories : undefined);
}

function pathOf(environment: EnvironmentReader): string[] {
  return (environment("PATH") ?? "").split(delimiter).filter((directory) => isAbsolute(directory));
}

/** Of some directories those that may be read; mostly all may, which one question tells. */
function readable(directories: string[]): string[] {
  return mayReadAll() ? directories : directories.filter(mayRead);
}

/** Which permissions would let a compiler be looked for in more places. */
function missingPermissions(environment: EnvironmentReader): string {
  const flags = environmentGranted("PATH") ? [] : ["--allow-env=PATH"];
  const unread = pathOf(environment).filter((directory) => !mayRead(directory));
  if (unread.length > 0) flags.push(`--allow-read=${unread.join(",")}`);
  return flags.length === 0 ? "" : ` It is looked for in more places with ${flags.join(" ")}.`;
}

/**
 * The programs of a command: a wrapper, and the compiler behind it, of which the wrapper does not
 * tell whether it is still the same.
 */
export function programFiles({ command }: HostProgram, environment: EnvironmentReader): string[] {
  return command.filter((word) => !word.startsWith("-"))
    .flatMap((word) => find(word, environment) ?? []);
}

/**
 * What decides which program {@linkcode findHostProgram} finds, besides the state of files: where it
 * looks, and for what.
 */
export function searchSettings(builtWith: string, environment: EnvironmentReader): string[] {
  const variables = programVariables(environment);
  return [
    builtWith,
    ...variables,
    // A path in a variable may be relative.
    variables.some((text) => text.includes("/")) ? Deno.cwd() : "",
    environment("PATH") ?? "",
    // With fewer permissions it looks in fewer places.
    ...(mayReadAll() ? [] : ["of which may be read", ...readable(pathOf(environment))]),
  ];
}

/**
 * Where another program may appear that would be found instead: the directories of `PATH` that are
 * searched before the program's own, and files in them that cannot be started yet.
 */
export function searchedPlaces(
  { command, source }: HostProgram,
  builtWith: string,
  environment: EnvironmentReader,
): string[] {
  const names = compilerNames(builtWith);
  const all = readable(pathOf(environment));
  const own = all.findIndex((directory) => join(directory, names[0]!) === command[0]);
  const directories = source === "PATH" && own >= 0 ? all.slice(0, own) : all;
  const wanted = new Set([...names, ...command.map((word) => basename(word))]);
  const files = directories.flatMap((directory) =>
    [...wanted].map((name) => join(directory, name))
  );
  // Also links that lead nowhere.
  return [...directories, ...files.filter(hasName)];
}

/**
 * What a compiler says of itself; one that was asked before, and is still the same, is not asked
 * again.
 *
 * @throws {CompilerUnavailableError} If it may not be started, or is neither g++ nor clang++.
 */
export async function versionOf(
  program: HostProgram,
  environment: EnvironmentReader,
): Promise<HostProgramVersion> {
  const basis = {
    subject: "the version of a C++ compiler",
    files: programFiles(program, environment),
    settings: program.command,
  };
  return readVersion(await rememberedIdentity(basis, () => askVersion(program)));
}

/** What a compiler prints of its version, and of its machine. */
async function askVersion({ command, source }: HostProgram): Promise<readonly string[]> {
  requirePermission(command[0]);
  const [{ success, stdout, stderr }, machine] = await Promise.all([
    runProgram(command, ["--version"]),
    runProgram(command, ["-dumpmachine"]),
  ]);
  if (success && compilerFamily(stdout) !== undefined) return [stdout, machine.stdout.trim()];
  const name = command.join(" ");
  throw new CompilerUnavailableError(
    `Cannot ${ACTION} as ${name} (from ${source}) must be g++ or clang++: \`${name} --version\` ` +
      `says ${JSON.stringify((stdout + stderr).trim().slice(0, 400))}`,
  );
}

function readVersion([version = "", machine = ""]: readonly string[]): HostProgramVersion {
  // Who asked has made sure that there is one.
  const family = compilerFamily(version)!;
  const number = /\b\d+\.\d+(?:\.\d+)?\b/.exec(version)?.[0] ?? "";
  const name = family === "gcc" ? "g++" : "clang++";
  return { label: `${name} ${number}`, family, version, machine };
}

/**
 * Makes sure that a program may be started, without a prompt.
 *
 * @throws {CompilerUnavailableError} If not; it names the flag.
 */
export function requirePermission(path: string): void {
  if (Deno.permissions.querySync({ name: "run", command: path }).state === "granted") return;
  throw new CompilerUnavailableError(
    `Cannot ${ACTION} as starting ${path} is not permitted: run again with --allow-run=${path}`,
  );
}
