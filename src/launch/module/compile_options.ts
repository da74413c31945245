/**
 * The options of a compilation.
 *
 * @module
 */

import {
  refuseOption,
  requireInstance,
  requireInteger,
  requireObject,
  requireOptions,
} from "../../ffi/arguments.ts";
import type { StructTypes } from "../signature/struct_type.ts";

/**
 * Options of `device.compile()`.
 * @category Launching kernels
 */
export interface CompileOptions<Structs extends StructTypes = StructTypes> {
  /** The name of the source in diagnostics; `kernel.cu` by default. */
  readonly name?: string;
  /** Macros: `true` is 1 and `false` 0. */
  readonly defines?: Readonly<Record<string, string | number | boolean>>;
  /** The texts of headers, by the names that the source includes them by. */
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * Options for the compiler in the forms of nvcc, on every device: `-O3`, `-DNAME=1`, `-I`
   * directories, `-std=c++20`, `--use_fast_math`, `-lineinfo`, `-G`, `--maxrregcount=64`, `-w`. An
   * option that only concerns GPU code has no effect on the host device. Others are refused by a
   * `TypeError` that lists the allowed ones.
   */
  readonly options?: readonly string[];
  /**
   * Instances of templates that are kernels, as C++ names them, `matmul<float, 16>`; where several
   * templates share the name, with the types of its parameters: `sum<8>(const float*, int)`.
   */
  readonly instances?: readonly string[];
  /**
   * The names of the kernels to compile, besides instances; all by default. The others are left out
   * with the functions that only they need, and errors in these do not matter.
   */
  readonly kernels?: readonly string[];
  /** Whether to use the compile cache; `true` by default. */
  readonly cache?: boolean;
  /**
   * The time limit of the compilation in milliseconds; 300,000 (five minutes) by default. At the
   * limit the compiler is ended and a `DOMException` of the name `TimeoutError` is thrown.
   */
  readonly timeout?: number;
  /** Ends the compilation, which then rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  /** The structs in signatures, from `defineStruct()`. */
  readonly structs?: Structs;
}

/** The checked options of a compiler. */
export interface CompileSettings {
  readonly name: string;
  readonly defines: ReadonlyMap<string, string>;
  readonly headers: ReadonlyMap<string, string>;
  readonly options: readonly string[];
  readonly instances: readonly string[];
  /** The kernels to compile; undefined for all. */
  readonly kernels: readonly string[] | undefined;
  readonly cache: boolean;
  readonly timeout: number;
  readonly signal: AbortSignal | undefined;
}

/** The default time limit, in milliseconds. */
const TIMEOUT = 300_000;
/** The maximum of `setTimeout()`. */
const MAX_TIMEOUT = 2 ** 31 - 1;

const ACTION = "compile a source";
const NAMES = [
  "name",
  "defines",
  "headers",
  "options",
  "instances",
  "kernels",
  "cache",
  "timeout",
  "signal",
  "structs",
];
const MACRO = /^[A-Za-z_][A-Za-z_0-9]*$/;

/** Checks options and fills in defaults. */
export function compileSettings(options: CompileOptions): CompileSettings {
  requireOptions(options, NAMES, ACTION);
  const { name = "kernel.cu", defines = {}, headers = {}, instances = [], cache = true } = options;
  const { timeout = TIMEOUT, signal } = options;
  requireInteger(timeout, "options.timeout", ACTION, 1, MAX_TIMEOUT);
  if (signal !== undefined) requireInstance(signal, AbortSignal, "options.signal", ACTION);
  requireText(name, "name");
  // It goes into `#line`, and into file names.
  if (name === "" || /["\\/\r\n\0]/.test(name)) refuse("name", "a file name without a path", name);
  if (typeof cache !== "boolean") refuse("cache", "a boolean", cache);
  return {
    name,
    defines: macros(defines),
    headers: headerTexts(headers),
    options: list(options.options ?? [], "options"),
    instances: list(instances, "instances"),
    kernels: options.kernels === undefined ? undefined : list(options.kernels, "kernels"),
    cache,
    timeout,
    signal,
  };
}

function macros(defines: object): Map<string, string> {
  requireObject(defines, "options.defines", ACTION);
  return new Map(
    Object.entries(defines).map(([macro, value]: [string, unknown]) => {
      if (!MACRO.test(macro)) refuse("defines", "an object whose keys are names in C", macro);
      if (typeof value === "boolean") return [macro, value ? "1" : "0"];
      if (typeof value === "number" && Number.isFinite(value)) return [macro, String(value)];
      if (typeof value === "string" && !/[\r\n\0]/.test(value)) return [macro, value];
      return refuse(`defines.${macro}`, "a number, a boolean, or a text of one line", value);
    }),
  );
}

/** The maximum length of a file's name on all common systems, in bytes. */
const MAX_NAME = 255;
/** The maximum length of a header's path: it goes below a directory. */
const MAX_PATH = 1024;

function headerTexts(headers: object): Map<string, string> {
  requireObject(headers, "options.headers", ACTION);
  const bytes = (text: string) => new TextEncoder().encode(text).length;
  const folders = new Set(
    Object.keys(headers).flatMap((name) =>
      [...name.matchAll(/\//g)].map(({ index }) => name.slice(0, index))
    ),
  );
  return new Map(
    Object.entries(headers).map(([name, text]: [string, unknown]) => {
      requireText(text, `headers[${JSON.stringify(name)}]`);
      // Host headers become files of these names.
      const inner = name.replace(/^(?:\.\.\/)+/, "");
      if (/["<>\\]|\p{Cc}|^\/|\/\/|\/$|^$|(?:^|\/)\.\.?(?:\/|$)/u.test(inner)) {
        refuse("headers", "an object whose keys are relative paths as includes have them", name);
      }
      if (name.split("/").some((part) => bytes(part) > MAX_NAME) || bytes(name) > MAX_PATH) {
        const allowed = `an object whose keys have at most ${MAX_PATH} bytes and ${MAX_NAME} per ` +
          "part of a path";
        refuse("headers", allowed, name);
      }
      if (folders.has(name)) {
        refuse("headers", "an object without a key that is the folder of another one", name);
      }
      return [name, withoutByteOrderMark(text)];
    }),
  );
}

/** A text as compilers take it: editors on Windows begin files with a mark that NVRTC refuses. */
export function withoutByteOrderMark(text: string): string {
  return text.startsWith("\uFEFF") ? text.slice(1) : text;
}

function list(values: unknown, field: string): string[] {
  if (!Array.isArray(values)) refuse(field, "an array of texts", values);
  return (values as unknown[]).map((value, index) => {
    requireText(value, `${field}[${index}]`);
    if (value === "" || value.includes("\0")) {
      refuse(`${field}[${index}]`, "a text that is not empty and has no NUL", value);
    }
    return value;
  });
}

function requireText(value: unknown, field: string): asserts value is string {
  if (typeof value !== "string") refuse(field, "a text", value);
}

function refuse(field: string, allowed: string, value: unknown): never {
  refuseOption(typeof value === "string" ? RangeError : TypeError, ACTION, field, allowed, value);
}
