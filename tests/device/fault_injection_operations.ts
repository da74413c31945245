/**
 * Public operations that make CUDA calls, for `fault_injection_test.ts`.
 *
 * @module
 */

import { bestDevice, type Device, listDevices, openDevice, Stream } from "../../mod.ts";
import { RING_BYTES } from "../../src/memory/download_ring.ts";
import { asDiscrete } from "../support/discrete_device.ts";
import { type Fixture, keepBusy, type Operation } from "./fault_injection_fixture.ts";

/** Opens the device again, without prepared resources. */
function freshDevice({ label }: Fixture, stack: DisposableStack): Device {
  return stack.use(openDevice(label));
}

/** Operations by name. */
export const OPERATIONS: Readonly<Record<string, Operation>> = {
  "openDevice": ({ label }) => openDevice(label),
  "listDevices": () => listDevices(),
  "bestDevice": ({ device }) => bestDevice(device.info.kind),
  "device.memoryInfo": ({ device }) => device.memoryInfo(),
  "device.done": ({ device }) => device.done(),
  "device.doneSync": ({ device }) => device.doneSync(),
  "device.stream of a fresh device": (...on) => void freshDevice(...on).stream,

  "device.allocate": ({ device }) => device.allocate("float32", 10),
  "device.allocate with fill": ({ device, stream }) =>
    device.allocate("float32", 10, { fill: 3, stream }),
  "device.upload": ({ device, stream }) => device.upload(new Float32Array(10), { stream }),
  "device.upload to a fresh device": (...on) => freshDevice(...on).upload(new Float32Array(10)),
  "device.allocatePinned": ({ device }) => device.allocatePinned("float32", 10),
  "buffer.copyFrom an array": ({ x, stream }) => x.copyFrom(new Float32Array(1000), { stream }),
  "buffer.copyFrom a buffer": ({ x, y, stream }) => x.copyFrom(y, { stream }),
  "buffer.toArray": async (fixture) => {
    const { x, stream } = fixture;
    keepBusy(fixture);
    await x.toArray({ stream });
  },
  "buffer.toArraySync": ({ x, stream }) => x.toArraySync({ stream }),
  "buffer.copyTo": async (fixture) => {
    const { x, stream } = fixture;
    keepBusy(fixture);
    await x.copyTo(new Float32Array(1000), { stream });
  },
  "buffer.toArray in pieces": async ({ device, stream }, stack) => {
    stack.use(asDiscrete(device));
    const large = stack.use(device.allocate("uint8", RING_BYTES + 1, { stream }));
    await large.toArray({ stream });
  },
  "buffer.copyToSync": ({ x, stream }) => x.copyToSync(new Float32Array(1000), { stream }),
  "pinned.copyTo": ({ device, x, stream }, stack) => {
    stack.use(device.allocatePinned("float32", 10)).copyTo(x, { stream });
  },
  "pinned.copyFrom": ({ device, x, stream }, stack) => {
    stack.use(device.allocatePinned("float32", 10)).copyFrom(x, { stream });
  },

  "device.createStream": ({ device }) => device.createStream({ priority: -1 }),
  "Stream.priorities": ({ device }) => Stream.priorities(device),
  "Stream.fromHandle": ({ device, stream }) => Stream.fromHandle(device, stream.handle),
  "stream.query": ({ stream }) => stream.query(),
  "stream.record": ({ stream }) => stream.record({ timing: true }),
  "stream.wait": ({ stream }, stack) => {
    stream.wait(stack.use(stream.record()));
  },
  "stream.done when idle": ({ stream }) => stream.done(),
  "stream.done when busy": async (fixture) => {
    keepBusy(fixture);
    await fixture.stream.done();
  },
  "stream.doneSync": ({ stream }) => stream.doneSync(),
  "device.createEvent": ({ device }) => device.createEvent(),
  "event.query": ({ stream }, stack) => {
    stack.use(stream.record()).query();
  },
  "event.done when busy": async (fixture, stack) => {
    keepBusy(fixture);
    await stack.use(fixture.stream.record()).done();
  },
  "event.doneSync": ({ stream }, stack) => {
    stack.use(stream.record()).doneSync();
  },
  "event.elapsedSince": ({ stream }, stack) => {
    const start = stack.use(stream.record({ timing: true }));
    const end = stack.use(stream.record({ timing: true }));
    end.doneSync();
    end.elapsedSince(start);
  },

  "stream.capture": ({ device, stream, x }) =>
    stream.capture(() => device.kernels.fill(x, 5, { stream })),
  "stream.capture of two branches": ({ device, stream, x, y }, stack) => {
    const side = stack.use(device.createStream());
    stack.use(stream.capture(() => {
      side.wait(stack.use(stream.record()));
      device.kernels.fill(x, 5, { stream });
      device.kernels.fill(y, 5, { stream: side });
      stream.wait(stack.use(side.record()));
    }));
  },
  "graph.launch": ({ device, stream, x, scalar }, stack) => {
    const graph = stack.use(stream.capture(() => device.kernels.sum(x, scalar, { stream })));
    graph.launch(stream);
    stack.use(stream.capture(() => graph.launch(stream))).launch(stream);
  },

  "kernels.load on a fresh device": (...on) => void freshDevice(...on).kernels.load("empty()"),
  "kernel.launch": ({ device, stream }) =>
    device.kernels.load("empty()").launch({ grid: 1, block: 1, stream }),
  "kernel.launch with much shared memory": (...on) => {
    const empty = freshDevice(...on).kernels.load("empty()");
    empty.launch({ grid: 1, block: 1, sharedMemory: 60_000 });
  },
  "kernels.fill": ({ device, x, stream }) => device.kernels.fill(x, 5, { stream }),
  "kernels.add": ({ device, x, y, stream }) => device.kernels.add(x, y, y, { stream }),
  "kernels.multiply": ({ device, x, y, stream }) => device.kernels.multiply(x, y, y, { stream }),
  "kernels.scale": ({ device, x, stream }) => device.kernels.scale(x, 2, x, { stream }),
  "kernels.axpy": ({ device, x, y, stream }) => device.kernels.axpy(2, x, y, { stream }),
  "kernels.sum": ({ device, x, scalar, stream }) => device.kernels.sum(x, scalar, { stream }),
  "kernels.sum on a fresh stream": ({ device, x, scalar }, stack) => {
    device.kernels.sum(x, scalar, { stream: stack.use(device.createStream()) });
  },
  "kernels.min": ({ device, x, scalar, stream }) => device.kernels.min(x, scalar, { stream }),
  "kernels.max": ({ device, x, scalar, stream }) => device.kernels.max(x, scalar, { stream }),
  "kernels.mean": ({ device, x, scalar, stream }) => device.kernels.mean(x, scalar, { stream }),
  "kernels.moments": ({ device, x, pair, stream }) => device.kernels.moments(x, pair, { stream }),
  "kernels.histogram": ({ device, x, bins, stream }) =>
    device.kernels.histogram(x, bins, { low: 0, high: 9, stream }),
};

/** Makes resources by name. */
export const RESOURCES: Readonly<Record<string, (fixture: Fixture) => Disposable>> = {
  "a pinned buffer": ({ device, x }) => {
    const pinned = device.allocatePinned("float32", 10);
    pinned.copyTo(x);
    return pinned;
  },
  "an event": ({ stream }) => stream.record(),
  "a graph with a workspace": ({ device, stream, x, scalar }) =>
    stream.capture(() => device.kernels.sum(x, scalar, { stream })),
  "a stream with a workspace": ({ device, x, scalar }) => {
    const stream = device.createStream();
    device.kernels.sum(x, scalar, { stream });
    return stream;
  },
  "a device with staged copies": ({ label }) => {
    const device = openDevice(label);
    using x = device.upload(new Float32Array(10));
    x.toArraySync();
    return device;
  },
};
