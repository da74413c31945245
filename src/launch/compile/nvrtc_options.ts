/**
 * The options of NVRTC besides those of the program.
 *
 * @module
 */

import type { CompileRequest } from "./compiler.ts";
import type { CompilerOptions } from "./compiler_options.ts";
import { PRELUDE_NAME } from "./standard_headers.ts";

/**
 * The architecture to compile for: exactly that of the device where the compiler knows it, else the
 * newest older one as PTX, which the driver compiles.
 *
 * @param supported The compiler's architectures, ascending.
 */
export function chooseArchitecture(
  { target: { capability }, name }: CompileRequest,
  supported: readonly number[],
  compiler: string,
): string {
  const [major, minor] = capability.split(".").map(Number);
  const number = major! * 10 + minor!;
  if (supported.includes(number)) return `sm_${number}`;
  const older = supported.filter((architecture) => architecture < number).at(-1);
  if (older !== undefined) return `compute_${older}`;
  const oldest = supported[0];
  throw new RangeError(
    `Cannot compile ${name} with ${compiler} as the device's compute capability must be ` +
      `${oldest === undefined ? "known to it" : `${oldest / 10} or newer`}: it is ` +
      `${capability}. An older CUDA toolkit compiles for it`,
  );
}

/** Options that restrict a compilation to its inputs. */
export const ISOLATING_OPTIONS: readonly string[] = [
  // No headers beside the source: NVRTC would look for them in the current directory.
  "--no-source-include",
  // The limit is the process's; compilations run on a stack of their own.
  "--modify-stack-limit=false",
  // The driver's cache has a key that covers less.
  "--no-cache",
];

/**
 * The options of NVRTC for a request. The program's come last, and so take precedence.
 *
 * @param isolating The {@linkcode ISOLATING_OPTIONS} that this NVRTC knows.
 */
export function nvrtcOptions(
  { defines }: CompileRequest,
  { flags }: CompilerOptions,
  architecture: string,
  isolating: readonly string[],
): string[] {
  const has = (pattern: RegExp) => flags.some((option) => pattern.test(option));
  return [
    `--gpu-architecture=${architecture}`,
    ...isolating,
    // There is no host code here: a function without a qualifier is the device's.
    "--device-as-default-execution-space",
    `--pre-include=${PRELUDE_NAME}`,
    ...(has(/^--std=/) ? [] : ["--std=c++17"]),
    // For profilers; it does not change the code. -G includes it.
    ...(has(/^(-G|--device-debug)$/) ? [] : ["--generate-line-info"]),
    // Reports the resources of each kernel.
    ...(architecture.startsWith("sm_") ? ["--ptxas-options=-v"] : []),
    ...[...defines].map(([name, value]) => `--define-macro=${name}=${value}`),
    ...flags,
  ];
}
