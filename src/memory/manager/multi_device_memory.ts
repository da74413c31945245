/**
 * The memory of several devices: who gets the next buffer, and how bytes move between them.
 *
 * @module
 */

import { requireInstance, requireObject } from "../../ffi/arguments.ts";
import { OutOfMemoryError } from "../../ffi/cuda_error.ts";
import { describeValue } from "../../ffi/describe_value.ts";
import { canAccessPeer, enablePeerAccess } from "../../ffi/native_device.ts";
import type { Stream } from "../../stream/stream.ts";
import { giveBackAfterFailure } from "../../ffi/give_back.ts";
import { streamFor } from "../buffer_copy.ts";
import { DeviceBuffer } from "../device_buffer.ts";
import type { DType } from "../dtype.ts";
import { DeviceAffinity } from "./device_affinity.ts";
import { BALANCE_RULES, type BalanceRule, type DeviceRoom, devicesFor } from "./device_choice.ts";
import { MemoryManager, type MemoryManagerStatistics } from "./memory_manager.ts";
import { requestedBytes } from "./requested_bytes.ts";

/** Options of the memory of several devices. */
export interface MultiDeviceMemoryOptions {
  /** How a device is chosen where no affinity says so: `free-memory` by default. */
  readonly balance?: BalanceRule;
}

/** Options of {@linkcode MultiDeviceMemory.allocate}. */
export interface NamedPlacement {
  /**
   * Buffers of one name go to one device, as long as it has room. A name that is not bound yet is
   * bound to the device that is chosen.
   */
  readonly name?: string;
}

/** Options of a copy between devices. */
export interface DeviceCopyOptions {
  /** A stream of the source's device, whose earlier work is waited for; its default stream. */
  readonly sourceStream?: Stream;
  /** A stream of the target's device, which copies; its default stream. */
  readonly targetStream?: Stream;
}

/**
 * How bytes move from one device to another: within one, from memory to memory where one can
 * address the other's, and through the host where it cannot.
 */
export type CopyRoute = "local" | "peer" | "staged";

function checkManagers(managers: readonly MemoryManager[]): void {
  const action = "manage the memory of several devices";
  if (!Array.isArray(managers) || managers.length === 0) {
    throw new TypeError(
      `Cannot ${action} as managers must be an array of at least one MemoryManager: it is ${
        Array.isArray(managers) ? "empty" : describeValue(managers)
      }`,
    );
  }
  for (const [index, manager] of managers.entries()) {
    requireInstance(manager, MemoryManager, `managers[${index}]`, action);
    const { context } = manager;
    if (context.library !== managers[0]!.context.library) {
      throw new TypeError(
        `Cannot ${action} as all must be of one library: ${
          managers[0]!.context.label
        } and ${context.label} are not`,
      );
    }
    if (managers.slice(0, index).some(({ ordinal }) => ordinal === manager.ordinal)) {
      throw new TypeError(`Cannot ${action} as each must come once: ${context.label} comes twice`);
    }
  }
}

function readBalance(balance: unknown): BalanceRule {
  if (balance === undefined) return "free-memory";
  const known = BALANCE_RULES.find((rule) => rule === balance);
  if (known !== undefined) return known;
  throw new RangeError(
    `Cannot balance memory as options.balance must be one of ${BALANCE_RULES.join(", ")}: it is ${
      describeValue(balance)
    }`,
  );
}

/**
 * The memory of several devices of one kind. Devices are named by their real ordinals, not by
 * their place in a list.
 *
 * @example
 * ```ts
 * import { MemoryManager, MultiDeviceMemory, openDevice } from "@gridstride/cuda";
 *
 * using device = openDevice(); // and more, where there are more
 * const memory = new MultiDeviceMemory([new MemoryManager(device)], { balance: "load" });
 * memory.bind("weights", device.info.ordinal);
 * using weights = memory.allocate("float16", 1 << 20, { name: "weights" });
 * console.log(weights.context.label);
 * ```
 */
export class MultiDeviceMemory {
  readonly #managers: ReadonlyMap<number, MemoryManager>;
  readonly #affinity: DeviceAffinity;
  readonly #balance: BalanceRule;
  readonly #joined = new Set<string>();

  /**
   * Takes the managers of different devices of one library together.
   *
   * @throws {TypeError} If there is none, one comes twice, or they are of different libraries.
   * @throws {RangeError} If there is no such rule.
   */
  constructor(managers: readonly MemoryManager[], options: MultiDeviceMemoryOptions = {}) {
    checkManagers(managers);
    requireObject(options, "options", "manage the memory of several devices");
    this.#managers = new Map(managers.map((manager) => [manager.ordinal, manager]));
    this.#affinity = new DeviceAffinity(this.ordinals);
    this.#balance = readBalance(options.balance);
  }

  /** The ordinals of the devices, in the order in which they were given. */
  get ordinals(): readonly number[] {
    return [...this.#managers.keys()];
  }

  /** Which names are bound to which devices, by name. */
  get affinities(): readonly (readonly [name: string, ordinal: number])[] {
    return this.#affinity.entries();
  }

  /**
   * The manager of a device.
   *
   * @throws {RangeError} If the device is none of these.
   */
  manager(ordinal: number): MemoryManager {
    const manager = this.#managers.get(ordinal);
    if (manager !== undefined) return manager;
    throw new RangeError(
      `Cannot find a device's memory as ordinal must be one of ${this.ordinals.join(", ")}: it is ${
        describeValue(ordinal)
      }`,
    );
  }

  /**
   * Binds a name to a device: buffers of that name go there as long as it has room.
   *
   * @throws {RangeError} If the device is none of these, or the name is empty.
   */
  bind(name: string, ordinal: number): void {
    this.#affinity.bind(name, ordinal);
  }

  /** Unbinds a name, so that the next buffer of it goes wherever is best; whether it was bound. */
  unbind(name: string): boolean {
    return this.#affinity.unbind(name);
  }

  /** What buffers may take, and hold, on each device. Makes no native call. */
  #rooms(): DeviceRoom[] {
    return [...this.#managers.values()].map((manager) => ({
      ordinal: manager.ordinal,
      capacity: manager.capacity,
      live: manager.memoryAllocated(),
    }));
  }

  /** The devices for a request, best first, by ordinal. */
  #order(bytes: number, bound: number | undefined): number[] {
    const ordinals = devicesFor(this.#rooms(), bytes, this.#balance).map(({ ordinal }) => ordinal);
    if (bound === undefined) return ordinals;
    return [bound, ...ordinals.filter((ordinal) => ordinal !== bound)];
  }

  /**
   * Allocates a buffer on the device its name is bound to, or on the best one; where that has no
   * room, on the next best. A name stays bound to its device also when that is full.
   *
   * @throws {RangeError} If the length is negative, fractional, not a number or too large.
   * @throws {OutOfMemoryError} If no device has room.
   */
  allocate<D extends DType>(
    dtype: D,
    length: number,
    options: NamedPlacement = {},
  ): DeviceBuffer<D> {
    requireObject(options, "options", "allocate a buffer");
    const { name } = options;
    const bytes = requestedBytes(dtype, length);
    const bound = name === undefined ? undefined : this.#affinity.ordinalOf(name);
    const failures: OutOfMemoryError[] = [];
    for (const ordinal of this.#order(bytes, bound)) {
      try {
        const buffer = this.manager(ordinal).allocate(dtype, length);
        if (name !== undefined && bound === undefined) this.#affinity.bind(name, ordinal);
        return buffer;
      } catch (error) {
        if (!(error instanceof OutOfMemoryError)) throw error;
        failures.push(error);
      }
    }
    throw this.#outOfMemory(bytes, failures);
  }

  #outOfMemory(bytes: number, failures: readonly OutOfMemoryError[]): OutOfMemoryError {
    if (failures.length === 1) return failures[0]!;
    const most = failures.reduce((best, each) => each.free > best.free ? each : best);
    return new OutOfMemoryError({
      action: `allocate ${bytes} bytes on any of ${this.ordinals.length} devices`,
      device: most.device!,
      detail: "that is the device with the most free memory",
      requested: bytes,
      free: most.free,
      total: most.total,
      cause: new AggregateError(failures, "no device has room"),
    });
  }

  /**
   * How bytes move from one device to another. Peer access is turned on, once, where there is any.
   *
   * @throws {RangeError} If a device is none of these.
   * @throws {CudaError} If peer access cannot be turned on.
   */
  route(source: number, target: number): CopyRoute {
    // The managers' own ordinals: -0, which names device 0 too, is none for the native library.
    const { ordinal: from, context: { library } } = this.manager(source);
    const { ordinal: to } = this.manager(target);
    if (from === to) return "local";
    const pair = `${to} ${from}`;
    if (this.#joined.has(pair)) return "peer";
    // The target's device copies, so it is the one that must reach the other's memory.
    if (!canAccessPeer(library, to, from)) return "staged";
    enablePeerAccess(library, to, from);
    this.#joined.add(pair);
    return "peer";
  }

  /**
   * Enqueues a copy between buffers, after what is enqueued on either stream so far. What is
   * enqueued on either later comes after the copy, so that buffers of these streams may be used and
   * freed at once.
   *
   * @throws {RangeError} If a buffer is of none of these devices, or they overlap or differ in size.
   * @throws {TypeError} If the element types differ, or a stream is of another device.
   */
  copy<D extends DType>(
    source: DeviceBuffer<D>,
    target: DeviceBuffer<D>,
    options: DeviceCopyOptions = {},
  ): CopyRoute {
    const action = "copy between devices";
    requireInstance(source, DeviceBuffer, "source", action);
    requireInstance(target, DeviceBuffer, "target", action);
    requireObject(options, "options", action);
    if (source.length !== target.length) {
      throw new RangeError(
        `Cannot ${action} as target must have the source's ${source.length} elements: it has ${target.length}`,
      );
    }
    const route = this.route(source.context.ordinal, target.context.ordinal);
    const from = streamFor(source.context, options.sourceStream);
    const to = streamFor(target.context, options.targetStream);
    if (from === to) target.copyFrom(source, { stream: to });
    else {
      waitFor(to, from);
      target.copyFrom(source, { stream: to });
      waitFor(from, to);
    }
    return route;
  }

  /**
   * Allocates a buffer on a device and enqueues a copy of another into it.
   *
   * @throws {OutOfMemoryError} If that device has no room.
   */
  copyTo<D extends DType>(
    source: DeviceBuffer<D>,
    ordinal: number,
    options: DeviceCopyOptions = {},
  ): DeviceBuffer<D> {
    requireInstance(source, DeviceBuffer, "source", "copy between devices");
    requireObject(options, "options", "copy between devices");
    const { targetStream: stream } = options;
    const choice = stream === undefined ? {} : { stream };
    const target = this.manager(ordinal).allocate(source.dtype, source.length, choice);
    try {
      this.copy(source, target, options);
    } catch (error) {
      giveBackAfterFailure(target);
      throw error;
    }
    return target;
  }

  /** Statistics of each device, under its own ordinal. */
  stats(): ReadonlyMap<number, MemoryManagerStatistics> {
    return new Map(
      [...this.#managers].map(([ordinal, manager]) => [ordinal, manager.stats()]),
    );
  }

  /** Gives all free memory of all pools back that no stream uses; how many bytes it was. */
  clearCache(): number {
    return [...this.#managers.values()].reduce((sum, manager) => sum + manager.clearCache(), 0);
  }

  /** Logs how memory is used, device by device. */
  logUsage(): void {
    for (const manager of this.#managers.values()) manager.logUsage();
  }
}

/** Makes a stream's later work wait for another's work so far. */
function waitFor(waiting: Stream, other: Stream): void {
  using event = other.record();
  waiting.wait(event);
}
