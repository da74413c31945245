/**
 * A strict model of a device for tests of pools. It throws where a driver fails, and where a GPU
 * would fault or show another owner's data. Tests make its calls fail and decide when work is done.
 *
 * @module
 */

import {
  SimulatedStream,
  SimulatedUpstream,
  type SimulatedUpstreamOptions,
} from "../../../../src/lab/memory/simulated_upstream.ts";
import { AwaitedEvents, type MemoryStream } from "../../../../src/memory/pool/memory_upstream.ts";
import { AddressRanges, MemoryUses, ModelBytes } from "./strict_memory.ts";
import { UpstreamCalls } from "./upstream_calls.ts";

/** The device under test. Sizes are bytes. */
export interface StrictUpstreamOptions extends SimulatedUpstreamOptions {
  /** Maximum bytes of addresses that are reserved; 2^47 by default. */
  readonly addressSpace?: number;
  /** Work is done when an event is recorded behind it (the default), or when the test says so. */
  readonly completion?: "recorded" | "explicit";
  /** Freeing plain memory in use is an error; by default it waits, as `cudaFree` does. */
  readonly strictFree?: boolean;
  /** Keeps written bytes for reading; `false` by default. */
  readonly keepBytes?: boolean;
}

/** A caller did something that a device answers with an error, a fault or a race. */
export class UpstreamMisuseError extends Error {
  override readonly name = "UpstreamMisuseError";
}

function hex(address: number): string {
  return `0x${address.toString(16)}`;
}

function require(holds: boolean, message: () => string): void {
  if (!holds) throw new UpstreamMisuseError(message());
}

/** A stream: the work it was given and the work that is done. */
export class StrictStream extends SimulatedStream {
  enqueued = 0;
  completed = 0;
  readonly #onCapture: (change: number) => void;
  #captureToken: object | undefined;

  constructor(number: number, onCapture: (change: number) => void) {
    super(number);
    this.#onCapture = onCapture;
  }

  override get captureToken(): object | undefined {
    return this.#captureToken;
  }

  override set captureToken(token: object | undefined) {
    const before = this.#captureToken;
    this.#captureToken = token;
    this.#onCapture(Number(token !== undefined) - Number(before !== undefined));
  }

  get idle(): boolean {
    return this.completed === this.enqueued;
  }
}

interface EventPoint {
  stream: StrictStream | undefined;
  position: number;
  /** Resolves a wait for the point. */
  resolve?: () => void;
}

function isReached({ stream, position }: EventPoint): boolean {
  return stream === undefined || stream.completed >= position;
}

/** A reserved range; one byte for each granule: 0 unmapped, 1 start of a piece, 2 inside of one. */
interface Reservation {
  readonly address: number;
  readonly bytes: number;
  readonly states: Uint8Array;
  mappedBytes: number;
}

/** A strict device. */
export class StrictUpstream extends SimulatedUpstream {
  /** Counts the calls and makes them fail. */
  readonly calls: UpstreamCalls;
  readonly #options: StrictUpstreamOptions;
  readonly #streams = new Set<StrictStream>();
  readonly #events = new Map<number, EventPoint>();
  readonly #awaited = new AwaitedEvents((event) => this.#events.delete(event));
  #waits: EventPoint[] = [];
  readonly #uses = new MemoryUses();
  readonly #plain = new AddressRanges<undefined>();
  readonly #reservations = new AddressRanges<Reservation>();
  readonly #declared = new AddressRanges<undefined>();
  readonly #bytes = new ModelBytes();
  #occupiedBytes = 0;
  #reservedBytes = 0;
  #captures = 0;
  #captureChanges = 0;
  #lastStream = 0;
  #lastEvent = 0;
  /** Times that freeing plain memory had to wait for work. */
  blockedFrees = 0;

  constructor(options: StrictUpstreamOptions = {}) {
    super(options);
    this.#options = options;
    this.calls = new UpstreamCalls(this.label);
  }

  /** Resources that are taken now. */
  get tally(): Record<"plain" | "reservations" | "mappedBytes" | "declared" | "events", number> {
    const reservations = this.#reservations.values();
    return {
      plain: this.#plain.size,
      reservations: reservations.length,
      mappedBytes: reservations.reduce((sum, { mappedBytes }) => sum + mappedBytes, 0),
      declared: this.#declared.size,
      events: this.#events.size,
    };
  }

  override createStream(): StrictStream {
    const stream = new StrictStream(++this.#lastStream, (change) => {
      this.#captures += change;
      this.#captureChanges++;
    });
    this.#streams.add(stream);
    return stream;
  }

  /** Lets others use this much of the device's memory. */
  occupy(bytes: number): void {
    this.#occupiedBytes = bytes;
  }

  /** Gives a stream work that uses no memory. */
  enqueue(stream: StrictStream): void {
    this.#streamOf(stream).enqueued++;
  }

  /** Does all work of a stream. */
  complete(stream: StrictStream): void {
    stream.completed = stream.enqueued;
    this.#wake();
  }

  /** Does all work of all streams; whether there was any. */
  completeAll(): boolean {
    let worked = false;
    for (const stream of this.#streams) {
      worked ||= !stream.idle;
      stream.completed = stream.enqueued;
      if (stream.disposed) this.#streams.delete(stream);
    }
    this.#wake();
    return worked;
  }

  /** Gives a stream work that uses memory on behalf of an owner. */
  use(address: number, bytes: number, stream: StrictStream, owner: unknown): void {
    this.#requireMemory(address, bytes);
    if (this.#declared.size > 0) {
      const block = this.#declared.at(address);
      require(
        block !== undefined && address + bytes <= block.end,
        () => `Cannot use memory as ${bytes} bytes at ${hex(address)} must lie in one live block`,
      );
    }
    this.#use(address, bytes, stream, owner);
  }

  /** Writes bytes, as a kernel would, right or wrong. */
  write(address: number, source: Uint8Array): void {
    this.#requireMemory(address, source.length);
    this.#bytes.write(address, source);
  }

  /** Another isolate presses for memory. */
  raisePressure(): void {
    super.press();
  }

  override freeBytes(): number {
    this.calls.count("freeBytes");
    return this.#free;
  }

  override allocate(bytes: number): number {
    if (this.calls.count("allocate")) return 0;
    this.#requireSize(bytes, 1);
    if (bytes > this.#free) return 0;
    const address = super.allocate(bytes);
    this.#plain.add(address, bytes, undefined);
    return address;
  }

  override free(address: number): void {
    this.calls.count("free");
    const range = this.#plain.at(address);
    require(
      range?.start === address,
      () => `Cannot free ${hex(address)} as it must be plain memory from allocate()`,
    );
    const bytes = range!.end - address;
    if (this.#options.strictFree) this.#requireUnused(address, bytes, "free");
    if (this.completeAll()) this.blockedFrees++;
    this.#plain.remove(address);
    this.#forget(address, bytes);
    super.free(address);
  }

  override reserve(bytes: number): number {
    if (this.calls.count("reserve")) return 0;
    this.#requireSize(bytes, this.granularity);
    if (this.#reservedBytes + bytes > (this.#options.addressSpace ?? 2 ** 47)) return 0;
    const address = super.reserve(bytes);
    const states = new Uint8Array(bytes / this.granularity);
    this.#reservations.add(address, bytes, { address, bytes, states, mappedBytes: 0 });
    this.#reservedBytes += bytes;
    return address;
  }

  override release(address: number): void {
    this.calls.count("release");
    const reservation = this.#reservations.at(address)?.value;
    require(
      reservation?.address === address && reservation.mappedBytes === 0,
      () => `Cannot release ${hex(address)} as it must begin a reservation without memory`,
    );
    this.#reservations.remove(address);
    this.#reservedBytes -= reservation!.bytes;
    super.release(address);
  }

  override map(address: number, bytes: number, handleBytes: number): boolean {
    if (this.calls.count("map")) return false;
    this.#requireSize(handleBytes, this.granularity);
    const [reservation, first, end] = this.#granules(address, bytes, "map memory");
    const { states } = reservation;
    require(
      states.subarray(first, end).every((state) => state === 0),
      () => `Cannot map memory at ${hex(address)} as the range must hold none`,
    );
    if (bytes > this.#free || !super.map(address, bytes, handleBytes)) return false;
    states.fill(2, first, end);
    const step = handleBytes / this.granularity;
    for (let piece = first; piece < end; piece += step) states[piece] = 1;
    reservation.mappedBytes += bytes;
    return true;
  }

  override unmap(address: number, bytes: number): void {
    this.calls.count("unmap");
    const [reservation, first, end] = this.#granules(address, bytes, "unmap memory");
    const { states } = reservation;
    require(
      !states.subarray(first, end).includes(0) && states[first] === 1 && states[end] !== 2,
      () => `Cannot unmap ${bytes} bytes at ${hex(address)} as the range must be whole pieces`,
    );
    this.#requireUnused(address, bytes, "unmap");
    states.fill(0, first, end);
    reservation.mappedBytes -= bytes;
    this.#forget(address, bytes);
    super.unmap(address, bytes);
  }

  override get capturing(): boolean {
    return this.#captures > 0;
  }

  override createEvent(): number {
    this.calls.count("createEvent");
    this.#events.set(++this.#lastEvent, { stream: undefined, position: 0 });
    return this.#lastEvent;
  }

  override destroyEvent(event?: number): void {
    this.calls.count("destroyEvent");
    this.#pointOf(event!);
    this.#awaited.destroy(event!);
  }

  override recordEvent(event?: number, stream?: MemoryStream): void {
    this.calls.count("recordEvent");
    const point = this.#pointOf(event!);
    const strict = this.#streamOf(stream!);
    require(!this.#awaited.has(event!), () => `Cannot record event ${event} as a wait is pending`);
    require(
      strict.captureToken === undefined,
      () => "Cannot record an event as the stream must not be captured",
    );
    point.stream = strict;
    point.position = ++strict.enqueued;
    if (this.#options.completion !== "explicit") this.complete(strict);
  }

  override queryEvent(event?: number): boolean {
    this.calls.count("queryEvent");
    this.#requireNoCapture();
    return isReached(this.#pointOf(event!));
  }

  override waitSync(event?: number): void {
    this.calls.count("waitSync");
    this.#requireNoCapture();
    const { stream, position } = this.#pointOf(event!);
    if (stream === undefined) return;
    stream.completed = Math.max(stream.completed, position);
    this.#wake();
  }

  override async wait(event?: number): Promise<void> {
    this.calls.count("wait");
    const point = this.#pointOf(event!);
    this.#requireNoCapture();
    await this.#awaited.during(event!, () => {
      if (isReached(point)) return Promise.resolve();
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#waits.push({ ...point, resolve });
      return promise;
    });
  }

  override isAwaited(event?: number): boolean {
    return this.#awaited.has(event!);
  }

  override declare(address?: number, bytes?: number, isLive?: boolean): void {
    this.calls.count("declare");
    this.#requireMemory(address!, bytes!);
    const isDone = isLive
      ? this.#declared.add(address!, bytes!, undefined)
      : this.#declared.at(address!)?.end === address! + bytes! &&
        this.#declared.remove(address!) !== undefined;
    require(
      isDone,
      () =>
        `Cannot declare ${bytes} bytes at ${hex(address!)} as ${
          isLive ? "they must overlap no live block" : "they must be a live block"
        }`,
    );
  }

  override fill(address?: number, bytes?: number, pattern?: number, stream?: MemoryStream): void {
    this.calls.count("fill");
    this.#requireMemory(address!, bytes!);
    // The pool is an owner like any other.
    this.#use(address!, bytes!, stream!, this);
    if (this.#options.keepBytes) this.#bytes.fill(address!, bytes!, pattern!);
  }

  override read(address?: number, target?: Uint8Array<ArrayBuffer>, stream?: MemoryStream): void {
    this.calls.count("read");
    this.#requireMemory(address!, target!.length);
    this.complete(this.#streamOf(stream!));
    require(
      this.#options.keepBytes === true,
      () => "Cannot read memory as the upstream must be made to keep bytes",
    );
    this.#bytes.read(address!, target!);
  }

  override press(): void {
    this.calls.count("press");
    super.press();
  }

  override get signal(): number {
    return super.signal + this.#captureChanges;
  }

  get #free(): number {
    return Math.max(0, this.totalBytes - this.#occupiedBytes - this.usedBytes);
  }

  #requireSize(bytes: number, unit: number): void {
    require(
      Number.isSafeInteger(bytes) && bytes > 0 && bytes % unit === 0,
      () => `Cannot use memory as bytes must be a multiple of ${unit} above 0: it is ${bytes}`,
    );
  }

  #requireMemory(address: number, bytes: number): void {
    const plain = this.#plain.at(address);
    if (plain !== undefined && address + bytes <= plain.end) return;
    const reservation = this.#reservations.at(address)?.value;
    const offset = address - (reservation?.address ?? 0);
    const first = Math.floor(offset / this.granularity);
    const end = Math.ceil((offset + bytes) / this.granularity);
    require(
      reservation !== undefined && end <= reservation.states.length &&
        !reservation.states.subarray(first, end).includes(0),
      () => `Cannot use memory as there must be some behind all ${bytes} bytes at ${hex(address)}`,
    );
  }

  /** The reservation of a range and its granules. */
  #granules(address: number, bytes: number, action: string): [Reservation, number, number] {
    const reservation = this.#reservations.at(address)?.value;
    const first = (address - (reservation?.address ?? 0)) / this.granularity;
    const end = first + bytes / this.granularity;
    require(
      reservation !== undefined && Number.isInteger(first) && Number.isInteger(end) && bytes > 0 &&
        end <= reservation.states.length,
      () => `Cannot ${action} at ${hex(address)} as it must be whole granules of a reservation`,
    );
    return [reservation!, first, end];
  }

  #use(address: number, bytes: number, stream: MemoryStream, owner: unknown): void {
    const strict = this.#streamOf(stream);
    const conflict = this.#uses.conflict(
      address,
      bytes,
      (use) => use.stream !== strict && use.owner !== owner,
    );
    require(
      conflict === undefined,
      () =>
        `Cannot use memory at ${hex(address)} on stream ${strict.number} as stream ` +
        `${conflict!.stream.number}, which uses it for another owner, must be done with it`,
    );
    this.#uses.add(address, bytes, strict, owner);
  }

  #requireUnused(address: number, bytes: number, action: string): void {
    const conflict = this.#uses.conflict(address, bytes, () => true);
    require(
      conflict === undefined,
      () => `Cannot ${action} ${hex(address)} as stream ${conflict!.stream.number} uses it`,
    );
  }

  #forget(address: number, bytes: number): void {
    this.#declared.removeWithin(address, bytes);
    this.#bytes.forget(address, bytes);
  }

  #streamOf(stream: MemoryStream): StrictStream {
    const isOwn = stream instanceof StrictStream && !stream.disposed && this.#streams.has(stream);
    require(isOwn, () => `Cannot use a stream as it must be a live one of ${this.label}`);
    return stream as StrictStream;
  }

  #pointOf(event: number): EventPoint {
    const point = this.#events.get(event);
    require(point !== undefined, () => `Cannot use event ${event} as there is no such event`);
    return point!;
  }

  #requireNoCapture(): void {
    require(!this.capturing, () => "Cannot query or wait as that would break the capture");
  }

  #wake(): void {
    if (this.#waits.length === 0) return;
    const reached = this.#waits.filter(isReached);
    this.#waits = this.#waits.filter((wait) => !isReached(wait));
    for (const { resolve } of reached) resolve!();
  }
}
