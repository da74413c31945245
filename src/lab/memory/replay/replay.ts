/**
 * Replays a trace against a policy, without a device.
 *
 * The replay keeps the accounts itself: it reads what is reserved after the policy's creation and
 * after every event, and counts refusals by the answers.
 *
 * @module
 */

import { describeValue } from "../../../ffi/describe_value.ts";
import type { MemoryTrace, TraceEvent } from "../trace/memory_trace.ts";
import { TraceChecker } from "../trace/trace_checker.ts";
import { TraceError } from "../trace/trace_error.ts";
import type { ReplayAllocator, ReplayPolicy } from "./replay_policy.ts";
import type { DetailedReplayResult, ReplayStep } from "./replay_result.ts";
import { measureOperation } from "./replay_timing.ts";

/** The capacity of a replay's device unless told otherwise: 80 GiB, as large GPUs of the field. */
export const DEFAULT_REPLAY_CAPACITY: number = 80 * 2 ** 30;

/** The largest capacity: the user half of x86-64's addresses. */
export const MAXIMUM_REPLAY_CAPACITY: number = 2 ** 47;

/** How a trace is replayed. */
export interface ReplayOptions {
  /**
   * Bytes of memory that the device has.
   *
   * @default 80 GiB
   */
  readonly capacityBytes?: number;
}

class Accounts {
  readonly steps: ReplayStep[] = [];
  peakLive = 0;
  peakReserved = 0;
  outOfMemory = 0;
  live = 0;
  readonly #allocator: ReplayAllocator;
  #events = 0;
  #callsBefore = 0;
  #stepLive = 0;
  #stepReserved = 0;

  constructor(allocator: ReplayAllocator) {
    this.#allocator = allocator;
    this.observe();
  }

  /** Takes account of the state as it is now. */
  observe(): void {
    this.#stepLive = Math.max(this.#stepLive, this.live);
    this.#stepReserved = Math.max(this.#stepReserved, this.#allocator.reservedBytes);
    this.peakLive = Math.max(this.peakLive, this.#stepLive);
    this.peakReserved = Math.max(this.peakReserved, this.#stepReserved);
  }

  countEvent(): void {
    this.#events++;
  }

  endStep(name: string | null): void {
    const calls = this.#allocator.upstreamCalls;
    this.steps.push({
      name,
      events: this.#events,
      upstreamCalls: calls - this.#callsBefore,
      peakLive: this.#stepLive,
      peakReserved: this.#stepReserved,
    });
    this.#events = 0;
    this.#callsBefore = calls;
    this.#stepLive = this.live;
    this.#stepReserved = this.#allocator.reservedBytes;
  }

  /** Ends what follows the last point, where there is anything. */
  end(): void {
    if (this.#events > 0 || this.steps.length === 0) this.endStep(null);
  }
}

/** Drives an allocator by events, and leaves out what an allocation that was refused never had. */
class Replay {
  readonly accounts: Accounts;
  readonly #allocator: ReplayAllocator;
  /** What live blocks asked for; a refused one is in no account. */
  readonly #bytes = new Map<number, number>();

  constructor(allocator: ReplayAllocator) {
    this.#allocator = allocator;
    this.accounts = new Accounts(allocator);
  }

  apply(event: TraceEvent): void {
    if (event.kind === "point") return this.accounts.endStep(event.name);
    this.accounts.countEvent();
    switch (event.kind) {
      case "allocate":
        this.#allocate(event.block, event.bytes, event.stream, event.alignment);
        break;
      case "free":
        this.#free(event.block);
        break;
      case "use":
        if (this.#bytes.has(event.block)) this.#allocator.use(event.block, event.stream);
        break;
      default:
        this.#allocator[event.kind](event.stream);
    }
    this.accounts.observe();
  }

  #allocate(
    block: number,
    bytes: number,
    stream: number,
    alignment: number | undefined,
  ): void {
    if (!this.#allocator.allocate(block, bytes, stream, alignment)) {
      this.accounts.outOfMemory++;
      return;
    }
    this.#bytes.set(block, bytes);
    this.accounts.live += bytes;
  }

  #free(block: number): void {
    const bytes = this.#bytes.get(block);
    if (bytes === undefined) return;
    this.#allocator.free(block);
    this.#bytes.delete(block);
    this.accounts.live -= bytes;
  }
}

function checkedCapacity(options: ReplayOptions): number {
  const capacity: unknown = options.capacityBytes ?? DEFAULT_REPLAY_CAPACITY;
  if (typeof capacity !== "number") {
    throw new TypeError(
      `Cannot replay as capacityBytes must be a number: it is ${describeValue(capacity)}`,
    );
  }
  if (!Number.isInteger(capacity) || capacity < 1 || capacity > MAXIMUM_REPLAY_CAPACITY) {
    throw new RangeError(
      `Cannot replay as capacityBytes must be an integer in 1..2^47: it is ${capacity}`,
    );
  }
  return capacity;
}

/** The first event that no program could have caused is an error, before anything is replayed. */
function checkTrace({ name, events }: MemoryTrace): void {
  const checker = new TraceChecker();
  events.forEach((event, index) => {
    const offence = checker.check(event);
    if (offence === undefined) return;
    throw new TraceError(`replay trace ${name}`, undefined, `event ${index + 1}: ${offence}`);
  });
}

function ratioOf(peakReserved: number, peakLive: number): number {
  return peakReserved === 0 && peakLive === 0 ? 1 : peakReserved / peakLive;
}

/**
 * Replays a trace against a policy.
 *
 * A request that the policy refuses is counted, and whatever the trace does with that block later
 * is left out. The replay of a model is deterministic.
 *
 * @param trace What a program did.
 * @param policy Our pool, or a model of a peer's; see `REPLAY_POLICIES`.
 * @param options The device's capacity.
 * @returns The figures, the steps between points, and live and reserved bytes after every event.
 *   Where a policy reserves memory and nothing was ever live, the ratio is infinite.
 * @throws {TraceError} If an event makes no sense, such as freeing twice; it names the event's
 *   number, counted from 1.
 * @throws {RangeError} If the capacity is not an integer in 1..2^47.
 *
 * @example
 * ```ts
 * import { REPLAY_POLICIES, replayTrace } from "@gridstride/cuda/memory";
 *
 * const trace = {
 *   name: "two",
 *   description: "Two blocks, one after the other.",
 *   events: [
 *     { kind: "allocate", block: 0, bytes: 3 << 20, stream: 0 },
 *     { kind: "free", block: 0 },
 *     { kind: "allocate", block: 1, bytes: 2 << 20, stream: 0 },
 *   ],
 * } as const;
 * for (const policy of REPLAY_POLICIES) {
 *   const { ratio, upstreamCalls } = replayTrace(trace, policy);
 *   console.log(policy.name, ratio.toFixed(3), upstreamCalls);
 * }
 * ```
 */
export function replayTrace(
  trace: MemoryTrace,
  policy: ReplayPolicy,
  options: ReplayOptions = {},
): DetailedReplayResult {
  const capacityBytes = checkedCapacity(options);
  checkTrace(trace);
  const allocator = policy.create({ capacityBytes });
  try {
    const replay = new Replay(allocator);
    const { accounts } = replay;
    const liveOverTime = new Float64Array(trace.events.length);
    const reservedOverTime = new Float64Array(trace.events.length);
    trace.events.forEach((event, index) => {
      replay.apply(event);
      liveOverTime[index] = accounts.live;
      reservedOverTime[index] = allocator.reservedBytes;
    });
    accounts.end();
    const { peakLive, peakReserved, outOfMemory, steps } = accounts;
    return {
      trace: trace.name,
      policy: policy.name,
      peakLive,
      peakReserved,
      ratio: ratioOf(peakReserved, peakLive),
      upstreamCalls: allocator.upstreamCalls,
      retries: allocator.retries,
      outOfMemory,
      nanosecondsPerOperation: policy.isModel
        ? null
        : measureOperation(trace, () => policy.create({ capacityBytes })),
      steps,
      liveOverTime,
      reservedOverTime,
    };
  } finally {
    allocator[Symbol.dispose]?.();
  }
}
