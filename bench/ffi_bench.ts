/**
 * What a call through Deno's FFI costs against the same function called in a C loop.
 */

import { OPERAND } from "../src/ffi/command_block.ts";
import { queryEvent } from "../src/ffi/native_stream.ts";
import { device } from "./support/bench_device.ts";
import { CallLoop } from "./support/call_loop.ts";
import { measure } from "./support/measure.ts";

const CALLS = 1000;

/** cudaDevAttrMultiProcessorCount. */
const ATTRIBUTE = 16;

const { library, ordinal } = device.context;
const { symbols, result, block } = library;
const loop = new CallLoop(library);
const event = device.createEvent();
const eventId = event.id;

const version = { group: "call without parameters: gs_abi_version", calls: CALLS };
measure("C loop", { ...version, baseline: true }, () => loop.version(CALLS));
measure("JavaScript", version, () => {
  for (let i = 0; i < CALLS; i++) symbols.gs_abi_version();
});

const attribute = { group: "call by value: gs_device_attribute", calls: CALLS };
measure("C loop", { ...attribute, baseline: true }, () => {
  loop.attribute(ordinal, ATTRIBUTE, CALLS);
});
measure("JavaScript", attribute, () => {
  for (let i = 0; i < CALLS; i++) symbols.gs_device_attribute(ordinal, ATTRIBUTE, result);
});

const query = { group: "call through the command block: gs_event_query", calls: CALLS };
measure("C loop", { ...query, baseline: true }, () => {
  loop.callWithOperand("gs_event_query", eventId, CALLS);
});
measure("JavaScript, the symbol", query, () => {
  for (let i = 0; i < CALLS; i++) {
    block[OPERAND] = eventId;
    symbols.gs_event_query();
  }
});
measure("JavaScript, the checked function", query, () => {
  for (let i = 0; i < CALLS; i++) queryEvent(library, ordinal, eventId);
});
measure("event.query()", query, () => {
  for (let i = 0; i < CALLS; i++) event.query();
});
