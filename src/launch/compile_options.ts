/**
 * What a program says of a source besides its text.
 *
 * @module
 */

import { requireObject } from "../ffi/arguments.ts";
import { describeValue } from "../ffi/describe_value.ts";

/** Options of `device.compile()`. */
export interface CompileOptions {
  /** What diagnostics call the source; `kernel.cu` by default. */
  readonly name?: string;
  /** Macros: `true` is 1 and `false` 0. */
  readonly defines?: Readonly<Record<string, string | number | boolean>>;
  /** Texts that the source may include, by the names that it includes them by. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Further options, in the words of the compiler: NVRTC's, or those of the host's compiler. */
  readonly options?: readonly string[];
  /**
   * Instances of templates that are kernels, as C++ names them, `matmul<float, 16>`; where several
   * templates have the name, with the types of its parameters: `sum<8>(const float*, int)`.
   */
  readonly instances?: readonly string[];
  /** Whether the machine code is looked for, and kept, in the compile cache; `true` by default. */
  readonly cache?: boolean;
}

/** The same, checked and with defaults. */
export interface CompileSettings {
  /** What diagnostics call the source. */
  readonly name: string;
  /** Macros and their values. */
  readonly defines: ReadonlyMap<string, string>;
  /** What may be included. */
  readonly headers: ReadonlyMap<string, string>;
  /** For the compiler. */
  readonly options: readonly string[];
  /** Instances of templates. */
  readonly instances: readonly string[];
  /** Whether the compile cache is used. */
  readonly cache: boolean;
}

const ACTION = "compile a source";
const NO_NAME_HAS: readonly string[] = ['"', "\\", "/", "\r", "\n", "\0"];
const MACRO = /^[A-Za-z_][A-Za-z_0-9]*$/;

/**
 * Checks options and fills them in.
 *
 * @throws {TypeError | RangeError} If one is wrong; the message names it.
 */
export function compileSettings(options: CompileOptions): CompileSettings {
  requireObject(options, "options", ACTION);
  const { name = "kernel.cu", defines, headers, instances, cache = true } = options;
  requireText(name, "name");
  // It goes into `#line`, and into file names.
  if (name === "" || NO_NAME_HAS.some((character) => name.includes(character))) {
    refuse("name", "a file name without a path", name);
  }
  if (typeof cache !== "boolean") refuse("cache", "a boolean", cache);
  return {
    name,
    defines: defines === undefined ? new Map() : macros(defines),
    headers: headers === undefined ? new Map() : texts(headers, "headers"),
    options: options.options === undefined ? [] : list(options.options, "options"),
    instances: instances === undefined ? [] : list(instances, "instances"),
    cache,
  };
}

function macros(defines: unknown): Map<string, string> {
  requireObject(defines, "options.defines", ACTION);
  return new Map(
    Object.entries(defines as Record<string, unknown>).map(([macro, value]) => {
      if (!MACRO.test(macro)) refuse("defines", "an object whose keys are names in C", macro);
      if (typeof value === "boolean") return [macro, value ? "1" : "0"];
      if (typeof value === "number" && Number.isFinite(value)) return [macro, String(value)];
      if (typeof value === "string" && !/[\r\n\0]/.test(value)) return [macro, value];
      return refuse(`defines.${macro}`, "a number, a boolean, or a text of one line", value);
    }),
  );
}

function texts(headers: unknown, field: string): Map<string, string> {
  requireObject(headers, `options.${field}`, ACTION);
  return new Map(
    Object.entries(headers as Record<string, unknown>).map(([name, text]) => {
      requireText(text, `${field}[${JSON.stringify(name)}]`);
      const parts = name.split("/");
      if (name === "" || /["<>\\\r\n\0]/.test(name) || parts.includes("..") || parts[0] === "") {
        refuse(field, "an object whose keys are relative paths as includes have them", name);
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
  const ErrorClass = typeof value === "string" ? RangeError : TypeError;
  throw new ErrorClass(
    `Cannot ${ACTION} as options.${field} must be ${allowed}: it is ${describeValue(value)}`,
  );
}
