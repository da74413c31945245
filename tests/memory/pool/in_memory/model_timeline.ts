/**
 * What the streams of an upstream in memory do, and with which memory.
 *
 * @module
 */

import type { MemoryStream } from "../../../../src/memory/pool/memory_upstream.ts";
import { MemoryUses } from "./memory_uses.ts";
import {
  type CaptureCount,
  type CompletionRule,
  ModelEvents,
  ModelStream,
} from "./model_stream.ts";
import { addressText, UpstreamMisuseError } from "./upstream_misuse_error.ts";

/** The streams of a device, their events and the memory that their work uses. */
export class ModelTimeline {
  readonly #label: string;
  readonly #completion: CompletionRule;
  readonly #uses = new MemoryUses();
  readonly #events = new ModelEvents();
  readonly #captures: CaptureCount = { streams: 0, changes: 0 };
  readonly #streams = new Set<ModelStream>();
  #lastStream = 0;

  /** A device without streams. */
  constructor(label: string, completion: CompletionRule) {
    this.#label = label;
    this.#completion = completion;
  }

  /** How many events there are. */
  get events(): number {
    return this.#events.size;
  }

  /** Whether a stream is captured. */
  get capturing(): boolean {
    return this.#captures.streams > 0;
  }

  /** How often streams joined a capture or left one. */
  get captureChanges(): number {
    return this.#captures.changes;
  }

  /** Makes a stream. */
  createStream(): ModelStream {
    const stream = new ModelStream(++this.#lastStream, this.#captures);
    this.#streams.add(stream);
    return stream;
  }

  /** The stream as what it is, if it is a live one of this device. */
  streamOf(stream: MemoryStream, action: string): ModelStream {
    if (stream instanceof ModelStream && !stream.disposed && this.#streams.has(stream)) {
      return stream;
    }
    throw new UpstreamMisuseError(
      `Cannot ${action} as the stream must be a live one of ${this.#label}`,
    );
  }

  /** Does all work of a stream. */
  complete(stream: ModelStream): void {
    stream.completed = stream.enqueued;
    this.#events.wake();
  }

  /** Does all work of all streams; whether there was any. */
  completeAll(): boolean {
    let worked = false;
    for (const stream of this.#streams) {
      worked ||= !stream.idle;
      stream.completed = stream.enqueued;
      if (stream.disposed) this.#streams.delete(stream);
    }
    this.#events.wake();
    return worked;
  }

  /** Gives a stream work that uses memory which no other stream uses for another owner. */
  use(
    address: number,
    bytes: number,
    stream: ModelStream,
    owner: unknown,
    action: string,
  ): void {
    const conflict = this.#uses.conflict(
      address,
      bytes,
      (other, otherOwner) => other !== stream && otherOwner !== owner,
    );
    if (conflict === undefined) {
      this.#uses.add(address, bytes, stream, owner);
      return;
    }
    throw new UpstreamMisuseError(
      `Cannot ${action} at ${addressText(conflict.address)} on stream ${stream.number} as stream ` +
        `${conflict.stream}, which uses it for another owner, must be done with it`,
    );
  }

  /** Checks that no stream uses memory. */
  requireUnused(address: number, bytes: number, action: string): void {
    const conflict = this.#uses.conflict(address, bytes, () => true);
    if (conflict === undefined) return;
    throw new UpstreamMisuseError(
      `Cannot ${action} at ${addressText(address)} as nobody may use it: stream ` +
        `${conflict.stream} uses ${addressText(conflict.address)}`,
    );
  }

  /** A new event. */
  createEvent(): number {
    return this.#events.create();
  }

  /** Forgets an event. */
  destroyEvent(event: number): void {
    this.#requireEvent(event);
    this.#events.destroy(event);
  }

  /** Sets an event to what the stream's work so far reaches. */
  record(event: number, stream: MemoryStream): void {
    this.#requireEvent(event);
    const model = this.streamOf(stream, "record an event");
    if (model.captureToken !== undefined) {
      throw new UpstreamMisuseError("Cannot record an event as the stream must not be captured");
    }
    this.#events.record(event, model);
    if (this.#completion === "recorded") this.complete(model);
  }

  /** Whether an event's point is reached. */
  query(event: number): boolean {
    this.#requireEvent(event);
    this.#requireNoCapture("ask for an event");
    return this.#events.done(event);
  }

  /** Does the work up to an event. */
  waitSync(event: number): void {
    this.#requireEvent(event);
    this.#requireNoCapture("wait for an event");
    this.#events.reach(event);
  }

  /** Resolves when an event's point is reached. */
  wait(event: number): Promise<void> {
    this.#requireEvent(event);
    this.#requireNoCapture("wait for an event");
    return this.#events.wait(event);
  }

  #requireEvent(event: number): void {
    if (this.#events.has(event)) return;
    throw new UpstreamMisuseError(`Cannot use event ${event} as there is none of this number`);
  }

  #requireNoCapture(action: string): void {
    if (!this.capturing) return;
    throw new UpstreamMisuseError(`Cannot ${action} as that would spoil the capture under way`);
  }
}
