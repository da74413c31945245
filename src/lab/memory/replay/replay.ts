/**
 * Replays a trace against a policy, without a device.
 *
 * All policies follow the same rules, which makes their figures comparable:
 *
 * - The device is empty, and its capacity is available to the policy.
 * - An event completes when it is recorded. A block freed after its use by another stream is free
 *   when the policy looks next, at the point where the real allocator would query its events.
 * - Reserved bytes are those taken from the layer below and not returned. The replay reads them
 *   after every event and computes the peak.
 * - An upstream call is one request to the layer below, granted or not: one `cudaMalloc` or
 *   `cudaFree`, or one mapping or unmapping of any number of adjacent pages. Address reservations
 *   and events are not counted.
 * - A retry is a request to the layer below after a refused one within the same allocation.
 *
 * @module
 */

import { requireObject, requireOptions } from "../../../ffi/arguments.ts";
import { describeValue } from "../../../ffi/describe_value.ts";
import {
  type MemoryTrace,
  requireTrace,
  TraceChecker,
  TraceError,
  type TraceEvent,
} from "../trace/memory_trace.ts";
import { OutOfMemoryError } from "../../../ffi/cuda_error.ts";
import { BlockPool } from "../../../memory/pool/block_pool.ts";
import { defaultSettings } from "../../../memory/pool/pool_options.ts";
import { type SimulatedStream, SimulatedUpstream } from "../simulated_upstream.ts";

/**
 * The default capacity of a replay: 80 GiB, as on large GPUs.
 * @category Replay
 */
export const DEFAULT_REPLAY_CAPACITY: number = 80 * 2 ** 30;

/**
 * The largest capacity: the user half of the x86-64 address space.
 * @category Replay
 */
export const MAX_REPLAY_CAPACITY: number = 2 ** 47;

/** The number of timed passes; the fastest counts. */
const PASSES = 5;

/**
 * The result of a replay; sizes are bytes.
 * @category Replay
 */
export interface ReplayResult {
  /** The name of the trace. */
  readonly trace: string;
  /** The name of the policy. */
  readonly policy: string;
  /** The peak of requested and not yet freed bytes. Refused requests do not count. */
  readonly peakLive: number;
  /** The peak of bytes taken from the layer below. */
  readonly peakReserved: number;
  /** `peakReserved` ÷ `peakLive`; 1 if both are 0. */
  readonly ratio: number;
  /** Requests to the layer below, including refused ones. */
  readonly upstreamCalls: number;
  /** Requests to the layer below after a refused one within the same allocation. */
  readonly retries: number;
  /** Refused allocations. */
  readonly outOfMemory: number;
  /** Time per event that is not a point, in nanoseconds; `null` for models. */
  readonly nanosecondsPerOperation: number | null;
  /** The steps between points, in order. Events after the last point form a step of their own. */
  readonly steps: readonly ReplayStep[];
  /** Live bytes after each event of the trace. */
  readonly liveOverTime: Float64Array<ArrayBuffer>;
  /** Reserved bytes after each event of the trace. */
  readonly reservedOverTime: Float64Array<ArrayBuffer>;
}

/**
 * The events between two points of a trace.
 * @category Replay
 */
export interface ReplayStep {
  /** The name of the point that ends the step; `null` after the last point. */
  readonly name: string | null;
  /** The number of events, without the point. */
  readonly events: number;
  /** Requests to the layer below; the first step includes the creation of the allocator. */
  readonly upstreamCalls: number;
  /** The peak of live bytes. */
  readonly peakLive: number;
  /** The peak of reserved bytes. */
  readonly peakReserved: number;
}

/**
 * Replays a trace against a policy.
 *
 * A refused request is counted, and later events of its block are skipped.
 *
 * @param trace The trace.
 * @param policy The policy, by default the memory pool with virtual memory management.
 * @param options The capacity of the device in bytes, by default 80 GiB.
 * @returns The figures, and live and reserved bytes over time. The ratio is infinite if the policy
 *   reserves memory and nothing was ever live.
 * @throws {TraceError} If an event is invalid, such as a double free; the message names the number
 *   of the event, counted from 1.
 * @throws {RangeError} If the capacity is not an integer in 1..2^47.
 *
 * @example
 * ```ts
 * import { parseTrace, replayTrace } from "@gridstride/cuda/memory";
 *
 * const text = "gridstride memory trace 1\na 0 3000000 0\nf 0\na 1 2000000 0\nend 3\n";
 * const { peakLive, ratio } = replayTrace(parseTrace(text, "two blocks"));
 * console.log(peakLive, ratio.toFixed(3));
 * ```
 * @category Replay
 */
export function replayTrace(
  trace: MemoryTrace,
  policy: ReplayPolicy = REPLAY_POLICIES[0]!,
  options: { readonly capacityBytes?: number } = {},
): ReplayResult {
  const action = "replay a trace";
  requireTrace(trace, action);
  requireObject(policy, "policy", action);
  if (typeof policy.create !== "function") {
    const found = describeValue(policy.create);
    throw new TypeError(`Cannot ${action} as policy.create must be a function: it is ${found}`);
  }
  requireOptions(options, ["capacityBytes"], action);
  const { capacityBytes = DEFAULT_REPLAY_CAPACITY } = options;
  checkCapacity(capacityBytes);
  checkTrace(trace);
  const allocator = policy.create({ capacityBytes });
  try {
    return replay(
      trace,
      policy.name,
      allocator,
      () => policy.isModel ? null : timePerOperation(trace, () => policy.create({ capacityBytes })),
    );
  } finally {
    allocator[Symbol.dispose]?.();
  }
}

/**
 * Returns the totals of a result without its lists, as `gridstride memory replay --json` prints.
 *
 * @param result The result of a replay.
 * @throws {TypeError} If the result is no object.
 *
 * @example
 * ```ts
 * import { replayFigures, replayTrace } from "@gridstride/cuda/memory";
 *
 * const trace = {
 *   name: "one",
 *   description: "One block.",
 *   events: [{ kind: "allocate", block: 0, bytes: 4096, stream: 0 }, { kind: "free", block: 0 }],
 * } as const;
 * console.log(replayFigures(replayTrace(trace)).peakLive); // 4096
 * ```
 * @category Replay
 */
export function replayFigures(
  result: ReplayResult,
): Omit<ReplayResult, "steps" | "liveOverTime" | "reservedOverTime"> {
  requireObject(result, "result", "total a replay");
  const { steps: _steps, liveOverTime: _live, reservedOverTime: _reserved, ...figures } = result;
  return figures;
}

function checkCapacity(capacity: unknown): void {
  if (typeof capacity !== "number") {
    throw new TypeError(
      `Cannot replay as capacityBytes must be a number: it is ${describeValue(capacity)}`,
    );
  }
  if (!Number.isInteger(capacity) || capacity < 1 || capacity > MAX_REPLAY_CAPACITY) {
    throw new RangeError(
      `Cannot replay as capacityBytes must be an integer in 1..2^47: it is ${capacity}`,
    );
  }
}

function checkTrace({ name, events }: MemoryTrace): void {
  const checker = new TraceChecker();
  events.forEach((event, index) => {
    const offence = checker.check(event);
    if (offence === undefined) return;
    throw new TraceError(`replay trace ${name}`, undefined, `event ${index + 1}: ${offence}`);
  });
}

function replay(
  trace: MemoryTrace,
  policy: string,
  allocator: ReplayAllocator,
  time: () => number | null,
): ReplayResult {
  const liveOverTime = new Float64Array(trace.events.length);
  const reservedOverTime = new Float64Array(trace.events.length);
  const steps: ReplayStep[] = [];
  const refused = new Set<number>();
  const sizes: number[] = [];
  let live = 0;
  let callsBefore = 0;
  let peakLive = 0;
  let peakReserved = 0;
  let step = { events: 0, peakLive: 0, peakReserved: allocator.reservedBytes };
  const endStep = (name: string | null) => {
    const { upstreamCalls } = allocator;
    steps.push({ name, ...step, upstreamCalls: upstreamCalls - callsBefore });
    peakLive = Math.max(peakLive, step.peakLive);
    peakReserved = Math.max(peakReserved, step.peakReserved);
    callsBefore = upstreamCalls;
    step = { events: 0, peakLive: live, peakReserved: allocator.reservedBytes };
  };
  trace.events.forEach((event, index) => {
    if (event.kind === "point") endStep(event.name);
    else {
      step.events++;
      if (apply(event, allocator, refused)) {
        if (event.kind === "allocate") live += sizes[event.block] = event.bytes;
        if (event.kind === "free") live -= sizes[event.block]!;
      }
      step.peakLive = Math.max(step.peakLive, live);
      step.peakReserved = Math.max(step.peakReserved, allocator.reservedBytes);
    }
    liveOverTime[index] = live;
    reservedOverTime[index] = allocator.reservedBytes;
  });
  if (step.events > 0 || steps.length === 0) endStep(null);
  return {
    trace: trace.name,
    policy,
    peakLive,
    peakReserved,
    ratio: peakReserved === 0 && peakLive === 0 ? 1 : peakReserved / peakLive,
    upstreamCalls: allocator.upstreamCalls,
    retries: allocator.retries,
    outOfMemory: refused.size,
    nanosecondsPerOperation: time(),
    steps,
    liveOverTime,
    reservedOverTime,
  };
}

/** Applies an event. Returns false if the allocation of its block was refused. */
function apply(
  event: Exclude<TraceEvent, { kind: "point" }>,
  allocator: ReplayAllocator,
  refused: Set<number>,
): boolean {
  if (event.kind === "allocate") {
    const { block, bytes, stream, alignment } = event;
    const isGranted = allocator.allocate(block, bytes, stream, alignment);
    if (!isGranted) refused.add(block);
    return isGranted;
  }
  if ("block" in event && refused.has(event.block)) return false;
  if (event.kind === "free") allocator.free(event.block);
  else if (event.kind === "use") allocator.use(event.block, event.stream);
  else allocator[event.kind](event.stream);
  return true;
}

/**
 * Measures the time per event without accounts, in nanoseconds; `null` without events. The fastest
 * of several passes counts: disturbances only make a pass slower.
 */
function timePerOperation({ events }: MemoryTrace, create: () => ReplayAllocator): number | null {
  let fastest = Infinity;
  for (let pass = 0; pass < PASSES; pass++) {
    const refused = new Set<number>();
    const allocator = create();
    try {
      let operations = 0;
      const start = performance.now();
      for (const event of events) {
        if (event.kind === "point") continue;
        if (apply(event, allocator, refused) || event.kind === "allocate") operations++;
      }
      const nanoseconds = (performance.now() - start) * 1e6;
      if (operations === 0) return null;
      fastest = Math.min(fastest, nanoseconds / operations);
    } finally {
      allocator[Symbol.dispose]?.();
    }
  }
  return fastest;
}

/**
 * An allocator under replay. Blocks and streams are the numbers of the trace.
 * @category Replay
 */
export interface ReplayAllocator extends Partial<Disposable> {
  /**
   * Allocates a block.
   *
   * @param block The number of the block, never used before.
   * @param bytes The requested size, which may be 0.
   * @param stream The stream that uses the block first.
   * @param alignment A power of two; `undefined` for the alignment of the policy.
   * @returns False if out of memory.
   */
  allocate(block: number, bytes: number, stream: number, alignment: number | undefined): boolean;
  /** Frees a live block on the stream of its allocation. */
  free(block: number): void;
  /** Declares the use of a live block by another stream. */
  use(block: number, stream: number): void;
  /** Reports that the program waited for a stream. */
  synchronize(stream: number): void;
  /** Disposes a stream. Its blocks may be freed later. */
  dispose(stream: number): void;

  /** Bytes currently reserved. */
  readonly reservedBytes: number;
  /** Requests to the layer below so far. */
  readonly upstreamCalls: number;
  /** Requests repeated after a refusal so far. */
  readonly retries: number;
}

/**
 * A memory management policy.
 * @category Replay
 */
export interface ReplayPolicy {
  /** Its name in tables and on the command line. */
  readonly name: string;
  /** Its description, in a sentence. */
  readonly description: string;
  /** `true` for a model of another allocator. The speed of a model is not measured. */
  readonly isModel: boolean;
  /** Creates an allocator on an empty device. */
  create(options: {
    /** The memory of the device. */
    readonly capacityBytes: number;
  }): ReplayAllocator;
}

class GridstridePool implements ReplayAllocator {
  readonly #upstream: SimulatedUpstream;
  readonly #pool: BlockPool;
  readonly #streams: SimulatedStream[] = [];
  /** Handles of the pool by block number. */
  readonly #blocks: number[] = [];

  constructor(capacityBytes: number, virtualMemory: boolean) {
    this.#upstream = new SimulatedUpstream({
      capacity: capacityBytes,
      ...(virtualMemory ? {} : { granularity: 0 }),
    });
    this.#pool = new BlockPool(this.#upstream, {
      ...defaultSettings(capacityBytes),
      virtualMemory,
    });
  }

  get reservedBytes(): number {
    return this.#upstream.usedBytes;
  }

  get upstreamCalls(): number {
    return this.#pool.counters.counted("upstreamCalls");
  }

  get retries(): number {
    return this.#pool.counters.counted("retries");
  }

  allocate(block: number, bytes: number, stream: number, alignment?: number): boolean {
    try {
      this.#blocks[block] = alignment === undefined
        ? this.#pool.allocate(bytes, this.#stream(stream))
        : this.#pool.allocate(bytes, this.#stream(stream), alignment);
      return true;
    } catch (error) {
      if (error instanceof OutOfMemoryError) return false;
      throw error;
    }
  }

  free(block: number): void {
    this.#pool.free(this.#blocks[block]!);
  }

  use(block: number, stream: number): void {
    if (this.#blocks[block] !== 0) this.#pool.use(this.#blocks[block]!, this.#stream(stream));
  }

  /** Does nothing: the pool queries its events when it needs memory. */
  synchronize(): void {}

  dispose(stream: number): void {
    this.#streams[stream]?.[Symbol.dispose]();
    delete this.#streams[stream];
  }

  #stream(stream: number): SimulatedStream {
    return this.#streams[stream] ??= this.#upstream.createStream();
  }
}

/**
 * The policies of this package: its memory pool with and without virtual memory management.
 *
 * @example
 * ```ts
 * import { REPLAY_POLICIES } from "@gridstride/cuda/memory";
 *
 * for (const { name, description } of REPLAY_POLICIES) console.log(name, description);
 * ```
 * @category Replay
 */
export const REPLAY_POLICIES: readonly ReplayPolicy[] = [
  {
    name: "gridstride",
    description: "the pool of this module, on a device with virtual memory management",
    isModel: false,
    create: ({ capacityBytes }) => new GridstridePool(capacityBytes, true),
  },
  {
    name: "gridstride-plain",
    description: "the pool of this module, on a device without virtual memory management",
    isModel: false,
    create: ({ capacityBytes }) => new GridstridePool(capacityBytes, false),
  },
];
