/**
 * A compiler without a compiler, for tests of the cache: its image is the source, several times.
 *
 * @module
 */

import type {
  CompiledImage,
  Compiler,
  CompileRequest,
} from "../../../src/launch/compile/compiler.ts";

/** A request in which every field holds something. */
export const REQUEST: CompileRequest = {
  source: "__global__ void k(int n) {}\n",
  name: "kernel.cu",
  headers: new Map([["a.h", "#define A 1\n"], ["b.h", ""]]),
  defines: new Map([["N", "16"], ["DEBUG", ""]]),
  options: ["-O3", "--use_fast_math"],
  expressions: ["k", "tile<float, 32>", "&n::table"],
  target: { kind: "cuda", capability: "9.0" },
};

/** What the compiler makes of a request. */
export function imageFor(request: CompileRequest, bytes = 200): CompiledImage {
  const image = new Uint8Array(bytes);
  const source = new TextEncoder().encode(request.source);
  for (let i = 0; i < bytes; i++) image[i] = source[i % source.length]! ^ (i >> 5);
  const lowered = request.expressions.map((name) => [name, `_Z${name.length}${name}`] as const);
  return {
    format: request.target.kind === "host" ? "library" : "cubin",
    image,
    loweredNames: new Map(lowered),
    resources: new Map([["_Z1k", { registers: 32, sharedMemory: 48, localMemory: 0 }]]),
    log: `${request.name}:1: warning: nothing uses n — «n»\n`,
  };
}

/** Counts how often it compiles. */
export class CountingCompiler implements Compiler {
  readonly label = "counting compiler 1.0";
  /** How often it has compiled. */
  compilations = 0;
  readonly #bytes: number;
  readonly #gate: Promise<void>;

  /**
   * A compiler whose images have so many bytes.
   *
   * @param gate What it waits for before it compiles.
   */
  constructor(bytes = 200, gate: Promise<void> = Promise.resolve()) {
    this.#bytes = bytes;
    this.#gate = gate;
  }

  identity(): Promise<readonly string[]> {
    return Promise.resolve(["counting compiler", "1.0"]);
  }

  async compile(request: CompileRequest): Promise<CompiledImage> {
    this.compilations++;
    await this.#gate;
    return imageFor(request, this.#bytes);
  }
}
