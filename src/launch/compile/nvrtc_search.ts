/**
 * Searches for libraries of the CUDA toolkit, opens NVRTC, and finds the headers of its toolkit.
 *
 * @module
 */

import { basename, delimiter, dirname, isAbsolute, join } from "node:path";
import {
  environmentGranted,
  type EnvironmentReader,
  grantedEnvironment,
  mayRead,
} from "../../ffi/granted_environment.ts";
import type { NativeLibrary } from "../../ffi/library.ts";
import { openNvrtc } from "../../ffi/native_nvrtc.ts";
import { CompilerUnavailableError } from "./compile_error.ts";
import { fileState, namesIn, realPath, statOf, textOf } from "./files.ts";

export interface NvrtcCandidate {
  /** Its path, absolute; or its name, for the system's search. */
  readonly library: string;
  /** The path of its library of builtins; empty where the system's search finds it. */
  readonly builtins: string;
  /** The variable or rule that led to it, such as `"CUDA_HOME"`. */
  readonly origin: string;
}

/** A library of the CUDA toolkit, and how it is searched for. */
export interface ToolkitLibrary {
  /** Its file without a version. */
  readonly file: string;
  /** The variable that names it, or its directory. */
  readonly variable: string;
  /** The folder of its Python package before CUDA 13. */
  readonly pythonFolder: string;
  /** Its names for the system's loader, newest first. */
  readonly systemNames: readonly string[];
}

/** A directory or library without a usable NVRTC. */
export type NvrtcAttempt = { readonly [Field in "path" | "origin" | "reason"]: string };

export interface NvrtcInstallation {
  /** The library: a path, or a name for the system's search. */
  readonly library: string;
  /** Its version, which is that of its CUDA toolkit. */
  readonly version: readonly [major: number, minor: number];
  /** The version, and the states of its files. */
  readonly identity: readonly string[];
}

/** The variable that names NVRTC: the library, or its directory. */
export const NVRTC_VARIABLE = "GRIDSTRIDE_NVRTC";

/** The variables that every search reads. */
const VARIABLES: readonly string[] =
  "CUDA_HOME CUDA_PATH PATH LD_LIBRARY_PATH VIRTUAL_ENV CONDA_PREFIX HOME".split(" ");

const NVRTC: ToolkitLibrary = {
  file: "libnvrtc.so",
  variable: NVRTC_VARIABLE,
  pythonFolder: "cuda_nvrtc",
  systemNames: ["libnvrtc.so.13", "libnvrtc.so.12"],
};

/** cuBLASLt, as it is searched for. */
export const CUBLASLT_LIBRARY: ToolkitLibrary = {
  file: "libcublasLt.so",
  variable: "GRIDSTRIDE_CUBLASLT",
  pythonFolder: "cublas",
  systemNames: ["libcublasLt.so.13", "libcublasLt.so.12"],
};

const DEFAULT_DIRECTORY = "the toolkit's default directory";
const SYSTEM_LIBRARIES = "the system's libraries";

/** Finds and opens NVRTC. */
export function findNvrtc(
  library: NativeLibrary,
  environment: EnvironmentReader,
): NvrtcInstallation {
  const attempts: NvrtcAttempt[] = [];
  for (const found of searchNvrtc(environment)) {
    const opened = "library" in found ? openCandidate(library, found) : found;
    if ("version" in opened) return opened;
    attempts.push(opened);
  }
  throw new CompilerUnavailableError([
    "Cannot compile for CUDA with NVRTC as there is none that can be used:",
    ...attempts.map(attemptText).map((text) => `  ${text}`),
    ...unreadText(NVRTC),
    "Install the CUDA toolkit, or NVRTC 12.0 or newer alone, with the headers of 16- and 8-bit floats: " +
    "`pip install nvidia-cuda-nvrtc nvidia-cuda-runtime`; or name the directory of libnvrtc.so in " +
    `${NVRTC_VARIABLE}.`,
  ].join("\n"));
}

const versions = new WeakMap<NativeLibrary, readonly [number, number]>();

/** The version of the NVRTC that compiles for the devices of a library; undefined without one. */
export function nvrtcVersion(library: NativeLibrary): readonly [number, number] | undefined {
  try {
    const version = versions.get(library) ?? findNvrtc(library, grantedEnvironment).version;
    versions.set(library, version);
    return version;
  } catch (error) {
    // The compilation reports it.
    if (error instanceof CompilerUnavailableError) return undefined;
    throw error;
  }
}

/** A failed attempt in words. */
export const attemptText = ({ path, origin, reason }: NvrtcAttempt): string =>
  `${path} (${origin}): ${reason}`;

/** A sentence on the variables that the search for a library may not read, if there are any. */
export function unreadText({ variable }: ToolkitLibrary): string[] {
  const unread = [variable, ...VARIABLES].filter((name) => !environmentGranted(name));
  return unread.length > 0 ? [`Not read without --allow-env: ${unread.join(", ")}.`] : [];
}

/** Directories that only the administrator chooses. A variable leads to all others. */
const TRUSTED_ORIGINS: readonly string[] = [DEFAULT_DIRECTORY, SYSTEM_LIBRARIES];

/** The reason why permissions keep files closed; undefined if they do not. */
export function closedReason(
  { library, origin }: { readonly library: string; readonly origin: string },
  paths: readonly string[],
): string | undefined {
  const isChosen = isAbsolute(library) && !TRUSTED_ORIGINS.includes(origin);
  const closed = (isChosen ? paths : []).filter((path) =>
    path !== "" && Deno.permissions.querySync({ name: "ffi", path }).state !== "granted"
  );
  if (closed.length === 0) return undefined;
  return `permission for FFI is not granted: run again with --allow-ffi=${closed}`;
}

/** Opens a library; one process uses one NVRTC from then on. */
function openCandidate(
  native: NativeLibrary,
  candidate: NvrtcCandidate,
): NvrtcInstallation | NvrtcAttempt {
  const { library, builtins, origin } = candidate;
  const closed = closedReason(candidate, [library, builtins]);
  if (closed !== undefined) return { path: library, origin, reason: closed };
  const opening = openNvrtc(native, library, builtins);
  if ("problem" in opening) return { path: library, origin, reason: opening.problem };
  const { path, version } = opening;
  if (isAbsolute(library) && realPath(path) !== realPath(library)) {
    return { path: library, origin, reason: `this process has opened ${path} already` };
  }
  const states = [path, builtins].filter(isAbsolute).map(fileState);
  return { library, version, identity: [version.join("."), ...states] };
}

/** Searches for NVRTC, and for the builtins beside it. */
export function* searchNvrtc(
  environment: EnvironmentReader,
  root = "/",
): Generator<NvrtcCandidate | NvrtcAttempt> {
  for (const found of searchLibrary(NVRTC, environment, root)) {
    if (!("library" in found)) {
      yield found;
      continue;
    }
    const { library } = found;
    const builtins = isAbsolute(library)
      ? builtinsFor(library, namesIn(dirname(library)) ?? [])
      : "";
    yield { ...found, builtins };
  }
}

/**
 * Searches for a library: only in its variable if that is set; else in `CUDA_HOME` and `CUDA_PATH`,
 * beside nvcc, in the toolkit's default directories (newest first), among Python packages, in the
 * system's directories, and last by name.
 *
 * Never prompts: a directory that may not be read is an attempt with that reason.
 *
 * @param root The root of the file system.
 * @returns Candidates and failed attempts, the best first; searched on demand.
 */
export function* searchLibrary(
  what: ToolkitLibrary,
  environment: EnvironmentReader,
  root = "/",
): Generator<Omit<NvrtcCandidate, "builtins"> | NvrtcAttempt> {
  const { variable: origin } = what;
  const chosen = environment(origin);
  if (chosen !== undefined && chosen !== "") {
    return yield !isAbsolute(chosen)
      ? { path: chosen, origin, reason: "it must be an absolute path" }
      : namesIn(chosen) === undefined
      ? { library: chosen, origin }
      : candidateIn(chosen, origin, what);
  }
  const seen = new Set<string>();
  for (const [directory, origin] of places(what, environment, root)) {
    const real = realPath(directory);
    if (seen.has(real)) continue;
    seen.add(real);
    yield candidateIn(directory, origin, what);
  }
  for (const library of what.systemNames) yield { library, origin: "the system's search" };
}

function candidateIn(
  directory: string,
  origin: string,
  { file }: ToolkitLibrary,
): Omit<NvrtcCandidate, "builtins"> | NvrtcAttempt {
  const names = namesIn(directory);
  if (names === undefined) {
    const reason = mayRead(directory)
      ? "there is no such directory"
      : `it may not be read: run again with --allow-read=${directory}`;
    return { path: directory, origin, reason };
  }
  const [newest] = names.filter((name) =>
    name.startsWith(file) && /^(\.\d+)*$/.test(name.slice(file.length))
  ).sort(byVersion);
  if (newest === undefined) return { path: directory, origin, reason: `it holds no ${file}` };
  return { library: join(directory, newest), origin };
}

/**
 * The builtins of a library among the files beside it: of the same major and minor version, which
 * the library's own name may omit (`libnvrtc.so.13`), else the newest of its major version.
 */
function builtinsFor(library: string, names: readonly string[]): string {
  const [major, minor] = versionOf(basename(realPath(library)));
  const found = names.filter((name) => /^libnvrtc-builtins\.so\.\d+(\.\d+)*$/.test(name))
    .sort(byVersion).filter((name) => versionOf(name)[0] === major);
  const best = found.find((name) => versionOf(name)[1] === minor) ?? found[0];
  return best === undefined ? "" : join(dirname(library), best);
}

/** The numbers at the end of a name: of `libnvrtc.so.13.0`, or `cuda-12.8`. */
function versionOf(name: string): number[] {
  const digits = /(?:\.so\.|-)([\d.]+)$/.exec(name)?.[1] ?? "";
  return digits.split(".").filter((part) => part !== "").map(Number);
}

/** Compares names by version: the newer first, and the more exact of two that agree. */
function byVersion(one: string, other: string): number {
  const [first, second] = [versionOf(one), versionOf(other)];
  for (let part = 0; part < Math.max(first.length, second.length); part++) {
    const difference = (second[part] ?? -1) - (first[part] ?? -1);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** A directory that may hold NVRTC, and the rule that led to it. */
type Place = readonly [directory: string, origin: string];

function* places(
  { pythonFolder }: ToolkitLibrary,
  environment: EnvironmentReader,
  root: string,
): Generator<Place> {
  const triple = `${Deno.build.arch}-linux`;
  for (const variable of ["CUDA_HOME", "CUDA_PATH"]) {
    const home = environment(variable);
    if (home !== undefined && isAbsolute(home)) yield* toolkitPlaces(home, variable, triple);
  }
  for (const compiler of programs("nvcc", environment)) {
    yield* toolkitPlaces(dirname(dirname(compiler)), "beside nvcc", triple);
  }
  for (const home of installedToolkits(root)) {
    yield* toolkitPlaces(home, DEFAULT_DIRECTORY, triple);
  }
  yield* pythonPlaces(pythonFolder, environment, root);
  for (const directory of (environment("LD_LIBRARY_PATH") ?? "").split(delimiter)) {
    if (isAbsolute(directory)) yield [directory, "LD_LIBRARY_PATH"];
  }
  for (const folder of [join("usr", "lib", `${triple}-gnu`), join("usr", "lib64")]) {
    const directory = join(root, folder);
    if (namesIn(directory) !== undefined) yield [directory, SYSTEM_LIBRARIES];
  }
}

/** The directories of libraries of a toolkit. */
function toolkitPlaces(home: string, origin: string, triple: string): Place[] {
  const folders = ["lib64", "lib", join("targets", triple, "lib")];
  // The toolkit for servers with ARM processors has its own name for them.
  if (triple === "aarch64-linux") folders.push(join("targets", "sbsa-linux", "lib"));
  const present = folders.filter((folder) => namesIn(join(home, folder)) !== undefined);
  if (present.length === 0) present.push("lib64");
  return present.map((folder) => [join(home, folder), origin]);
}

/** The programs of a name on `PATH`, without links. */
function programs(name: string, environment: EnvironmentReader): string[] {
  return (environment("PATH") ?? "").split(delimiter)
    .filter((directory) => isAbsolute(directory))
    .map((directory) => join(directory, name))
    .filter((path) => statOf(path) !== undefined)
    .map(realPath);
}

/** The default directories of toolkits: the link to one version, then all versions, newest first. */
function installedToolkits(root: string): string[] {
  const local = join(root, "usr", "local");
  const versions = (namesIn(local) ?? []).filter((name) => /^cuda-\d+(\.\d+)?$/.test(name));
  return ["cuda", ...versions.sort(byVersion)].map((name) => join(local, name));
}

/**
 * The directories of NVIDIA's packages for Python: `nvidia/cu13/lib`, before CUDA 13 such as
 * `nvidia/cuda_nvrtc/lib`. No Python is started: that takes longer than a cache hit.
 */
function* pythonPlaces(
  before13: string,
  environment: EnvironmentReader,
  root: string,
): Generator<Place> {
  const home = environment("HOME");
  const prefixes = [
    environment("VIRTUAL_ENV") ?? "",
    environment("CONDA_PREFIX") ?? "",
    ...programs("python3", environment).map((program) => dirname(dirname(program))),
    home === undefined ? "" : join(home, ".local"),
    join(root, "usr", "local"),
    join(root, "usr"),
  ];
  for (const library of new Set(prefixes.filter(isAbsolute).map((path) => join(path, "lib")))) {
    const pythons = (namesIn(library) ?? []).filter((name) => /^python3(\.\d+)?$/.test(name));
    for (const python of pythons) {
      for (const folder of ["site-packages", "dist-packages"]) {
        const nvidia = join(library, python, folder, "nvidia");
        const holders = (namesIn(nvidia) ?? []).filter((name) =>
          name === before13 || /^cu\d+$/.test(name)
        );
        for (const name of holders) yield [join(nvidia, name, "lib"), "a package for Python"];
      }
    }
  }
}

/** The result of a search for the headers of one version. */
export interface ToolkitSearch {
  /** The version, such as `13.0`. */
  readonly wanted: string;
  /** The directories of that version, in the order in which headers are searched. */
  readonly fitting: readonly string[];
  readonly others: readonly { readonly path: string; readonly version: string }[];
  /** Directories without headers, each with the reason. */
  readonly absent: readonly string[];
}

/**
 * Searches for the headers of NVRTC's version: beside its library, in Python packages beside its own,
 * in `CUDA_HOME` and `CUDA_PATH`, in the toolkit's default directories, in other Python packages, and
 * in the system's directory.
 *
 * @param root The root of the file system.
 */
export function searchToolkitHeaders(
  { library, version }: Pick<NvrtcInstallation, "library" | "version">,
  environment: EnvironmentReader,
  root = "/",
): ToolkitSearch {
  const wanted = version.join(".");
  const homes = ["CUDA_HOME", "CUDA_PATH"].map((variable) => environment(variable) ?? "");
  const parent = dirname(dirname(library));
  const directories = [
    ...(isAbsolute(library) ? [parent, join(dirname(parent), "cuda_runtime")] : []),
    ...homes.filter((home) => isAbsolute(home)),
    ...installedToolkits(root),
    ...[...pythonPlaces("cuda_runtime", environment, root)].map(([path]) => dirname(path)),
    join(root, "usr"),
  ].map((home) => join(home, "include"));
  const unique = new Map(directories.toReversed().map((path) => [realPath(path), path]));
  const found = directories.filter((path) => unique.get(realPath(path)) === path)
    .map((path) => ({ path, version: versionIn(path) }));
  // CUDA 13 keeps libcu++ and CUB in a directory of their own.
  const fitting = found.filter(({ version }) => version === wanted)
    .flatMap(({ path }) => [path, join(path, "cccl")]);
  // Before CUDA 13 each part of the toolkit is a Python package of its own, some without a version.
  const parts = fitting.length > 0 && isAbsolute(library)
    ? ["cuda_cccl", "curand"].map((name) => join(dirname(parent), name, "include"))
    : [];
  return {
    wanted,
    fitting: [...fitting, ...parts.filter((path) => namesIn(path) !== undefined)],
    others: found.flatMap(({ path, version = wanted }) =>
      version === wanted ? [] : [{ path, version }]
    ),
    absent: found.filter(({ version }) => version === undefined).map(({ path }) =>
      mayRead(path)
        ? `${path} (no CUDA headers)`
        : `${path} (not read: run again with --allow-read=${path})`
    ),
  };
}

/** The version of the toolkit headers in a directory. */
function versionIn(path: string): string | undefined {
  const text = textOf(join(path, "cuda_runtime_api.h")) ?? "";
  // 1000 times the major version, 10 times the minor.
  const number = Number(/^#define CUDART_VERSION[ \t]+(\d+)/m.exec(text)?.[1]);
  if (!(number > 0)) return undefined;
  return `${Math.floor(number / 1000)}.${Math.floor(number % 1000 / 10)}`;
}

/** Whether one of some directories has a header. */
export function holdsHeader(directories: readonly string[], header: string): boolean {
  return directories.some((directory) => statOf(join(directory, header)) !== undefined);
}

/** The places that were searched for a header; completes `cannot open source file "cuda_fp16.h": …`. */
export function absentHeader(
  header: string,
  { wanted, fitting, others, absent }: ToolkitSearch,
  directories: readonly string[],
): string {
  const remedy = `${installation("nvidia-cuda-runtime", wanted, wanted)} installs those of CUDA`;
  const elsewhere = others.find(({ path }) => holdsHeader([path, join(path, "cccl")], header));
  if (elsewhere !== undefined) {
    return `it must be of CUDA ${wanted}, as the compiler is, and that in ${elsewhere.path} is of ` +
      `CUDA ${elsewhere.version}. ${remedy}`;
  }
  const own = ["the headers of the request", ...directories, "the standard headers of Gridstride"];
  const part = header.startsWith("curand")
    ? ` (${installation("nvidia-curand", undefined, wanted)} installs it)`
    : "";
  const places = `it is not in ${[...own, ...fitting].join(", ")}${part}`;
  if (fitting.length > 0) return places;
  const tried = absent.length === 0 ? "" : `: not in ${absent.join(", ")}`;
  return `${places}, and there are no headers of CUDA ${wanted} on this machine${tried}. ${remedy}`;
}

/** The command for a Python package of a CUDA version, which names the major one before CUDA 13. */
function installation(name: string, version: string | undefined, cuda: string): string {
  const major = Number.parseInt(cuda);
  const suffix = major < 13 ? `-cu${major}` : "";
  return `\`pip install ${name}${suffix}${version === undefined ? "" : `==${version}.*`}\``;
}
