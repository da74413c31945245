/**
 * Modules: kernels and variables of the program.
 *
 * @module
 */

import { displayAs } from "../../ffi/display.ts";
import { describeValue } from "../../ffi/describe_value.ts";
import { giveBack } from "../../ffi/give_back.ts";
import { destroyModule, moduleVariable } from "../../ffi/native_module.ts";
import { type DeviceContext, labelOf } from "../../hardware/device_context.ts";
import { DeviceBuffer } from "../../memory/device_buffer.ts";
import { bytesPerElement, type DType } from "../../memory/dtype.ts";
import { captureOf, isCapturing, observeCaptures } from "../../stream/running_captures.ts";
import type { Stream } from "../../stream/stream.ts";
import type { Kernel, KernelOwner } from "../kernel.ts";
import { canonicalExpression, type ModuleContents } from "./module_contents.ts";
import { kernelOfModule } from "./module_kernel.ts";
import type { ReadableKernel, SignatureIn } from "../signature/signature_types.ts";
import type { NoStructs, StructTypes } from "../signature/struct_type.ts";

/** Names in the short form. */
const MAX_LISTED = 6;

/**
 * A loaded module: its kernels by their signatures, and its variables. Made by `device.compile()`
 * and `device.loadModule()`.
 *
 * Its kernels and variables end with it. Enqueued launches still run, and a graph that has captured
 * launches keeps it loaded.
 *
 * @typeParam Source The source where it is one literal, from which TypeScript reads the signatures
 * of its kernels.
 * @typeParam Structs The structs that its signatures name.
 *
 * @example
 * ```ts
 * import { openDevice } from "@gridstride/cuda";
 *
 * using device = openDevice();
 * using module = await device.compile(`
 *   extern "C" __global__ void saxpy(float a, const float* x, float* y, int n) {
 *     int i = blockIdx.x * blockDim.x + threadIdx.x;
 *     if (i < n) y[i] += a * x[i];
 *   }`);
 * const saxpy = module.kernel("saxpy(float a, const float* x, float* y, int n)");
 * using x = device.upload(new Float32Array([1, 2, 3]));
 * using y = device.allocate("float32", 3, { fill: 10 });
 * saxpy.launch(device.launchFor(saxpy, { elements: x.length }), 2, x, y, x.length);
 * console.log(await y.toArray()); // Float32Array(3) [ 12, 14, 16 ]
 * ```
 * @category Launching kernels
 */
export class Module<
  Source extends string = string,
  Structs extends StructTypes = NoStructs,
> implements Disposable {
  /** The device it is loaded on. */
  readonly context: DeviceContext;
  /** The name of its source, for messages. */
  readonly name: string;
  /** Whether its machine code came from the compile cache. */
  readonly cached: boolean;
  /** The compiler's warnings; empty without any. */
  readonly log: string;
  readonly #contents: ModuleContents<Structs>;
  readonly #id: number;
  readonly #kernels = new Map<string, Kernel>();
  readonly #variables = new Set<DeviceBuffer>();
  // Captures that hold it already: each holds it once.
  readonly #captures = new WeakSet<object>();
  // This object, and graphs that have captured launches of its kernels.
  #holders = 1;
  #isOwned = true;
  #disposed = false;

  /** Takes over a loaded module; `id` is the library's handle. */
  constructor(context: DeviceContext, id: number, contents: ModuleContents<Structs>) {
    context.retain();
    this.context = context;
    this.name = contents.parts.name;
    this.cached = contents.parts.cached;
    this.log = contents.parts.image.log;
    this.#contents = contents;
    this.#id = id;
  }

  /** Its name in messages. */
  get label(): string {
    return `module ${this.name}`;
  }

  /** Whether it is disposed. */
  get disposed(): boolean {
    return this.#disposed;
  }

  /** The names of its kernels as {@linkcode Module.kernel} takes them, in the source's order. */
  get kernelNames(): readonly string[] {
    return this.#contents.kernelNames;
  }

  /** The names of its variables, as {@linkcode Module.variable} takes them. */
  get variableNames(): readonly string[] {
    return this.#contents.variableNames;
  }

  /**
   * A kernel by its C signature, or by its name where its source is known. TypeScript reads the
   * signature, also out of the source if that is one literal, and types the arguments of `launch`.
   * It is compared with the kernel as it was compiled.
   *
   * @param signature Such as `"saxpy(float a, const float* x, float* y, int n)"`, or `"saxpy"`.
   * @throws {SyntaxError} If the signature cannot be read.
   * @throws {TypeError} If there is no such kernel, its parameters differ, or the module is
   * disposed.
   */
  kernel<const Text extends string>(
    signature: ReadableKernel<Source, Text, Structs>,
  ): Kernel<SignatureIn<Source, Text>, Structs> {
    const text: unknown = signature;
    this.#requireText(text, "kernel", "signature");
    this.#requireUsable(`find kernel ${text}`);
    let kernel = this.#kernels.get(text);
    if (kernel === undefined) {
      kernel = kernelOfModule(this.#kernelOwner(), this.#id, this.#contents, text);
      this.#kernels.set(text, kernel);
    }
    return kernel as unknown as Kernel<SignatureIn<Source, Text>, Structs>;
  }

  /**
   * The memory of a `__device__` or `__constant__` variable, which ends with the module. Variables
   * that are `__managed__` are not available.
   *
   * @param dtype The element type; `uint8`, its bytes, by default.
   * @throws {TypeError} If there is no such variable, or the module is disposed.
   * @throws {RangeError} If its size is no multiple of the element size.
   */
  variable<D extends DType = "uint8">(name: string, dtype: D = "uint8" as D): DeviceBuffer<D> {
    this.#requireText(name, "variable", "name");
    this.#requireUsable(`find variable ${name}`);
    const lowered = this.#contents.loweredVariable(name);
    const { address, bytes } = lowered === undefined
      ? this.#refuseVariable(name)
      : moduleVariable(this.context.library, this.#id, lowered) ?? this.#refuseVariable(name);
    const size = bytesPerElement(dtype);
    if (bytes % size !== 0) {
      throw new RangeError(
        `Cannot find variable ${name} of ${this.label} as ${dtype} as its bytes must be a multiple ` +
          `of ${size}: they are ${bytes}`,
      );
    }
    const buffer = DeviceBuffer.fromAddress(address, bytes, { device: this, dtype, owner: this });
    // A loop that finds and frees a variable must not leak.
    for (const known of this.#variables) if (known.disposed) this.#variables.delete(known);
    this.#variables.add(buffer as unknown as DeviceBuffer);
    return buffer;
  }

  /** The owner of its kernels. */
  #kernelOwner(): KernelOwner & { readonly context: DeviceContext } {
    const isDisposed = () => this.#disposed;
    return {
      context: this.context,
      label: this.label,
      get disposed() {
        return isDisposed();
      },
      launchedInCapture: (stream) => this.#launchedInCapture(stream),
    };
  }

  /** Holds the module for the graph of a capture that contains a launch of its kernel. */
  #launchedInCapture(stream: Stream): void {
    const capture = captureOf(stream);
    if (capture === undefined || this.#captures.has(capture)) return;
    this.#captures.add(capture);
    this.#holders++;
    capture.onEnd((graph) => {
      if (graph === undefined) this.#release();
      else graph.onDispose(() => this.#release());
    });
  }

  /**
   * Unloads the module once no graph needs it. Waits for the device. After a failure the module is
   * unusable, and may be disposed again.
   */
  [Symbol.dispose](): void {
    this.#disposed = true;
    // Kernels check for a disposed module only after an interruption.
    this.context.library.interruptions++;
    for (const variable of this.#variables) variable.free();
    this.#variables.clear();
    this.#kernels.clear();
    if (!this.#isOwned) return;
    this.#release();
    this.#isOwned = false;
  }

  #release(): void {
    if (this.#holders > 1) {
      this.#holders--;
      return;
    }
    if (this.#holders === 0) return;
    // During a capture waiting for the device is not allowed.
    if (isCapturing()) return this.#releaseAfterCapture();
    const { library } = this.context;
    giveBack(this.context, () => destroyModule(library, this.#id), () => {
      this.#holders = 0;
      this.context.release();
    });
  }

  #releaseAfterCapture(): void {
    const stop = observeCaptures({
      captureBegun: () => {},
      captureEnded: () => {
        stop();
        // After a failure the owner may dispose it again.
        this.#isOwned = true;
        this.#release();
        this.#isOwned = false;
      },
    });
  }

  #requireUsable(action: string): void {
    if (!this.#disposed) return;
    throw new TypeError(`Cannot ${action} as ${this.label} is disposed`);
  }

  #requireText(value: unknown, what: string, field: string): asserts value is string {
    if (typeof value === "string") return;
    throw new TypeError(
      `Cannot find a ${what} of ${this.label} as its ${field} must be a text: it is ` +
        describeValue(value),
    );
  }

  #refuseVariable(name: string): never {
    const { variableNames } = this.#contents;
    const known = variableNames.length === 0 ? "it has none" : `it has ${variableNames.join(", ")}`;
    throw new TypeError(
      `Cannot find variable ${canonicalExpression(name)} of ${this.label} as there is no ` +
        `__device__ or __constant__ variable of this name: ${known}`,
    );
  }
}

/** The first names, and the number of all where there are more. */
function listed(names: readonly string[]): string {
  const rest = names.length > MAX_LISTED ? `, … (${names.length})` : "";
  return names.slice(0, MAX_LISTED).join(", ") + rest;
}

displayAs<Module>(Module.prototype, "Module", {
  name: ({ name }) => name,
  device: labelOf,
  kernels: ({ kernelNames }) => listed(kernelNames),
  variables: ({ variableNames: names }) => names.length > 0 && listed(names),
  warnings: ({ log }) => log !== "",
  disposed: ({ disposed }) => disposed,
});
