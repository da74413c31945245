/**
 * The options of NVRTC: those that a program may pass, and those that are added.
 *
 * @module
 */

import { isAbsolute, resolve } from "node:path";
import { type CompileInputs, type CompileRequest, UNCOVERED_FILES } from "./compiler.ts";
import { mayRead } from "./files.ts";
import { PRELUDE_NAME } from "./standard_headers.ts";

/** The options of a program, parsed. */
export interface ProgramOptions {
  readonly directories: readonly string[];
  readonly first: readonly string[];
  /** The architecture, such as `sm_90a`, where it is given. */
  readonly architecture: string | undefined;
  /** The other options, each as one text. */
  readonly others: readonly string[];
}

/** Options with a value: the long form, then the other forms. */
const VALUED: readonly (readonly string[])[] = [
  ["--include-path", "-I", "-isystem", "--system-include"],
  ["--pre-include", "-include"],
  ["--gpu-architecture", "-arch"],
  ["--std", "-std"],
  ["--define-macro", "-D"],
  ["--undefine-macro", "-U"],
  ["--ptxas-options", "-Xptxas"],
  ["--maxrregcount", "-maxrregcount"],
];

/** Options that are replaced. */
const TAKEN: readonly string[] = ["--include-path", "--pre-include", "--gpu-architecture"];

/** Options that leave no machine code to load. */
const WITHOUT_CODE = new RegExp(
  "^(?:-dc|--device-c|-dlto|--dlink-time-opt|--?gen-opt-lto|--?optix-ir|--?fdevice-syntax-only|" +
    "-ewp|--extensible-whole-program)$",
);
/** Options that read or write files beyond the cache key. */
const WITH_FILES = /^(?:--?(?:(?:create-|use-)?pch|pch-dir|time|fdevice-time-trace))$/;

/**
 * Parses a program's options. The value of an option may be joined to it, with `=` or, after a
 * single letter, without; or be the next text.
 *
 * @param compiler The compiler in messages.
 */
export function readOptions({ options, name }: CompileInputs, compiler: string): ProgramOptions {
  const refuse = (reason: string): never => {
    throw new TypeError(`Cannot compile ${name} with ${compiler} as ${reason}`);
  };
  const values = new Map<string, string[]>();
  const others: string[] = [];
  for (let index = 0; index < options.length; index++) {
    const { option, value } = splitOption(options[index]!);
    const isRelocatable = /^(?:-rdc|--relocatable-device-code)$/.test(option) && value !== "false";
    if (isRelocatable || WITHOUT_CODE.test(option)) {
      refuse(`the option ${option} is not allowed: it leaves no machine code to load`);
    }
    if (WITH_FILES.test(option)) refuse(`the option ${option} is not allowed: ${UNCOVERED_FILES}`);
    const long = longForm(option);
    if (long === undefined) {
      others.push(options[index]!);
      continue;
    }
    const given = value ?? options[++index];
    if (!given) return refuse(`the option ${option} needs a value: it has none`);
    values.set(long, [...values.get(long) ?? [], given]);
    if (!TAKEN.includes(long)) others.push(`${long}=${given}`);
  }
  return {
    directories: (values.get("--include-path") ?? []).map((directory) => {
      if (isAbsolute(directory) || mayRead(".")) return resolve(directory);
      return refuse(
        `${JSON.stringify(directory)} is relative and reading the current directory is not ` +
          "permitted: give an absolute path, or run again with --allow-read",
      );
    }),
    first: values.get("--pre-include") ?? [],
    architecture: values.get("--gpu-architecture")?.at(-1),
    others,
  };
}

const longForm = (option: string) => VALUED.find((forms) => forms.includes(option))?.[0];

/** An option and the value that is joined to it. */
function splitOption(text: string): { readonly option: string; readonly value?: string } {
  const [, option = text, value] = /^(--?[\w-]+)=([\s\S]*)$/.exec(text) ?? [];
  if (value !== undefined) return { option, value };
  if (longForm(option) !== undefined) return { option };
  const [, letter, rest] = /^(-[DUI])\s*([\s\S]+)$/.exec(text) ?? [];
  return letter === undefined ? { option } : { option: letter, value: rest! };
}

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
  { others }: ProgramOptions,
  architecture: string,
  isolating: readonly string[],
): string[] {
  const has = (pattern: RegExp) => others.some((option) => pattern.test(option));
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
    ...others,
  ];
}
