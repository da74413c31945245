/**
 * The generated kernels of a device, and the operations that use them.
 *
 * An operation whose kernel is compiled is launched at once. Otherwise the compilation starts, and
 * the operation and all later ones of the device wait in order, without blocking the event loop.
 * A synchronous call that must come after them compiles what waits with its thread blocked.
 *
 * @module
 */

import { type KernelForm, kernelFormOf } from "../../kernels/kernel_form.ts";
import type { DeviceContext } from "../../hardware/device_context.ts";
import { nvrtcVersion } from "../../launch/compile/nvrtc_search.ts";
import { compileBlocking } from "../../launch/module/blocking_compile.ts";
import { compileText } from "../../launch/module/compile.ts";
import type { CompileOptions } from "../../launch/module/compile_options.ts";
import type { LaunchConfig } from "../../launch/launch_config.ts";
import type { KernelArgument } from "../../launch/signature/signature_types.ts";
import { isCapturing } from "../../stream/running_captures.ts";
import { type Preparation, releaseContext, WorkOrder } from "../../stream/work_order.ts";
import {
  type KernelText,
  signatureOf,
  sourceOf,
  unitSignatureOf,
  unitSourceOf,
} from "./expression/kernel_text.ts";
import { loopOptions } from "./expression/vector_set.ts";
import {
  type OperationPreparation,
  TensorOperation,
  type WrittenStorage,
} from "./operation/operation.ts";
import { OperationLog } from "./operation/operation_log.ts";
import { type Report, ReportBook } from "./operation/reports.ts";
import type { TensorStorage } from "./storage.ts";

/** The options of generated kernels for CUDA: products are not contracted. */
export const CUDA_OPTIONS: readonly string[] = ["--fmad=false"];

/** A kernel of a device that is compiled on first use. */
export class GeneratedKernel implements Preparation {
  readonly text: KernelText;
  readonly work: DeviceWork;
  /** The source as it is compiled. */
  readonly source: string;
  /** Undefined until it is compiled. */
  kernel: LaunchableKernel | undefined = undefined;
  /** The reason why it could not be compiled. */
  failure: Error | undefined = undefined;
  readonly settled: Promise<void>;
  readonly #ending = new AbortController();

  /** Starts the compilation. */
  constructor(work: DeviceWork, text: KernelText) {
    this.text = text;
    this.work = work;
    this.source = sourceOf(text, work.form);
    this.settled = work.compile(this);
  }

  get isSettled(): boolean {
    return this.kernel !== undefined || this.failure !== undefined;
  }

  /** The options of the compilation. */
  get options(): CompileOptions<[]> & { readonly name: string } {
    const { form, context } = this.work;
    const options = form === "block"
      ? loopOptions(this.text.vectors)
      : context.library.kind === "cuda"
      ? CUDA_OPTIONS
      : [];
    return { name: `${this.text.name}.cu`, options };
  }

  /** Ends the compilation early, once it is settled otherwise. */
  get ending(): AbortSignal {
    return this.#ending.signal;
  }

  /**
   * Takes over the kernels of a module, which then ends with the device; those that are settled
   * otherwise keep what they have.
   *
   * @param kernels All kernels of the module, in the order of its source.
   */
  static takeOver(kernels: readonly GeneratedKernel[], module: GeneratedModule): void {
    const [{ work: { context } }] = kernels as readonly [GeneratedKernel];
    let isUsed = false;
    for (const [at, kernel] of kernels.entries()) {
      if (kernel.isSettled) continue;
      const { text } = kernel;
      try {
        kernel.kernel = module.kernel(
          kernels.length === 1 ? signatureOf(text) : unitSignatureOf(text, at),
        );
        isUsed = true;
      } catch (error) {
        kernel.failure = error as Error;
      }
    }
    if (!isUsed) return module[Symbol.dispose]();
    // The module must not keep the device open.
    context.release();
    context.onClose(() => {
      context.retain();
      module[Symbol.dispose]();
    });
  }

  /** Takes over the reason why it could not be compiled, unless it is settled otherwise. */
  fail(error: Error): void {
    if (!this.isSettled) this.failure = error;
  }

  /** Compiles kernels with this thread blocked; their own compilations end. */
  static settleNow(kernels: readonly GeneratedKernel[], action: string): void {
    for (const [compiler, group] of Map.groupBy(kernels, ({ work }) => work.compiler)) {
      compiler.compileNow(group, action).forEach((outcome, index) => {
        const kernel = group[index]!;
        if (outcome instanceof Error) kernel.fail(outcome);
        else GeneratedKernel.takeOver([kernel], outcome);
        kernel.#ending.abort();
      });
    }
  }
}

/** The module of a generated kernel. */
export interface GeneratedModule extends Disposable {
  kernel(signature: string): LaunchableKernel;
}

/** A loaded kernel, whose signature only its text has. */
export interface LaunchableKernel {
  launch(config: LaunchConfig, ...values: readonly KernelArgument[]): void;
}

/** Compiles the generated kernels of a device, and loads them. */
export interface KernelCompiler {
  /**
   * Compiles kernels while the program continues.
   *
   * @param kernels Kernels with the same template, constants and options.
   */
  compile(kernels: readonly GeneratedKernel[]): Promise<GeneratedModule>;
  /** Compiles kernels with this thread blocked, for a synchronous call that comes after them. */
  compileNow(
    kernels: readonly GeneratedKernel[],
    action: string,
  ): readonly (GeneratedModule | Error)[];
  /** The version of NVRTC; undefined for the host device, or without NVRTC. */
  nvrtcVersion(context: DeviceContext): readonly [major: number, minor: number] | undefined;
}

/** The compiler of this package. */
export const KERNEL_COMPILER: KernelCompiler = {
  compile(kernels) {
    const [{ work: { context, form }, text, source, options, ending }, ...others] =
      kernels as readonly [GeneratedKernel, ...GeneratedKernel[]];
    if (others.length === 0) return compileText(context, source, { ...options, signal: ending });
    const texts = kernels.map(({ text }) => text);
    const dtypes = new Set(texts.flatMap((text) => [...text.dtypes]));
    const name = `tensor_${text.template.name}_${texts.length}_kernels.cu`;
    const signal = allOf(kernels.map(({ ending }) => ending));
    return compileText(context, unitSourceOf(texts, dtypes, form), { ...options, name, signal });
  },
  compileNow: (kernels, action) =>
    compileBlocking(
      kernels.map(({ work: { context }, source, options }) => ({ context, source, options })),
      action,
    ),
  nvrtcVersion: ({ library }) => library.kind === "cuda" ? nvrtcVersion(library) : undefined,
};

/** A signal that is aborted once all of some signals are. */
function allOf(signals: readonly AbortSignal[]): AbortSignal {
  const all = new AbortController();
  let left = signals.length;
  const count = () => --left === 0 && all.abort();
  for (const signal of signals) signal.addEventListener("abort", count, { once: true });
  return all.signal;
}

/** Kernels of a source. A compiler takes as long for a template as for ten simple kernels. */
const MAX_KERNELS = 16;
/** Characters of the code of a source's kernels, beyond which they would keep others waiting. */
const MAX_CODE = 12_000;

/** Divides kernels into those that can share a source. */
function unitsOf(kernels: readonly GeneratedKernel[]): GeneratedKernel[][] {
  const groups = Map.groupBy(
    kernels,
    ({ text: { template, constants, vectors }, options: { options } }) =>
      JSON.stringify([template.name, constants, vectors, options]),
  );
  return [...groups.values()].flatMap((group) => {
    const units: GeneratedKernel[][] = [];
    let code = Infinity;
    for (const kernel of group) {
      const { definitions = "", body } = kernel.text;
      code += definitions.length + body.length;
      if (code > MAX_CODE || units.at(-1)!.length === MAX_KERNELS) {
        units.push([]);
        code = definitions.length + body.length;
      }
      units.at(-1)!.push(kernel);
    }
    return units;
  });
}

const works = new WeakMap<DeviceContext, DeviceWork>();

/** The work of a device. */
export class DeviceWork {
  readonly context: DeviceContext;
  readonly form: KernelForm;
  /** The compiler of its kernels. */
  readonly compiler: KernelCompiler;
  /** The operations that wait, with those of all contexts of the device. */
  readonly order: WorkOrder;
  /** The operations that may report a wrong value. */
  readonly reports: ReportBook;
  /** The log of operations; undefined if it is off, which is all that it costs then. */
  readonly log: OperationLog | undefined;
  readonly #kernels = new Map<string, GeneratedKernel>();
  /** Kernels that are to be compiled together, with the ends of their compilations. */
  #gathered: Map<GeneratedKernel, () => void> | undefined = undefined;
  /** The kernel of the last operation. */
  lastKernel: GeneratedKernel | undefined = undefined;

  private constructor(context: DeviceContext, compiler: KernelCompiler) {
    this.context = context;
    this.compiler = compiler;
    this.form = kernelFormOf(context);
    this.reports = new ReportBook(context);
    this.log = OperationLog.of(context);
    this.order = WorkOrder.of({ context });
    this.order.prepareNow ??= (kernels, action) =>
      GeneratedKernel.settleNow(kernels as GeneratedKernel[], action);
  }

  /**
   * The work of the device of a context.
   *
   * @param compiler The compiler of its kernels, of which the first call decides.
   */
  static of(context: DeviceContext, compiler: KernelCompiler = KERNEL_COMPILER): DeviceWork {
    let work = works.get(context);
    if (work === undefined) works.set(context, work = new DeviceWork(context, compiler));
    return work;
  }

  /** The kernel of a key, which `make` describes on first use, or after it has failed. */
  kernel(key: string, make: () => KernelText): GeneratedKernel {
    let kernel = this.#kernels.get(key);
    if (kernel === undefined || kernel.failure !== undefined) {
      kernel = new GeneratedKernel(this, make());
      this.#kernels.set(key, kernel);
    }
    this.lastKernel = kernel;
    return kernel;
  }

  /**
   * Whether operations wait, or kernels are being compiled. An operation whose result is disposed before
   * its kernel is compiled never runs, so benchmarks and tests of repeated calls start without either.
   */
  get isPending(): boolean {
    return this.order.isWaiting || this.#kernels.values().some(({ isSettled }) => !isSettled);
  }

  /** Resolves when the kernels used so far are compiled, and the operations that wait are launched. */
  async settled(): Promise<void> {
    await Promise.all(this.#kernels.values().map(({ settled }) => settled));
    await this.order.inOrder(this.context, () => Promise.resolve());
  }

  /** Compiles and loads a kernel; resolves when it is settled. */
  compile(kernel: GeneratedKernel): Promise<void> {
    const gathered = this.#gathered;
    if (gathered === undefined) return this.#compileUnit([kernel]);
    return new Promise((resolve) => gathered.set(kernel, resolve));
  }

  /**
   * Compiles the kernels that operations in `start` use for the first time together: those that can
   * share a source do, which takes a fraction of the time. All of them are there later than the first
   * would be alone, so it is for programs that start many operations ahead.
   */
  compileTogether(start: () => void): void {
    const gathered = this.#gathered = new Map<GeneratedKernel, () => void>();
    try {
      start();
    } finally {
      this.#gathered = undefined;
      for (const unit of unitsOf([...gathered.keys()])) {
        void this.#compileUnit(unit).then(() => unit.forEach((kernel) => gathered.get(kernel)!()));
      }
    }
  }

  /** Compiles kernels in one source. If that fails, each alone: the others may be correct. */
  async #compileUnit(kernels: readonly GeneratedKernel[]): Promise<void> {
    const { context } = this;
    context.retain();
    try {
      GeneratedKernel.takeOver(kernels, await this.compiler.compile(kernels));
    } catch (error) {
      if (kernels.length === 1) return kernels[0]!.fail(error as Error);
      await Promise.all(kernels.map((kernel) => this.#compileUnit([kernel])));
    } finally {
      releaseContext(context);
    }
  }

  /**
   * Calls `launch` once the kernel is compiled, or what else the operation needs is there, and all
   * earlier operations are launched: at once if both hold already.
   *
   * @param inputs The memory that it reads.
   * @param outputs The memory that it writes, which takes over failures of the inputs and its own.
   * @param launch Returns the report of a kernel that checks values.
   */
  enqueue(
    kernel: OperationPreparation | undefined,
    inputs: readonly TensorStorage[],
    outputs: readonly WrittenStorage[],
    launch: () => Report | undefined | void,
  ): void {
    const operation = new TensorOperation(this, kernel, inputs, outputs, launch);
    if (!this.order.isWaiting && kernel?.isSettled !== false) return operation.start();
    if (isCapturing()) {
      throw new TypeError(
        `Cannot capture ${kernel?.text?.name ?? "an operation"} as its kernel must be compiled ` +
          "before: run the operation once, and await a result, before the capture",
      );
    }
    operation.wait();
  }
}
