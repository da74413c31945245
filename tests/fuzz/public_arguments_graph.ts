/**
 * What the members for stream capture and graphs are called with.
 *
 * @module
 */

import fc from "fast-check";
import type { Device, DeviceBuffer, Event, Graph, Stream } from "../../mod.ts";
import { Deferred, reference } from "./deferred.ts";
import type { Stage } from "./stage.ts";
import { anything, type Arguments, options, takes, withoutArguments } from "./values.ts";

const stream = reference("stream");

/** What a body may do with objects of the stage; the index chooses them. */
const ACTIONS: Readonly<Record<string, (stage: Stage, index: number) => unknown>> = {
  "fill": (stage, index) => {
    const device = stage.pick("device", index % 2) as Device;
    device.kernels.fill(stage.pick("buffer", index) as DeviceBuffer<"float32">, 1, {
      stream: stage.pick("stream", index) as Stream,
    });
  },
  "sum": (stage, index) => {
    const device = stage.pick("device", 0) as Device;
    const [x, out] = [0, 6].map((place) => stage.pick("buffer", place) as DeviceBuffer<"float32">);
    device.kernels.sum(x!, out!, { stream: stage.pick("stream", index) as Stream });
  },
  "upload": (stage, index) =>
    (stage.pick("buffer", 0) as DeviceBuffer).copyFrom(new Float32Array(3), {
      stream: stage.pick("stream", index) as Stream,
    }),
  "allocate": (stage) => (stage.pick("device", 0) as Device).allocate("float32", 1000).free(),
  "record": (stage, index) =>
    (stage.pick("event", index) as Event).record(stage.pick("stream", index >> 2) as Stream),
  "wait": (stage, index) =>
    (stage.pick("stream", index >> 2) as Stream).wait(stage.pick("event", index) as Event),
  "query": (stage, index) => (stage.pick("stream", index) as Stream).query(),
  "query an event": (stage, index) => (stage.pick("event", index) as Event).query(),
  "wait for the device": (stage) => (stage.pick("device", 0) as Device).doneSync(),
  "launch": (stage, index) =>
    (stage.pick("graph", index) as Graph).launch(stage.pick("stream", index) as Stream),
  "capture": (stage, index) =>
    (stage.pick("stream", index) as Stream).capture(() => {})[Symbol.dispose](),
  "dispose a stream": (stage, index) => (stage.pick("stream", index) as Stream)[Symbol.dispose](),
  "dispose a graph": (stage, index) => (stage.pick("graph", index) as Graph)[Symbol.dispose](),
};

/** A body that does some of that, and goes on where it fails or not. */
const body = fc.record({
  actions: fc.array(fc.tuple(fc.constantFrom(...Object.keys(ACTIONS)), fc.nat(60)), {
    maxLength: 6,
  }),
  goesOn: fc.boolean(),
}).map(({ actions, goesOn }) =>
  new Deferred<Stage>(
    `<body ${actions.map((action) => action.join(" ")).join(", ")}>`,
    (stage) => () => {
      for (const [name, index] of actions) {
        try {
          ACTIONS[name]!(stage, index);
        } catch (error) {
          if (!goesOn) throw error;
        }
      }
    },
  )
);

const captureOptions = options({ mode: fc.constantFrom("global", "thread-local", "relaxed", "") });

/** The arguments, by member. */
export const GRAPH_MEMBERS: Readonly<Record<string, Arguments>> = {
  ...withoutArguments("Graph", "id disposed", "[Symbol.dispose]"),
  "method Stream.capture": takes(
    fc.oneof({ weight: 8, arbitrary: body }, fc.constant(async () => {}), anything),
    captureOptions,
  ),

  "method Graph.launch": fc.oneof(takes(), takes(stream)),
};
