/**
 * The memory of several devices: placement of buffers, and copies between devices.
 *
 * @module
 */

import { requireInstance, requireOptions } from "../../ffi/arguments.ts";
import { OutOfMemoryError } from "../../ffi/cuda_error.ts";
import { describeValue } from "../../ffi/describe_value.ts";
import { giveBackAfterFailure } from "../../ffi/give_back.ts";
import { canAccessPeer, enablePeerAccess } from "../../ffi/native_device.ts";
import { type Stream, waitForStream } from "../../stream/stream.ts";
import { bytesOfLength } from "../buffer_options.ts";
import { streamFor } from "../buffer_copy.ts";
import { DeviceBuffer } from "../device_buffer.ts";
import type { DType } from "../dtype.ts";
import { MemoryManager, type MemoryManagerStatistics } from "./memory_manager.ts";

const BALANCE_RULES = ["free-memory", "load"] as const;

/** A rule that chooses a device. */
export type BalanceRule = typeof BALANCE_RULES[number];

/** The usage of a device. Sizes are bytes. */
export interface DeviceRoom {
  readonly ordinal: number;
  /** The limit of all buffers together. */
  readonly capacity: number;
  /** The sizes of live buffers. */
  readonly live: number;
}

/**
 * Orders devices for a request, best first: by free memory, or by the used share, so small devices
 * fill as fast as large ones. Devices without room come last, by free memory: a device may still
 * return cached memory. Ties go to the lower ordinal.
 */
export function devicesFor(
  devices: readonly DeviceRoom[],
  bytes: number,
  rule: BalanceRule,
): DeviceRoom[] {
  const roomOf = ({ capacity, live }: DeviceRoom) => capacity - live;
  const loadOf = ({ capacity, live }: DeviceRoom) =>
    capacity === 0 ? Infinity : (live + bytes) / capacity;
  return devices.toSorted((a, b) => {
    const fits = Number(roomOf(b) >= bytes) - Number(roomOf(a) >= bytes);
    if (fits !== 0) return fits;
    const byRule = rule === "load" && roomOf(a) >= bytes
      ? loadOf(a) - loadOf(b)
      : roomOf(b) - roomOf(a);
    return byRule || a.ordinal - b.ordinal;
  });
}

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

function checkName(name: unknown): void {
  const message = `Cannot use an affinity as name must be a text that is not empty: it is ${
    describeValue(name)
  }`;
  if (typeof name !== "string") throw new TypeError(message);
  if (name === "") throw new RangeError(message);
}

/**
 * The memory of several devices of one kind. Ordinals name the devices, not places in a list.
 *
 * @example
 * ```ts
 * import { MemoryManager, MultiDeviceMemory, openDevice } from "@gridstride/cuda";
 *
 * using device = openDevice(); // and more, if there are more
 * const memory = new MultiDeviceMemory([new MemoryManager(device)], { balance: "load" });
 * memory.bind("weights", device.info.ordinal);
 * using weights = memory.allocate("float16", 1 << 20, { name: "weights" });
 * console.log(weights.context.label);
 * ```
 * @category Memory
 */
export class MultiDeviceMemory {
  readonly #managers: ReadonlyMap<number, MemoryManager>;
  readonly #affinities = new Map<string, number>();
  readonly #balance: BalanceRule;
  readonly #joined = new Set<string>();

  /**
   * Combines the managers of different devices of one library.
   *
   * @param options The rule that chooses a device for buffers without affinity: `free-memory`, the
   * default, takes the device with the most room, `load` the one with the smallest used share.
   * @throws {TypeError} If there is none, one comes twice, or they are of different libraries.
   * @throws {RangeError} If the rule is unknown.
   */
  constructor(
    managers: readonly MemoryManager[],
    options: { readonly balance?: "free-memory" | "load" } = {},
  ) {
    checkManagers(managers);
    requireOptions(options, ["balance"], "manage the memory of several devices");
    this.#managers = new Map(managers.map((manager) => [manager.ordinal, manager]));
    this.#balance = options.balance ?? "free-memory";
    if (BALANCE_RULES.includes(this.#balance)) return;
    throw new RangeError(
      `Cannot balance memory as options.balance must be one of ${BALANCE_RULES.join(", ")}: it is ${
        describeValue(options.balance)
      }`,
    );
  }

  /** The ordinals of the devices, in the given order. */
  get ordinals(): readonly number[] {
    return [...this.#managers.keys()];
  }

  /** Bound names and their devices, by name. */
  get affinities(): readonly (readonly [name: string, ordinal: number])[] {
    return [...this.#affinities].sort(([a], [b]) => a < b ? -1 : 1);
  }

  /**
   * The manager of a device.
   *
   * @throws {RangeError} If the device is unknown.
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
   * Binds a name to a device: its buffers go there while the device has room.
   *
   * @throws {TypeError} If the name is not a text.
   * @throws {RangeError} If the device is unknown, or the name is empty.
   */
  bind(name: string, ordinal: number): void {
    checkName(name);
    this.#affinities.set(name, this.manager(ordinal).ordinal);
  }

  /** Unbinds a name; false if it was not bound. */
  unbind(name: string): boolean {
    return this.#affinities.delete(name);
  }

  /**
   * Allocates a buffer on the device of its name, else on the best device; if that has no room, on
   * the next best. A new name is bound to the chosen device, and stays bound when it is full.
   *
   * @throws {RangeError} If the length is negative, fractional, not a number or too large.
   * @throws {OutOfMemoryError} If no device has room.
   */
  allocate<D extends DType>(
    dtype: D,
    length: number,
    options: { readonly name?: string } = {},
  ): DeviceBuffer<D> {
    requireOptions(options, ["name"], "allocate a buffer");
    const { name } = options;
    const bytes = bytesOfLength(length, dtype);
    if (name !== undefined) checkName(name);
    const bound = this.#affinities.get(name ?? "");
    const rooms = Array.from(this.#managers.values(), (manager) => ({
      ordinal: manager.ordinal,
      capacity: manager.capacity,
      live: manager.memoryAllocated(),
    }));
    const order = devicesFor(rooms, bytes, this.#balance).map(({ ordinal }) => ordinal);
    const failures: OutOfMemoryError[] = [];
    for (const ordinal of new Set(bound === undefined ? order : [bound, ...order])) {
      try {
        const buffer = this.manager(ordinal).allocate(dtype, length);
        if (name !== undefined && bound === undefined) this.#affinities.set(name, ordinal);
        return buffer;
      } catch (error) {
        if (!(error instanceof OutOfMemoryError)) throw error;
        failures.push(error);
      }
    }
    if (failures.length === 1) throw failures[0]!;
    const most = failures.reduce((best, each) => each.free > best.free ? each : best);
    throw new OutOfMemoryError({
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
   * The route of copies between two devices: within one device, from memory to memory of peers, or
   * staged through the host. Enables peer access on first use.
   *
   * @throws {RangeError} If a device is unknown.
   * @throws {CudaError} If peer access fails.
   */
  route(source: number, target: number): "local" | "peer" | "staged" {
    // The managers' ordinals: the native library does not accept -0, which also names device 0.
    const { ordinal: from, context: { library } } = this.manager(source);
    const { ordinal: to } = this.manager(target);
    if (from === to) return "local";
    const pair = `${to} ${from}`;
    if (this.#joined.has(pair)) return "peer";
    // The target's device copies, so it accesses the source's memory.
    if (!canAccessPeer(library, to, from)) return "staged";
    enablePeerAccess(library, to, from);
    this.#joined.add(pair);
    return "peer";
  }

  /**
   * Enqueues a copy between buffers, after the work so far of both streams and before their later
   * work, so buffers of these streams may be used and freed at once.
   *
   * @param options A stream of the source's device, and a stream of the target's device, which
   * copies; their default streams if absent.
   * @throws {RangeError} If a device is unknown, or the buffers overlap or differ in size.
   * @throws {TypeError} If the element types differ, or a stream is of another device.
   */
  copy<D extends DType>(
    source: DeviceBuffer<D>,
    target: DeviceBuffer<D>,
    options: { readonly sourceStream?: Stream; readonly targetStream?: Stream } = {},
  ): "local" | "peer" | "staged" {
    const action = "copy between devices";
    requireInstance(source, DeviceBuffer, "source", action);
    requireInstance(target, DeviceBuffer, "target", action);
    requireOptions(options, ["sourceStream", "targetStream"], action);
    if (source.length !== target.length) {
      throw new RangeError(
        `Cannot ${action} as target must have the source's ${source.length} elements: it has ${target.length}`,
      );
    }
    const route = this.route(source.context.ordinal, target.context.ordinal);
    const from = streamFor(source.context, options.sourceStream);
    const to = streamFor(target.context, options.targetStream);
    waitForStream(to, from);
    target.copyFrom(source, { stream: to });
    waitForStream(from, to);
    return route;
  }

  /**
   * Allocates a buffer on a device and enqueues a copy into it; see `copy()`.
   *
   * @throws {OutOfMemoryError} If the device has no room.
   */
  copyTo<D extends DType>(
    source: DeviceBuffer<D>,
    ordinal: number,
    options: { readonly sourceStream?: Stream; readonly targetStream?: Stream } = {},
  ): DeviceBuffer<D> {
    requireInstance(source, DeviceBuffer, "source", "copy between devices");
    requireOptions(options, ["sourceStream", "targetStream"], "copy between devices");
    const { targetStream } = options;
    const choice = targetStream === undefined ? {} : { stream: targetStream };
    const target = this.manager(ordinal).allocate(source.dtype, source.length, choice);
    try {
      this.copy(source, target, options);
    } catch (error) {
      giveBackAfterFailure(target);
      throw error;
    }
    return target;
  }

  /** Returns the statistics of each device by ordinal. */
  stats(): ReadonlyMap<number, MemoryManagerStatistics> {
    return new Map(
      [...this.#managers].map(([ordinal, manager]) => [ordinal, manager.stats()]),
    );
  }

  /** Returns free memory of all pools that no stream uses to the devices, and its bytes. */
  clearCache(): number {
    return [...this.#managers.values()].reduce((sum, manager) => sum + manager.clearCache(), 0);
  }

  /** Logs the usage of each device. */
  logUsage(): void {
    for (const manager of this.#managers.values()) manager.logUsage();
  }
}
