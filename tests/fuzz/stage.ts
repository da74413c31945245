/**
 * What a sequence of random calls plays with: devices, and live, disposed and foreign objects of
 * every class.
 *
 * @module
 */

import {
  defineStruct,
  Device,
  DeviceBuffer,
  Event,
  Graph,
  MemoryManager,
  MemoryPool,
  MultiDeviceMemory,
  openDevice,
  PinnedBuffer,
  PitchedBuffer,
  Stream,
  UploadRing,
} from "../../mod.ts";
import { DeviceTrace } from "../../src/lab/trace/mod.ts";
import { Autotuner } from "../../src/lab/tuning/mod.ts";
import { LaunchPlan } from "../../src/launch/launch_plan.ts";
import { Module } from "../../src/launch/module/module.ts";
import { loadStageModule, MODULE_KERNELS } from "./stage_module.ts";

/** The kinds of objects there are on a stage. */
export const STAGE_KINDS = [
  "device",
  "context",
  "kernels",
  "kernel",
  "module",
  "buffer",
  "pinned",
  "pitched",
  "stream",
  "event",
  "graph",
  "manager",
  "memory",
  "pool",
  "leaks",
  "ring",
  "trace",
  "plan",
  "struct",
  "tuner",
] as const;

/** One of them. */
export type StageKind = typeof STAGE_KINDS[number];

/** Kernels with arguments of every kind: scalars of all widths, const and plain pointers. */
const KERNELS = [
  "fill_uint32(unsigned int* out, unsigned int value, unsigned long long n)",
  "fill_uint64(unsigned long long*, unsigned long long, unsigned long long)",
  "axpy_float32(float a, const float* x, float* y, unsigned long long n)",
  "add_int32(const int* x, const int* y, int* out, unsigned long long n)",
  "spin_float32(float* out, unsigned long long nanoseconds, float value)",
] as const;

const PAIR = defineStruct("Pair", { first: "float", second: "long long" });
const PARTICLE = defineStruct("Particle", { position: "float3", tags: "char[3]", pair: PAIR });

/** The elements of the buffers that detect writes elsewhere. */
export const WITNESS = 1234.5;

function kindOf(value: unknown): StageKind | undefined {
  if (value instanceof DeviceBuffer) return "buffer";
  if (value instanceof PinnedBuffer) return "pinned";
  if (value instanceof PitchedBuffer) return "pitched";
  if (value instanceof Stream) return "stream";
  if (value instanceof Event) return "event";
  if (value instanceof Graph) return "graph";
  if (value instanceof MemoryManager) return "manager";
  if (value instanceof MultiDeviceMemory) return "memory";
  if (value instanceof MemoryPool) return "pool";
  if (value instanceof UploadRing) return "ring";
  if (value instanceof DeviceTrace) return "trace";
  if (value instanceof Module) return "module";
  if (value instanceof Autotuner) return "tuner";
  if (value instanceof LaunchPlan) return "plan";
  return undefined;
}

/** Two open devices, a closed one, and the objects of each. */
export class Stage {
  readonly #pools = {
    ...Object.fromEntries(STAGE_KINDS.map((kind) => [kind, [] as unknown[]])),
    struct: [PAIR, PARTICLE],
  } as Record<StageKind, unknown[]>;
  readonly #witness: DeviceBuffer<"float32">;
  /** Streams that are adopted by their handles, and must outlive all objects of the stage. */
  readonly #lenders: Stream[] = [];
  /** The devices of the fake topology that are in use. */
  readonly ordinals: readonly number[];

  /** Opens two devices and makes objects of every kind, modules included. */
  static async open(ordinals: readonly [number, number]): Promise<Stage> {
    const stage = new Stage(ordinals);
    // The third device is the one that is closed.
    for (const device of stage.#pools.device.slice(0, 2)) {
      await stage.#addModules(device as Device);
    }
    return stage;
  }

  private constructor(ordinals: readonly [number, number]) {
    this.ordinals = ordinals;
    const [first, second] = ordinals.map((ordinal) => openDevice(`host:${ordinal}`));
    const closed = openDevice(`host:${ordinals[0]}`);
    this.#witness = first!.allocate("float32", 1000, { fill: WITNESS });
    this.#furnish(first!);
    this.#furnish(second!);
    const managers = [new MemoryManager(first!), new MemoryManager(second!)];
    this.#pools.manager.push(...managers);
    this.#pools.memory.push(new MultiDeviceMemory(managers));
    this.#addDevice(closed);
    closed[Symbol.dispose]();
  }

  async #addModules(device: Device): Promise<void> {
    const module = await loadStageModule(device, [PAIR, PARTICLE]);
    const gone = await loadStageModule(device, [PAIR, PARTICLE]);
    const { kernel, buffer } = this.#pools;
    kernel.push(...[module, gone].flatMap((of) => MODULE_KERNELS.map((text) => of.kernel(text))));
    buffer.push(module.variable("total", "int32"), gone.variable("factors", "float32"));
    gone[Symbol.dispose]();
    this.#pools.module.push(module, gone);
  }

  #addDevice(device: Device): void {
    this.#pools.device.push(device);
    this.#pools.context.push(device.context);
    this.#pools.kernels.push(device.kernels);
  }

  #furnish(device: Device): void {
    this.#addDevice(device);
    const { buffer, pinned, pitched, stream, event, kernel, graph } = this.#pools;
    kernel.push(...KERNELS.map((signature) => device.kernels.load(signature)));
    const x = device.allocate("float32", 100, { fill: 1 });
    const freed = device.allocate("float32", 100);
    freed.free();
    buffer.push(
      x,
      device.allocate("float32", 100, { fill: 2 }),
      device.allocate("int32", 100, { fill: 3 }),
      device.allocate("uint32", 12, { fill: 0 }),
      device.allocate("float64", 2, { fill: 0 }),
      device.allocate("uint64", 1, { fill: 0 }),
      device.allocate("float32", 1, { fill: 0 }),
      device.allocate("uint8", 0),
      device.allocate("bfloat16", 100, { fill: 1 }),
      x.view(10, 60),
      x.as("uint32"),
      freed,
      device.upload(new Float64Array(100)),
    );
    const gone = device.allocate2d("float32", 4, 3);
    gone[Symbol.dispose]();
    pitched.push(
      device.allocate2d("float32", 4, 3, { fill: 1 }),
      device.allocate2d("float32", 4, 3),
      new PitchedBuffer(x, 4, 3, { pitchBytes: 40 }),
      gone,
    );
    this.#addPools(device);
    this.#pools.tuner.push(
      new Autotuner(device, { name: "stage", configurations: [1, 2], warmUp: 0, repeats: 1 }),
    );
    const unpinned = device.allocatePinned("float32", 8);
    unpinned[Symbol.dispose]();
    pinned.push(device.allocatePinned("float32", 100), unpinned);
    const closed = device.createStream();
    closed[Symbol.dispose]();
    stream.push(device.stream, device.createStream({ priority: -1 }), closed);
    this.#lenders.push(device.createStream());
    const dropped = device.stream.capture(() => {});
    dropped[Symbol.dispose]();
    graph.push(device.stream.capture(() => device.kernels.scale(x, 1, x)), dropped);
    const forgotten = device.createEvent();
    forgotten[Symbol.dispose]();
    event.push(
      device.stream.record({ timing: true }),
      device.stream.record(),
      device.createEvent({ timing: true }),
      forgotten,
    );
  }

  #addPools(device: Device): void {
    const own = device.createPool({ maxPoolSize: "8MiB", cleanupInterval: 1000 });
    const debug = device.createPool({ preset: "testing", maxPoolSize: "16MiB" });
    const ended = device.createPool();
    ended[Symbol.dispose]();
    const { pool, leaks, buffer, ring } = this.#pools;
    buffer.push(own.allocate("float32", 100), debug.allocate("int32", 100));
    pool.push(own, device.pool, debug, ended);
    leaks.push(debug.checkLeaks());
    ring.push(device.createUploadRing({ slots: 2, slotBytes: 65536 }));
    const over = new DeviceTrace(device);
    over[Symbol.dispose]();
    this.#pools.trace.push(new DeviceTrace(device, { capacity: 8 }), over);
    const fill = device.kernels.load(KERNELS[0]);
    this.#pools.plan.push(device.launchFor(fill, { elements: 300 }));
  }

  /** An object of a kind; the index counts round and round. */
  pick(kind: StageKind, index: number): unknown {
    const pool = this.#pools[kind];
    return pool[index % pool.length];
  }

  /** The handle of a stream that lives as long as the stage. */
  lentHandle(index: number): number {
    return this.#lenders[index % this.#lenders.length]!.handle;
  }

  /** Takes the result of a call: later calls use it, and the end disposes it. */
  add(value: unknown): void {
    if (value instanceof Device) this.#addDevice(value);
    const kind = kindOf(value);
    if (kind !== undefined) this.#pools[kind].push(value);
  }

  /** The witness's elements: nothing that ran may have touched them. */
  witness(): Promise<Float32Array> {
    return this.#witness.toArray();
  }

  /** Disposes everything, also after errors; returns the errors. */
  async close(): Promise<unknown[]> {
    const { buffer, pinned, event, stream, device, graph, pool, ring, trace, module } = this.#pools;
    const { pitched } = this.#pools;
    const errors: unknown[] = [];
    for (const each of ring as AsyncDisposable[]) {
      await Promise.resolve(each[Symbol.asyncDispose]()).catch((error) => errors.push(error));
    }
    const objects = [
      ...graph,
      ...buffer,
      ...pitched,
      this.#witness,
      ...pinned,
      ...event,
      ...trace,
      ...module,
      ...stream,
      ...this.#lenders,
      ...pool,
      ...device,
    ];
    for (const object of objects as Disposable[]) {
      try {
        object[Symbol.dispose]();
      } catch (error) {
        errors.push(error);
      }
    }
    return errors;
  }
}
