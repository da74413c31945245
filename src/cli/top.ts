/**
 * `gridstride top`: a live view of the devices.
 *
 * @module
 */

import { formatBytes } from "../lab/memory/mod.ts";
import { setTimeout as delay } from "node:timers/promises";
import { bold, green, red, yellow } from "@std/fmt/colors";
import { type DeviceInfo, type DeviceTelemetry, deviceTelemetry, listDevices } from "../../mod.ts";
import { type Command, EXIT, type Invocation, printResult, printText } from "./command.ts";
import { LiveTerminal } from "./live_terminal.ts";
import { refuseOption, textOption } from "./options.ts";

/** The properties and the telemetry of a device. */
interface WatchedDevice {
  readonly info: DeviceInfo;
  readonly telemetry: DeviceTelemetry;
}

const BAR = 20;

/** A bar with its share as a percentage; a dash without a value. */
function barOf(percent: number | undefined): string {
  if (percent === undefined) return "–";
  const filled = Math.round(Math.min(100, percent) / 100 * BAR);
  const color = percent >= 90 ? red : percent >= 60 ? yellow : green;
  return `${color("█".repeat(filled))}${"░".repeat(BAR - filled)} ${
    String(Math.round(percent)).padStart(3)
  } %`;
}

const withUnit = (value: number | undefined, unit: string) =>
  value === undefined ? [] : [`${Math.round(value)} ${unit}`];

/** The lines of a device. A value that is not reported is left out. */
export function describeTelemetry({ info, telemetry }: WatchedDevice): string {
  const { utilization, memoryUtilization, memoryUsed, memoryTotal, throttleReasons } = telemetry;
  const { power, powerLimit, clockMegahertz, memoryClockMegahertz, temperature } = telemetry;
  const memoryPercent = memoryUsed === undefined || memoryTotal === undefined
    ? undefined
    : 100 * memoryUsed / memoryTotal;
  const state = [
    ...withUnit(temperature, "°C"),
    ...withUnit(power, powerLimit === undefined ? "W" : `of ${Math.round(powerLimit)} W`),
    ...withUnit(clockMegahertz, "MHz"),
    ...withUnit(memoryClockMegahertz, "MHz memory"),
  ];
  const traffic = withUnit(memoryUtilization, "% of the time accessed");
  const sizes = memoryPercent === undefined
    ? []
    : [`${formatBytes(memoryUsed!)} of ${formatBytes(memoryTotal!)}`];
  const label = `${info.kind}:${info.ordinal}${info.fake ? " (fake)" : ""}`;
  // An idle GPU lowers its clocks, which slows nothing down.
  const throttled = (throttleReasons ?? []).filter((reason) => reason !== "idle");
  return [
    `${bold(label)}  ${info.name}`,
    `  load    ${barOf(utilization)}`,
    `  memory  ${[barOf(memoryPercent), ...sizes, ...traffic].join("   ")}`,
    ...(state.length === 0 ? [] : [`  ${state.join("   ")}`]),
    ...(throttled.length === 0 ? [] : [yellow(`  clocks lowered by: ${throttled.join(", ")}`)]),
  ].join("\n");
}

function readDevices(devices: readonly DeviceInfo[]): WatchedDevice[] {
  return devices.map((info) => ({ info, telemetry: deviceTelemetry(info) }));
}

function describeDevices(devices: readonly WatchedDevice[]): string {
  return devices.length === 0
    ? "No device. Run `gridstride doctor` to see why."
    : devices.map(describeTelemetry).join("\n\n");
}

/** Milliseconds in which the load of a host device is measured before the first report. */
const FIRST_MILLISECONDS = 200;

/** The load of a host device is measured from one reading to the next. */
async function firstReading(devices: readonly DeviceInfo[]): Promise<WatchedDevice[]> {
  const first = readDevices(devices);
  if (devices.every(({ kind }) => kind !== "host")) return first;
  await delay(FIRST_MILLISECONDS);
  return readDevices(devices);
}

/** Seconds between two reports. */
function intervalOption(invocation: Invocation): number {
  const text = textOption(invocation, "interval") ?? "1";
  const seconds = /^\d+(?:\.\d+)?$/.test(text) ? Number(text) : NaN;
  if (seconds >= 0.1 && seconds <= 3600) return seconds;
  return refuseOption("interval", "a number of seconds in 0.1..3600", text);
}

const jsonOf = ({ info, telemetry }: WatchedDevice) => ({
  device: `${info.kind}:${info.ordinal}`,
  fake: info.fake,
  name: info.name,
  uuid: info.uuid,
  ...telemetry,
});

export const TOP: Command = {
  name: "top",
  summary: "watch load, memory, temperature, power and clocks of the devices",
  description: `Shows the load, memory, temperature, power, clocks and reasons for lowered clocks of
all devices, of GPUs as NVML reports them, of host devices as the system does. Opens no device, so it
takes no memory of a GPU. Leave it with q or Ctrl-C. Without a terminal, each report is printed as
text.`,
  options: {
    "--once": "print one report and exit",
    "--interval <SECONDS>": "seconds between two reports, 0.1 to 3600 [1]",
  },
  details: `With --json: one report, an array of { device, fake, name, uuid, utilization,
memoryUtilization, memoryUsed, memoryTotal, temperature, power, powerLimit, clockMegahertz,
memoryClockMegahertz, throttleReasons, unavailable } in percent, bytes, °C, W and MHz. A value that
is not reported is absent, and unavailable has the reason. The load of a host device is that of all
processors since the last report, and its memory is the system's.

Exit code 1 if there is no device.`,
  async run(invocation) {
    const milliseconds = 1000 * intervalOption(invocation);
    const listed = listDevices();
    const devices = await firstReading(listed);
    const isOnce = invocation.json || invocation.options["once"] === true || devices.length === 0;
    if (isOnce) {
      printResult(invocation, devices.map(jsonOf), () => describeDevices(devices));
      return devices.length === 0 ? EXIT.failed : EXIT.done;
    }
    if (!Deno.stdout.isTerminal()) {
      for (let report = devices;; report = readDevices(listed)) {
        printText(`${describeDevices(report)}\n`);
        await delay(milliseconds);
      }
    }
    using terminal = new LiveTerminal();
    for (let report = devices; !terminal.ended.aborted; report = readDevices(listed)) {
      const time = new Date().toLocaleTimeString("en-GB");
      const title = `gridstride top   ${time}   every ${milliseconds / 1000} s   q quits`;
      terminal.show(`${title}\n\n${describeDevices(report)}`);
      await delay(milliseconds, undefined, { signal: terminal.ended }).catch((error) => {
        if (!terminal.ended.aborted) throw error;
      });
    }
    return EXIT.done;
  },
};
