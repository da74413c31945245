/**
 * A process that uses the compile cache, for the tests of several of them. Its arguments are the
 * cache's directory, its size, and what to do; it prints what came of it as JSON.
 *
 * @module
 */

import { assertEquals } from "@std/assert";
import { environment } from "../../../src/hardware/device_list.ts";
import { configureKernelCache } from "../../../src/launch/cache/cache_settings.ts";
import { kernelCacheStats } from "../../../src/launch/cache/kernel_cache.ts";
import type { SourceRequest } from "../../../src/launch/cache/cache_key.ts";
import { configureLogging } from "../../../src/ffi/logging.ts";
import { compiledFor, CountingCompiler, REQUEST } from "./counting_compiler.ts";

/** What the process prints. */
export interface ProcessReport {
  /** Whether each request was cached. */
  readonly cached: readonly boolean[];
  /** The counters. */
  readonly statistics: ReturnType<typeof kernelCacheStats>;
}

/** A request that differs from those of other numbers. */
function request(number: number): SourceRequest {
  return { ...REQUEST, source: `// ${number}\n${REQUEST.source}` };
}

/** Compiles requests of these numbers, one after the other, and checks what comes back. */
async function compileAll(numbers: readonly number[], bytes: number): Promise<ProcessReport> {
  const compiler = new CountingCompiler(bytes);
  const cached: boolean[] = [];
  for (const number of numbers) {
    const asked = request(number);
    const found = await compiler.cached(asked);
    assertEquals(found, { ...compiledFor(asked, bytes), cached: found.cached });
    cached.push(found.cached);
  }
  return { cached, statistics: kernelCacheStats() };
}

/** Ends this process, as nothing can prevent, when half of an entry is written. */
function dieHalfWritten(): void {
  const { write } = Deno.FsFile.prototype;
  Deno.FsFile.prototype.write = async function (bytes: Uint8Array): Promise<number> {
    await write.call(this, bytes.subarray(0, bytes.length >> 1));
    Deno.kill(Deno.pid, "SIGKILL");
    return await new Promise(() => {});
  };
}

const [directory, size, action, bytes, ...numbers] = Deno.args;
configureLogging(environment.log);
configureKernelCache({ directory: directory!, maxBytes: size! });
if (action === "die") dieHalfWritten();
console.log(JSON.stringify(await compileAll(numbers.map(Number), Number(bytes))));
