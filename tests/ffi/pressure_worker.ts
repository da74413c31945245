/**
 * An isolate that requests cached memory once and posts the count, for `native_virtual_test.ts`.
 *
 * @module
 */

import { openNativeLibrary } from "../../src/ffi/library.ts";
import { pressMemory } from "../../src/ffi/native_memory.ts";

/** What a worker has of the global scope. */
interface WorkerScope {
  onmessage: (event: MessageEvent<{ path: string; ordinal: number }>) => void;
  postMessage(message: number): void;
}

const scope = globalThis as unknown as WorkerScope;

scope.onmessage = ({ data }) => {
  scope.postMessage(pressMemory(openNativeLibrary(data.path), data.ordinal));
};
