/**
 * Where NVRTC may lie.
 *
 * @module
 */

import { basename, delimiter, dirname, isAbsolute, join } from "node:path";
import { environmentGranted, type EnvironmentReader } from "../../ffi/granted_environment.ts";
import { isThere, mayRead, namesIn, realPath } from "./readable_files.ts";

/** A library that may be NVRTC. */
export interface NvrtcCandidate {
  /** Its path, absolute; or its name alone, for which the system is searched. */
  readonly library: string;
  /** The path of its library of builtins; empty where the system's search finds it. */
  readonly builtins: string;
  /** What named the place, such as `"CUDA_HOME"`. */
  readonly origin: string;
}

/** A place that holds no NVRTC. */
export interface NvrtcAttempt {
  /** The directory or the library. */
  readonly path: string;
  /** What named it. */
  readonly origin: string;
  /** Why it is not used. */
  readonly reason: string;
}

/** What a search depends on; a test changes it. */
export interface NvrtcSearchOptions {
  /** The variables of the environment. */
  readonly environment: EnvironmentReader;
  /** The root of the file system. */
  readonly root?: string;
  /** What to find: what the system calls libraries for this processor. */
  readonly processor?: string;
}

/** The variable that names NVRTC: the library, or the directory it lies in. */
export const NVRTC_VARIABLE = "GRIDSTRIDE_NVRTC";

/** The variables that say where CUDA is. */
const TOOLKIT_VARIABLES = ["CUDA_HOME", "CUDA_PATH"] as const;

/** All variables that the search reads. */
const VARIABLES = [
  NVRTC_VARIABLE,
  ...TOOLKIT_VARIABLES,
  "PATH",
  "LD_LIBRARY_PATH",
  "VIRTUAL_ENV",
  "CONDA_PREFIX",
  "HOME",
] as const;

/**
 * The names under which the loader of the system knows NVRTC, newest first. All of CUDA 11 from
 * 11.2 on is called 11.2; older ones cannot say for which architectures they compile.
 */
const SYSTEM_NAMES = ["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2"] as const;

/** A directory that may hold NVRTC, and what named it. */
interface Place {
  readonly directory: string;
  readonly origin: string;
}

/** Variables that the search would have read, had `--allow-env` covered them. */
export function unreadVariables(): string[] {
  return VARIABLES.filter((name) => !environmentGranted(name));
}

/**
 * Looks for NVRTC: where `GRIDSTRIDE_NVRTC` says, and nowhere else if it is set; else in `CUDA_HOME`
 * and `CUDA_PATH`, beside nvcc, where the toolkit installs itself (newest first), among the packages
 * of Pythons, in the system's directories, and last of all by name.
 *
 * Nobody is asked for a permission: a directory that may not be read is an attempt that says so.
 *
 * @returns Libraries and places without one, the best first; looked for as they are asked for.
 */
export function* searchNvrtc(
  options: NvrtcSearchOptions,
): Generator<NvrtcCandidate | NvrtcAttempt> {
  const chosen = options.environment(NVRTC_VARIABLE);
  if (chosen !== undefined && chosen !== "") return yield chosenNvrtc(chosen);
  const seen = new Set<string>();
  for (const place of places(options)) {
    const real = realPath(place.directory);
    if (seen.has(real)) continue;
    seen.add(real);
    yield candidateIn(place);
  }
  for (const library of SYSTEM_NAMES) {
    yield { library, builtins: "", origin: "the system's search" };
  }
}

function* places({ environment, root = "/", processor }: NvrtcSearchOptions): Generator<Place> {
  const triple = `${processor ?? Deno.build.arch}-linux`;
  yield* toolkitPlaces(environment, root, triple);
  yield* pythonPlaces(environment, root);
  yield* systemPlaces(environment, root, triple);
}

/** What `GRIDSTRIDE_NVRTC` names, which is used or nothing is. */
function chosenNvrtc(chosen: string): NvrtcCandidate | NvrtcAttempt {
  const origin = NVRTC_VARIABLE;
  if (!isAbsolute(chosen)) {
    return { path: chosen, origin, reason: "it must be an absolute path" };
  }
  if (namesIn(chosen) !== undefined) return candidateIn({ directory: chosen, origin });
  const builtins = builtinsFor(chosen, namesIn(dirname(chosen)) ?? []);
  return { library: chosen, builtins, origin };
}

/** The numbers in what follows `.so.` in a name. */
function versionOf(name: string): number[] {
  return (/\.so\.([\d.]+)$/.exec(name)?.[1] ?? "").split(".").filter((part) => part !== "")
    .map(Number);
}

/** Compares versions, part by part: the newer first, and the more exact of two that agree. */
function byVersion(one: readonly number[], other: readonly number[]): number {
  const length = Math.max(one.length, other.length);
  for (let part = 0; part < length; part++) {
    const difference = (other[part] ?? -1) - (one[part] ?? -1);
    if (difference !== 0) return difference;
  }
  return 0;
}

/**
 * The builtins of a library among what lies beside it: of the same major and minor version, which
 * the library's own name need not tell (`libnvrtc.so.13`), else the newest of its major version.
 */
function builtinsFor(library: string, names: readonly string[]): string {
  const version = versionOf(basename(realPath(library)));
  const found = names.filter((name) => /^libnvrtc-builtins\.so\.\d+(\.\d+)*$/.test(name))
    .sort((one, other) => byVersion(versionOf(one), versionOf(other)));
  const agrees = (name: string, parts: number) =>
    versionOf(name).slice(0, parts).join() === version.slice(0, parts).join();
  const best = found.find((name) => version.length > 1 && agrees(name, 2)) ??
    found.find((name) => agrees(name, 1));
  return best === undefined ? "" : join(dirname(library), best);
}

function candidateIn({ directory, origin }: Place): NvrtcCandidate | NvrtcAttempt {
  const names = namesIn(directory);
  if (names === undefined) {
    const reason = mayRead(directory)
      ? "there is no such directory"
      : `it may not be looked at: run again with --allow-read=${directory}`;
    return { path: directory, origin, reason };
  }
  const [newest] = names.filter((name) => /^libnvrtc\.so(\.\d+)*$/.test(name))
    .sort((one, other) => byVersion(versionOf(one), versionOf(other)));
  if (newest === undefined) return { path: directory, origin, reason: "it holds no libnvrtc.so" };
  const library = join(directory, newest);
  return { library, builtins: builtinsFor(library, names), origin };
}

/** The directories of libraries of a toolkit. */
function toolkitLibraries(home: string, origin: string, triple: string): Place[] {
  const folders = ["lib64", "lib", join("targets", triple, "lib")];
  // A toolkit for servers with ARM processors has its own name for them.
  if (triple === "aarch64-linux") folders.push(join("targets", "sbsa-linux", "lib"));
  const present = folders.filter((folder) => namesIn(join(home, folder)) !== undefined);
  return (present.length > 0 ? present : ["lib64"])
    .map((folder) => ({ directory: join(home, folder), origin }));
}

/** The programs of this name on `PATH`, without links. */
function programs(name: string, environment: EnvironmentReader): string[] {
  return (environment("PATH") ?? "").split(delimiter)
    .filter((directory) => isAbsolute(directory))
    .map((directory) => join(directory, name))
    .filter(isThere)
    .map(realPath);
}

function* toolkitPlaces(
  environment: EnvironmentReader,
  root: string,
  triple: string,
): Generator<Place> {
  for (const variable of TOOLKIT_VARIABLES) {
    const home = environment(variable);
    if (home !== undefined && isAbsolute(home)) yield* toolkitLibraries(home, variable, triple);
  }
  for (const compiler of programs("nvcc", environment)) {
    yield* toolkitLibraries(dirname(dirname(compiler)), "beside nvcc", triple);
  }
  for (const home of installedToolkits(root)) {
    yield* toolkitLibraries(home, "where the toolkit installs itself", triple);
  }
}

/** Where the toolkit installs itself: its link to one of its versions, then all, newest first. */
export function installedToolkits(root = "/"): string[] {
  const local = join(root, "usr", "local");
  const versions = (namesIn(local) ?? []).filter((name) => /^cuda-\d+(\.\d+)?$/.test(name))
    .map((name) => ({ name, version: name.slice("cuda-".length).split(".").map(Number) }))
    .sort((one, other) => byVersion(one.version, other.version));
  return ["cuda", ...versions.map(({ name }) => name)].map((name) => join(local, name));
}

/** The directories of packages of a Python that is installed below a prefix. */
function packageDirectories(prefix: string): string[] {
  const library = join(prefix, "lib");
  const pythons = (namesIn(library) ?? []).filter((name) => /^python3(\.\d+)?$/.test(name));
  return pythons.flatMap((python) =>
    ["site-packages", "dist-packages"].map((folder) => join(library, python, folder))
  );
}

/**
 * Where NVIDIA's packages for Python put NVRTC: `nvidia/cu13/lib`, before CUDA 13
 * `nvidia/cuda_nvrtc/lib`. No Python is started to ask it for its directories: that takes longer
 * than a kernel that is in the cache.
 */
function* pythonPlaces(environment: EnvironmentReader, root: string): Generator<Place> {
  const home = environment("HOME");
  const prefixes = [
    environment("VIRTUAL_ENV"),
    environment("CONDA_PREFIX"),
    ...programs("python3", environment).map((program) => dirname(dirname(program))),
    home === undefined ? undefined : join(home, ".local"),
    join(root, "usr", "local"),
    join(root, "usr"),
  ].filter((prefix) => prefix !== undefined && isAbsolute(prefix)) as string[];
  for (const directory of new Set(prefixes.flatMap(packageDirectories))) {
    const nvidia = join(directory, "nvidia");
    const holders = (namesIn(nvidia) ?? []).filter((name) => /^cu\d+$|^cuda_nvrtc$/.test(name));
    for (const name of holders) {
      yield { directory: join(nvidia, name, "lib"), origin: "a package for Python" };
    }
  }
}

function* systemPlaces(
  environment: EnvironmentReader,
  root: string,
  triple: string,
): Generator<Place> {
  for (const directory of (environment("LD_LIBRARY_PATH") ?? "").split(delimiter)) {
    if (isAbsolute(directory)) yield { directory, origin: "LD_LIBRARY_PATH" };
  }
  for (const folder of [join("usr", "lib", `${triple}-gnu`), join("usr", "lib64")]) {
    const directory = join(root, folder);
    if (namesIn(directory) !== undefined) yield { directory, origin: "the system's libraries" };
  }
}
