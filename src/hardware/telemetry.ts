/**
 * Load, memory, temperature, power and clocks of a device: from NVML for a GPU, from the operating
 * system for a host device.
 *
 * @module
 */

import { cpus } from "node:os";
import { requireInteger, requireObject } from "../ffi/arguments.ts";
import { describeValue } from "../ffi/describe_value.ts";
import { countDevices, deviceTelemetryFields } from "../ffi/native_device.ts";
import type { DeviceContext } from "./device_context.ts";
import type { DeviceInfo } from "./device_information.ts";
import { cudaLibrary, hostLibrary } from "./device_list.ts";

/** A device of a library. */
type TelemetrySource = Pick<DeviceContext, "library" | "ordinal">;

/**
 * A reason for lower clocks, as NVML gives it.
 * @category Devices
 */
export type ThrottleReason =
  | "idle"
  | "application clocks"
  | "power limit"
  | "hardware slowdown"
  | "synchronized boost"
  | "thermal limit"
  | "hardware thermal slowdown"
  | "power brake"
  | "display clocks";

/** The reasons in the order of their bits in `nvmlClocksEventReasons` of `nvml.h`. */
const THROTTLE_REASONS: readonly ThrottleReason[] = [
  "idle",
  "application clocks",
  "power limit",
  "hardware slowdown",
  "synchronized boost",
  "thermal limit",
  "hardware thermal slowdown",
  "power brake",
  "display clocks",
];

/**
 * Load, memory, temperature, power and clocks of a device. A value is undefined if the device or
 * the system does not report it.
 * @category Devices
 */
export interface DeviceTelemetry {
  /**
   * Percent of the last sample period, at most a second, in which a kernel ran. On a host device:
   * the load of all processors since the last call for this device.
   */
  readonly utilization: number | undefined;
  /** Percent of the last sample period in which the device's memory was read or written. */
  readonly memoryUtilization: number | undefined;
  /** Bytes in use by all processes and the driver; on a host device, of the system's memory. */
  readonly memoryUsed: number | undefined;
  /** Bytes in all. */
  readonly memoryTotal: number | undefined;
  /** Degrees Celsius of the GPU, or of the processor. */
  readonly temperature: number | undefined;
  /** Watts. */
  readonly power: number | undefined;
  /** The enforced limit of the power in watts. */
  readonly powerLimit: number | undefined;
  /** The clock of the multiprocessors, or of the processors, in MHz. */
  readonly clockMegahertz: number | undefined;
  /** The clock of the memory in MHz. */
  readonly memoryClockMegahertz: number | undefined;
  /** The reasons for lower clocks than the highest; empty if there are none. */
  readonly throttleReasons: readonly ThrottleReason[] | undefined;
  /** The reason for each value that is undefined. */
  readonly unavailable: Readonly<
    Partial<Record<Exclude<keyof DeviceTelemetry, "unavailable">, string>>
  >;
}

/** The values without the reasons for missing ones. */
type TelemetryValues = Omit<DeviceTelemetry, "unavailable">;

/** A value, or the reason for none. */
type Reading<Value> = Value | { readonly missing: string };

type Readings = {
  readonly [Name in keyof TelemetryValues]: Reading<NonNullable<TelemetryValues[Name]>>;
};

function fromReadings(readings: Readings): DeviceTelemetry {
  const values: Record<string, unknown> = {};
  const unavailable: Record<string, string> = {};
  for (const [name, reading] of Object.entries(readings)) {
    const isMissing = typeof reading === "object" && "missing" in reading;
    values[name] = isMissing ? undefined : reading;
    if (isMissing) unavailable[name] = reading.missing;
  }
  return { ...values as unknown as TelemetryValues, unavailable };
}

/** The values of `nvmlReturn_t` that a query returns; others are named by their number. */
const NVML_PROBLEMS: Readonly<Record<number, string>> = {
  3: "the device does not report it",
  4: "NVML refuses it without the rights of the administrator",
  6: "NVML does not know the device",
  9: "the NVIDIA driver is not loaded",
  12: "NVML (libnvidia-ml.so.1), a part of the NVIDIA driver, cannot be opened",
  13: "NVML is too old to report it",
  15: "the GPU is lost",
  18: "NVML and the NVIDIA driver have different versions",
};

/** The telemetry of a device from NVML. */
export function gpuTelemetry({ library, ordinal }: TelemetrySource): DeviceTelemetry {
  const fields = deviceTelemetryFields(library, ordinal);
  const codes = fields.length / 2;
  const read = (field: number, scale = 1): Reading<number> => {
    const code = fields[codes + field]!;
    if (code === 0) return fields[field]! / scale;
    return { missing: NVML_PROBLEMS[code] ?? `NVML failed with error ${code}` };
  };
  const reasons = read(9);
  return fromReadings({
    utilization: read(0),
    memoryUtilization: read(1),
    memoryUsed: read(2),
    memoryTotal: read(3),
    temperature: read(4),
    power: read(5, 1000),
    powerLimit: read(6, 1000),
    clockMegahertz: read(7),
    memoryClockMegahertz: read(8),
    throttleReasons: typeof reasons === "number"
      ? THROTTLE_REASONS.filter((_, bit) => reasons & (1 << bit))
      : reasons,
  });
}

/** Reads from the operating system, unless a permission or the system keeps it back. */
function fromSystem<Value>(read: () => Reading<Value>): Reading<Value> {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    return { missing: error.message };
  }
}

/** Reads what needs a kind of `--allow-sys`, without a prompt. */
function withSystem<Value>(
  kind: "cpus" | "systemMemoryInfo",
  read: () => Reading<Value>,
): Reading<Value> {
  const { state } = Deno.permissions.querySync({ name: "sys", kind });
  return state === "granted" ? fromSystem(read) : { missing: `needs --allow-sys=${kind}` };
}

/** Deno protects `/proc` and `/sys` by the permission for everything. */
function withFiles<Value>(read: () => Reading<Value>): Reading<Value> {
  const isAllowed = (["read", "write", "run", "env", "net", "ffi", "sys"] as const)
    .every((name) => {
      const { state, partial } = Deno.permissions.querySync({ name });
      return state === "granted" && !partial;
    });
  return isAllowed ? fromSystem(read) : { missing: "needs --allow-all" };
}

interface ProcessorTimes {
  readonly busy: number;
  readonly total: number;
}

/** The times at the last call for each host device. */
const lastTimes = new Map<number, ProcessorTimes>();

function processorLoad(ordinal: number): Reading<number> {
  let [busy, total] = [0, 0];
  for (const { times } of cpus()) {
    const sum = times.user + times.nice + times.sys + times.irq;
    busy += sum;
    total += sum + times.idle;
  }
  const last = lastTimes.get(ordinal);
  lastTimes.set(ordinal, { busy, total });
  if (last === undefined) return { missing: "the load is measured from one call to the next" };
  if (total === last.total) return { missing: "no time has passed since the last call" };
  return 100 * (busy - last.busy) / (total - last.total);
}

const mean = (values: readonly number[]) => values.reduce((sum, it) => sum + it, 0) / values.length;

/** The mean clock of the processors. Virtual machines often report it in `/proc/cpuinfo` alone. */
function processorClock(): Reading<number> {
  const speeds = cpus().map(({ speed }) => speed).filter((speed) => speed > 0);
  if (speeds.length > 0) return mean(speeds);
  return withFiles(() => {
    const text = Deno.readTextFileSync("/proc/cpuinfo");
    const clocks = [...text.matchAll(/^cpu MHz\s*:\s*([\d.]+)/gm)].map(([, clock]) => +clock!);
    return clocks.length > 0 ? mean(clocks) : { missing: "the system does not report it" };
  });
}

/** Names of thermal zones of processors. */
const PROCESSOR_ZONE = /^(?:x86_pkg_temp|cpu|soc)/i;

function processorTemperature(): Reading<number> {
  const folder = "/sys/class/thermal";
  for (const { name } of Deno.readDirSync(folder)) {
    if (!name.startsWith("thermal_zone")) continue;
    const read = (file: string) => Deno.readTextFileSync(`${folder}/${name}/${file}`).trim();
    if (PROCESSOR_ZONE.test(read("type"))) return Number(read("temp")) / 1000;
  }
  return { missing: "the system has no thermal zone of a processor" };
}

/** The telemetry of a host device from the operating system. */
function hostTelemetry(ordinal: number): DeviceTelemetry {
  const memory = withSystem("systemMemoryInfo", () => Deno.systemMemoryInfo());
  const bytes = (read: (memory: Deno.SystemMemoryInfo) => number) =>
    "missing" in memory ? memory : read(memory);
  const none = { missing: "a host device has none" };
  return fromReadings({
    utilization: withSystem("cpus", () => processorLoad(ordinal)),
    memoryUtilization: none,
    memoryUsed: bytes(({ total, available }) => total - available),
    memoryTotal: bytes(({ total }) => total),
    temperature: withFiles(processorTemperature),
    power: none,
    powerLimit: none,
    clockMegahertz: withSystem("cpus", processorClock),
    memoryClockMegahertz: none,
    throttleReasons: none,
  });
}

/** The telemetry of a device of a library. */
export function telemetryOf(source: TelemetrySource): DeviceTelemetry {
  return source.library.kind === "cuda" ? gpuTelemetry(source) : hostTelemetry(source.ordinal);
}

/**
 * The telemetry of a listed device without opening it, which would take memory of a GPU; see
 * `device.telemetry()`.
 *
 * @param device A device of {@linkcode listDevices}.
 * @throws {TypeError} If the device is not an object, or its kind is none.
 * @throws {RangeError} If there is no such device.
 *
 * @example
 * ```ts
 * import { deviceTelemetry, listDevices } from "@gridstride/cuda";
 *
 * for (const info of listDevices()) {
 *   const { memoryUsed, memoryTotal } = deviceTelemetry(info);
 *   console.log(info.name, memoryUsed, memoryTotal);
 * }
 * ```
 * @category Devices
 */
export function deviceTelemetry(device: Pick<DeviceInfo, "kind" | "ordinal">): DeviceTelemetry {
  const action = "read the telemetry of a device";
  requireObject(device, "device", action);
  const { kind, ordinal } = device;
  if (kind !== "cuda" && kind !== "host") {
    throw new TypeError(
      `Cannot ${action} as device.kind must be "cuda" or "host": it is ${describeValue(kind)}`,
    );
  }
  const library = kind === "cuda" ? cudaLibrary() : hostLibrary();
  requireInteger(ordinal, "device.ordinal", action, 0, countDevices(library) - 1);
  return telemetryOf({ library, ordinal });
}
