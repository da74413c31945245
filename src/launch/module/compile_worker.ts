/**
 * The worker of `blocking_compile.ts`.
 *
 * @module
 */

import { cudaLibrary, hostLibrary } from "../../hardware/device_list.ts";
import { CompileError } from "../compile/compile_error.ts";
import {
  DONE,
  encodeResults,
  HEAD_BYTES,
  LENGTH,
  READY,
  STATE,
  type WorkerRequest,
  type WorkerResult,
} from "./blocking_compile.ts";
import { compileForTarget } from "./compile.ts";

addEventListener("message", async ({ data: { memory, requests } }: MessageEvent<{
  readonly memory: SharedArrayBuffer;
  readonly requests: readonly WorkerRequest[];
}>) => {
  const words = new Int32Array(memory, 0, 2);
  const signal = (state: number) => {
    Atomics.store(words, STATE, state);
    Atomics.notify(words, STATE);
  };
  const write = (results: readonly WorkerResult[]) => {
    const { text, images } = encodeResults(results);
    const parts = [text, ...images];
    memory.grow(HEAD_BYTES + parts.reduce((sum, { length }) => sum + length, 0));
    let at = HEAD_BYTES;
    for (const part of parts) {
      new Uint8Array(memory, at).set(part);
      at += part.length;
    }
    Atomics.store(words, LENGTH, text.length);
  };
  signal(READY);
  const results = await Promise.all(requests.map(compiled));
  try {
    write(results);
  } catch (error) {
    // Such as more images than the memory takes.
    const { name, message } = error as Error;
    write(requests.map(() => ({ failure: { name, message } })));
  } finally {
    // Without a signal the other thread would sleep for ever.
    signal(DONE);
  }
});

async function compiled({ target, source, settings }: WorkerRequest): Promise<WorkerResult> {
  try {
    const library = target.kind === "cuda" ? cudaLibrary() : hostLibrary();
    return { compiled: await compileForTarget(library, target, source, settings) };
  } catch (error) {
    const { name, message } = error as Error;
    if (!(error instanceof CompileError)) return { failure: { name, message } };
    const { source: file, compiler, diagnostics, log, remark } = error;
    return { failure: { name, message, parts: [file, compiler, diagnostics, log, remark] } };
  }
}
