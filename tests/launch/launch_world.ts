/**
 * Configurations, arguments, buffers and streams that steps change between launches. Each launch is
 * compared with the first launch of a new kernel.
 *
 * @module
 */

import { assert, assertEquals } from "@std/assert";
import { defineStruct, DeviceBuffer, Stream } from "../../mod.ts";
import { frees } from "../../src/memory/allocation.ts";
import { poolOfDevice } from "../../src/memory/pool/memory_pool.ts";
import { listen } from "../../src/stream/activity.ts";
import { defaultStream } from "../../src/stream/stream.ts";
import { type ArgumentRule, KERNELS, referenceBlock, usedSlots } from "./launch_reference.ts";
import { type LaunchedKernel, RecordedLaunches } from "./recorded_launches.ts";
import { placeOfBuffer } from "../../src/memory/device_buffer.ts";

type Outcome = { readonly error: string } | { readonly block: BigUint64Array };

const structs = [defineStruct("Weights", { scale: "float", shift: "int[2]" })];

const EXTENTS: readonly unknown[] = [
  ...[1, 2, 2, 3, 64, [1], [2], [2, 3], [1, 2, 3], new Float32Array(1), 1],
  ...[0, -0, NaN, 1.5, 2 ** 31, "2", [], [0], [1, 1, 1, 1], [2, NaN], null, undefined, 2n],
  Object(2),
];

/** Arguments that are none for any parameter, or only for few. */
const ODD: readonly unknown[] = [undefined, undefined, "1", Symbol.iterator, [], {}, NaN, -0, 1n];

function trapped<Value extends object>(key: string | number, value: Value, step: () => number) {
  return Object.defineProperty(value, key, { get: step });
}

function trapConfig(config: object, place: number, step: () => number): void {
  if (place === 3) Object.assign(config, { grid: trapped(0, [1, 7], step) });
  else if (place === 4) Object.assign(config, { block: trapped(1, [3, 1], step) });
  else trapped(["grid", "block", "sharedMemory", "stream"][place % 4]!, config, step);
}

/** A world of steps; all that it holds is given back when it is disposed. */
export class LaunchWorld implements Disposable {
  /** How many launches have reached the library, and how many were refused. */
  readonly count = { launched: 0, refused: 0 };
  readonly #recorded = new RecordedLaunches();
  readonly #kernels: LaunchedKernel[] = [];
  readonly #args: unknown[][] = [];
  readonly #configs: Record<string, unknown>[] = [{}, {}, {}];
  readonly #buffers: DeviceBuffer<"float32">[] = [];
  readonly #streams: Stream[] = [];
  readonly #vectors = [[1, 2, 3, 4], new Float32Array([5, 6, 7, 8])];
  /** Device memory that is no buffer. */
  readonly #foreign: Record<string, unknown>;
  readonly #weights = [1, 2].map((scale) => ({ scale, shift: [3, 4] }));
  readonly #heard: object[] = [];
  #stopListening: (() => void) | undefined;

  /** Every kernel can be launched with every configuration. */
  constructor() {
    const { context } = this.#recorded;
    this.#foreign = { context, dtype: "float32", address: 512, length: 1, disposed: false };
    for (const [index, { signature, rules }] of KERNELS.entries()) {
      this.#kernels.push(this.#recorded.kernel(signature, undefined, structs));
      if (index === 0) { for (let i = 0; i < 4; i++) this.allocate(i, i); }
      this.#args.push(rules.map((rule) => this.#fitting(rule, index)));
    }
    for (let i = 0; i < 2; i++) this.#streams.push(new Stream(context));
    this.#configs.forEach((_, at) => this.#mendConfig(at));
  }

  /** A buffer from the pool, from elsewhere or without elements, in place of another. */
  allocate(at: number, way: number): void {
    const { context } = this.#recorded;
    const before = this.#buffers[at];
    const stream = way % 2 === 0 ? undefined : this.#streams[0];
    const buffer = way === 3
      ? DeviceBuffer.fromAddress(4096 * (at + 1), 64, { device: { context }, dtype: "float32" })
      : DeviceBuffer.allocate(context, "float32", 16 * (2 - way % 3), stream && { stream });
    this.#buffers[at] = buffer;
    this.#replace(before, buffer);
    before?.free();
  }

  /** Frees a buffer that arguments may go on to name. */
  free(at: number, byAddress: boolean): void {
    const buffer = this.#buffers[at]!;
    const { pool, isView } = placeOfBuffer(buffer);
    if (!byAddress || buffer.disposed || pool === undefined || buffer.length === 0 || isView) {
      return buffer.free();
    }
    poolOfDevice(this.#recorded.context).free(buffer.address);
  }

  /** Closes a stream; configurations name the next one, or go on to name the closed one. */
  restartStream(at: number, isReplaced: boolean): void {
    const before = this.#streams[at]!;
    if (before.captureToken !== undefined) return;
    before[Symbol.dispose]();
    const stream = this.#streams[at] = new Stream(this.#recorded.context);
    if (!isReplaced) return;
    for (const config of this.#configs) if (config.stream === before) config.stream = stream;
  }

  configure(at: number, field: string, choice: number): void {
    const config = this.#configs[at]!;
    const values: Readonly<Record<string, readonly unknown[]>> = {
      grid: EXTENTS,
      block: EXTENTS,
      sharedMemory: [undefined, 0, -0, 16, 49152, 49153, 60000, 2 ** 20, NaN, null, "0"],
      cooperative: [undefined, false, true, null, 1],
      cluster: [undefined, undefined, null, 1, [2, 1], [1, 3], 5],
      stream: [undefined, ...this.#streams, defaultStream(this.#recorded.context), null, {}],
    };
    const choices = values[field]!;
    // Half of them are what most programs say.
    const value = choice % 2 === 0 ? choices[0] : choices[(choice >> 1) % choices.length];
    if (value === undefined && choice % 4 === 0 && field !== "grid") delete config[field];
    else config[field] = value;
  }

  /** Changes an argument, or what an array or object that is one holds. */
  pass(kernel: number, index: number, choice: number, isOdd: boolean): void {
    const { rules } = KERNELS[kernel]!;
    if (rules.length === 0) return;
    const at = index % rules.length;
    const args = this.#args[kernel]!;
    args[at] = isOdd ? ODD[choice % ODD.length] : this.#fitting(rules[at]!, choice);
  }

  changeInPlace(value: number): void {
    for (const vector of this.#vectors) vector[value % 4] = value / 8;
    this.#foreign.address = 512 + 16 * value;
    const weights = this.#weights[value % 2]!;
    weights.scale = value / 8;
    weights.shift[value % 2] = value % 5 === 0 ? 0.5 : value;
  }

  listen(): void {
    if (this.#stopListening !== undefined) return this.#stopHearing();
    const { context } = this.#recorded;
    this.#stopListening = listen({
      context,
      work: (work, _stream, enqueue) => {
        // What a kernel is allowed is read when it is got.
        this.#heard.push({ ...work, attributes: undefined });
        enqueue();
      },
      compiled: () => {},
    });
  }

  setStatus(status: number): void {
    this.#recorded.status = status;
  }

  capture(at: number, steps: () => void): void {
    const stream = this.#streams[at]!;
    if (stream.captureToken !== undefined) return steps();
    using _graph = stream.capture(steps);
  }

  /** Launches a kernel as it is, and one of the same signature that was never launched. */
  launch(kernel: number, config: number, surplus: readonly unknown[], given: number): void {
    const { signature, rules } = KERNELS[kernel]!;
    const args = [...this.#args[kernel]!.slice(0, given), ...surplus];
    const chosen = this.#configs[config]!;
    this.#heard.length = 0;
    const outcome = this.#outcome(this.#kernels[kernel]!, chosen, args);
    const heard = this.#heard.splice(0);
    const fresh = this.#recorded.kernel(signature, undefined, structs);
    const expected = this.#outcome(fresh, chosen, args);
    assertEquals(heard, this.#heard.splice(0));
    if ("error" in outcome || "error" in expected) {
      assertEquals(outcome, expected);
      // Otherwise all following launches would be refused too.
      if (this.count.refused++ % 2 === 0) this.#mend(kernel, config);
      return;
    }
    this.count.launched++;
    const reference = referenceBlock({
      device: this.#recorded.context.ordinal,
      stream: ((chosen.stream as Stream) ?? defaultStream(this.#recorded.context)).id,
      kernel: this.#recorded.kernelId,
      rules,
      config: chosen,
      args,
    });
    assertEquals(usedSlots(outcome.block, reference), reference);
    assertEquals(usedSlots(expected.block, reference), reference);
  }

  /**
   * Launches a kernel with a getter that takes steps, and may throw after them; then with
   * each configuration as if nothing had been. It must not reach the library if they have launched, or
   * given memory back that was looked at before.
   */
  launchWhile(kernel: number, config: number, place: number, throws: boolean, steps: () => void) {
    let isTaken = false;
    const { count } = frees;
    const before = this.#launches;
    const step = () => {
      if (isTaken) return 1;
      isTaken = true;
      steps();
      if (throws) throw new Error("the getter's own");
      return 1;
    };
    const args = [...this.#args[kernel]!];
    const chosen = { ...this.#configs[config]! };
    const isArgument = this.#trapArgument(KERNELS[kernel]!.rules, args, place, step);
    if (!isArgument) trapConfig(chosen, place, step);
    const hasLaunched = () => this.#launches !== before;
    const outcome = this.#outcome(this.#kernels[kernel]!, chosen, args);
    if ("block" in outcome) {
      assert(!hasLaunched(), "a launch whose getters launched has reached the library");
      assert(!isTaken || !throws, "a launch whose getter threw has reached the library");
      const hasReturned = isArgument && count !== frees.count;
      assert(!hasReturned, "a launch whose getters gave memory back has reached the library");
    }
    for (let again = 0; again < this.#configs.length; again++) this.launch(kernel, again, [], 9);
  }

  get #launches(): number {
    return this.count.launched + this.count.refused;
  }

  /** Has an argument take a step when it is read, if there is one at this place. */
  #trapArgument(
    rules: readonly ArgumentRule[],
    args: unknown[],
    place: number,
    step: () => number,
  ): boolean {
    const index = rules.indexOf((["weights", "float4", "pointer"] as const)[place]!);
    if (index < 0) return false;
    const { context } = this.#recorded;
    const [, stream] = this.#streams;
    const memory = { context, dtype: "float32", address: 4096, length: 1, disposed: false, stream };
    args[index] = [
      trapped("scale", { shift: [1, 2] }, step),
      trapped(2, [1, 2, 3, 4], step),
      { ...memory, recordStream: step },
    ][place];
    return true;
  }

  #outcome(kernel: LaunchedKernel, config: unknown, args: readonly unknown[]): Outcome {
    this.#recorded.take();
    try {
      kernel.launch(config, ...args);
    } catch (error) {
      assert(error instanceof Error);
      return { error: `${error.name}: ${error.message}` };
    }
    const blocks = this.#recorded.take();
    assertEquals(blocks.length, 1);
    return { block: blocks[0]! };
  }

  #fitting(rule: ArgumentRule, choice: number): unknown {
    const buffer = this.#buffers[choice % 4]!;
    const of: readonly unknown[] = {
      number: [5, 0, -0, 0, -0, 2 ** 31 - 1],
      wide: [5, 5n, 0, 0n, 2 ** 53 - 1, 2n ** 62n],
      truth: [true, false],
      pointer: [
        ...[null, buffer, buffer, buffer],
        buffer.disposed ? buffer : buffer.view(),
        this.#foreign,
      ],
      half: [0, -0, 1.5, NaN],
      float4: this.#vectors,
      weights: this.#weights,
    }[rule];
    return of[choice % of.length];
  }

  #mend(kernel: number, config: number): void {
    this.#mendConfig(config);
    this.#buffers.forEach((buffer, at) => buffer.disposed && this.allocate(at, at));
    const { rules } = KERNELS[kernel]!;
    this.#args[kernel] = rules.map((rule, index) => this.#fitting(rule, index));
    for (const weights of this.#weights) weights.shift = [3, 4];
  }

  #mendConfig(at: number): void {
    const config = this.#configs[at]!;
    for (const field of Object.keys(config)) delete config[field];
    const stream = this.#streams[at];
    Object.assign(config, { grid: 2, block: 32, ...(stream === undefined ? {} : { stream }) });
  }

  #replace(before: unknown, after: unknown): void {
    for (const args of this.#args) {
      args.forEach((value, index) => {
        if (value === before && before !== undefined) args[index] = after;
      });
    }
  }

  #stopHearing(): void {
    this.#stopListening?.();
    this.#stopListening = undefined;
  }

  [Symbol.dispose](): void {
    this.#stopHearing();
    for (const buffer of this.#buffers) buffer.free();
    for (const stream of this.#streams) stream[Symbol.dispose]();
    this.#recorded[Symbol.dispose]();
  }
}
