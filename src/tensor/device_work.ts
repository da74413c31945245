/**
 * The generated kernels of a device, and the work that waits for one to be compiled.
 *
 * An operation whose kernel is compiled is launched at once. Otherwise the compilation starts, and
 * the operation and all later ones of the device wait in order, without blocking the event loop.
 *
 * @module
 */

import { logger } from "../ffi/logging.ts";
import type { DeviceContext } from "../hardware/device_context.ts";
import { environment } from "../hardware/device_list.ts";
import { nvrtcVersion } from "../launch/compile/nvrtc_search.ts";
import { compileText } from "../launch/module/compile.ts";
import type { Kernel } from "../launch/kernel.ts";
import { DeviceBuffer } from "../memory/device_buffer.ts";
import { isCapturing } from "../stream/running_captures.ts";
import type { Stream } from "../stream/stream.ts";
import {
  type KernelForm,
  type KernelText,
  signatureOf,
  sourceOf,
} from "./expression/kernel_text.ts";
import { loopOptions } from "./expression/vector_set.ts";
import { type TensorStorage, waitFor } from "./storage.ts";

/** The options of generated kernels for CUDA: products are not contracted. */
export const CUDA_OPTIONS: readonly string[] = ["--fmad=false"];

/** A kernel of a device that is compiled on first use. */
export class GeneratedKernel {
  readonly text: KernelText;
  /** The source as it is compiled. */
  readonly source: string;
  /** Undefined until it is compiled. */
  kernel: Kernel | undefined = undefined;
  /** Resolves when it is compiled. */
  readonly compiled: Promise<void>;

  /** Starts the compilation. */
  constructor(work: DeviceWork, text: KernelText) {
    this.text = text;
    this.source = sourceOf(text, work.form);
    this.compiled = work.compile(this);
    // Reported by the operations that wait for it.
    this.compiled.catch(() => {});
  }
}

/** Compiles the generated kernels of a device. */
export interface KernelCompiler {
  /** Compiles a kernel and loads it on its device, with which it ends. */
  load(work: DeviceWork, generated: GeneratedKernel): Promise<Kernel>;
  /** The version of NVRTC; undefined for the host device, or without NVRTC. */
  nvrtcVersion(context: DeviceContext): readonly [major: number, minor: number] | undefined;
}

/** The compiler of this package. */
export const KERNEL_COMPILER: KernelCompiler = {
  async load({ context, form }, { text, source }) {
    context.retain();
    try {
      const isCuda = context.library.kind === "cuda";
      const options = form === "block" ? loopOptions(text.vectors) : isCuda ? CUDA_OPTIONS : [];
      const module = await compileText(context, source, { name: `${text.name}.cu`, options });
      const kernel = module.kernel(signatureOf(text) as never) as unknown as Kernel;
      // The module must not keep the device open.
      context.release();
      context.onClose(() => {
        context.retain();
        module[Symbol.dispose]();
      });
      return kernel;
    } finally {
      context.release();
    }
  },
  nvrtcVersion: ({ library }) => library.kind === "cuda" ? nvrtcVersion(library) : undefined,
};

/** An operation whose arguments a kernel checks on the device. */
export interface CheckedOperation {
  /** The error for the first offending value. */
  readonly error: (value: bigint) => Error;
}

interface WaitingOperation {
  readonly kernel: GeneratedKernel | undefined;
  readonly operands: readonly TensorStorage[];
  readonly results: readonly TensorStorage[];
  readonly launch: () => void;
}

const works = new WeakMap<DeviceContext, DeviceWork>();

/** The work of a device. */
export class DeviceWork {
  readonly context: DeviceContext;
  readonly form: KernelForm;
  readonly compiler: KernelCompiler;
  readonly #kernels = new Map<string, GeneratedKernel>();
  readonly #waiting: WaitingOperation[] = [];
  #drained: Promise<void> | undefined;
  /** The kernel of the last operation. */
  lastKernel: GeneratedKernel | undefined = undefined;
  // The words that kernels report offending values in, and the operations that may.
  #faults: DeviceBuffer<"int64"> | undefined;
  readonly #checked: CheckedOperation[] = [];
  readonly #checkedStreams = new Set<Stream>();

  private constructor(context: DeviceContext, compiler: KernelCompiler) {
    this.context = context;
    this.compiler = compiler;
    this.form = context.library.kind === "host" && !environment.simulate ? "block" : "threads";
  }

  /**
   * The work of the device of a context.
   *
   * @param compiler That of its kernels; the first call decides.
   */
  static of(context: DeviceContext, compiler: KernelCompiler = KERNEL_COMPILER): DeviceWork {
    let work = works.get(context);
    if (work === undefined) works.set(context, work = new DeviceWork(context, compiler));
    return work;
  }

  /** The kernel of a key, which `make` describes on first use. */
  kernel(key: string, make: () => KernelText): GeneratedKernel {
    let kernel = this.#kernels.get(key);
    if (kernel === undefined) {
      kernel = new GeneratedKernel(this, make());
      this.#kernels.set(key, kernel);
      kernel.compiled.catch(() => this.#kernels.delete(key));
    }
    this.lastKernel = kernel;
    return kernel;
  }

  /** Compiles and loads a kernel. */
  async compile(generated: GeneratedKernel): Promise<void> {
    generated.kernel = await this.compiler.load(this, generated);
  }

  /** Whether operations wait for a kernel. */
  get isWaiting(): boolean {
    return this.#waiting.length > 0;
  }

  /**
   * Calls `launch` once the kernel is compiled and all earlier operations are launched: at once if
   * both hold already.
   *
   * @param results The storages that hold an error if the launch fails later.
   */
  enqueue(
    kernel: GeneratedKernel | undefined,
    operands: readonly TensorStorage[],
    results: readonly TensorStorage[],
    launch: () => void,
  ): void {
    if (this.#waiting.length === 0) {
      for (const { failure } of operands) if (failure !== undefined) throw failure;
      if (kernel === undefined || kernel.kernel !== undefined) return launch();
    }
    if (isCapturing()) {
      throw new TypeError(
        `Cannot capture ${kernel?.text.name ?? "an operation"} as its kernel must be compiled ` +
          "before: run the operation once, and await a result, before the capture",
      );
    }
    for (const storage of results) storage.pending++;
    this.#waiting.push({ kernel, operands, results, launch });
    this.#drained ??= this.#drain();
  }

  /** Resolves when no operation waits. */
  async settled(): Promise<void> {
    await this.#drained;
  }

  async #drain(): Promise<void> {
    const { context } = this;
    context.retain();
    try {
      for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
        const { kernel, operands, results, launch } = next;
        let failure = operands.find((operand) => operand.failure !== undefined)?.failure;
        try {
          if (failure === undefined) {
            await kernel?.compiled;
            launch();
          }
        } catch (error) {
          failure = error instanceof Error ? error : new Error(String(error));
          logger("tensor").error("{name} has failed: {error}", { name: kernel?.text.name, error });
        }
        for (const result of results) {
          result.pending--;
          if (failure !== undefined) result.failure ??= failure;
        }
        this.#waiting.shift();
      }
    } finally {
      this.#drained = undefined;
      context.release();
    }
  }

  /**
   * The buffer in which a kernel reports an offending value, and the operation's number there.
   *
   * The kernel writes the number to word 0, if that is 0, and the value to word 1.
   */
  reportTo(
    operation: CheckedOperation,
    stream: Stream,
  ): { readonly faults: DeviceBuffer; number: number } {
    if (this.#faults === undefined) {
      this.#faults = DeviceBuffer.allocate(this.context, "int64", 2);
      this.#faults.copyFrom(new BigInt64Array(2));
    }
    // They are allocated and cleared on the default stream.
    waitFor(this.#faults.stream!, stream);
    this.#checked.push(operation);
    this.#checkedStreams.add(stream);
    return { faults: this.#faults, number: this.#checked.length };
  }

  /**
   * Waits for a stream, and for all operations that may report a value, and throws the error of the
   * first one that did.
   *
   * @throws {RangeError} Such as for an index out of range.
   */
  async checkReports(stream: Stream): Promise<void> {
    const faults = this.#faults;
    if (faults === undefined) return;
    const checked = this.#checked.splice(0);
    const streams = [...this.#checkedStreams].filter((it) => it !== stream && !it.disposed);
    this.#checkedStreams.clear();
    this.#faults = undefined;
    try {
      for (const other of streams) waitFor(other, stream);
      const [number, value] = await faults.toArray({ stream });
      if (number !== 0n) throw checked[Number(number) - 1]!.error(value!);
    } finally {
      faults.free();
    }
  }
}
