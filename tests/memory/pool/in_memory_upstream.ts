/**
 * A device in memory: a strict model of one, for tests and for replays.
 *
 * It has a capacity, gives out addresses, and says when work of its streams is done; no byte of
 * memory is behind the addresses unless a test wants to look at some. Whatever a driver would
 * answer with an error, and a GPU with a fault or with somebody else's data, it throws.
 *
 * @module
 */

import { AwaitedEvents } from "../../../src/memory/pool/memory_upstream.ts";
import { type MemoryTally, ModelMemory } from "./in_memory/model_memory.ts";
import type { CompletionRule, ModelStream } from "./in_memory/model_stream.ts";
import { ModelTimeline } from "./in_memory/model_timeline.ts";
import { UpstreamCalls } from "./in_memory/upstream_calls.ts";
import { UpstreamMisuseError } from "./in_memory/upstream_misuse_error.ts";
import type { MemoryStream, MemoryUpstream } from "../../../src/memory/pool/memory_upstream.ts";

export type { MemoryTally } from "./in_memory/model_memory.ts";
export { type CompletionRule, ModelStream } from "./in_memory/model_stream.ts";
export {
  UPSTREAM_CALLS,
  type UpstreamCall,
  type UpstreamFault,
} from "./in_memory/upstream_calls.ts";
export { UpstreamMisuseError } from "./in_memory/upstream_misuse_error.ts";

/** What an upstream in memory is like. Sizes are bytes. */
export interface InMemoryUpstreamOptions {
  /** The device's memory; 16 GiB by default. */
  readonly capacity?: number;
  /** Granularity of mapped memory, 0 for none; 2 MiB by default. */
  readonly granularity?: number;
  /** Most addresses that are reserved at a time; 2^47 by default. */
  readonly addressSpace?: number;
  /** Whether addresses are given out again, as drivers do; `true` by default. */
  readonly reuseAddresses?: boolean;
  /** When work is done: `recorded` by default. */
  readonly completion?: CompletionRule;
  /**
   * Whether giving plain memory back that a stream still uses is an error. `false` by default: it
   * then waits for all streams, as `cudaFree` does.
   */
  readonly strictFree?: boolean;
  /** Whether what is written can be read again; `false` by default. */
  readonly keepBytes?: boolean;
  /** How messages name it. */
  readonly label?: string;
}

/** What an upstream in memory has given out. Sizes are bytes. */
export interface UpstreamTally extends MemoryTally {
  /** Events. */
  readonly events: number;
}

/** A device in memory. */
export class InMemoryUpstream implements MemoryUpstream {
  /** How messages name it. */
  readonly label: string;
  /** Its memory in bytes. */
  readonly totalBytes: number;
  /** What mapped addresses and sizes are multiples of; 0 where only plain memory is to be had. */
  readonly granularity: number;
  /** How often each call was made, and which are to fail. */
  readonly calls: UpstreamCalls;
  readonly #memory: ModelMemory;
  readonly #timeline: ModelTimeline;
  readonly #awaited: AwaitedEvents;
  readonly #strictFree: boolean;
  #blockedFrees = 0;
  #pressure = 0;
  #answeredPressure = 0;

  /** Makes a device that nobody uses. */
  constructor(options: InMemoryUpstreamOptions = {}) {
    this.label = options.label ?? "model:0";
    this.totalBytes = options.capacity ?? 2 ** 34;
    this.granularity = options.granularity ?? 2 ** 21;
    this.calls = new UpstreamCalls(this.label);
    this.#strictFree = options.strictFree ?? false;
    const timeline = new ModelTimeline(this.label, options.completion ?? "recorded");
    this.#timeline = timeline;
    this.#awaited = new AwaitedEvents((event) => timeline.destroyEvent(event));
    this.#memory = new ModelMemory({
      capacity: this.totalBytes,
      granularity: this.granularity,
      addressSpace: options.addressSpace ?? 2 ** 47,
      reuseAddresses: options.reuseAddresses ?? true,
      keepBytes: options.keepBytes ?? false,
      label: this.label,
    });
  }

  // ---- for tests --------------------------------------------------------------------------------

  /** What is given out now. */
  get tally(): UpstreamTally {
    return { ...this.#memory.tally, events: this.#timeline.events };
  }

  /** Memory taken from the device, plain and mapped. */
  get usedBytes(): number {
    return this.#memory.usedBytes;
  }

  /** The most that {@linkcode usedBytes} has been. */
  get peakBytes(): number {
    return this.#memory.peakBytes;
  }

  /** How often {@linkcode free} had to wait for work of a stream. */
  get blockedFrees(): number {
    return this.#blockedFrees;
  }

  /** Makes a stream. */
  createStream(): ModelStream {
    return this.#timeline.createStream();
  }

  /** Lets others use this much of the device's memory from now on. */
  occupy(bytes: number): void {
    this.#memory.occupiedBytes = bytes;
  }

  /** Gives a stream work that touches no memory. */
  enqueue(stream: ModelStream): void {
    this.#timeline.streamOf(stream, "enqueue work").enqueued++;
  }

  /** Does all work of a stream. */
  complete(stream: ModelStream): void {
    this.#timeline.complete(stream);
  }

  /** Does all work of all streams. */
  completeAll(): void {
    this.#timeline.completeAll();
  }

  /**
   * Gives a stream work that touches memory: until it is done the memory must neither be taken
   * away nor be used by another stream for another owner.
   *
   * @param owner On whose behalf: whatever identifies the buffer, a number or an object.
   * @throws {UpstreamMisuseError} If there is no memory, it is not in a declared block where blocks
   * are declared, or another stream uses it for another owner.
   */
  use(address: number, bytes: number, stream: ModelStream, owner: unknown): void {
    this.#memory.requireMemory(address, bytes, "use memory");
    this.#memory.requireDeclared(address, bytes);
    this.#timeline.use(
      address,
      bytes,
      this.#timeline.streamOf(stream, "use memory"),
      owner,
      "use memory",
    );
  }

  /** Writes bytes, as a kernel would, right or wrong; there need only be memory. */
  write(address: number, source: Uint8Array): void {
    this.#memory.requireMemory(address, source.length, "write memory");
    this.#memory.write(address, source);
  }

  /** Somebody else asks for memory to be given back. */
  raisePressure(): void {
    this.#pressure++;
  }

  // ---- memory -----------------------------------------------------------------------------------

  /** Free memory of the device. */
  freeBytes(): number {
    this.calls.count("freeBytes");
    return this.#memory.freeBytes;
  }

  /** Plain memory; 0 where there is none left. */
  allocate(bytes: number): number {
    return this.calls.count("allocate") ? 0 : this.#memory.allocate(bytes);
  }

  /** Gives plain memory back, after all work of all streams. */
  free(address: number): void {
    this.calls.count("free");
    const bytes = this.#memory.plainBytes(address);
    if (this.#strictFree) this.#timeline.requireUnused(address, bytes, "free memory");
    if (this.#timeline.completeAll()) this.#blockedFrees++;
    this.#memory.free(address);
  }

  /** A range of addresses without memory; 0 where there are none left. */
  reserve(bytes: number): number {
    return this.calls.count("reserve") ? 0 : this.#memory.reserve(bytes);
  }

  /** Gives a range of addresses back. */
  release(address: number): void {
    this.calls.count("release");
    this.#memory.release(address);
  }

  /** Puts memory behind addresses; false where there is none left. */
  map(address: number, bytes: number, handleBytes: number): boolean {
    return !this.calls.count("map") && this.#memory.map(address, bytes, handleBytes);
  }

  /** Takes memory away at once, so nobody may use it any more. */
  unmap(address: number, bytes: number): void {
    this.calls.count("unmap");
    this.#memory.checkUnmap(address, bytes);
    this.#timeline.requireUnused(address, bytes, "unmap memory");
    this.#memory.unmap(address, bytes);
  }

  // ---- events -----------------------------------------------------------------------------------

  /** Whether one of its streams is captured. */
  get capturing(): boolean {
    return this.#timeline.capturing;
  }

  /** Never: a model does not break. */
  readonly lost = false;

  /** Never, nor is there another device. */
  isLostFor(): boolean {
    return false;
  }

  /** A new event. */
  createEvent(): number {
    this.calls.count("createEvent");
    return this.#timeline.createEvent();
  }

  /** Forgets an event; it stays until those who {@linkcode wait} for it have been told. */
  destroyEvent(event: number): void {
    this.calls.count("destroyEvent");
    this.#awaited.destroy(event);
  }

  /** Marks the point that the stream's work has reached when all enqueued so far is done. */
  recordEvent(event: number, stream: MemoryStream): void {
    this.calls.count("recordEvent");
    if (this.isAwaited(event)) {
      throw new UpstreamMisuseError(`Cannot record event ${event} as somebody still waits for it`);
    }
    this.#timeline.record(event, stream);
  }

  /** Whether the event's last recorded point has been reached. */
  queryEvent(event: number): boolean {
    this.calls.count("queryEvent");
    return this.#timeline.query(event);
  }

  /** Waits for it: the stream's work up to it is done. */
  waitSync(event: number): void {
    this.calls.count("waitSync");
    this.#timeline.waitSync(event);
  }

  /** Resolves when the work up to it is done, as the test says it is. */
  async wait(event: number): Promise<void> {
    this.calls.count("wait");
    await this.#awaited.during(event, () => this.#timeline.wait(event));
  }

  /** Whether somebody waits for it who is still to be told. */
  isAwaited(event: number): boolean {
    return this.#awaited.has(event);
  }

  // ---- blocks, bytes and pressure ----------------------------------------------------------------

  /** Notes a live block, or its end. */
  declare(address: number, bytes: number, isLive: boolean): void {
    this.calls.count("declare");
    this.#memory.declare(address, bytes, isLive);
  }

  /** Sets bytes on the stream. The pool is an owner like any other: it must have waited too. */
  fill(address: number, bytes: number, pattern: number, stream: MemoryStream): void {
    this.calls.count("fill");
    this.#memory.requireMemory(address, bytes, "fill memory");
    const model = this.#timeline.streamOf(stream, "fill memory");
    this.#timeline.use(address, bytes, model, this, "fill memory");
    this.#memory.fill(address, bytes, pattern);
  }

  /** Reads bytes after the stream's work so far, which is done then. */
  read(address: number, target: Uint8Array<ArrayBuffer>, stream: MemoryStream): void {
    this.calls.count("read");
    this.#memory.requireMemory(address, target.length, "read memory");
    this.#timeline.complete(this.#timeline.streamOf(stream, "read memory"));
    this.#memory.read(address, target);
  }

  /** Asks everybody to give memory back. */
  press(): void {
    this.calls.count("press");
    this.#pressure++;
  }

  /** A number that changes when somebody pressed, or a capture began or ended. */
  get signal(): number {
    return this.#pressure - -this.#timeline.captureChanges;
  }

  /** Whether somebody pressed since this was asked last. */
  wasPressed(): boolean {
    const isMore = this.#pressure !== this.#answeredPressure;
    this.#answeredPressure = this.#pressure;
    return isMore;
  }
}
