/**
 * The C++ compiler and the headers of the host device on this machine.
 *
 * @module
 */

import { delimiter, isAbsolute, join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  type CompilerFamily,
  compilerFamily,
  compilerInstallation,
} from "../../ffi/build/compilers.ts";
import { installText } from "../../ffi/build/atomic_install.ts";
import { MANIFEST } from "../../ffi/build/manifest.ts";
import { headersDigest, HOST_HEADERS } from "../../ffi/build/prelude.ts";
import { openCache } from "../../ffi/cache_directory.ts";
import { findProgram, runProgram } from "../../ffi/build/programs.ts";
import {
  environmentGranted,
  type EnvironmentReader,
  grantedEnvironment,
  mayRead,
} from "../../ffi/granted_environment.ts";
import { PACKAGE_ROOT } from "../../ffi/locate.ts";
import { CompilerUnavailableError } from "./compile_error.ts";
import { fileState, textOf } from "./files.ts";

export interface HostProgram {
  /** The program, after a wrapper such as ccache if there is one. */
  readonly command: readonly [string, ...string[]];
  /** The variable that names it, or `PATH`. */
  readonly source: string;
}

export interface HostProgramVersion {
  /** The states of its files: of a wrapper, and of the compiler that it starts. */
  readonly states: readonly string[];
  /** The name in messages: `g++ 12.2.0`. */
  readonly label: string;
  readonly family: CompilerFamily;
  readonly version: string;
}

/** Variables that name the compiler, in the order of their precedence. */
const VARIABLES: readonly string[] = ["CXX", "CUDAHOSTCXX"];

const ACTION = "compile kernels for the host device";

export function programVariables(environment: EnvironmentReader): string[] {
  return VARIABLES.map((variable) => environment(variable)?.trim() ?? "");
}

/**
 * Finds the compiler: the one that `CXX` or `CUDAHOSTCXX` names, else on `PATH` one of the family
 * that built the host library, else one of the other family. Starts no process.
 *
 * @param builtWith The compiler in the host library's build record.
 */
export function findHostProgram(builtWith: string, environment: EnvironmentReader): HostProgram {
  const tried: string[] = [];
  for (const [index, text] of programVariables(environment).entries()) {
    const variable = VARIABLES[index]!;
    if (text === "") {
      tried.push(environmentGranted(variable) ? `${variable} (not set)` : `${variable} (unread)`);
      continue;
    }
    const whole = find(text, environment);
    if (whole !== undefined) return { command: [whole], source: variable };
    // A wrapper and the compiler, such as "ccache g++".
    const [name = "", ...rest] = text.split(/\s+/);
    const path = rest.length === 0 ? undefined : find(name, environment);
    if (path !== undefined) return { command: [path, ...rest], source: variable };
    throw new CompilerUnavailableError(
      `Cannot ${ACTION} as ${variable} must name a C++ compiler: it is ${JSON.stringify(text)}, ` +
        "which is no program",
    );
  }
  const names = /clang/i.test(builtWith) ? ["clang++", "g++", "c++"] : ["g++", "clang++", "c++"];
  for (const name of names) {
    const path = find(name, environment);
    if (path !== undefined) return { command: [path], source: "PATH" };
    tried.push(`${name} on PATH`);
  }
  throw new CompilerUnavailableError(
    `Cannot ${ACTION} as there is no C++17 compiler in ${tried.join(", ")}.` +
      `${missingPermissions(environment)} Install one with ` +
      compilerInstallation(Deno.build.os),
  );
}

/** Finds a program without a prompt. */
function find(name: string, environment: EnvironmentReader): string | undefined {
  if (name.includes("/")) {
    if (mayRead(name)) return findProgram(name, environment);
    throw new CompilerUnavailableError(
      `Cannot ${ACTION} as looking for ${name} is not permitted: run again with ` +
        `--allow-read=${name}`,
    );
  }
  const directories = pathOf(environment).filter(mayRead).join(delimiter);
  return findProgram(name, (variable) => variable === "PATH" ? directories : undefined);
}

function pathOf(environment: EnvironmentReader): string[] {
  return (environment("PATH") ?? "").split(delimiter).filter((directory) => isAbsolute(directory));
}

/** The permissions for a search in more places. */
function missingPermissions(environment: EnvironmentReader): string {
  const flags = environmentGranted("PATH") ? [] : ["--allow-env=PATH"];
  const unread = pathOf(environment).filter((directory) => !mayRead(directory));
  if (unread.length > 0) flags.push(`--allow-read=${unread.join(",")}`);
  return flags.length === 0 ? "" : ` Permit a search in more places with ${flags.join(" ")}.`;
}

/** The versions of this process, by command and state. */
const versions = new Map<string, Promise<HostProgramVersion>>();

/** Queries a compiler's version, once per process and state of its files. */
export function versionOf(
  program: HostProgram,
  environment: EnvironmentReader,
): Promise<HostProgramVersion> {
  const states = program.command.filter((word) => !word.startsWith("-"))
    .flatMap((word) => find(word, environment) ?? []).map(fileState);
  const key = JSON.stringify([program.command, states]);
  const known = versions.get(key);
  if (known !== undefined) return known;
  const version = queryVersion(program, states);
  versions.set(key, version);
  // A permission may be granted until the next call.
  version.catch(() => versions.delete(key));
  return version;
}

async function queryVersion(
  { command, source }: HostProgram,
  states: readonly string[],
): Promise<HostProgramVersion> {
  requireRun(command[0]);
  const { success, stdout, stderr } = await runProgram(command, ["--version"]);
  const family = success ? compilerFamily(stdout) : undefined;
  if (family === undefined) {
    const name = command.join(" ");
    throw new CompilerUnavailableError(
      `Cannot ${ACTION} as ${name} (from ${source}) must be g++ or clang++: \`${name} --version\` ` +
        `says ${JSON.stringify((stdout + stderr).trim().slice(0, 400))}`,
    );
  }
  const number = /\b\d+\.\d+(?:\.\d+)?\b/.exec(stdout)?.[0] ?? "";
  const label = `${family === "gcc" ? "g++" : "clang++"} ${number}`;
  return { states, label, family, version: stdout };
}

/** Requires the permission to start a program, without a prompt. */
export function requireRun(path: string): void {
  if (Deno.permissions.querySync({ name: "run", command: path }).state === "granted") return;
  throw new CompilerUnavailableError(
    `Cannot ${ACTION} as starting ${path} is not permitted: run again with --allow-run=${path}`,
  );
}

/** The digests of this process: the package does not change while it runs. */
const digests = new Map<string, Promise<string>>();

export interface HostHeaders {
  readonly directory: string;
  readonly digest: string;
}

/**
 * Finds the language's headers: beside the module, or fetched once into the user cache where the
 * module was imported from elsewhere.
 *
 * @param root The folder of the package's `mod.ts`.
 * @param manifest The package's native sources.
 */
export async function openHostHeaders(
  root: URL = PACKAGE_ROOT,
  manifest: readonly string[] = MANIFEST,
  cache: () => string = () => openCache(grantedEnvironment),
): Promise<HostHeaders> {
  const files = manifest.filter((file) => file.startsWith(`${HOST_HEADERS}/`));
  const tree = root.protocol === "file:"
    ? fileURLToPath(root)
    : await fetchHeaders(root, files, cache());
  const directory = join(tree, HOST_HEADERS);
  if (!mayRead(directory)) {
    // The compiler could read them, but the cache key would not cover them.
    throw new CompilerUnavailableError(
      `Cannot ${ACTION} as reading ${directory} is not permitted: run again with ` +
        `--allow-read=${directory}`,
    );
  }
  const key = `${root.href} ${directory}`;
  const known = digests.get(key);
  if (known !== undefined) return { directory, digest: await known };
  const digest = headersDigest(directory, files.map((file) => file.slice(HOST_HEADERS.length + 1)));
  digests.set(key, digest);
  digest.catch(() => digests.delete(key));
  return { directory, digest: await digest };
}

/** Fetches the headers to a directory of the cache; a note there lists the complete files. */
async function fetchHeaders(root: URL, files: readonly string[], cache: string): Promise<string> {
  const directory = join(cache, "source");
  const note = join(cache, "host_headers.json");
  const complete = JSON.stringify({ root: root.href, files }) + "\n";
  if (textOf(note) === complete) return directory;
  // Loading node:crypto takes milliseconds, which a cache hit can do without.
  const { openSourceTree } = await import("../../ffi/build/source_tree.ts");
  await openSourceTree(root, files, () => cache);
  await installText(note, complete);
  return directory;
}
