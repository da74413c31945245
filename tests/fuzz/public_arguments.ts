/**
 * What every public function, constructor, method and getter is called with. A member that the
 * documentation lists and this table lacks fails `public_api_test.ts`.
 *
 * @module
 */

import fc from "fast-check";
import { DTYPES } from "../../mod.ts";
import { Deferred, reference } from "./deferred.ts";
import { CACHE_MEMBERS, MODULE_MEMBERS } from "./public_arguments_module.ts";
import { GRAPH_MEMBERS } from "./public_arguments_graph.ts";
import { LAUNCH_MEMBERS, OCCUPANCY_MEMBERS } from "./public_arguments_launch.ts";
import { MEMORY_MEMBERS, POOL_MEMBERS, poolOptions } from "./public_arguments_pool.ts";
import { STRUCT_MEMBERS } from "./public_arguments_struct.ts";
import { TRACE_MEMBERS, TUNING_MEMBERS } from "./public_arguments_lab.ts";
import type { StageKind } from "./stage.ts";
import {
  anyNumber,
  anything,
  type Arguments,
  dtype,
  mostly,
  options,
  size,
  takes,
  typedArray,
  withoutArguments,
} from "./values.ts";

const nothing = takes();
const flag = fc.boolean();
const buffer = reference("buffer");
const scalar = reference("buffer", [6]);
const pair = reference("buffer", [4]);
const bins = reference("buffer", [3]);
const stream = reference("stream");
const event = reference("event");
const device = reference("device");
const context = reference("context");

const selector = fc.constantFrom(
  "host",
  "host:0",
  "host:1",
  "host:64",
  "host:-1",
  "host:99999",
  "cuda",
  "cuda:0",
  "gpu",
  "",
  "HOST",
  "host:01",
);

/** What an element can be set to. */
const element = fc.oneof(anyNumber, flag, fc.bigInt({ min: -3n, max: 300n }), fc.bigInt());

/** Addresses on the device, and others that no process has memory at. */
const address = fc.oneof(
  fc.tuple(buffer, fc.constantFrom(0, 4, 256, 400, 4096)).map(([at, offset]) =>
    new Deferred(`<address of ${at.label} + ${offset}>`, (stage) => {
      const { disposed, address } = at.make(stage) as { disposed: boolean; address: number };
      return disposed ? 4096 : address + offset;
    })
  ),
  fc.constantFrom(0, 1, 8, 4096, 2 ** 47, 2 ** 52, 2 ** 53, -8, 0.5, NaN),
);

/** Sizes of foreign memory: small, or so large that no copy of it is ever made. */
const foreignBytes = fc.oneof(fc.nat(64).map((n) => 8 * n), fc.constantFrom(-8, 2 ** 52, NaN));

const narrow = fc.constantFrom("float16", "bfloat16", "float8_e4m3", "float8_e5m2");

const signature = fc.oneof(
  fc.constantFrom(
    "fill_uint32(unsigned int* out, unsigned int value, unsigned long long n)",
    "axpy_float32(float, const float*, float*, unsigned long long)",
    "axpy_float32(float, float*, float*, unsigned long long)",
    "axpy_float32()",
    "nothing(int)",
    "axpy_float32(float",
    "(((",
  ),
  fc.string(),
);

const streamChoice = options({ stream });
const alignment = fc.oneof(fc.nat(52).map((power) => 2 ** power), size);
const placement = options({ stream, alignment });
const copyOptions = options({ stream, offset: size });
const pinnedCopyOptions = options({ stream, offset: size, length: size, deviceOffset: size });

/** Pinned memory is taken from the machine at once: small, or beyond what a slab can be. */
const pinnedLength = fc.oneof(
  { weight: 6, arbitrary: fc.nat(1000) },
  { weight: 1, arbitrary: fc.constantFrom(-1, 0.5, NaN, Infinity, 2 ** 33, 2 ** 53) },
);

/** Numbers in `from..to` of a pinned buffer would take gigabytes of the machine. */
function bounded(list: Arguments): Arguments {
  return list.filter((values) =>
    !values.some((value) => typeof value === "number" && value > 2 ** 20 && value <= 2 ** 32)
  );
}

/** Rows and columns that often fit the buffers of the stage. */
const rows = fc.oneof(fc.nat(5), size);
const columns = fc.oneof(fc.nat(20), size);
/** As many elements as a pitched buffer of the stage has. */
const dozen = fc.oneof(
  fc.constant(new Deferred("<Float32Array(12)>", () => new Float32Array(12))),
  typedArray,
);

const MEMBERS: Readonly<Record<string, Arguments>> = {
  ...withoutArguments(
    "Device",
    "info label stream disposed",
    "memoryInfo telemetry done doneSync [Symbol.dispose] printToStderr",
  ),
  ...withoutArguments("DeviceKernels", "names", ""),
  ...withoutArguments("DeviceContext", "closed", ""),
  ...withoutArguments(
    "Stream",
    "id handle disposed isDefault",
    "query done doneSync [Symbol.dispose]",
  ),
  ...withoutArguments("Event", "id disposed", "query done doneSync [Symbol.dispose]"),
  ...withoutArguments(
    "DeviceBuffer",
    "context dtype length address byteLength disposed stream",
    "free [Symbol.dispose]",
  ),
  ...withoutArguments("PinnedBuffer", "disposed", "[Symbol.dispose]"),
  ...withoutArguments("PitchedBuffer", "", "[Symbol.dispose]"),
  "function openDevice": takes(
    selector,
    options({
      memory: poolOptions,
      kernelTimeout: fc.constantFrom(1e5, Infinity, 0, -1, 1.5, 2 ** 31, "1"),
    }),
  ),
  "function defaultDevice": nothing,
  "function bestDevice": takes(fc.constantFrom(undefined, "host", "cuda")),
  "function cudaAvailable": nothing,
  "function deviceCount": nothing,
  "function listDevices": nothing,
  "function deviceTelemetry": takes(
    fc.record({ kind: fc.constantFrom("host", "gpu"), ordinal: fc.constantFrom(0, 99, 0.5) }),
  ),
  "function capabilityLimits": takes(fc.constantFrom("7.5", "8.9", "13.1", "6.0", "9", "99.99")),
  "function detectBackends": nothing,
  "function preflight": nothing,
  "function diagnose": nothing,
  "function load": takes(fc.record({ path: mostly(fc.string()) })),
  "function bytesPerElement": takes(dtype),
  "function narrowFromFloat32": takes(fc.oneof(narrow, dtype), typedArray),
  "function widenToFloat32": takes(fc.oneof(narrow, dtype), typedArray),

  "method Device.createStream": takes(
    options({ priority: fc.integer({ min: -7, max: 2 }) }),
  ),
  "method Device.streams": takes(fc.constantFrom("single", "automatic", "many", undefined)),
  "method Device.createEvent": takes(options({ timing: flag })),
  "new Device": takes(context),
  "method Device.allocate": takes(
    dtype,
    size,
    options({ fill: element, stream, alignment }),
  ),
  "method Device.allocate2d": takes(
    dtype,
    size,
    size,
    options({ fill: element, stream, alignment }),
  ),
  "method Device.upload": takes(
    typedArray,
    options({ stream, dtype: fc.oneof(dtype, fc.constantFrom(...DTYPES)) }),
  ),
  "method Device.allocatePinned": bounded(takes(dtype, pinnedLength)),
  "method Device.canAccessPeer": takes(device),
  "method Device.enablePeerAccess": takes(device),

  "new DeviceKernels": takes(context),
  "method DeviceKernels.load": takes(signature),
  "method DeviceKernels.fill": takes(buffer, element, streamChoice),
  "method DeviceKernels.add": takes(buffer, buffer, buffer, streamChoice),
  "method DeviceKernels.multiply": takes(buffer, buffer, buffer, streamChoice),
  "method DeviceKernels.scale": takes(
    buffer,
    anyNumber,
    buffer,
    options({ offset: anyNumber, stream }),
  ),
  "method DeviceKernels.axpy": takes(anyNumber, buffer, buffer, streamChoice),
  "method DeviceKernels.sum": takes(buffer, scalar, streamChoice),
  "method DeviceKernels.min": takes(buffer, scalar, streamChoice),
  "method DeviceKernels.max": takes(buffer, scalar, streamChoice),
  "method DeviceKernels.mean": takes(buffer, scalar, streamChoice),
  "method DeviceKernels.moments": takes(buffer, pair, options({ correction: anyNumber, stream })),
  "method DeviceKernels.histogram": takes(
    buffer,
    bins,
    fc.oneof(
      fc.record({ low: fc.integer({ min: -9, max: 9 }), high: fc.integer({ min: -9, max: 99 }) }),
      options({ low: anyNumber, high: anyNumber, stream }),
    ),
  ),
  "method DeviceContext.isSameDevice": takes(context),

  "new Stream": takes(context, options({ priority: anyNumber, handle: anyNumber })),
  "static Stream.fromHandle": takes(
    device,
    fc.oneof(
      anyNumber,
      fc.nat(1).map((index) =>
        new Deferred(`<handle of stream ${index}>`, (stage) => stage.lentHandle(index))
      ),
    ),
  ),
  "static Stream.priorities": takes(device),
  "method Stream.record": takes(options({ timing: flag })),
  "method Stream.wait": takes(event),

  ...GRAPH_MEMBERS,

  "new Event": takes(context, options({ timing: flag })),
  "method Event.record": takes(stream),
  "method Event.elapsedSince": takes(reference("event", [0])),

  "static DeviceBuffer.allocate": takes(context, dtype, size, placement),
  "static DeviceBuffer.[Symbol.hasInstance]": takes(fc.oneof(buffer, fc.anything())),
  "static DeviceBuffer.fromAddress": takes(
    address,
    foreignBytes,
    fc.oneof(fc.record({ device }), options({ device, dtype, owner: anything })),
  ),
  "method DeviceBuffer.recordStream": takes(stream),
  "method DeviceBuffer.view": takes(size, size),
  "method DeviceBuffer.as": takes(dtype),
  "method DeviceBuffer.copyFrom": takes(fc.oneof(typedArray, buffer), copyOptions),
  "method DeviceBuffer.copyTo": takes(typedArray, copyOptions),
  "method DeviceBuffer.copyToSync": takes(typedArray, copyOptions),
  "method DeviceBuffer.toArray": takes(streamChoice),
  "method DeviceBuffer.toArraySync": takes(streamChoice),

  "new PinnedBuffer": bounded(takes(context, dtype, pinnedLength)),
  "method PinnedBuffer.copyTo": takes(buffer, pinnedCopyOptions),
  "method PinnedBuffer.copyFrom": takes(buffer, pinnedCopyOptions),

  "new PitchedBuffer": takes(buffer, rows, columns, options({ pitchBytes: size })),
  "method PitchedBuffer.copyFrom": takes(
    fc.oneof(reference("pitched"), buffer, dozen),
    streamChoice,
  ),
  "method PitchedBuffer.toArray": takes(streamChoice),
  "method PitchedBuffer.toArraySync": takes(streamChoice),

  ...MEMORY_MEMBERS,
  ...POOL_MEMBERS,
  ...CACHE_MEMBERS,
  ...LAUNCH_MEMBERS,
  ...MODULE_MEMBERS,
  ...OCCUPANCY_MEMBERS,
  ...STRUCT_MEMBERS,
  ...TUNING_MEMBERS,
  ...TRACE_MEMBERS,
};

/** What each public member is called with, by its name in {@linkcode documentedMembers}. */
export const PUBLIC_ARGUMENTS: ReadonlyMap<string, Arguments> = new Map(Object.entries(MEMBERS));

/** Members with arguments that must fit each other are called more often. */
export const WEIGHTS: Readonly<Record<string, number>> = {
  "method Kernel.launch": 6,
  "method Stream.capture": 3,
  "function widenToFloat32": 3,
  "method DeviceBuffer.copyFrom": 2,
  "method DeviceBuffer.copyTo": 2,
};

/** Which objects of the stage are the receivers of a class's methods. */
export const RECEIVERS: Readonly<Record<string, StageKind>> = {
  Device: "device",
  LaunchPlan: "plan",
  DeviceContext: "context",
  DeviceKernels: "kernels",
  Kernel: "kernel",
  Module: "module",
  DeviceBuffer: "buffer",
  PinnedBuffer: "pinned",
  PitchedBuffer: "pitched",
  Stream: "stream",
  Event: "event",
  Graph: "graph",
  MemoryManager: "manager",
  MultiDeviceMemory: "memory",
  MemoryPool: "pool",
  LeakReport: "leaks",
  UploadRing: "ring",
  DeviceTrace: "trace",
  StructType: "struct",
  Autotuner: "tuner",
};
