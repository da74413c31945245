/**
 * Recording what a program asks a pool for, as a trace that can be replayed.
 *
 * While it runs, the events are numbers one behind the other in a typed array: two to four for
 * each. A trace does not know captures: what was allocated in one is recorded as if its work had
 * run. Nor does it know of waiting for streams, which the pool is not told of.
 *
 * @module
 */

import type { MemoryTrace } from "../../lab/memory/trace/memory_trace.ts";
import { TraceBuilder } from "../../lab/memory/trace/trace_builder.ts";
import { TraceChecker } from "../../lab/memory/trace/trace_checker.ts";
import { OWNER, UNIT } from "./block_table.ts";
import { liveBlocks } from "./live_blocks.ts";
import type { MemoryStream } from "./memory_upstream.ts";
import type { PoolEngine } from "./pool_engine.ts";
import type { PoolObserver } from "./pool_observer.ts";

const ALLOCATE = 0;
const FREE = 1;
const USE = 2;
const DISPOSE = 3;
const POINT = 4;

/** Records from when it is made until {@linkcode TraceRecorder.stop}. */
export class TraceRecorder implements PoolObserver {
  /** The alignment of the request that is being served. */
  alignment = UNIT;
  readonly #engine: PoolEngine;
  readonly #name: string;
  #log: Float64Array<ArrayBuffer> = new Float64Array(1024);
  #end = 0;
  /** Numbers of the trace by number of the pool. */
  readonly #blocks = new Map<number, number>();
  #count = 0;
  #earlier = 0;
  readonly #streams = new Map<MemoryStream, number>();
  readonly #disposed = new WeakSet<MemoryStream>();
  readonly #points: string[] = [];
  readonly #endings: (() => void)[] = [];

  /** Begins to record; blocks that are live already come first. */
  constructor(engine: PoolEngine, name: string) {
    this.#engine = engine;
    this.#name = name;
    const { table } = engine;
    const blocks = [...liveBlocks(engine)].sort((a, b) => table.address(a) - table.address(b));
    for (const block of blocks) this.#noteAllocated(block, this.#ownerOf(block));
    this.#earlier = blocks.length;
  }

  /** A block became live. */
  allocated(block: number, stream: MemoryStream): void {
    this.#noteAllocated(block, this.#indexOf(stream));
  }

  /** A live block was freed. */
  freed(block: number): void {
    this.#write(FREE, this.#blocks.get(block)!);
    this.#blocks.delete(block);
  }

  /** A live block is used on another stream as well. */
  used(block: number, stream: MemoryStream): void {
    this.#write(USE, this.#blocks.get(block)!, this.#indexOf(stream));
  }

  /** What the pool takes is not what it was asked for. */
  reserved(): void {}

  /** Nor is what it waits for. */
  waited(): void {}

  /** A refused request has no block. */
  failed(): void {}

  /**
   * Names the moment, such as the end of a step.
   *
   * @throws {TypeError} If the name has control characters or outer spaces.
   */
  point(name: string): void {
    const offence = new TraceChecker().check({ kind: "point", name });
    if (offence !== undefined) throw new TypeError(`Cannot record a point as ${offence}`);
    this.#write(POINT, this.#points.push(name) - 1);
  }

  /** Ends the recording. */
  stop(): MemoryTrace {
    // Streams outlive the recording, and must not keep it.
    for (const end of this.#endings.splice(0)) end();
    const builder = new TraceBuilder();
    const log = this.#log;
    for (let at = 0; at < this.#end;) at = this.#play(builder, log, at);
    const earlier = this.#earlier === 0
      ? ""
      : ` The first ${this.#earlier} blocks were there before.`;
    return builder.build(
      this.#name,
      `Recorded from the pool of ${this.#engine.upstream.label}.${earlier}`,
    );
  }

  #play(builder: TraceBuilder, log: Float64Array<ArrayBuffer>, at: number): number {
    switch (log[at]) {
      case ALLOCATE: {
        const alignment = log[at + 3]!;
        builder.allocate(log[at + 1]!, log[at + 2]!, alignment > UNIT ? alignment : undefined);
        return at + 4;
      }
      case FREE:
        builder.free(log[at + 1]!);
        return at + 2;
      case USE:
        builder.use(log[at + 1]!, log[at + 2]!);
        return at + 3;
      case DISPOSE:
        builder.dispose(log[at + 1]!);
        return at + 2;
      default:
        builder.point(this.#points[log[at + 1]!]!);
        return at + 2;
    }
  }

  #noteAllocated(block: number, stream: number): void {
    this.#blocks.set(block, this.#count++);
    this.#write(ALLOCATE, this.#engine.table.requested(block), stream, this.alignment);
  }

  /** The stream that a live block belongs to; the first where that is disposed. */
  #ownerOf(block: number): number {
    const { stream } = this.#engine.streams.slot(this.#engine.table.field(block, OWNER));
    return stream === undefined || stream.disposed ? 0 : this.#indexOf(stream);
  }

  #indexOf(stream: MemoryStream): number {
    const known = this.#streams.get(stream);
    if (known !== undefined) return known;
    const index = this.#streams.size;
    this.#streams.set(stream, index);
    this.#endings.push(stream.onDispose(() => this.#noteDisposed(stream, index)));
    return index;
  }

  #noteDisposed(stream: MemoryStream, index: number): void {
    // The numbers go on, and a stream that is tried to be disposed of twice is named once.
    if (this.#disposed.has(stream)) return;
    this.#disposed.add(stream);
    this.#write(DISPOSE, index);
  }

  #write(code: number, first: number, second?: number, third?: number): void {
    if (this.#end + 4 > this.#log.length) this.#grow();
    this.#log[this.#end++] = code;
    this.#log[this.#end++] = first;
    if (second !== undefined) this.#log[this.#end++] = second;
    if (third !== undefined) this.#log[this.#end++] = third;
  }

  #grow(): void {
    const longer = new Float64Array(this.#log.length * 2);
    longer.set(this.#log);
    this.#log = longer;
  }
}
