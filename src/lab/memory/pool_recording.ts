/**
 * Recordings of the requests to a memory pool, for replay.
 *
 * @module
 */

import { describeValue } from "../../ffi/describe_value.ts";
import { UNIT } from "../../memory/pool/block_table.ts";
import { blocksOf, type MemoryPool } from "../../memory/pool/memory_pool.ts";
import type { MemoryStream } from "../../memory/pool/memory_upstream.ts";
import type { BlockPool } from "../../memory/pool/block_pool.ts";
import { walkLive } from "../../memory/pool/segment_walk.ts";
import { type MemoryTrace, TraceBuilder, TraceChecker } from "./trace/memory_trace.ts";

/**
 * Records the requests to a pool as a trace for {@linkcode replayTrace} and `gridstride memory
 * replay`. Blocks that are live already come first. Disposing the recording discards it.
 *
 * A trace has neither captures nor waits: an allocation inside a capture is recorded like any other.
 *
 * @param pool The pool.
 * @param name The trace's name in tables.
 * @throws {TypeError} If `pool` is no `MemoryPool`.
 *
 * @example
 * ```ts
 * import { openDevice } from "@gridstride/cuda";
 * import { recordTrace } from "@gridstride/cuda/memory";
 *
 * using device = openDevice();
 * using recording = recordTrace(device.pool, "one buffer");
 * device.allocate("float32", 1 << 18).free();
 * recording.point("step");
 * console.log(recording.stop().events.length); // 3
 * ```
 * @category Traces
 */
export function recordTrace(pool: MemoryPool, name = "recording"): PoolRecording {
  return new BlockRecording(blocksOf(pool, "record a trace"), name);
}

/**
 * A recording of the requests to a pool; made by {@linkcode recordTrace}.
 * @category Traces
 */
export interface PoolRecording extends Disposable {
  /**
   * Names the moment, such as the end of a step.
   *
   * @throws {TypeError} If the name has control characters or outer spaces, or the recording has
   * ended.
   */
  point(name: string): void;
  /**
   * Ends the recording.
   *
   * @throws {TypeError} If it has ended already.
   */
  stop(): MemoryTrace;
}

export class BlockRecording implements PoolRecording {
  readonly #pool: BlockPool;
  readonly #name: string;
  readonly #stopObserving: () => void;
  readonly #builder = new TraceBuilder();
  /** Block numbers of the trace by block numbers of the pool. */
  readonly #blocks = new Map<number, number>();
  readonly #earlier: number;
  readonly #streams = new Map<MemoryStream, number>();
  readonly #disposed = new WeakSet<MemoryStream>();
  readonly #stopListening: (() => void)[] = [];
  #isStopped = false;

  constructor(pool: BlockPool, name: string) {
    if (typeof name !== "string") {
      throw new TypeError(
        `Cannot record a trace as name must be a string: it is ${describeValue(name)}`,
      );
    }
    this.#pool = pool;
    this.#name = name;
    const live = [...walkLive(pool)].sort((a, b) => a.address - b.address);
    for (const { number, stream } of live) {
      const isKnown = stream !== undefined && !stream.disposed;
      this.#allocated(number, isKnown ? this.#indexOf(stream) : 0, UNIT);
    }
    this.#earlier = live.length;
    this.#stopObserving = pool.observe({
      allocated: (block, stream, alignment) =>
        this.#allocated(block, this.#indexOf(stream), alignment),
      freed: (block) => {
        this.#builder.free(this.#blocks.get(block)!);
        this.#blocks.delete(block);
      },
      used: (block, stream) => this.#builder.use(this.#blocks.get(block)!, this.#indexOf(stream)),
    });
  }

  point(name: string): void {
    this.#requireRunning("record a point");
    const offence = new TraceChecker().check({ kind: "point", name });
    if (offence !== undefined) throw new TypeError(`Cannot record a point as ${offence}`);
    this.#builder.point(name);
  }

  stop(): MemoryTrace {
    this.#requireRunning("stop a recording");
    this[Symbol.dispose]();
    const earlier = this.#earlier === 0
      ? ""
      : ` The first ${this.#earlier} blocks were there before.`;
    return this.#builder.build(
      this.#name,
      `Recorded as ${this.#name} from the pool of ${this.#pool.upstream.label}.${earlier}`,
    );
  }

  /** Ends the recording without a trace; does nothing after {@linkcode BlockRecording.stop}. */
  [Symbol.dispose](): void {
    this.#isStopped = true;
    this.#stopObserving();
    for (const stop of this.#stopListening.splice(0)) stop();
  }

  #requireRunning(action: string): void {
    if (this.#isStopped) throw new TypeError(`Cannot ${action} as the recording has ended`);
  }

  #allocated(block: number, stream: number, alignment: number): void {
    const bytes = this.#pool.table.requested(block);
    const explicit = alignment > UNIT ? alignment : undefined;
    this.#blocks.set(block, this.#builder.allocate(bytes, stream, explicit));
  }

  #indexOf(stream: MemoryStream): number {
    const known = this.#streams.get(stream);
    if (known !== undefined) return known;
    const index = this.#streams.size;
    this.#streams.set(stream, index);
    this.#stopListening.push(stream.onDispose(() => {
      // A failed disposal is repeated.
      if (this.#disposed.has(stream)) return;
      this.#disposed.add(stream);
      this.#builder.dispose(index);
    }));
    return index;
  }
}
