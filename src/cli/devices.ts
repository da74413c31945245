/**
 * `gridstride devices`: the devices there are.
 *
 * @module
 */

import { bestDevice, type DeviceInfo, listDevices } from "../../mod.ts";
import { type Command, EXIT, printResult, requireNoArguments } from "./command.ts";
import { formatBandwidth, formatBytes, textTable } from "./text_table.ts";

function label({ kind, ordinal }: DeviceInfo): string {
  return `${kind}:${ordinal}`;
}

function describe(devices: readonly DeviceInfo[]): string {
  if (devices.length === 0) return "No device. Run `gridstride doctor` to see why.";
  const table = textTable(
    ["device", "name", "capability", "memory", "SMs", "bandwidth", ""],
    devices.map((info) => [
      label(info),
      info.name,
      info.computeCapability,
      formatBytes(info.totalMemory),
      String(info.multiprocessorCount),
      info.kind === "host" || info.peakBandwidth === null
        ? "–"
        : formatBandwidth(info.peakBandwidth),
      info.fake ? "fake" : "",
    ]),
    ["left", "left", "right", "right", "right", "right", "left"],
  );
  const { info, reason } = bestDevice();
  return `${table}\n\nopenDevice() opens ${label(info)}: ${reason}.`;
}

/** The command. */
export const DEVICES: Command = {
  name: "devices",
  summary: "list the devices",
  help: `gridstride devices [--json]

Lists GPUs and host devices without opening any of them. A fake (GRIDSTRIDE_FAKE) is marked.
With --json: an array of DeviceInfo; sizes in bytes. No device is an empty array, exit code 0.`,
  run(invocation) {
    requireNoArguments("devices", invocation);
    const devices = listDevices();
    printResult(invocation, devices, () => describe(devices));
    return Promise.resolve(EXIT.done);
  },
};
