/**
 * The interface of the compilers of kernel sources: NVRTC, and the C++ compiler of the host device.
 *
 * @module
 */

/** The device that a source is compiled for. */
export interface CompileTarget {
  readonly kind: "cuda" | "host";
  /** Its compute capability, such as `"9.0"`. */
  readonly capability: string;
}

/** What a program passes to a compiler. */
export interface CompileInputs {
  readonly source: string;
  /** Its name in diagnostics: `saxpy.cu`. */
  readonly name: string;
  /** The texts of headers, by the names that the source includes them by. */
  readonly headers: ReadonlyMap<string, string>;
  readonly defines: ReadonlyMap<string, string>;
  /** Options in the compiler's own syntax. */
  readonly options: readonly string[];
  readonly target: CompileTarget;
}

/** A compilation: the source has host code blanked out, and all lines in their places. */
export interface CompileRequest extends CompileInputs {
  /** Kernels and variables of the device as C++ names them: `tile<float, 32>`, `&n::table`. */
  readonly expressions: readonly string[];
}

/**
 * Machine code.
 * @category Launching kernels
 */
export interface CompiledImage {
  /**
   * The format: `cubin` is machine code for one architecture; `ptx` is portable assembly, which the
   * driver compiles; `fatbin` holds several of both; `library` is a shared library for the host
   * device.
   */
  readonly format: "cubin" | "ptx" | "fatbin" | "library";
  /** Its bytes. */
  readonly image: Uint8Array<ArrayBuffer>;
  /** The name in the machine code of each expression of the request. */
  readonly loweredNames: ReadonlyMap<string, string>;
  /** The resources of each kernel by lowered name; empty for the host device. */
  readonly resources: ReadonlyMap<string, {
    /** Registers per thread. */
    readonly registers: number;
    /** Static shared memory per block, in bytes. */
    readonly sharedMemory: number;
    /** Local memory per thread, in bytes: spilled registers and arrays. */
    readonly localMemory: number;
  }>;
  /** The compiler's warnings; empty without any. */
  readonly log: string;
  /**
   * Files that the compiler read but the key of the cache does not cover, such as one that a macro
   * names. The cache must not keep the image, because a change of such a file would go
   * unnoticed.
   */
  readonly untracked?: readonly string[];
}

export interface Compiler {
  /** The name in messages: `NVRTC 13.0`, `g++ 12.2.0`. */
  readonly label: string;
  /**
   * Everything besides the inputs that the machine code depends on: the compiler's version and
   * files, its flags, and the headers it finds. Part of the cache key.
   */
  identity(inputs: CompileInputs): Promise<readonly string[]>;
  /**
   * Compiles without blocking the event loop.
   *
   * @param signal Ends the compilation, which then throws the signal's reason.
   * @throws {CompileError} If the source is wrong.
   */
  compile(request: CompileRequest, signal?: AbortSignal): Promise<CompiledImage>;
}

/** Macros that compilers of other systems define. */
const FOREIGN_MACROS: readonly string[] = ["_WIN32", "_MSC_VER", "__INTEL_COMPILER", "__HIPCC__"];

/** The macros of the host device by which a source knows that its kernels are compiled. */
export function kernelMacros({ capability }: CompileTarget): readonly [string, string][] {
  const architecture = `${capability.replace(".", "")}0`;
  return [
    ["__CUDACC__", "1"],
    ["__CUDACC_VER_MAJOR__", "13"],
    ["__CUDACC_VER_MINOR__", "0"],
    ["__CUDA_ARCH__", architecture],
    ["__CUDA_ARCH_LIST__", architecture],
  ];
}

/** The macros that the compilers of a target define, and those that they do not. */
export function targetMacros(
  target: CompileTarget,
  defines: ReadonlyMap<string, string>,
): { readonly defines: ReadonlyMap<string, string>; readonly undefines: readonly string[] } {
  const [own, absent]: [[string, string][], string[]] = target.kind === "host"
    ? [
      [...kernelMacros(target), ["__CUDASIM__", "1"], ["__cplusplus", "201703L"]],
      ["__NVCC__", "__CUDACC_RTC__"],
    ]
    : [kernelMacros(target).filter(([name]) => /CC__$|ARCH__$/.test(name)), ["__CUDASIM__"]];
  // Of NVRTC the version is unknown.
  const version = "(__CUDACC_VER_MAJOR__ * 1000 + __CUDACC_VER_MINOR__ * 10)";
  own.push(["CUDART_VERSION", version], ["CUDA_VERSION", version]);
  return { defines: new Map([...own, ...defines]), undefines: [...FOREIGN_MACROS, ...absent] };
}

/** Limits the number of tasks that run at a time; the others wait in order. */
export class ConcurrencyLimit {
  readonly #waiting: (() => void)[] = [];
  #free: number;

  constructor(limit: number) {
    this.#free = limit;
  }

  /** Runs a task in its turn, unless the signal is aborted by then. */
  async run<Result>(task: () => Promise<Result>, signal?: AbortSignal): Promise<Result> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      signal?.throwIfAborted();
      return await task();
    } finally {
      // The place passes to the next in line: a later caller must not overtake it.
      const next = this.#waiting.shift();
      if (next === undefined) this.#free++;
      else next();
    }
  }
}
