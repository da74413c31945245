/**
 * What the engine of a pool is made with.
 *
 * @module
 */

import type { MemoryUpstream } from "./memory_upstream.ts";

/** What an engine is made with. */
export interface EngineOptions {
  /** Where memory comes from. */
  readonly upstream: MemoryUpstream;
  /** Whether to map memory behind reserved addresses. */
  readonly virtualMemory: boolean;
  /** Most blocks of a size class that a stream's cache keeps. */
  readonly maxCachedBuffers: number;
  /** Most free bytes that are kept. */
  readonly maxCachedBytes: number;
  /** Called with true when the first block becomes live, and false when the last is freed. */
  readonly onUse: (isInUse: boolean) => void;
}
