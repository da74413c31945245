/**
 * The native library's functions called from C loops: `bench/native/call_loop.cpp`.
 *
 * @module
 */

import type { NativeSymbols } from "../../src/ffi/declarations.ts";
import type { NativeLibrary } from "../../src/ffi/library.ts";
import { cString } from "../../src/ffi/check.ts";
import { compiledSource } from "./compiled_source.ts";

const SYMBOLS = {
  bench_find: { parameters: ["buffer", "buffer", "buffer"], result: "i32" },
  bench_nothing: { parameters: [], result: "i32" },
  bench_call: { parameters: ["f64", "i32"], result: "i32" },
  bench_call_with_operand: { parameters: ["f64", "buffer", "f64", "i32"], result: "i32" },
  bench_call_attribute: { parameters: ["f64", "i32", "i32", "buffer", "i32"], result: "i32" },
  bench_allocate_free: { parameters: ["f64", "f64", "buffer", "f64", "i32"], result: "i32" },
  bench_copy: { parameters: ["buffer", "buffer", "f64", "i32"], result: "i32" },
} as const;

const symbols = Deno.dlopen(await compiledSource("call_loop"), SYMBOLS).symbols;

/** Does nothing: what a call through Deno's FFI costs at least. */
export const nothing: () => number = symbols.bench_nothing;

/** The functions of one native library, called from C. */
export class CallLoop {
  readonly #library: NativeLibrary;
  readonly #addresses = new Map<string, number>();

  /** Prepares calls of a library's functions. */
  constructor(library: NativeLibrary) {
    this.#library = library;
  }

  #address(name: keyof NativeSymbols): number {
    let address = this.#addresses.get(name);
    if (address === undefined) {
      const result = new Float64Array(1);
      const path = cString(this.#library.path);
      if (symbols.bench_find(path, cString(name), result) !== 0) {
        throw new Error(`Cannot find ${name} in ${this.#library.path}`);
      }
      address = result[0]!;
      this.#addresses.set(name, address);
    }
    return address;
  }

  /** Calls a function without parameters; the command block holds its operands. */
  call(name: keyof NativeSymbols, count: number): void {
    requireSuccess(name, symbols.bench_call(this.#address(name), count));
  }

  /** Calls a function without parameters after writing its first operand, each time anew. */
  callWithOperand(name: keyof NativeSymbols, operand: number, count: number): void {
    const { block } = this.#library;
    const status = symbols.bench_call_with_operand(this.#address(name), block, operand, count);
    requireSuccess(name, status);
  }

  /** Calls `gs_abi_version`; its result is no status. */
  version(count: number): void {
    symbols.bench_call(this.#address("gs_abi_version"), count);
  }

  /** Calls `gs_device_attribute`. */
  attribute(device: number, attribute: number, count: number): void {
    const name = "gs_device_attribute";
    const { result } = this.#library;
    const status = symbols.bench_call_attribute(
      this.#address(name),
      device,
      attribute,
      result,
      count,
    );
    requireSuccess(name, status);
  }

  /** Allocates and frees; the command block names the device. */
  allocateAndFree(bytes: number, count: number): void {
    const name = "gs_memory_allocate";
    const status = symbols.bench_allocate_free(
      this.#address(name),
      this.#address("gs_memory_free"),
      this.#library.block,
      bytes,
      count,
    );
    requireSuccess(name, status);
  }
}

/** Copies JavaScript memory with C's `memcpy`. */
export function copyMemory(
  destination: Uint8Array<ArrayBuffer>,
  source: Uint8Array<ArrayBuffer>,
): void {
  const bytes = Math.min(destination.byteLength, source.byteLength);
  requireSuccess("memcpy", symbols.bench_copy(destination, source, bytes, 1));
}

function requireSuccess(name: string, status: number): void {
  if (status !== 0) throw new Error(`Cannot measure ${name}: it returned ${status}`);
}
