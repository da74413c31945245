/**
 * What can be done with a pool, as commands that fast-check combines and shrinks.
 *
 * @module
 */

import * as fc from "fast-check";
import type { PoolModel } from "./pool_model.ts";

interface Operation {
  /** Whether it makes sense now; always when absent. */
  readonly isPossible?: (model: PoolModel) => boolean;
  readonly run: (model: PoolModel) => void | Promise<void>;
}

/** An operation and its arguments, after which everything is checked. */
class PoolCommand implements fc.AsyncCommand<PoolModel, PoolModel> {
  readonly #name: string;
  readonly #operation: Operation;

  constructor(name: string, operation: Operation) {
    this.#name = name;
    this.#operation = operation;
  }

  check(model: Readonly<PoolModel>): boolean {
    return this.#operation.isPossible?.(model as PoolModel) ?? true;
  }

  async run(model: PoolModel): Promise<void> {
    await this.#operation.run(model);
    // An awaited block is allocated some microtasks before its promise resolves.
    if (model.waiting > 0) await model.settle();
    model.check();
  }

  toString(): string {
    return this.#name;
  }
}

const pick = fc.nat(1000);

/** Boundary sizes: one byte, classes and granules and their neighbours, and too much. */
function sizes(capacity: number): fc.Arbitrary<number> {
  const edges = [1, 511, 512, 513, 16384, 16385, 2 ** 20, 2 ** 20 + 1, 2 ** 21, 2 ** 21 + 1];
  return fc.oneof(
    { weight: 4, arbitrary: fc.integer({ min: 1, max: 40_000 }) },
    { weight: 2, arbitrary: fc.constantFrom(...edges) },
    { weight: 3, arbitrary: fc.integer({ min: 2 ** 20, max: Math.floor(capacity / 4) }) },
    { weight: 1, arbitrary: fc.constantFrom(capacity, capacity + 1, 2 ** 41 + 1, 2 ** 53 - 1) },
    { weight: 1, arbitrary: fc.integer({ min: 1, max: capacity }) },
  );
}

const alignments = fc.oneof(
  { weight: 6, arbitrary: fc.constant(512) },
  { weight: 1, arbitrary: fc.integer({ min: 10, max: 22 }).map((exponent) => 2 ** exponent) },
);

/** A command of these arguments. */
function command<T>(
  arguments_: fc.Arbitrary<T>,
  name: string,
  operation: (values: T) => Operation,
): fc.Arbitrary<PoolCommand> {
  return arguments_.map((values) =>
    new PoolCommand(`${name}(${JSON.stringify(values)})`, operation(values))
  );
}

function allocations(capacity: number): fc.Arbitrary<PoolCommand>[] {
  const request = fc.tuple(sizes(capacity), alignments, pick);
  const allocate = command(request, "allocate", (values) => ({
    run: (model) => model.allocate(...values),
  }));
  const allocateAsync = command(request, "allocateAsync", (values) => ({
    run: (model) => model.allocateAsync(...values),
  }));
  const free = command(pick, "free", (value) => ({
    isPossible: ({ blocks }) => blocks.length > 0,
    run: (model) => model.free(model.block(value)),
  }));
  const freeAll = command(fc.constant(0), "freeAll", () => ({
    isPossible: ({ blocks }) => blocks.length > 0,
    run: (model) => {
      for (const block of [...model.blocks]) model.free(block);
    },
  }));
  return [allocate, allocate, allocate, free, free, free, allocateAsync, freeAll];
}

function uses(): fc.Arbitrary<PoolCommand>[] {
  return [
    command(pick, "touch", (value) => ({
      isPossible: ({ blocks }) => blocks.length > 0,
      run: (model) => model.touch(model.block(value)),
    })),
    command(fc.tuple(pick, pick), "use", ([block, stream]) => ({
      isPossible: ({ blocks }) => blocks.length > 0,
      run: (model) => model.use(model.block(block), model.stream(stream)),
    })),
    command(pick, "complete", (value) => ({ run: (model) => model.complete(value) })),
    command(pick, "disposeStream", (value) => ({
      isPossible: ({ streams }) => streams.length > 1,
      run: (model) => {
        if (model.stream(value).captureToken === undefined) model.disposeStream(value);
      },
    })),
    command(fc.constant(0), "createStream", () => ({
      isPossible: ({ streams }) => streams.length < 5,
      run: (model) => model.createStream(),
    })),
  ];
}

function captures(): fc.Arbitrary<PoolCommand>[] {
  return [
    command(fc.tuple(pick, pick), "beginCapture", (picks) => ({
      // Captures are over before anything that waits goes on.
      isPossible: ({ capture, waiting }) => capture === undefined && waiting === 0,
      run: (model) => model.beginCapture([...new Set(picks.map((each) => model.stream(each)))]),
    })),
    command(fc.boolean(), "endCapture", (succeeds) => ({
      isPossible: ({ capture }) => capture !== undefined,
      run: (model) => model.endCapture(succeeds),
    })),
    command(fc.tuple(pick, pick), "launch", ([graph, stream]) => ({
      isPossible: ({ graphs }) => graphs.length > 0,
      run: (model) => {
        const { graphs } = model;
        const target = model.stream(stream);
        // Launches of a graph are one after another; here one more only when the last is done.
        model.upstream.completeAll();
        if (target.captureToken === undefined) graphs[graph % graphs.length]!.launch(target);
      },
    })),
    command(pick, "disposeGraph", (value) => ({
      isPossible: ({ graphs }) => graphs.length > 0,
      run: (model) => model.disposeGraph(value),
    })),
  ];
}

function controls(capacity: number): fc.Arbitrary<PoolCommand>[] {
  return [
    command(fc.constant(0), "trim", () => ({ run: (model) => void model.core.trim() })),
    command(fc.nat(3), "expire", (ticks) => ({
      run: (model) => {
        model.core.tick++;
        model.core.expire(ticks);
      },
    })),
    command(fc.constant(0), "settleSync", () => ({
      isPossible: ({ capture }) => capture === undefined,
      run: (model) => model.core.settleSync(),
    })),
    command(fc.constant(0), "press", () => ({ run: (model) => model.upstream.raisePressure() })),
    command(fc.nat(4), "yields", (blocks) => ({ run: (model) => void (model.yields = blocks) })),
    command(fc.integer({ min: 0, max: 4 }), "occupy", (quarters) => ({
      run: (model) => model.occupy(Math.floor(capacity * quarters / 5)),
    })),
    command(fc.constant(0), "resetStats", () => ({
      run: (model) => model.resetStats(),
    })),
  ];
}

/** Sequences of commands for pools of devices of this size. */
export function poolCommands(
  capacity: number,
  maxCommands: number,
): fc.Arbitrary<Iterable<fc.AsyncCommand<PoolModel, PoolModel>>> {
  const all = [
    ...allocations(capacity),
    ...allocations(capacity),
    ...uses(),
    ...captures(),
    ...controls(capacity),
  ];
  return fc.commands(all, { maxCommands, size: "max" });
}
