/**
 * Compiles sources with the calling thread blocked, for synchronous calls that need the result.
 *
 * Compilers run asynchronously, and a blocked thread runs no asynchronous code. So a worker runs
 * them, and this thread sleeps until the worker has written the results to shared memory.
 *
 * @module
 */

import { fileURLToPath } from "node:url";
import { mayRead } from "../../ffi/granted_environment.ts";
import { PACKAGE_ROOT } from "../../ffi/locate.ts";
import type { DeviceContext } from "../../hardware/device_context.ts";
import type { CachedSource } from "../cache/kernel_cache.ts";
import { CompileError, CompilerUnavailableError } from "../compile/compile_error.ts";
import type { CompileTarget } from "../compile/compiler.ts";
import { loadCompiledSync, targetOf } from "./compile.ts";
import { type CompileOptions, type CompileSettings, compileSettings } from "./compile_options.ts";
import type { Module } from "./module.ts";

/** A source to compile. */
export interface BlockingRequest {
  readonly context: DeviceContext;
  readonly source: string;
  readonly options: CompileOptions;
}

/** The part of a request that a worker gets. */
export interface WorkerRequest {
  readonly target: CompileTarget;
  readonly source: string;
  readonly settings: CompileSettings;
}

/** An error as its parts, because clones of errors lose their class. */
export interface WorkerFailure {
  readonly name: string;
  readonly message: string;
  /** The arguments of a {@linkcode CompileError}. */
  readonly parts?: ConstructorParameters<typeof CompileError> | undefined;
}

export type WorkerResult = { readonly compiled: CachedSource } | {
  readonly failure: WorkerFailure;
};

/** Words of the shared memory: the state of the worker, and the length of its results' text. */
export const STATE = 0;
export const LENGTH = 1;
export const HEAD_BYTES = 8;
/** States: the worker has been started, is ready, or is done. */
export const READY = 1;
export const DONE = 2;

/** The address space for results; memory is taken as they need it. */
const MAX_RESULT_BYTES = 2 ** 30;
/** How long a worker may take to start, in milliseconds. */
const START_TIMEOUT = 60_000;

/**
 * Compiles sources in parallel and loads them.
 *
 * @param action The caller's action, for the error message.
 * @returns For each request its module, or the reason why there is none.
 * @throws {TypeError} If no worker can be started, such as without the permission to read this
 * package.
 */
export function compileBlocking(
  requests: readonly BlockingRequest[],
  action: string,
): (Module<string> | Error)[] {
  const begun = performance.now();
  const settings = requests.map(({ options }) => compileSettings(options));
  const results = inWorker(
    requests.map(({ context, source }, index) => {
      return { target: targetOf(context), source, settings: settings[index]! };
    }),
    action,
  );
  return results.map((result, index) => {
    if ("failure" in result) return errorOf(result.failure);
    try {
      return loadCompiledSync(requests[index]!.context, result.compiled, settings[index]!, begun);
    } catch (error) {
      return error as Error;
    }
  });
}

function inWorker(requests: readonly WorkerRequest[], action: string): WorkerResult[] {
  const memory = new SharedArrayBuffer(HEAD_BYTES, { maxByteLength: MAX_RESULT_BYTES });
  const words = new Int32Array(memory, 0, 2);
  using worker = startWorker(action);
  worker.postMessage({ memory, requests });
  // A worker that cannot load its module says so to the event loop, which is blocked.
  if (Atomics.wait(words, STATE, 0, START_TIMEOUT) === "timed-out") {
    throw refusal(action, `their compiler has not started within ${START_TIMEOUT / 1000} s`);
  }
  Atomics.wait(words, STATE, READY);
  const length = Atomics.load(words, LENGTH);
  if (length === 0) throw refusal(action, "their compiler has ended without a result");
  return decodeResults(new Uint8Array(memory, HEAD_BYTES).slice(), length);
}

/** Encodes results: a description in JSON, then the images. */
export function encodeResults(results: readonly WorkerResult[]): {
  readonly text: Uint8Array;
  readonly images: readonly Uint8Array[];
} {
  const images: Uint8Array[] = [];
  const described = results.map((result) => {
    if ("failure" in result) return result;
    const { image: { image, loweredNames, resources, ...rest }, ...others } = result.compiled;
    images.push(image);
    const pairs = { loweredNames: [...loweredNames], resources: [...resources] };
    return { compiled: { ...others, image: { ...rest, ...pairs, bytes: image.length } } };
  });
  return { text: new TextEncoder().encode(JSON.stringify(described)), images };
}

function decodeResults(bytes: Uint8Array<ArrayBuffer>, textLength: number): WorkerResult[] {
  let end = textLength;
  return JSON.parse(new TextDecoder().decode(bytes.subarray(0, end)), (key, value) => {
    if (key === "loweredNames" || key === "resources") return new Map(value);
    if (key !== "image") return value;
    return { ...value, image: bytes.slice(end, end += value.bytes) };
  });
}

function startWorker(action: string) {
  const url = new URL("./compile_worker.ts", import.meta.url);
  const root = PACKAGE_ROOT.protocol === "file:" ? fileURLToPath(PACKAGE_ROOT) : undefined;
  if (root !== undefined && !mayRead(fileURLToPath(url))) {
    const remedy = `run again with --allow-read=${root}`;
    throw refusal(action, `the worker that compiles them may not read this package: ${remedy}`);
  }
  try {
    const worker = new Worker(url, { type: "module" });
    return {
      postMessage: (message: unknown) => worker.postMessage(message),
      [Symbol.dispose]: () => worker.terminate(),
    };
  } catch (error) {
    throw refusal(action, `no worker can be started to compile them: ${(error as Error).message}`);
  }
}

function refusal(action: string, reason: string): TypeError {
  return new TypeError(
    `Cannot ${action} as tensor operations wait for their kernels, and ${reason}; ` +
      "or await device.done() or tensor.ready() first",
  );
}

function errorOf({ name, message, parts }: WorkerFailure): Error {
  if (parts !== undefined) return new CompileError(...parts);
  if (name === "CompilerUnavailableError") return new CompilerUnavailableError(message);
  const error = new Error(message);
  error.name = name;
  return error;
}
