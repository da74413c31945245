/**
 * Streams and events: creation, records, queries and waits.
 */

import { OPERAND, STREAM } from "../src/ffi/command_block.ts";
import { device } from "./support/bench_device.ts";
import { CallLoop } from "./support/call_loop.ts";
import { measure, measureEnqueueing, scaled } from "./support/measure.ts";

const CALLS = scaled(500, 50);

const { block } = device.context.library;
const loop = new CallLoop(device.context.library);
const { stream } = device;
const event = device.createEvent();
const [streamId, eventId] = [stream.id, event.id];

const record = { group: "record an event", calls: CALLS };
const recordPeer = { peer: { kind: "record" } };
const prepared = {
  ...record,
  before() {
    block[STREAM] = streamId;
    block[OPERAND] = eventId;
  },
};
measureEnqueueing("C loop", { ...prepared, baseline: true }, () => {
  loop.call("gs_event_record", CALLS);
});
measureEnqueueing("event.record()", { ...record, ...recordPeer }, () => {
  for (let i = 0; i < CALLS; i++) event.record(stream);
});

const query = { group: "query a stream", calls: CALLS };
measure("C loop", { ...query, baseline: true }, () => {
  block[STREAM] = streamId;
  loop.call("gs_stream_query", CALLS);
});
measure("stream.query()", query, () => {
  for (let i = 0; i < CALLS; i++) stream.query();
});

const creation = { group: "make and dispose", calls: scaled(10, 1) };
measure("event", creation, () => {
  for (let i = 0; i < creation.calls; i++) device.createEvent()[Symbol.dispose]();
});
measure("stream", creation, () => {
  for (let i = 0; i < creation.calls; i++) device.createStream()[Symbol.dispose]();
});

const waiting = { group: "wait for a launch of an empty kernel" };
const empty = device.kernels.load("empty()");
const config = { grid: 1, block: 32 };
measure("stream.doneSync()", { ...waiting, baseline: true }, () => {
  empty.launch(config);
  stream.doneSync();
});
measure("await stream.done()", waiting, async () => {
  empty.launch(config);
  await stream.done();
});
