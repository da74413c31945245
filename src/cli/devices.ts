/**
 * `gridstride devices`, `gridstride doctor` and `gridstride validate`.
 *
 * @module
 */

import {
  bestDevice,
  type DeviceInfo,
  diagnose,
  type Diagnosis,
  listDevices,
  openDevice,
  validate,
  type ValidationRow,
} from "../../mod.ts";
import { type Command, EXIT, printResult, showProgress } from "./command.ts";
import { formatBytes, formatRate, textTable } from "./format.ts";
import { requireNoMore } from "./options.ts";

function describeDevices(devices: readonly DeviceInfo[]): string {
  if (devices.length === 0) return "No device. Run `gridstride doctor` to see why.";
  const table = textTable(
    ["device", "name", "capability", "memory", "SMs", "bandwidth", ""],
    devices.map((info) => [
      `${info.kind}:${info.ordinal}`,
      info.name,
      info.computeCapability,
      formatBytes(info.totalMemory),
      String(info.multiprocessorCount),
      info.kind === "host" || info.peakBandwidth === null
        ? "–"
        : formatRate(info.peakBandwidth, "B/s"),
      info.fake ? "fake" : "",
    ]),
    "<<>>>>",
  );
  const { info, reason } = bestDevice();
  return `${table}\n\nopenDevice() opens ${info.kind}:${info.ordinal}: ${reason}.`;
}

export const DEVICES: Command = {
  name: "devices",
  summary: "list the devices",
  help: `gridstride devices [--json]

Lists the GPUs and host devices, and opens none of them. A host device runs kernels on the CPU.
Devices that GRIDSTRIDE_FAKE simulates are marked "fake".

With --json: an array of DeviceInfo objects with sizes in bytes. It is empty if there is no device.`,
  run(invocation) {
    requireNoMore("devices", invocation.positional);
    const devices = listDevices();
    printResult(invocation, devices, () => describeDevices(devices));
    return Promise.resolve();
  },
};

function describeDiagnosis(diagnosis: Diagnosis): string {
  const { libraries, backends, permissions, problems, driverVersion, toolkitVersion } = diagnosis;
  const libraryTable = textTable(
    ["library", "file", "compiler", "architectures"],
    libraries.map(({ kind, path, build }) => [
      kind,
      path ?? "not found",
      build?.compiler ?? "",
      build?.architectures ?? "",
    ]),
  );
  const backendTable = textTable(
    ["backend", "usable", "version / probe", "result"],
    backends.flatMap(({ backend, available, version, fake, evidence }) => [
      [backend, `${available ? "yes" : "no"}${fake ? " (fake)" : ""}`, version ?? "", ""],
      ...evidence.map(({ probe, outcome, detail }) => [
        ...["", "", `  ${probe}`],
        `${outcome}: ${detail}`,
      ]),
    ]),
  );
  const permissionTable = textTable(
    ["permission", "granted", "purpose"],
    permissions.map(({ flag, granted, purpose }) => [flag, granted ? "yes" : "no", purpose]),
  );
  return [
    libraryTable,
    `CUDA driver: ${driverVersion ?? "none"}    CUDA toolkit: ${toolkitVersion ?? "none"}`,
    backendTable,
    permissionTable,
    problems.length === 0
      ? "No problems."
      : problems.map(({ code, message, fix }) => `✗ ${code}: ${message}\n  → ${fix}`).join("\n"),
    diagnosis.ok ? "A device can be opened." : "No device can be opened.",
  ].join("\n\n");
}

export const DOCTOR: Command = {
  name: "doctor",
  summary: "find out why a device cannot be used, and how to fix it",
  help: `gridstride doctor [--json]

Checks the native libraries, the GPU backends, the versions of driver and toolkit, the permissions
and the environment variables, and suggests a fix for every problem.

With --json: { ok, libraries, backends, driverVersion, toolkitVersion, permissions, problems }.
Exit code 1 if no device can be opened.`,
  async run(invocation) {
    requireNoMore("doctor", invocation.positional);
    const diagnosis = await diagnose();
    printResult(invocation, diagnosis, () => describeDiagnosis(diagnosis));
    return diagnosis.ok ? EXIT.done : EXIT.failed;
  },
};

function describeValidation(rows: readonly ValidationRow[]): string {
  const table = textTable(
    ["kernel", "dtype", "size", "max error", "bound", ""],
    rows.map(({ kernel, dtype, size, maxError, bound, passed }) => [
      kernel,
      dtype,
      String(size),
      maxError.toExponential(2),
      bound.toExponential(2),
      passed ? "passed" : "FAILED",
    ]),
    "<<>>>",
  );
  const failed = rows.filter(({ passed }) => !passed).length;
  return `${table}\n\n${rows.length - failed} passed, ${failed} failed on ${rows[0]?.device}`;
}

export const VALIDATE: Command = {
  name: "validate",
  summary: "compare every built-in kernel with a double-precision reference",
  help: `gridstride validate [--device DEVICE] [--json]

Runs every built-in kernel with every element type and several sizes, and compares the results with
a double-precision computation in TypeScript.

  --device DEVICE  cuda, cuda:N, host or host:N; by default GRIDSTRIDE_DEVICE, or the best device

With --json: an array of { kernel, device, dtype, size, maxError, bound, passed }.
Exit code 1 if an error exceeds its bound.`,
  async run(invocation) {
    requireNoMore("validate", invocation.positional);
    using device = openDevice(invocation.device);
    const rows = await validate(device, {
      onProgress: ({ done, total, kernel }) => showProgress(`${done}/${total} ${kernel}`),
    });
    showProgress("");
    printResult(invocation, rows, () => describeValidation(rows));
    return rows.every(({ passed }) => passed) ? EXIT.done : EXIT.failed;
  },
};
