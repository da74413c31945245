/**
 * A compiler without a compiler, for tests of the cache: its image is the source, several times.
 *
 * @module
 */

import type { CompiledSource } from "../../../src/launch/cache/cache_entry.ts";
import type { SourceRequest } from "../../../src/launch/cache/cache_key.ts";
import { cachedCompile, type CachedSource } from "../../../src/launch/cache/kernel_cache.ts";
import type { SourceDeclarations } from "../../../src/launch/module/module_contents.ts";

/** A request in which every field holds something. */
export const REQUEST: SourceRequest = {
  source: "__global__ void k(int n) {}\n",
  name: "kernel.cu",
  headers: new Map([["a.h", "#define A 1\n"], ["b.h", ""]]),
  defines: new Map([["N", "16"], ["DEBUG", ""]]),
  options: ["-O3", "--use_fast_math"],
  instances: ["tile<float, 32>", "tile<int, 8>"],
  target: { kind: "cuda", capability: "9.0" },
};

/** What the source of a request declares. */
export const DECLARATIONS: SourceDeclarations = {
  kernels: [{ expression: "k", signature: "k(int n)" }, { expression: "macro" }],
  variables: ["n::table"],
  uncompiled: [{
    expression: "tile",
    signature: "tile(T*)",
    templateParameters: [["T", ""]],
    reason: "template",
  }],
};

/** The result of a compilation. */
export function compiledFor(request: SourceRequest, bytes = 200): CompiledSource {
  const bytesOf = new TextEncoder().encode(request.source);
  const image = Uint8Array.from(
    { length: bytes },
    (_, at) => bytesOf[at % bytesOf.length]! ^ (at >> 5),
  );
  const expressions = ["k", ...request.instances, "&n::table"];
  return {
    image: {
      format: request.target.kind === "host" ? "library" : "cubin",
      image,
      loweredNames: new Map(expressions.map((name) => [name, `_Z${name.length}${name}`])),
      resources: new Map([["_Z1k", { registers: 32, sharedMemory: 48, localMemory: 0 }]]),
      log: `${request.name}:1: warning: nothing uses n — «n»\n`,
    },
    declarations: DECLARATIONS,
  };
}

/** Counts how often it compiles. */
export class CountingCompiler {
  /** How often it has compiled. */
  compilations = 0;
  readonly #bytes: number;
  readonly #gate: Promise<void>;

  /**
   * Creates a compiler; its images have so many bytes.
   *
   * @param gate Delays each compilation.
   */
  constructor(bytes = 200, gate: Promise<void> = Promise.resolve()) {
    this.#bytes = bytes;
    this.#gate = gate;
  }

  identity(): Promise<readonly string[]> {
    return Promise.resolve(["counting compiler", "1.0"]);
  }

  async compile(request: SourceRequest): Promise<CompiledSource> {
    this.compilations++;
    await this.#gate;
    return compiledFor(request, this.#bytes);
  }

  /** What the cache has of a request, or else this compiler makes. */
  cached(request: SourceRequest): Promise<CachedSource> {
    return cachedCompile(this, request, () => this.compile(request));
  }
}
