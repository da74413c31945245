/**
 * Finds the C++17 compiler, nvcc, and the architectures of this machine.
 *
 * @module
 */

import { join } from "node:path";
import type { EnvironmentReader } from "../granted_environment.ts";
import { BuildError } from "./build_error.ts";
import { findProgram, isExecutable, runProgram } from "./programs.ts";

/** The C++ compilers whose flags are known. */
export type CompilerFamily = "gcc" | "clang";

export interface CppCompiler {
  /** The program, after a wrapper such as ccache if there is one. */
  readonly command: readonly string[];
  readonly family: CompilerFamily;
  readonly version: string;
  /** Its whole version text: compilers with different ones share no object file. */
  readonly identity: string;
}

export interface CudaCompiler {
  readonly path: string;
  readonly version: string;
  /** Its whole version text. */
  readonly identity: string;
  readonly supported: readonly number[];
}

/** nvcc, or all places that were searched. */
export type CudaCompilerSearch =
  | { readonly compiler: CudaCompiler; readonly notes: readonly string[] }
  | { readonly compiler: undefined; readonly tried: readonly string[] };

/** The family of a compiler, from its version text. */
export function compilerFamily(identity: string): CompilerFamily | undefined {
  // Clang first: it may call itself g++, and names GCC's installation in some outputs.
  if (/\bclang\b/i.test(identity)) return "clang";
  return /Free Software Foundation/.test(identity) ? "gcc" : undefined;
}

/** Finds the C++ compiler: the chosen one, else `CXX`, else g++, clang++ or c++ on `PATH`. */
export async function findCppCompiler(
  chosen: string | undefined,
  environment: EnvironmentReader,
): Promise<CppCompiler> {
  const explicit = chosen ?? environment("CXX")?.trim();
  if (explicit !== undefined && explicit !== "") {
    const source = chosen === undefined ? "CXX" : "--compiler";
    const command = resolveCommand(explicit, environment);
    if (command !== undefined) return await describeCppCompiler(command, source);
    throw new BuildError(
      `Cannot find the C++ compiler ${JSON.stringify(explicit)} that ${source} names`,
      2,
    );
  }
  const names = ["g++", "clang++", "c++"];
  for (const name of names) {
    const path = findProgram(name, environment);
    if (path !== undefined) return await describeCppCompiler([path], "PATH");
  }
  throw new BuildError(
    `Cannot find a C++17 compiler: CXX is not set and PATH holds none of ${names.join(", ")}. ` +
      `Install one with ${compilerInstallation(Deno.build.os)}`,
  );
}

/** `CXX` may hold a wrapper and the compiler, such as "ccache g++". */
function resolveCommand(text: string, environment: EnvironmentReader): string[] | undefined {
  const whole = findProgram(text, environment);
  if (whole !== undefined) return [whole];
  const [name, ...rest] = text.split(/\s+/);
  const path = findProgram(name!, environment);
  return path === undefined || rest.length === 0 ? undefined : [path, ...rest];
}

async function describeCppCompiler(command: string[], source: string): Promise<CppCompiler> {
  const name = command.join(" ");
  const { success, stdout, stderr } = await runProgram(command, ["--version"]);
  const family = success ? compilerFamily(stdout) : undefined;
  if (family === undefined) {
    throw new BuildError(
      `Cannot use ${name} (from ${source}) as it must be g++ or clang++: ` +
        `\`${name} --version\` says ${JSON.stringify((stdout + stderr).trim())}`,
    );
  }
  return { command, family, version: stdout.split("\n", 1)[0]!.trim(), identity: stdout };
}

/** Finds nvcc in `CUDA_HOME`, in `CUDA_PATH`, on `PATH`, and in the toolkit's default directory. */
export async function findCudaCompiler(
  environment: EnvironmentReader,
  toolkit = "/usr/local/cuda",
): Promise<CudaCompilerSearch> {
  const tried: string[] = [];
  const notes: string[] = [];
  for (const variable of ["CUDA_HOME", "CUDA_PATH"]) {
    const home = environment(variable);
    if (home === undefined || home === "") {
      tried.push(`${variable} (not set)`);
      continue;
    }
    const path = join(home, "bin", "nvcc");
    if (isExecutable(path)) return { compiler: await describeCudaCompiler(path), notes };
    tried.push(`${variable} (no ${path})`);
    notes.push(`${variable} is ${home}, which holds no bin/nvcc`);
  }
  const found = [
    ["PATH", findProgram("nvcc", environment)],
    [toolkit, findProgram(join(toolkit, "bin", "nvcc"), environment)],
  ] as const;
  for (const [place, path] of found) {
    if (path !== undefined) return { compiler: await describeCudaCompiler(path), notes };
    tried.push(place);
  }
  return { compiler: undefined, tried };
}

async function describeCudaCompiler(path: string): Promise<CudaCompiler> {
  const version = await runProgram([path], ["--version"]);
  const list = await runProgram([path], ["--list-gpu-code"]);
  const number = /\bV(\d+\.\d+\.\d+)\b/.exec(version.stdout)?.[1];
  const supported = [...list.stdout.matchAll(/\bsm_(\d+)\b/g)].map((match) => Number(match[1]));
  if (number === undefined || supported.length === 0) {
    throw new BuildError(
      `Cannot use ${path} as it does not answer --version and --list-gpu-code like nvcc does: it ` +
        `says ${JSON.stringify((version.stdout + version.stderr + list.stderr).trim())}`,
    );
  }
  return {
    path,
    version: number,
    identity: version.stdout,
    supported: supported.sort((a, b) => a - b),
  };
}

/**
 * The compute capabilities of the GPUs of this machine times ten, each once, from nvidia-smi; empty if
 * there is no nvidia-smi or it finds no GPU.
 */
export async function presentCapabilities(environment: EnvironmentReader): Promise<number[]> {
  // WSL2 keeps the driver's programs in a directory that is not always on PATH.
  const path = findProgram("nvidia-smi", environment) ??
    findProgram("/usr/lib/wsl/lib/nvidia-smi", environment);
  if (path === undefined) return [];
  const query = ["--query-gpu=compute_cap", "--format=csv,noheader"];
  const { success, stdout } = await runProgram([path], query);
  if (!success) return [];
  const numbers = [...stdout.matchAll(/^\s*(\d+)\.(\d)\s*$/gm)]
    .map((match) => Number(match[1]) * 10 + Number(match[2]));
  return [...new Set(numbers)].sort((a, b) => a - b);
}

/** The commands that install a C++ compiler on an operating system, as `Deno.build.os` names it. */
export function compilerInstallation(os: string): string {
  if (os === "darwin") return "`xcode-select --install`";
  return "`apt-get install g++` (Debian, Ubuntu), `dnf install gcc-c++` (Fedora, RHEL), " +
    "`zypper install gcc-c++` (SUSE), `pacman -S gcc` (Arch) or `apk add g++` (Alpine)";
}

/** The instruction sets of x86-64-v3 in `/proc/cpuinfo`, and in sysctl of macOS. */
const LEVEL_3 = ["avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe", "xsave"];
const LEVEL_3_DARWIN = ["avx1.0", "avx2", "bmi1", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave"];

/** Whether the text in which a system lists processor features covers x86-64-v3. */
export function coversLevel3(text: string, os: string): boolean {
  const list = os === "darwin" ? text.toLowerCase() : /^flags\s*:(.*)$/m.exec(text)?.[1] ?? "";
  const present = list.split(/\s+/);
  return (os === "darwin" ? LEVEL_3_DARWIN : LEVEL_3).every((name) => present.includes(name));
}

/**
 * The architecture of this processor that the host library is compiled for. With x86-64-v3 the host
 * device converts half precision and rounds fused multiply-adds in hardware, as a GPU does.
 */
export async function hostArchitecture(): Promise<string> {
  const { arch, os } = Deno.build;
  if (arch !== "x86_64") return arch;
  let text = "";
  if (os === "darwin") {
    const names = ["features", "leaf7_features", "extfeatures"];
    const args = names.map((name) => `machdep.cpu.${name}`);
    text = (await runProgram(["/usr/sbin/sysctl"], ["-n", ...args])).stdout;
  } else {
    // Unknown features: the code then runs on every processor.
    text = await Deno.readTextFile("/proc/cpuinfo").catch(() => "");
  }
  return coversLevel3(text, os) ? "x86-64-v3" : "x86-64";
}
