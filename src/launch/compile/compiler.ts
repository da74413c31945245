/**
 * What makes machine code of kernel sources: NVRTC, nvcc, or the C++ compiler of the host device.
 *
 * @module
 */

/** What machine code is, and so who can load it. */
export type ImageFormat =
  /** Machine code for one architecture of NVIDIA. */
  | "cubin"
  /** NVIDIA's portable assembly, which the driver compiles when it is loaded. */
  | "ptx"
  /** Several of the two. */
  | "fatbin"
  /** A shared library for the host device. */
  | "library";

/** For which device to compile. */
export interface CompileTarget {
  /** Which library drives it. */
  readonly kind: "cuda" | "host";
  /** Its compute capability, such as `"9.0"`. */
  readonly capability: string;
}

/** What a program has compiled, as far as the program says it. */
export interface CompileInputs {
  /** The source. */
  readonly source: string;
  /** What diagnostics call it: `saxpy.cu`. */
  readonly name: string;
  /** The texts of what it may include, by the names that it includes them by. */
  readonly headers: ReadonlyMap<string, string>;
  /** Macros and their values. */
  readonly defines: ReadonlyMap<string, string>;
  /** Options for the compiler, in its own words. */
  readonly options: readonly string[];
  /** For which device. */
  readonly target: CompileTarget;
}

/** What is to be compiled: a source in which host code is blanked out, all lines where they were. */
export interface CompileRequest extends CompileInputs {
  /** Its kernels, and variables of the device, as C++ names them: `tile<float, 32>`, `&n::table`. */
  readonly expressions: readonly string[];
}

/** What a compiler knows of the resources of a kernel. */
export interface KernelResources {
  /** Registers of a thread. */
  readonly registers: number;
  /** Shared memory of a block that is known when it is compiled, in bytes. */
  readonly sharedMemory: number;
  /** Local memory of a thread, in bytes: spilled registers and arrays. */
  readonly localMemory: number;
}

/** Machine code. */
export interface CompiledImage {
  /** What it is. */
  readonly format: ImageFormat;
  /** Its bytes. */
  readonly image: Uint8Array<ArrayBuffer>;
  /** The name in the machine code of each expression of the request. */
  readonly loweredNames: ReadonlyMap<string, string>;
  /** What is known of its kernels' resources, by lowered name; nothing on the host device. */
  readonly resources: ReadonlyMap<string, KernelResources>;
  /** The compiler's warnings; empty where it had none. */
  readonly log: string;
  /**
   * Files that it was made from, and that {@linkcode Compiler.identity} says nothing of, such as one
   * that a macro names. It is good now, and must not be kept: nobody would see one of them change.
   */
  readonly unseen?: readonly string[];
}

/** A compiler. */
export interface Compiler {
  /** How messages name it: `NVRTC 13.0`, `g++ 12.2.0`. */
  readonly label: string;
  /**
   * Everything that its output depends on beside what a program says: its build, its own files,
   * headers that it adds. Part of the key of the compile cache. The source may still hold host code.
   */
  identity(inputs: CompileInputs): Promise<readonly string[]>;
  /**
   * Compiles without blocking the event loop.
   *
   * @throws {CompileError} If the source is wrong; it says where and what.
   */
  compile(request: CompileRequest): Promise<CompiledImage>;
}
