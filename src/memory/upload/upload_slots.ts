/**
 * Pinned slots: read into, then copied from, then free again.
 *
 * @module
 */

import type { DeviceContext } from "../../hardware/device_context.ts";
import { closeStream, type Stream } from "../../stream/stream.ts";
import { StagingSlab } from "../staging.ts";
import { StreamPoint } from "./stream_point.ts";

/** How many slots there are, and of what size. */
export interface SlotLimits {
  /** The most slots. */
  readonly slots: number;
  /** The size of each in bytes. */
  readonly slotBytes: number;
  /** How many may be taken, and not yet sent, at once. */
  readonly readers: number;
}

/** Somebody who waits for a slot. */
interface Waiter {
  readonly upload: number;
  readonly resolve: (slot: StagingSlab | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/** A slot whose copy is enqueued. */
interface SentSlot {
  readonly slot: StagingSlab;
  readonly fail: (error: unknown) => void;
  readonly resolve: (isDone: boolean) => void;
}

/** The slots of a ring. They are pinned when they are first needed, and then kept. */
export class UploadSlots {
  /**
   * The stream of the copies. They are enqueued in the order in which the reads end and done in the
   * same order, so that waiting for the first is enough, and one thread.
   */
  readonly stream: Stream;
  readonly #context: DeviceContext;
  readonly #limits: SlotLimits;
  readonly #free: StagingSlab[] = [];
  /** Slots that the device may still use, nobody can tell how long. */
  readonly #doubtful: StagingSlab[] = [];
  readonly #sent: SentSlot[] = [];
  /** In the order in which their uploads began. */
  readonly #waiting: Waiter[] = [];
  readonly #followed: StreamPoint;
  readonly #enqueued: StreamPoint;
  #made = 0;
  #taken = 0;

  /** Makes no slots yet. */
  constructor(context: DeviceContext, stream: Stream, limits: SlotLimits) {
    this.#context = context;
    this.#limits = limits;
    this.#followed = new StreamPoint(context);
    this.#enqueued = new StreamPoint(context);
    this.stream = stream;
  }

  /**
   * Takes a slot, waiting until there is one. It has to be sent or given back.
   *
   * @param upload Whose turn it is: of several who wait the lowest number comes first, so that what
   * began first is done first.
   * @returns `undefined` when the upload was cancelled meanwhile.
   * @throws {RangeError | CudaError} If the host has no memory to pin.
   */
  take(upload: number): Promise<StagingSlab | undefined> {
    const { promise, resolve, reject } = Promise.withResolvers<StagingSlab | undefined>();
    const later = this.#waiting.findIndex((waiter) => waiter.upload > upload);
    this.#waiting.splice(later < 0 ? this.#waiting.length : later, 0, { upload, resolve, reject });
    this.#serve();
    return promise;
  }

  /** Lets all who wait for the upload's sake go without a slot. */
  cancel(upload: number): void {
    for (let index = this.#waiting.length - 1; index >= 0; index--) {
      if (this.#waiting[index]!.upload !== upload) continue;
      this.#waiting.splice(index, 1)[0]!.resolve(undefined);
    }
  }

  /** Gives a slot back of which nothing is to be copied. */
  giveBack(slot: StagingSlab): void {
    this.#taken--;
    this.#free.push(slot);
    this.#serve();
  }

  /**
   * Enqueues the copy of what was read into a slot.
   *
   * @param fail Told at once of a failure, that nothing more may be taken because of it.
   * @returns Resolves when the slot is not in use any more: to true when the copy is done, to false
   * when it has failed.
   */
  async send(
    slot: StagingSlab,
    enqueueCopy: () => void,
    fail: (error: unknown) => void,
  ): Promise<boolean> {
    this.#taken--;
    try {
      slot.carry(this.stream, enqueueCopy);
    } catch (error) {
      fail(error);
      await this.#putAway(slot, slot.isUnmarked);
      return false;
    }
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.#sent.push({ slot, fail, resolve });
    if (this.#sent.length === 1) void this.#awaitSent();
    this.#serve();
    return await promise;
  }

  /** Waits for one copy after the other, as long as there are some. */
  async #awaitSent(): Promise<void> {
    for (let sent = this.#sent[0]; sent !== undefined; sent = this.#sent[0]) {
      const failure = await outcomeOf(sent.slot.done());
      if (failure !== undefined) sent.fail(failure.reason);
      await this.#putAway(sent.slot, failure !== undefined);
      this.#sent.shift();
      sent.resolve(failure === undefined);
    }
  }

  /** Makes a slot free for others, or one of which a copy may be under way no slot any more. */
  async #putAway(slot: StagingSlab, isDoubtful: boolean): Promise<void> {
    if (isDoubtful) {
      // Closing waits for the devices that use the slot.
      const failure = await outcomeOf(slot.closeAsync());
      // What has failed already is what is told; closing is tried again at the end.
      if (failure !== undefined) this.#doubtful.push(slot);
      this.#made--;
    } else {
      this.#free.push(slot);
    }
    this.#serve();
  }

  /** Lets the copies that are sent from now on wait for the work enqueued so far on a stream. */
  follow(stream: Stream): void {
    if (stream.query()) return;
    this.#followed.mark(stream);
    this.#followed.holdBack(this.stream);
  }

  /** Resolves when the work enqueued so far on the stream of the copies is done. */
  async done(): Promise<void> {
    this.#enqueued.mark(this.stream);
    await this.#enqueued.reached();
  }

  #serve(): void {
    while (this.#waiting.length > 0 && this.#taken < this.#limits.readers) {
      const [first] = this.#waiting;
      try {
        const slot = this.#freeSlot();
        if (slot === undefined) return;
        this.#taken++;
        first!.resolve(slot);
      } catch (error) {
        first!.reject(error);
      }
      this.#waiting.shift();
    }
  }

  #freeSlot(): StagingSlab | undefined {
    const free = this.#free.pop();
    if (free !== undefined || this.#made === this.#limits.slots) return free;
    const slot = new StagingSlab(this.#context, this.#limits.slotBytes);
    this.#made++;
    return slot;
  }

  /** Gives all pinned memory back, blocking this thread; nobody uses it any more. */
  close(): void {
    for (const slots of [this.#free, this.#doubtful]) {
      for (let slot = slots.at(-1); slot !== undefined; slot = slots.at(-1)) {
        // One that cannot be closed stays, for the next attempt.
        slot.close();
        slots.pop();
      }
    }
    this.#closeStream();
  }

  /** The same without blocking the event loop. */
  async closeAsync(): Promise<void> {
    for (const slots of [this.#free, this.#doubtful]) {
      for (let slot = slots.at(-1); slot !== undefined; slot = slots.at(-1)) {
        await slot.closeAsync();
        slots.pop();
      }
    }
    this.#closeStream();
  }

  #closeStream(): void {
    this.#followed.close();
    this.#enqueued.close();
    closeStream(this.stream);
  }
}

/** Why a promise was rejected; `undefined` when it was not. */
async function outcomeOf(
  promise: Promise<void>,
): Promise<{ readonly reason: unknown } | undefined> {
  try {
    await promise;
    return undefined;
  } catch (reason) {
    return { reason };
  }
}
