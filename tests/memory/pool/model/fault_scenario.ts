/**
 * A life of a pool in which every call of its upstream comes up, for making each of them fail.
 *
 * @module
 */

import type { OwnedBlock, PoolModel } from "./pool_model.ts";

const MEBIBYTE = 2 ** 20;

/** Something that is done with a pool. */
export interface ScenarioStep {
  /** Its name in messages. */
  readonly name: string;
  readonly run: (model: PoolModel) => void | Promise<void>;
  /** Whether it is done again when it has failed; a block that was freed is free all the same. */
  readonly again: boolean;
}

function step(name: string, run: ScenarioStep["run"]): ScenarioStep {
  return { name, run, again: true };
}

function allocate(mebibytes: number, stream: number, alignment = 512): ScenarioStep {
  return step(`allocate ${mebibytes} MiB on ${stream}`, (model) => {
    model.allocate(Math.round(mebibytes * MEBIBYTE), alignment, stream);
  });
}

/** Something that is done with the newest block, if there is any. */
function withLast(name: string, run: (model: PoolModel, block: OwnedBlock) => void): ScenarioStep {
  return step(name, (model) => {
    const block = model.blocks.at(-1);
    if (block !== undefined) run(model, block);
  });
}

const freeLast: ScenarioStep = {
  ...withLast("free the last", (model, block) => model.free(block)),
  again: false,
};

/** Frees the oldest block that there is. */
const free: ScenarioStep = {
  name: "free",
  run: (model) => {
    if (model.blocks.length > 0) model.free(model.blocks[0]!);
  },
  again: false,
};

const trim = step("trim", (model) => void model.core.trim());
const complete = step("complete", (model) => void model.upstream.completeAll());

/** Growth, reuse on the same stream and on others, and giving memory back. */
const GROWTH: readonly ScenarioStep[] = [
  allocate(0.001, 0),
  allocate(3, 0),
  allocate(70, 0),
  allocate(5, 1, 2 ** 21),
  free,
  free,
  allocate(2, 0),
  // More than the mark of a stream needs, and then what only another stream has.
  free,
  allocate(60, 1),
  complete,
  allocate(66, 1),
  free,
  trim,
  complete,
  trim,
];

/** Blocks that several streams use, and streams that go. */
const STREAMS: readonly ScenarioStep[] = [
  allocate(10, 0),
  withLast("use on 2", (model, block) => model.use(block, model.stream(2))),
  freeLast,
  allocate(12, 2),
  step("dispose 2", (model) => model.disposeStream(2)),
  free,
  allocate(90, 0),
  complete,
  trim,
  step("settleSync", (model) => model.core.settleSync()),
];

/** Captures, with a graph and failed. */
const CAPTURES: readonly ScenarioStep[] = [
  step("begin a capture", (model) => {
    if (model.capture === undefined) model.beginCapture([model.stream(0)]);
  }),
  allocate(6, 0),
  allocate(1, 0),
  { ...step("end it", (model) => model.endCapture(true)), again: false },
  step("launch", (model) => model.graphs[0]!.launch(model.stream(1))),
  free,
  step("dispose the graph", (model) => model.disposeGraph(0)),
  complete,
  trim,
  step("begin another", (model) => {
    if (model.capture === undefined) model.beginCapture([model.stream(1)]);
  }),
  allocate(4, 1),
  { ...step("let it fail", (model) => model.endCapture(false)), again: false },
];

/** Requests that have to wait, blocking or not, and some that find nothing. */
const PRESSURE: readonly ScenarioStep[] = [
  allocate(120, 0),
  withLast("work", (model, block) => model.touch(block)),
  freeLast,
  allocate(124, 1),
  freeLast,
  step("allocate 122 MiB on 0, waiting", async (model) => {
    await model.allocateAsync(122 * MEBIBYTE, 512, 0);
    model.upstream.completeAll();
    await model.settle();
  }),
  allocate(200, 0),
  // Within its limit, but the device has no more.
  step("others take the device", (model) => model.occupy(FAULT_CAPACITY)),
  allocate(30, 1),
  step("others give it back", (model) => model.occupy(0)),
  step("expire", (model) => {
    model.core.tick++;
    model.core.expire(0);
  }),
  step("somebody presses", (model) => model.upstream.raisePressure()),
  allocate(0.5, 1),
  free,
  free,
  free,
  free,
  complete,
];

/** All of it. The device has {@linkcode FAULT_CAPACITY} bytes and three streams. */
export const FAULT_SCENARIO: readonly ScenarioStep[] = [
  ...GROWTH,
  ...STREAMS,
  ...CAPTURES,
  ...PRESSURE,
];

/** Bytes of the device. */
export const FAULT_CAPACITY: number = 160 * MEBIBYTE;
