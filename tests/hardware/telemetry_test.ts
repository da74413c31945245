// NVML by a library with its name whose answers tests choose, for a host device whose UUID it knows.
// On a GPU host the real library is open already if the tests run on the GPU.

import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import { type DeviceTelemetry, deviceTelemetry, openDevice } from "../../mod.ts";
import { cString } from "../../src/ffi/check.ts";
import { gpuTelemetry } from "../../src/hardware/telemetry.ts";
import { toolkitHeaders } from "../support/cuda_toolkit.ts";
import { device, onHostDevice } from "../support/device.ts";
import { runProgram } from "../support/subprocess.ts";
import { TemporaryDirectory } from "../support/temporary_file.ts";

const host = openDevice("host");

// The loader finds a library that is open already by its name: the shim opens this one.
const folder = new TemporaryDirectory();
const FAKE = `${folder.path}/libnvidia-ml.so.1`;
const headers = toolkitHeaders("nvml.h");
const compiled = await new Deno.Command(Deno.env.get("CXX") ?? "g++", {
  args: ["-std=c++17", "-w", "-shared", "-fPIC", "-Wl,-soname,libnvidia-ml.so.1", "-o", FAKE]
    .concat(headers === undefined ? [] : ["-isystem", headers])
    .concat(new URL("fake_nvml.cpp", import.meta.url).pathname),
}).output();
assert(compiled.success, new TextDecoder().decode(compiled.stderr));
const fake = Deno.dlopen(FAKE, {
  fake_know: { parameters: ["buffer"], result: "void" },
  fake_fail: { parameters: ["i32", "i32"], result: "void" },
}).symbols;

const CALLS = [
  "init",
  "byUuid",
  "memory",
  "utilization",
  "temperature",
  "power",
  "clock",
  "reasons",
] as const;

/** The telemetry while calls of NVML end with these codes. */
function telemetryWith(codes: Partial<Record<typeof CALLS[number], number>> = {}): DeviceTelemetry {
  CALLS.forEach((name, call) => fake.fake_fail(call, codes[name] ?? 0));
  return gpuTelemetry(host.context);
}

const ALL = {
  utilization: 87,
  memoryUtilization: 41,
  memoryUsed: 20 * 2 ** 30,
  memoryTotal: 80 * 2 ** 30,
  temperature: 66,
  power: 612.345,
  powerLimit: 700,
  clockMegahertz: 1755,
  memoryClockMegahertz: 3201,
  throttleReasons: ["power limit", "hardware thermal slowdown"] as const,
};

/** The telemetry without some values, which have one reason. */
const without = (reason: string, ...names: readonly (keyof typeof ALL)[]) => ({
  ...ALL,
  ...Object.fromEntries(names.map((name) => [name, undefined])),
  unavailable: Object.fromEntries(names.map((name) => [name, reason])),
});

const names = Object.keys(ALL) as (keyof typeof ALL)[];

// The order matters: NVML is initialized by the first call that succeeds.
Deno.test(
  "gpuTelemetry() has no values and NVML's reason when NVML fails, and recovers",
  onHostDevice,
  () => {
    const mismatch = "NVML and the NVIDIA driver have different versions";
    assertEquals(telemetryWith({ init: 18 }), without(mismatch, ...names) as DeviceTelemetry);
    fake.fake_know(cString("GPU-another"));
    const unknown = "NVML does not know the device";
    assertEquals(telemetryWith(), without(unknown, ...names) as DeviceTelemetry);
    fake.fake_know(cString(host.info.uuid));
    const failed = "NVML failed with error 999";
    assertEquals(telemetryWith({ byUuid: 999 }), without(failed, ...names) as DeviceTelemetry);
    assertEquals(telemetryWith(), { ...ALL, unavailable: {} });
  },
);

Deno.test(
  "gpuTelemetry() finds the device by its UUID, also one of a part of a GPU",
  onHostDevice,
  () => {
    fake.fake_know(cString(host.info.uuid.replace("GPU", "MIG")));
    assertEquals(telemetryWith(), { ...ALL, unavailable: {} });
    fake.fake_know(cString(host.info.uuid));
  },
);

Deno.test(
  "gpuTelemetry() leaves out what the device does not report, with the reason",
  onHostDevice,
  () => {
    fake.fake_know(cString(host.info.uuid));
    const reason = "the device does not report it";
    for (
      const [call, ...missing] of [
        ["memory", "memoryUsed", "memoryTotal"],
        ["utilization", "utilization", "memoryUtilization"],
        ["temperature", "temperature"],
        ["power", "power"],
        ["clock", "clockMegahertz", "memoryClockMegahertz"],
        ["reasons", "throttleReasons"],
      ] as const
    ) {
      const telemetry = telemetryWith({ [call]: 3 });
      assertEquals(telemetry, without(reason, ...missing) as DeviceTelemetry, call);
    }
  },
);

Deno.test("gpuTelemetry() names the missing library when there is no NVML", async () => {
  const { stdout, stderr } = await runProgram(
    `
    import { openDevice } from "@gridstride/cuda";
    import { gpuTelemetry } from "./src/hardware/telemetry.ts";
    console.log(JSON.stringify(gpuTelemetry(openDevice("host").context)));
  `.replace("./src", new URL("../../src", import.meta.url).href),
    { environment: { LD_LIBRARY_PATH: undefined } },
  );
  const { unavailable, ...values } = JSON.parse(stdout) as DeviceTelemetry;
  // With a driver, NVML is there and does not know the host device.
  assertMatch(unavailable.power ?? "", /libnvidia-ml\.so\.1.*opened|does not know/, stderr);
  assertEquals([Object.keys(unavailable), values], [names, {}]);
});

Deno.test("deviceTelemetry() reads a device that is not open, and refuses one that is absent", () => {
  assertEquals(Object.keys(deviceTelemetry(device.info)), [...names, "unavailable"]);
  const { kind } = device.info;
  assertThrows(() => deviceTelemetry({ kind, ordinal: 99 }), RangeError, "device.ordinal");
  assertThrows(() => deviceTelemetry({ kind: "gpu" as "cuda", ordinal: 0 }), TypeError, '"gpu"');
});

Deno.test("Device.telemetry() has a value or a reason for each field", () => {
  const first = device.telemetry();
  const second = device.telemetry();
  assertEquals(Object.keys(first), [...names, "unavailable"]);
  for (const telemetry of [first, second]) {
    const { unavailable, memoryUsed = 0, memoryTotal = 0, utilization = 0 } = telemetry;
    for (const name of names) {
      assertEquals(telemetry[name] === undefined, unavailable[name] !== undefined, name);
    }
    assert(memoryUsed <= memoryTotal && utilization >= 0 && utilization <= 100);
  }
});

Deno.test("Device.telemetry() names the flags of missing permissions on a host device", async () => {
  const program = `
    import { openDevice } from "@gridstride/cuda";
    console.log(JSON.stringify(openDevice("host").telemetry()));
  `;
  const { stdout, stderr } = await runProgram(program, {
    permissions: ["--allow-ffi", "--allow-env", "--allow-read"],
  });
  const { unavailable } = JSON.parse(stdout || stderr) as DeviceTelemetry;
  assertEquals(
    [unavailable.utilization, unavailable.memoryUsed, unavailable.temperature],
    ["needs --allow-sys=cpus", "needs --allow-sys=systemMemoryInfo", "needs --allow-all"],
  );
  assertEquals(unavailable.power, "a host device has none");
});
