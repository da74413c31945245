/**
 * Structs of kernels, read in the source that declares them.
 *
 * @module
 */

import { requireObject } from "../../ffi/arguments.ts";
import { describeValue } from "../../ffi/describe_value.ts";
import { type CompileOptions, compileSettings } from "../compile_options.ts";
import { type HeaderDirectives, readSource, withMacrosExpanded } from "./source_context.ts";
import { type StructReading, structsIn } from "./struct_reader.ts";

/**
 * Describes the structs that a source and its headers declare, as `defineStruct()` would: those
 * whose members are scalars, vectors, arrays and other such structs. Whether they are laid out as
 * the compiler lays them out shows when a kernel is got whose parameter has another size.
 *
 * TypeScript knows nothing of their fields: a struct that a program passes by its own names is
 * better described by `defineStruct()`.
 *
 * @param source CUDA C++.
 * @param options Its macros and headers, as `device.compile()` takes them.
 * @throws {TypeError | RangeError} If an option is wrong.
 *
 * @example
 * ```ts
 * import { openDevice, readStructs } from "@gridstride/cuda";
 *
 * const source: string = `
 *   struct Box { float2 corner; float extents[2]; };
 *   __global__ void area(Box box, float* out) { *out = box.extents[0] * box.extents[1]; }`;
 * const { structs } = readStructs(source);
 *
 * using device = openDevice();
 * using module = await device.compile(source, { structs });
 * using out = device.allocate("float32", 1);
 * const box = { corner: [0, 0], extents: [2, 3] };
 * module.kernel("area").launch({ grid: 1, block: 1 }, box, out);
 * console.log(await out.toArray()); // Float32Array(1) [ 6 ]
 * ```
 */
export function readStructs(
  source: string,
  options: Pick<CompileOptions, "defines" | "headers"> = {},
): StructReading {
  if (typeof source !== "string") {
    throw new TypeError(
      `Cannot read structs as the source must be a text: it is ${describeValue(source)}`,
    );
  }
  requireObject(options, "options", "read structs");
  const { defines, headers } = compileSettings({
    ...(options.defines === undefined ? {} : { defines: options.defines }),
    ...(options.headers === undefined ? {} : { headers: options.headers }),
  });
  const texts = [...headers.values(), source];
  const directives: HeaderDirectives = new Map();
  return structsIn(
    texts.map((text) => withMacrosExpanded(readSource(text, { defines, headers }, directives))),
  );
}
