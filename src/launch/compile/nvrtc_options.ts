/**
 * The options of NVRTC, and those of nvcc that are the same: which the program may give, and which
 * are added.
 *
 * @module
 */

import { isAbsolute, resolve } from "node:path";
import type { CompileInputs, CompileRequest, CompileTarget } from "./compiler.ts";
import { mayRead } from "./readable_files.ts";
import { PRELUDE_NAME } from "./standard_headers.ts";

/** What a program's options say, apart. */
export interface ProgramOptions {
  /** Directories to search for headers, absolute. */
  readonly directories: readonly string[];
  /** Headers to include before the first line. */
  readonly first: readonly string[];
  /** The architecture, such as `sm_90a`, where it is given. */
  readonly architecture: string | undefined;
  /** The others, as they are given, except that each is one text. */
  readonly others: readonly string[];
}

/** The long form of options with a value, by all their forms. */
const VALUED: ReadonlyMap<string, string> = new Map([
  ["-I", "--include-path"],
  ["--include-path", "--include-path"],
  ["-isystem", "--include-path"],
  ["--system-include", "--include-path"],
  ["-include", "--pre-include"],
  ["--pre-include", "--pre-include"],
  ["-arch", "--gpu-architecture"],
  ["--gpu-architecture", "--gpu-architecture"],
  ["-std", "--std"],
  ["--std", "--std"],
  ["-D", "--define-macro"],
  ["--define-macro", "--define-macro"],
  ["-U", "--undefine-macro"],
  ["--undefine-macro", "--undefine-macro"],
  ["-Xptxas", "--ptxas-options"],
  ["--ptxas-options", "--ptxas-options"],
  ["-maxrregcount", "--maxrregcount"],
  ["--maxrregcount", "--maxrregcount"],
]);

const WITHOUT_CODE = "it leaves no machine code to load";
const WITH_FILES =
  "it has the compiler read or write files that the compile cache does not know of";

/** Options that no program may give, in all their forms, and why. */
const REFUSED: ReadonlyMap<string, string> = new Map([
  ...[
    "-dc",
    "--device-c",
    "-dlto",
    "--dlink-time-opt",
    "-gen-opt-lto",
    "--gen-opt-lto",
    "-optix-ir",
  ]
    .map((option) => [option, WITHOUT_CODE] as const),
  ...["--optix-ir", "-fdevice-syntax-only", "--fdevice-syntax-only", "-ewp"]
    .map((option) => [option, WITHOUT_CODE] as const),
  ...["--extensible-whole-program"].map((option) => [option, WITHOUT_CODE] as const),
  ...["-pch", "--pch", "-create-pch", "--create-pch", "-use-pch", "--use-pch", "-pch-dir"]
    .map((option) => [option, WITH_FILES] as const),
  ...["--pch-dir", "-time", "--time", "-fdevice-time-trace", "--fdevice-time-trace"]
    .map((option) => [option, WITH_FILES] as const),
]);

/**
 * Takes a program's options apart. The value of an option may be joined to it, with `=` or, after a
 * single letter, without; or be the next text.
 *
 * @param compiler What messages call the compiler.
 * @throws {TypeError} If an option is refused or lacks its value.
 */
export function readOptions({ options, name }: CompileInputs, compiler: string): ProgramOptions {
  const action = `compile ${name} with ${compiler}`;
  const values = new Map<string, string[]>();
  const others: string[] = [];
  for (let index = 0; index < options.length; index++) {
    const { key, option, value } = splitOption(options[index]!);
    const reason = REFUSED.get(option);
    if (reason !== undefined || isRelocatable(option, value)) {
      throw new TypeError(
        `Cannot ${action} as the option ${option} is not allowed: ${reason ?? WITHOUT_CODE}`,
      );
    }
    if (key === undefined) {
      others.push(options[index]!);
      continue;
    }
    const given = value ?? options[++index];
    if (given === undefined || given === "") {
      throw new TypeError(`Cannot ${action} as the option ${option} needs a value: it has none`);
    }
    values.set(key, [...values.get(key) ?? [], given]);
    if (!TAKEN.has(key)) others.push(`${key}=${given}`);
  }
  return {
    directories: (values.get("--include-path") ?? [])
      .map((directory) => absoluteDirectory(directory, action)),
    first: values.get("--pre-include") ?? [],
    architecture: values.get("--gpu-architecture")?.at(-1),
    others,
  };
}

function absoluteDirectory(directory: string, action: string): string {
  if (isAbsolute(directory) || mayRead(".")) return resolve(directory);
  throw new TypeError(
    `Cannot ${action} as ${
      JSON.stringify(directory)
    } is relative and reading the current directory ` +
      "is not permitted: give an absolute path, or run again with --allow-read",
  );
}

/** Options that are not passed on as they are. */
const TAKEN: ReadonlySet<string> = new Set([
  "--include-path",
  "--pre-include",
  "--gpu-architecture",
]);

interface SplitOption {
  /** The option as it is written. */
  readonly option: string;
  /** The long form of an option that needs a value. */
  readonly key: string | undefined;
  /** Its value, if it is joined to it. */
  readonly value: string | undefined;
}

function splitOption(text: string): SplitOption {
  const [, option = text, value] = /^(--?[\w-]+)=([\s\S]*)$/.exec(text) ?? [];
  const key = VALUED.get(option);
  if (key !== undefined || value !== undefined) return { option, key, value };
  const [, letter, rest] = /^(-[DUI])\s*([\s\S]+)$/.exec(text) ?? [];
  if (letter === undefined) return { option: text, key: undefined, value: undefined };
  return { option: letter, key: VALUED.get(letter), value: rest };
}

function isRelocatable(option: string, value: string | undefined): boolean {
  return (option === "-rdc" || option === "--relocatable-device-code") && value !== "false";
}

/** The number of an architecture: 90 for the capability `"9.0"`. */
function architectureNumber({ capability }: CompileTarget): number {
  const [major, minor] = capability.split(".").map(Number);
  return major! * 10 + minor!;
}

/**
 * The architecture to compile for: exactly that of the device where the compiler knows it, else the
 * newest that is not newer, virtual, which the driver compiles on when it loads it.
 *
 * @param supported What the compiler compiles for, ascending.
 * @throws {RangeError} If the compiler knows only newer ones.
 */
export function chooseArchitecture(
  { target, name }: CompileRequest,
  supported: readonly number[],
  compiler: string,
): string {
  const number = architectureNumber(target);
  if (supported.includes(number)) return `sm_${number}`;
  const older = supported.filter((architecture) => architecture < number).at(-1);
  if (older !== undefined) return `compute_${older}`;
  const oldest = supported[0];
  throw new RangeError(
    `Cannot compile ${name} with ${compiler} as the device's compute capability must be ` +
      `${oldest === undefined ? "known to it" : `${oldest / 10} or newer`}: it is ` +
      `${target.capability}. An older CUDA toolkit compiles for it`,
  );
}

/** What is added in order that a compilation touches nothing but what it is given. */
export const ISOLATING_OPTIONS: readonly string[] = [
  // Nothing beside the source, of which NVRTC knows no place but the current directory.
  "--no-source-include",
  // The limit is the process's; compilations run on a stack of their own.
  "--modify-stack-limit=false",
  // The driver's cache knows less of a source than ours does.
  "--no-cache",
];

/**
 * The options of NVRTC for a request. What the program gives comes last, and so wins.
 *
 * @param isolating Those of {@linkcode ISOLATING_OPTIONS} that this NVRTC knows.
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
    // A function without a qualifier is the device's: there is no other code here.
    "--device-as-default-execution-space",
    `--pre-include=${PRELUDE_NAME}`,
    ...(has(/^--std=/) ? [] : ["--std=c++17"]),
    // For profilers; it does not change the code. With -G there is more than that.
    ...(has(/^(-G|--device-debug)$/) ? [] : ["--generate-line-info"]),
    // Tells what each kernel uses.
    ...(architecture.startsWith("sm_") ? ["--ptxas-options=-v"] : []),
    ...[...defines].map(([name, value]) => `--define-macro=${name}=${value}`),
    ...others,
  ];
}
