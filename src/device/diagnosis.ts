/**
 * The report of `gridstride doctor`: libraries, backends, versions, permissions and problems.
 *
 * @module
 */

import { CudaError } from "../ffi/cuda_error.ts";
import type { BuildRecord, LibraryKind } from "../ffi/library.ts";
import { environmentReader } from "../ffi/granted_environment.ts";
import { buildCommand, deniedLibrary, LibraryNotFoundError } from "../ffi/locate.ts";
import { deviceVersions } from "../ffi/native_device.ts";
import { openLibrary } from "../ffi/open_library.ts";
import { detectBackends, preflight } from "../hardware/backends.ts";
import type { BackendReport } from "../hardware/probe.ts";
import { cudaVersionText } from "../hardware/device_information.ts";
import { CompilerUnavailableError } from "../launch/compile/compile_error.ts";
import { findHostProgram } from "../launch/compile/host_program.ts";
import { checkEnvironment, environment } from "../hardware/device_list.ts";
import { abilities, type Ability } from "./abilities.ts";
import { defaultDevice, NoDeviceError } from "./open_device.ts";

/**
 * The result of {@linkcode diagnose}.
 * @category Detection and diagnosis
 */
export interface Diagnosis {
  /** Whether a device can be opened. */
  readonly ok: boolean;
  /** Both native libraries. */
  readonly libraries: readonly {
    /** The library. */
    readonly kind: LibraryKind;
    /** The opened file; `null` if none could be opened. */
    readonly path: string | null;
    /** The build record; `null` if no file could be opened. */
    readonly build: BuildRecord | null;
    /** The files tried before, and the reasons why they failed. */
    readonly attempts: LibraryNotFoundError["attempts"];
  }[];
  /** CUDA, ROCm, Metal and WebGPU. */
  readonly backends: readonly BackendReport[];
  /** Newest CUDA version the driver supports; `null` without a driver. */
  readonly driverVersion: string | null;
  /** Version of the CUDA toolkit (nvcc); `null` without one. */
  readonly toolkitVersion: string | null;
  /** What works on this machine, and what to install for the rest. */
  readonly abilities: readonly Ability[];
  /** The permissions that the package can use. */
  readonly permissions: readonly {
    /** The flag on Deno's command line: `--allow-ffi`. */
    readonly flag: string;
    /** The purpose. */
    readonly purpose: string;
    /** Whether it is granted. */
    readonly granted: boolean;
  }[];
  /** Problems of the installation, most important first. */
  readonly problems: readonly {
    /** The cause as a code. */
    readonly code: string;
    /** The cause in a sentence. */
    readonly message: string;
    /** The remedy. */
    readonly fix: string;
  }[];
}

type LibraryReport = Diagnosis["libraries"][number];
type Problem = Diagnosis["problems"][number];

function reportLibrary(kind: LibraryKind): LibraryReport {
  try {
    const { path, build } = openLibrary(kind);
    return { kind, path, build, attempts: [] };
  } catch (error) {
    if (!(error instanceof LibraryNotFoundError)) throw error;
    return { kind, path: null, build: null, attempts: error.attempts };
  }
}

const PERMISSIONS: readonly [Deno.PermissionDescriptor, string, string][] = [
  [{ name: "ffi" }, "--allow-ffi", "open the native library (a path after = is enough)"],
  [{ name: "env" }, "--allow-env", "read GRIDSTRIDE_* and CUDA_* variables"],
  [{ name: "read" }, "--allow-read", "check the owner of cached libraries, probe the system"],
  [{ name: "run" }, "--allow-run", "probe nvidia-smi and nvcc, start compilers"],
  [{ name: "write" }, "--allow-write", "build the native library"],
];

function reportPermissions(): Diagnosis["permissions"] {
  return PERMISSIONS.map(([descriptor, flag, purpose]) => ({
    flag,
    purpose,
    granted: Deno.permissions.querySync(descriptor).state === "granted",
  }));
}

/** The remedy for a library that cannot be opened: the first of permission, compiler and build. */
function libraryFix({ kind, attempts }: LibraryReport, hasNvcc: boolean): string {
  const denied = deniedLibrary(attempts);
  if (denied !== undefined) return `Run again with --allow-ffi=${denied.path}`;
  if (kind === "cuda" && !hasNvcc) {
    return `Install the CUDA toolkit (nvcc) if there is a GPU, then run ${buildCommand()}`;
  }
  try {
    findHostProgram("", environmentReader());
    return `Run ${buildCommand()}`;
  } catch (error) {
    if (!(error instanceof CompilerUnavailableError)) throw error;
    return `Install a C++17 compiler (g++ or clang++), then run ${buildCommand()}`;
  }
}

function libraryProblem(report: LibraryReport, hasNvcc: boolean): Problem[] {
  const { kind, path, attempts } = report;
  if (path !== null) return [];
  const tried = attempts.map((attempt) => `${attempt.path} (${attempt.reason})`).join("; ");
  return [{
    code: `no-${kind}-library`,
    message: `The ${kind} library cannot be opened: ${tried || "there is no place to look for it"}`,
    fix: libraryFix(report, hasNvcc),
  }];
}

function deniedVariables(): Problem[] {
  const denied = environment.deniedVariables;
  return denied.length === 0 ? [] : [{
    code: "environment-denied",
    message: `These variables may not be read and count as unset: ${denied.join(", ")}`,
    fix: "Run again with --allow-env.",
  }];
}

async function cudaProblem(libraries: readonly LibraryReport[]): Promise<Problem[]> {
  const result = await preflight();
  if (result.ok) return [];
  // A missing library is already reported as its own problem.
  const known = result.code === "no-library" &&
    libraries.some(({ kind, path }) => kind === "cuda" && path === null);
  return known ? [] : [{ code: result.code, message: result.reason, fix: result.fix }];
}

/** The problem of opening the default device, which `GRIDSTRIDE_DEVICE` may name. */
function openingProblem(): Problem | undefined {
  try {
    defaultDevice();
    return undefined;
  } catch (error) {
    const isKnown = error instanceof NoDeviceError || error instanceof LibraryNotFoundError ||
      error instanceof CudaError;
    if (!isKnown) throw error;
    const chosen = environment.read("GRIDSTRIDE_DEVICE");
    const fix = chosen === undefined
      ? "Correct the problems above."
      : `Unset GRIDSTRIDE_DEVICE, which is ${chosen}, or name a device of \`gridstride devices\`.`;
    return { code: "no-device", message: error.message, fix };
  }
}

/**
 * Diagnoses the installation: libraries, backends, versions, permissions, environment.
 *
 * @throws {EnvironmentError} If an environment variable is malformed.
 *
 * @example
 * ```ts
 * import { diagnose } from "@gridstride/cuda";
 *
 * for (const { message, fix } of (await diagnose()).problems) console.log(message, fix);
 * ```
 * @category Detection and diagnosis
 */
export async function diagnose(): Promise<Diagnosis> {
  checkEnvironment();
  const libraries = [reportLibrary("cuda"), reportLibrary("host")];
  const backends = await detectBackends();
  const toolkitVersion = backends.find(({ backend }) => backend === "cuda")?.toolkitVersion ?? null;
  const cuda = libraries[0]!.path === null ? undefined : openLibrary("cuda");
  const host = libraries[1]!.path === null ? undefined : openLibrary("host");
  const opening = openingProblem();
  const driverVersion = cuda === undefined ? null : cudaVersionText(deviceVersions(cuda).driver);
  return {
    ok: opening === undefined,
    libraries,
    backends,
    driverVersion,
    toolkitVersion,
    abilities: abilities({ cuda, host, driverVersion, toolkitVersion }),
    permissions: reportPermissions(),
    problems: [
      ...libraries.flatMap((library) => libraryProblem(library, toolkitVersion !== null)),
      ...await cudaProblem(libraries),
      ...deniedVariables(),
      ...(opening === undefined ? [] : [opening]),
    ],
  };
}
