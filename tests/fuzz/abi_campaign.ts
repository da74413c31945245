/**
 * Throws random scalars, handles and addresses at every function of the C ABI, through the FFI
 * layer. Started by `abi_test.ts` and `soak.ts` with a topology of fake devices.
 *
 * @module
 */

import fc from "fast-check";
import { openDevice } from "../../mod.ts";
import { BLOCK_SLOTS, DEVICE, OPERAND, RESULT } from "../../src/ffi/command_block.ts";
import { ABI_VERSION } from "../../src/ffi/library.ts";
import { resourceTally } from "../../src/ffi/native_device.ts";
import { findKernel, kernelDeclarations } from "../../src/ffi/native_kernel.ts";
import { moduleImage } from "../support/module_image.ts";
import { ABI_WEIGHTS, abiArguments } from "./abi_arguments.ts";
import type { AbiCall } from "./abi_values.ts";
import { AbiStage, type HandleKind, nonblockingNames } from "./abi_stage.ts";
import { CallCounts, campaignSettings, type PlayedCall, runCampaign } from "./campaign.ts";
import { settled } from "./deferred.ts";

interface Step {
  readonly name: string;
  readonly call: AbiCall;
  readonly isNonblocking: boolean;
}

const { library } = openDevice("host:0").context;
const { symbols, block, result } = library;
const ADD_KERNEL = findKernel(library, "add_int32")!;
const DEVICES = (symbols.gs_device_count(result), result[0]!);
const IMAGE = await moduleImage(library);
const NONBLOCKING = new Set(nonblockingNames(symbols));

const calls = [...abiArguments(kernelDeclarations(library))].map(
  ([name, call]): PlayedCall<Step> => ({
    weight: ABI_WEIGHTS[name] ?? 1,
    step: fc.record({
      name: fc.constant(name),
      call,
      isNonblocking: NONBLOCKING.has(`${name}_async`) ? fc.boolean() : fc.constant(false),
    }),
  }),
);

/** After these nearly all functions that ever succeed have done so. */
const LEAST_SEQUENCES = 100;

const counts = new CallCounts();
let nextDevice = 0;

/** Statuses of `csrc/gridstride_status.h`, but for a defect, and codes of NVRTC, cuBLASLt and CUDA. */
function isStatus(status: unknown): boolean {
  if (!Number.isInteger(status)) return false;
  const code = status as number;
  return code >= -2999 && code <= -1001 || code >= -16 && code <= 1000 && code !== -14;
}

const CREATES: Readonly<Record<string, HandleKind>> = {
  gs_stream_create: "stream",
  gs_stream_adopt: "stream",
  gs_event_create: "event",
  gs_pinned_register: "pinned",
  gs_file_open: "file",
  gs_lifeline_open: "lifeline",
  gs_stream_capture_end: "graph",
  gs_module_create: "module",
  gs_module_kernel: "kernel",
  gs_nvrtc_create: "program",
  gs_waiter_create: "waiter",
};

const DESTROYS: Readonly<Record<string, HandleKind>> = {
  gs_stream_destroy: "stream",
  gs_event_destroy: "event",
  gs_pinned_release: "pinned",
  gs_file_close: "file",
  gs_lifeline_end: "lifeline",
  gs_graph_destroy: "graph",
  gs_module_destroy: "module",
  gs_nvrtc_destroy: "program",
  gs_waiter_destroy: "waiter",
};

/**
 * Calls that forget resources of a lost device. If the loss was only injected, these resources are
 * left over.
 */
const FORGETS: ReadonlySet<string> = new Set([
  ...Object.keys(DESTROYS),
  "gs_memory_free",
  "gs_virtual_release",
  "gs_virtual_unmap",
]);

/** `cudaErrorIllegalAddress`: the status that is injected and says that a device is lost. */
const LOSS = 700;
let isLossReported = false;

/** Keeps account of what a call that succeeded made or destroyed. */
function account(stage: AbiStage, name: string, parameters: readonly unknown[]): void {
  const creates = CREATES[name];
  if (creates !== undefined) stage.created(creates, result[0]!);
  const destroys = DESTROYS[name];
  if (destroys !== undefined) stage.destroyed(destroys, parameters[0] as number);
  if (name === "gs_memory_allocate") {
    stage.allocated({ device: block[DEVICE]!, address: block[RESULT]!, bytes: block[OPERAND]! });
  }
  if (name === "gs_memory_free") stage.freed(block[OPERAND]!);
  accountAddresses(stage, name, parameters);
}

/** The same for reserved addresses and their mappings. */
function accountAddresses(stage: AbiStage, name: string, parameters: readonly unknown[]): void {
  const device = block[DEVICE]!;
  const [address = 0, bytes = 0, pieceBytes = 0] = block.subarray(OPERAND, OPERAND + 3);
  switch (name) {
    case "gs_virtual_reserve":
      return stage.reserved({ device: parameters[0] as number, address: result[0]! });
    case "gs_virtual_release":
      return stage.released(parameters[1] as number);
    case "gs_virtual_map":
      return stage.mapped({ device, address, bytes }, pieceBytes);
    case "gs_virtual_unmap":
      return stage.unmapped(address, bytes);
  }
}

function registerBlock(): void {
  const status = symbols.gs_block_register(block, BLOCK_SLOTS * 8);
  if (status !== 0) throw new Error(`The command block was refused: status ${status}`);
}

function conclude(
  stage: AbiStage,
  name: string,
  parameters: readonly unknown[],
  status: unknown,
): void {
  if (name === "gs_abi_version" ? status !== ABI_VERSION : !isStatus(status)) {
    throw new Error(`${name} returned ${status}`);
  }
  counts.count(name, status === 0 || name === "gs_abi_version" ? "returned" : "threw");
  if (status === 0) account(stage, name, parameters);
  if (status === LOSS && FORGETS.has(name)) isLossReported = true;
  if (name === "gs_block_register" && status === 0 || status === -4) registerBlock();
}

// deno-lint-ignore no-explicit-any
type AnySymbols = Readonly<Record<string, (...list: any[]) => number | Promise<number>>>;

function perform({ name, call, isNonblocking }: Step, stage: AbiStage): Promise<void> | undefined {
  const slots = settled(call.slots, stage) as [number, number][];
  const parameters = settled(call.parameters, stage) as unknown[];
  for (const [slot, value] of slots) block[slot] = value;
  const bound = (symbols as unknown as AnySymbols)[isNonblocking ? `${name}_async` : name]!;
  const status = bound(...parameters);
  if (status instanceof Promise) {
    return status.then((late) => conclude(stage, name, parameters, late));
  }
  conclude(stage, name, parameters, status);
  return undefined;
}

async function playOn(stage: AbiStage, steps: readonly Step[]): Promise<void> {
  const pending: (Promise<void> | undefined)[] = [];
  try {
    for (const each of steps) pending.push(perform(each, stage));
  } finally {
    // Also after a failure: running work uses memory of the stage.
    await Promise.allSettled(pending);
  }
  await Promise.all(pending);
}

async function play(steps: readonly Step[]): Promise<void> {
  const before = resourceTally(library);
  const stage = new AbiStage(library, [nextDevice, nextDevice + 1], IMAGE);
  let statuses: number[] = [];
  let isLost = false;
  isLossReported = false;
  try {
    await playOn(stage, steps);
  } finally {
    symbols.gs_call_restore();
    // What this process has found it says on stdout.
    while (symbols.gs_output_divert(0) === 0);
    registerBlock();
    stage.endCaptures();
    for (const device of stage.devices) symbols.gs_device_synchronize(device);
    const usable = stage.usableDevices;
    for (const device of usable) stage.checkHealth(device, ADD_KERNEL);
    isLost = isLossReported || usable.length < stage.devices.length;
    if (isLost) nextDevice += 2;
    statuses = stage.close();
  }
  if (isLost) return;
  const after = resourceTally(library);
  if (statuses.length > 0 || JSON.stringify(before) !== JSON.stringify(after)) {
    throw new Error(
      `Not everything could be given back, statuses ${statuses.join(", ")}: ` +
        `before ${JSON.stringify(before)}, after ${JSON.stringify(after)}`,
    );
  }
}

const sequences = await runCampaign(campaignSettings(), {
  calls,
  play,
  isOver: () => nextDevice + 1 >= DEVICES,
  least: LEAST_SEQUENCES,
});
console.log(JSON.stringify({ sequences, calls: counts.toObject(), lostDevices: nextDevice }));
