/**
 * What every function of `csrc/gridstride*.h` is called with. A function that a header has and
 * this table lacks fails `abi_test.ts`.
 *
 * @module
 */

import fc from "fast-check";
import { DEVICE, OPERAND, STREAM } from "../../src/ffi/command_block.ts";
import { cString } from "../../src/ffi/check.ts";
import {
  type AbiCall,
  address,
  checkedAddress,
  count,
  device,
  handle,
  int32,
  lent,
  passes,
  passesList,
  result,
  slab,
  telemetry,
  text,
  type Values,
  virtualAddress,
  virtualBytes,
} from "./abi_values.ts";
import { launches, type LaunchOperands } from "./abi_launches.ts";
import { moduleArguments } from "./abi_modules.ts";
import { type AbiStage, FILE } from "./abi_stage.ts";
import { Deferred } from "./deferred.ts";
import { anyNumber } from "./values.ts";

/** A slot's value: mostly what fits, now and then any number. */
function operand(fitting: Values): Values {
  return fc.oneof({ weight: 20, arbitrary: fitting }, { weight: 1, arbitrary: anyNumber });
}

const stream = handle("stream");
const event = handle("event");
const pinned = handle("pinned");
const file = handle("file");
const lifeline = handle("lifeline");
const graph = handle("graph");
const waiter = handle("waiter");
/** Ids of kernels: of built-in ones, and of those of modules. */
const kernel = fc.oneof(int32, handle("kernel"));

/** A call that takes its operands from the command block. */
function hot(...operands: readonly Values[]): fc.Arbitrary<AbiCall> {
  const slots = [device, stream, ...operands].map(operand);
  return fc.tuple(...slots).map((values) => ({
    slots: values.map((value, index) =>
      [index === 0 ? DEVICE : index === 1 ? STREAM : OPERAND + index - 2, value] as const
    ),
    parameters: [],
  }));
}

function launchCall({ operands, argumentSlots }: LaunchOperands): AbiCall["slots"] {
  return [
    ...operands.map((value, index) => [OPERAND + index, value] as const),
    ...argumentSlots.map((value, index) => [OPERAND + 14 + index, value] as const),
  ];
}

/** The bytes of a memory file are taken from the machine: sizes are those of memory that is lent. */
const copyWithHost = count.chain((bytes) => fc.tuple(fc.constant(lent(bytes)), fc.constant(bytes)));

/** Two pitches of rows that mostly fit a width, the width, and a number of rows. */
const rows = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.tuple(fc.nat(100), fc.nat(100), fc.nat(100), fc.nat(9)).map(
      ([width, first, second, height]) => [width + first, width + second, width, height] as const,
    ),
  },
  fc.tuple(count, count, count, count),
);

/** JavaScript memory that holds rows. */
function lentRows(pitch: number, width: number, height: number): Deferred<AbiStage> | null {
  return lent(Math.max(0, height - 1) * pitch + width);
}

const toDevice2D = fc.tuple(device, stream, checkedAddress, rows)
  .map(([at, on, destination, [first, second, width, height]]) => ({
    slots: [],
    parameters: [
      at,
      on,
      destination,
      first,
      lentRows(second, width, height),
      second,
      width,
      height,
    ],
  }));

const toHost2D = fc.tuple(device, stream, checkedAddress, rows)
  .map(([at, on, source, [first, second, width, height]]) => ({
    slots: [],
    parameters: [at, on, lentRows(first, width, height), first, source, second, width, height],
  }));

const kernelName = fc.oneof(
  fc.constantFrom("add_int32", "empty", "add", ""),
  fc.string(),
).map((name) =>
  new Deferred<AbiStage>(
    `<text ${JSON.stringify(name)}>`,
    () => new TextEncoder().encode(`${name}\0`),
  )
);

/** A path: mostly of a file that is there, else of a directory, a device, or nothing. */
const path = fc.constantFrom(FILE, FILE, FILE, "/", "/dev/null", `${FILE}/x`, "", "\u{fffd}").map(
  (name) => new Deferred<AbiStage>(`<path ${JSON.stringify(name)}>`, () => cString(name)),
);

/** A block to register: large enough, too small, misaligned, or none. */
const commandBlock = fc.constantFrom(
  [0, 4288],
  [0, 4287],
  [4, 4288],
  [0, -1],
  [0, 0.5],
  [0, 2 ** 21],
).map(([offset, bytes]) => [
  new Deferred<AbiStage>(
    `<memory from ${offset}>`,
    (stage) => stage.scratch.subarray(offset),
  ),
  bytes,
]);

/** A pitched copy that takes its operands from the command block. */
function hotRows(
  operands: (
    first: number,
    second: number,
    width: number,
    height: number,
  ) => readonly Values[],
): fc.Arbitrary<AbiCall> {
  return rows.chain(([first, second, width, height]) =>
    hot(...operands(first, second, width, height))
  );
}

const handleResult = [result] as const;

function members(declarations: readonly string[]): Readonly<Record<string, fc.Arbitrary<AbiCall>>> {
  return {
    gs_abi_version: passes(),
    gs_abi_describe: passesList([], text),
    gs_block_register: passesList([], commandBlock),
    gs_block_release: passes(),
    gs_isolate_join: passes(),
    gs_status_name: passesList([int32], text),
    gs_status_text: passesList([int32], text),
    gs_error_last: passes(result),
    gs_call_kinds: passes(result),
    gs_call_name: passesList([int32], text),
    gs_call_tally: passes(int32, result),
    gs_call_fail: passes(
      fc.oneof(fc.integer({ min: 0, max: 70 }), int32),
      fc.oneof(fc.integer({ min: 1, max: 20 }), anyNumber),
      fc.constantFrom(0, 2, 46, 100, 700, 999),
    ),
    gs_call_restore: passes(),
    gs_resource_tally: passes(result),

    gs_topology_set: passes(
      fc.constantFrom(
        null,
        new Deferred<AbiStage>("<records>", () => new Float64Array(322).fill(NaN)),
      ),
      fc.constantFrom(-(2 ** 31), -1, 0, 1, 2),
    ),
    gs_device_count: passes(result),
    gs_device_versions: passes(result),
    gs_device_attribute: passes(device, int32, result),
    gs_device_name: passesList([device], text),
    gs_device_bus: passesList([device], text),
    gs_device_uuid: passesList([device], text),
    gs_device_capacity: passes(device, result),
    gs_device_observe: passes(device, result),
    gs_device_telemetry: passes(device, telemetry),
    gs_device_open: passes(device),
    gs_device_memory: passes(device, result),
    gs_device_synchronize: passes(device),
    gs_device_peer: passes(device, device, result),
    gs_device_join: passes(device, device),
    // Long ones, and bad ones: a kernel that was ended would take the device along.
    gs_device_limit: passes(device, fc.constantFrom(0, 6e5, -1, NaN, Infinity, 2 ** 31)),
    gs_device_fault: passesList([device], text),

    gs_memory_allocate: hot(count),
    gs_memory_free: hot(address),
    gs_memory_set: hot(
      checkedAddress,
      fc.oneof(fc.nat(300), anyNumber),
      fc.constantFrom(1, 2, 4, 3, 8, 0),
      count,
    ),
    gs_pinned_register: passesList([device], slab, handleResult),
    gs_pinned_release: passes(pinned),
    gs_pinned_read: fc.tuple(pinned, count, copyWithHost, fc.oneof(fc.nat(17), int32)).map(
      ([of, offset, [memory, bytes], threads]) => ({
        slots: [],
        parameters: [of, offset, memory, bytes, threads],
      }),
    ),

    gs_virtual_granularity: passes(device, result),
    gs_virtual_reserve: passes(device, virtualBytes, result),
    gs_virtual_release: passes(device, virtualAddress),
    gs_virtual_map: hot(virtualAddress, virtualBytes, virtualBytes),
    gs_virtual_unmap: hot(virtualAddress, virtualBytes),
    gs_virtual_share: passes(device, device, virtualAddress, virtualBytes),
    // Seldom of the memory that everything else uses: it could be touched nowhere else then.
    gs_memory_declare: hot(
      fc.oneof(address, virtualAddress),
      fc.oneof(count, virtualBytes),
      fc.constantFrom(0, 1, 1, 2),
    ),
    gs_memory_press: passes(device, fc.constantFrom(0, 1, 2, -1), result),

    gs_copy_device: hot(checkedAddress, checkedAddress, count),
    gs_copy_device_2d: hotRows((first, second, width, height) => [
      checkedAddress,
      fc.constant(first),
      checkedAddress,
      fc.constant(second),
      fc.constant(width),
      fc.constant(height),
    ]),
    gs_copy_peer: hot(checkedAddress, device, checkedAddress, device, count),
    gs_copy_from_pinned: hot(checkedAddress, pinned, count, count),
    gs_copy_to_pinned: hot(pinned, count, checkedAddress, count),
    gs_copy_from_pinned_2d: hotRows((first, second, width, height) => [
      checkedAddress,
      fc.constant(first),
      pinned,
      count,
      fc.constant(second),
      fc.constant(width),
      fc.constant(height),
    ]),
    gs_copy_to_pinned_2d: hotRows((first, second, width, height) => [
      pinned,
      count,
      fc.constant(first),
      checkedAddress,
      fc.constant(second),
      fc.constant(width),
      fc.constant(height),
    ]),
    gs_copy_to_device: passesList([device, stream, checkedAddress], copyWithHost),
    gs_copy_to_host: fc.tuple(device, stream, copyWithHost, checkedAddress).map(
      ([at, on, [memory, bytes], source]) => ({
        slots: [],
        parameters: [at, on, memory, source, bytes],
      }),
    ),
    gs_copy_to_device_2d: toDevice2D,
    gs_copy_to_host_2d: toHost2D,

    gs_stream_create: passes(device, int32, result),
    gs_stream_destroy: passes(stream),
    gs_stream_priorities: passes(device, result),
    gs_stream_adopt: passes(device, fc.oneof(streamAddress(), anyNumber), result),
    gs_stream_address: passes(stream, result),
    gs_stream_query: hot(),
    gs_stream_wait: hot(event),
    gs_stream_synchronize: passes(stream),

    gs_stream_capture: passes(stream, fc.oneof(fc.constantFrom(0, 1, 2), int32)),
    gs_stream_capture_end: passes(stream, result),
    gs_stream_capture_query: passes(stream, result),

    gs_event_create: passes(device, fc.oneof(fc.constantFrom(0, 1), int32), result),
    gs_event_destroy: passes(event),
    gs_event_record: hot(event),
    gs_event_record_device: passes(device, event),
    gs_event_query: hot(event),
    gs_event_synchronize: passes(event),
    gs_event_elapsed: passes(event, event, result),
    gs_waiter_create: passes(result),
    gs_waiter_add: passes(waiter, event, fc.oneof(fc.nat(9), anyNumber)),
    gs_waiter_next: passes(waiter),
    gs_waiter_take: fc.tuple(waiter, fc.constantFrom(0, 1, 8, 2 ** 20), result).map((
      [of, capacity, out],
    ) => ({ slots: [], parameters: [of, lent(16 * capacity), capacity, out] })),
    gs_waiter_destroy: passes(waiter),

    gs_graph_launch: hot(graph),
    gs_graph_nodes: passes(graph, result),
    gs_graph_destroy: passes(graph),

    gs_file_open: passes(fc.oneof({ weight: 9, arbitrary: path }, fc.constant(null)), result),
    gs_file_read: passes(file, count, pinned, count, count),
    gs_file_close: passes(file),
    gs_lifeline_open: passes(result),
    // No child of the campaign leads a process group.
    gs_lifeline_tie: passes(lifeline, int32),
    gs_lifeline_end: passes(lifeline),
    gs_output_divert: passes(int32),

    gs_kernel_count: passes(result),
    gs_kernel_describe: passesList([int32], text),
    gs_kernel_find: passes(fc.oneof(kernelName, fc.constant(null)), result),
    gs_kernel_load: passes(device, kernel),
    gs_kernel_loaded: passes(device, kernel, result),
    gs_kernel_attributes: passes(device, kernel, result),
    gs_kernel_reserve: passes(device, kernel, fc.oneof(fc.constantFrom(49152, 101376), anyNumber)),
    gs_kernel_residency: passes(device, kernel, int32, count, result),
    gs_kernel_launch: fc.tuple(hot(), launches(declarations)).map(([at, launch]) => ({
      slots: [...at.slots, ...launchCall(launch)],
      parameters: [],
    })),
    ...moduleArguments,
  };
}

/** The address behind a stream's handle, or one that is none. */
function streamAddress(): Values {
  return fc.oneof(
    stream.map((of) =>
      new Deferred<AbiStage>("<address of a stream>", (stage) => {
        const { symbols, result } = stage.library;
        const number = typeof of === "number" ? of : of.make(stage) as number;
        return symbols.gs_stream_address(number, result) === 0 ? result[0] : 4096;
      })
    ),
    address,
  );
}

/**
 * What each function of the header is called with.
 *
 * @param declarations The built-in kernels, in the order of their ids.
 */
export function abiArguments(
  declarations: readonly string[],
): ReadonlyMap<string, fc.Arbitrary<AbiCall>> {
  return new Map(Object.entries(members(declarations)));
}

/** Functions of which many calls are needed to get anywhere. */
export const ABI_WEIGHTS: Readonly<Record<string, number>> = {
  gs_kernel_launch: 6,
  gs_memory_allocate: 2,
  gs_copy_device: 2,
  gs_virtual_map: 2,
  // Most calls are refused during a capture: it is not to last.
  gs_stream_capture_end: 4,
  gs_graph_launch: 2,
};
