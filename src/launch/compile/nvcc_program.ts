/**
 * The nvcc of this machine: found, and asked what it is.
 *
 * @module
 */

import { isAbsolute, join } from "node:path";
import { findProgram, runProgram } from "../../ffi/build/programs.ts";
import type { EnvironmentReader } from "../../ffi/granted_environment.ts";
import { rememberedIdentity } from "../cache/compiler_identity.ts";
import { CompilerUnavailableError } from "./compiler_unavailable_error.ts";
import { installedToolkits } from "./nvrtc_search.ts";
import { isThere, mayRead } from "./readable_files.ts";

/** An nvcc that can be used. */
export interface NvccProgram {
  /** The program. */
  readonly path: string;
  /** Its version, such as `13.0.88`. */
  readonly version: string;
  /** The architectures it compiles for, ascending. */
  readonly architectures: readonly number[];
  /** All that tells it from another, its C++ compiler included. */
  readonly identity: readonly string[];
}

const ACTION = "compile for CUDA with nvcc";

/** Variables with options that nvcc and its C++ compiler add to those that they are given. */
const AMBIENT = ["NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "CPATH", "CPLUS_INCLUDE_PATH"] as const;

/**
 * Finds nvcc in `CUDA_HOME`, in `CUDA_PATH`, on `PATH`, and where the toolkit installs itself. It is
 * started only where an earlier process has not asked it yet.
 *
 * @throws {CompilerUnavailableError} If there is none, or it may not be started.
 */
export async function findNvcc(environment: EnvironmentReader): Promise<NvccProgram> {
  const path = nvccPath(environment);
  const cpp = cppProgram(environment);
  const basis = {
    subject: "nvcc",
    files: [path, cpp].filter(isAbsolute),
    settings: [path, cpp],
  };
  const answer = await rememberedIdentity(basis, () => askIdentity(path, cpp));
  const [version = "", architectures = ""] = answer;
  const identity = [...answer, ...AMBIENT.map((name) => environment(name) ?? "")];
  return { path, version, architectures: architectures.split(" ").map(Number), identity };
}

function nvccPath(environment: EnvironmentReader): string {
  const homes = ["CUDA_HOME", "CUDA_PATH"].map((variable) => environment(variable))
    .filter((home) => home !== undefined && isAbsolute(home)) as string[];
  const places = [
    ...homes.map((home) => join(home, "bin", "nvcc")),
    ...(environment("PATH") ?? "").split(":").filter(isAbsolute)
      .map((directory) => join(directory, "nvcc")),
    ...installedToolkits().map((home) => join(home, "bin", "nvcc")),
  ];
  const found = places.find(isThere);
  if (found !== undefined) return found;
  const tried = [...new Set(places)].map((path) =>
    mayRead(path) ? path : `${path} (not looked at: run again with --allow-read)`
  );
  throw new CompilerUnavailableError(
    `Cannot ${ACTION} as there is none: not in ${tried.join(", ")}`,
  );
}

/** The C++ compiler that nvcc takes: its preprocessor and headers are part of what comes out. */
function cppProgram(environment: EnvironmentReader): string {
  const chosen = environment("NVCC_CCBIN");
  if (chosen !== undefined && chosen !== "") return chosen;
  return mayRead("/") ? findProgram("g++", environment) ?? "" : "";
}

async function askIdentity(path: string, cpp: string): Promise<string[]> {
  requireRun(path);
  const version = await runProgram([path], ["--version"]);
  const list = await runProgram([path], ["--list-gpu-code"]);
  const number = /\bV(\d+\.\d+\.\d+)\b/.exec(version.stdout)?.[1];
  const architectures = [...list.stdout.matchAll(/\bsm_(\d+)\b/g)].map((match) => Number(match[1]));
  if (number === undefined || architectures.length === 0) {
    throw new CompilerUnavailableError(
      `Cannot ${ACTION} as ${path} does not answer --version and --list-gpu-code like nvcc does: it ` +
        `says ${JSON.stringify((version.stdout + version.stderr + list.stderr).trim())}`,
    );
  }
  const sorted = [...new Set(architectures)].sort((one, other) => one - other);
  // It is the file that tells it, where its version may not be asked for.
  const mayAsk = cpp !== "" &&
    Deno.permissions.querySync({ name: "run", command: cpp }).state === "granted";
  const cppVersion = mayAsk ? (await runProgram([cpp], ["--version"])).stdout : cpp;
  return [number, sorted.join(" "), version.stdout, cppVersion];
}

/**
 * Makes sure that nvcc may be started, without a prompt.
 *
 * @throws {CompilerUnavailableError} If not; it names the flag.
 */
export function requireRun(path: string): void {
  if (Deno.permissions.querySync({ name: "run", command: path }).state === "granted") return;
  throw new CompilerUnavailableError(
    `Cannot ${ACTION} as starting ${path} is not permitted: run again with --allow-run=${path}`,
  );
}
