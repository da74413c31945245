/**
 * `gridstride devices`, `gridstride doctor` and `gridstride validate`.
 *
 * @module
 */

import { type OperationRow, VALIDATED_OPERATIONS, validateOperations } from "../device/tensor.ts";
import { formatBytes } from "../lab/memory/mod.ts";
import { green, red, yellow } from "@std/fmt/colors";
import {
  bestDevice,
  defaultDevice,
  type DeviceInfo,
  diagnose,
  type Diagnosis,
  LibraryNotFoundError,
  listDevices,
  NoDeviceError,
  openDevice,
  validate,
  type ValidationRow,
} from "../../mod.ts";
import {
  type Command,
  DEVICE_OPTION,
  EXIT,
  type Invocation,
  labelOf,
  printResult,
  showProgress,
} from "./command.ts";
import { refuseOption, textOption } from "./options.ts";
import { formatNumber, formatRate, textTable, wrapText } from "./format.ts";

const INSTALL = "deno install --global --allow-all --name gridstride jsr:@gridstride/cuda/cli";

function describeDevices(devices: readonly DeviceInfo[]): string {
  if (devices.length === 0) {
    return "No device. Run `deno run -A jsr:@gridstride/cuda/cli doctor` to see why.";
  }
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
      info.fake ? yellow("fake") : "",
    ]),
    "<<>>>>",
  );
  return `${table}\n\n${describeDefault()}`;
}

/** The device that `openDevice()` opens, and the reason. */
function describeDefault(): string {
  const chosen = Deno.env.get("GRIDSTRIDE_DEVICE");
  try {
    const { kind, ordinal } = defaultDevice();
    const reason = chosen === undefined ? bestDevice().reason : `GRIDSTRIDE_DEVICE is ${chosen}`;
    return wrapText(`openDevice() opens ${kind}:${ordinal}: ${reason}.`);
  } catch (error) {
    if (!(error instanceof NoDeviceError || error instanceof LibraryNotFoundError)) throw error;
    return `openDevice() fails, as GRIDSTRIDE_DEVICE is ${chosen}: ${error.message}.`;
  }
}

export const DEVICES: Command = {
  name: "devices",
  summary: "list the devices",
  description: `Lists the GPUs and host devices, and opens none of them. A host device runs
kernels on the CPU. Devices that GRIDSTRIDE_FAKE simulates are marked "fake".`,
  details: `With --json: an array of DeviceInfo objects with sizes in bytes. It is empty if there
is no device.`,
  run(invocation) {
    const devices = listDevices();
    printResult(invocation, devices, () => describeDevices(devices));
    return Promise.resolve();
  },
};

function describeDiagnosis(diagnosis: Diagnosis): string {
  const { libraries, backends, permissions, problems, driverVersion, toolkitVersion } = diagnosis;
  const libraryTable = textTable(
    ["library", "", ""],
    libraries.flatMap(({ kind, path, build }) => [
      [kind, "file", path ?? "not found"],
      ...build === null ? [] : [
        ["", "compiler", build.compiler],
        ["", "architectures", build.architectures],
      ],
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
      : problems.map(({ code, message, fix }) =>
        wrapText(`${red(`✗ ${code}`)}: ${message}\n  → ${fix}`)
      ).join("\n"),
    diagnosis.ok ? green("A device can be opened.") : red("No device can be opened."),
    `To install this command:\n${INSTALL}`,
  ].join("\n\n");
}

export const DOCTOR: Command = {
  name: "doctor",
  summary: "find out why a device cannot be used, and how to fix it",
  description: `Checks the native libraries, the GPU backends, the versions of driver and toolkit,
the permissions and the environment variables, and suggests a fix for every problem.`,
  details: `With --json: { ok, libraries, backends, driverVersion, toolkitVersion, permissions,
problems }.

Exit code 1 if no device can be opened.`,
  async run(invocation) {
    const diagnosis = await diagnose();
    printResult(invocation, diagnosis, () => describeDiagnosis(diagnosis));
    return diagnosis.ok ? EXIT.done : EXIT.failed;
  },
};

function describeValidation(device: string, rows: readonly ValidationRow[]): string {
  const failures = rows.filter(({ passed }) => !passed);
  const summary = `${rows.length - failures.length} passed, ${failures.length} failed on ${device}`;
  const kernels = Map.groupBy(rows, ({ kernel }) => kernel);
  const share = ({ maxError, bound }: ValidationRow) => maxError === 0 ? 0 : maxError / bound;
  const table = textTable(
    ["kernel", "checks", "failed", "worst error ÷ bound"],
    [...kernels].map(([kernel, all]) => [
      ...[kernel, String(all.length), String(all.filter(({ passed }) => !passed).length)],
      formatNumber(Math.max(...all.map(share))),
    ]),
    "<>>>",
  );
  const failed = failures.map(({ kernel, dtype, size, maxError, bound }) =>
    `✗ ${kernel} ${dtype}, size ${size}: the error ${
      maxError.toExponential(2)
    } exceeds the bound ` +
    bound.toExponential(2)
  );
  return [(failures.length === 0 ? green : red)(summary), ...failed, "", table].join("\n");
}

/** One line for each operation: its element types, the error nearest to its bound, and failures. */
function describeOperations(rows: readonly OperationRow[]): string {
  const nameOf = ({ operation, variant = "" }: OperationRow) => `${operation} ${variant}`;
  const lines = [...Map.groupBy(rows, nameOf)].map(([operation, own]) => {
    const failed = own.filter(({ passed }) => !passed);
    const share = ({ maxError, bound }: OperationRow) => maxError / Math.max(bound, 0.01);
    const worst = own.reduce((a, b) => share(b) > share(a) ? b : a);
    const uncompiled = own.find(({ compileError }) => compileError !== undefined);
    const figures = uncompiled !== undefined
      ? `does not compile: ${uncompiled.compileError!.split("\n")[0]}`
      : worst.maxError === 0
      ? "exact"
      : `${worst.maxError.toFixed(2)} of ${worst.bound} ULP`;
    const types = own.length === 1 ? own[0]!.dtype : `${own.length} types`;
    const text = `${operation.padEnd(29)}${types.padEnd(10)}${figures}`;
    return failed.length === 0
      ? `✓ ${text}`
      : red(`✗ ${text} (${failed.map(({ dtype }) => dtype).join(", ")})`);
  });
  return `Tensor operations, largest error of the worst type:\n${lines.join("\n")}`;
}

function operationNames(invocation: Invocation): string[] | undefined {
  const text = textOption(invocation, "operations");
  if (text === undefined || text === "all") return undefined;
  const names = text === "none" ? [] : text.split(",");
  if (names.every((name) => VALIDATED_OPERATIONS.includes(name))) return names;
  return refuseOption("operations", `among ${VALIDATED_OPERATIONS.join(", ")}`, text);
}

export const VALIDATE: Command = {
  name: "validate",
  summary: "compare built-in kernels and tensor operations with a double-precision reference",
  description: `Runs every built-in kernel with every element type and several sizes, and every
tensor operation with every element type that it takes, and compares the results with a
double-precision computation in TypeScript. The first run compiles the kernels of the operations.`,
  options: {
    ...DEVICE_OPTION,
    "--operations <NAMES>": 'tensor operations, such as "add,exp"; "none" for none ["all"]',
  },
  details: `With --json: { kernels, operations }: arrays of { kernel, device, dtype, size, maxError,
bound, passed, fake } and of { operation, variant, dtype, maxError, bound, passed, compileError },
whose errors are in units of the last place.

Exit code 1 if an error exceeds its bound, or a kernel does not compile.`,
  async run(invocation) {
    const names = operationNames(invocation);
    using device = openDevice(invocation.device);
    const rows = await validate(device, {
      onProgress: ({ done, total, kernel }) => showProgress(`${done}/${total} ${kernel}`),
    });
    const operations = await validateOperations(device, {
      ...(names === undefined ? {} : { operations: names }),
      onProgress: ({ done, total, operation }) => showProgress(`${done}/${total} ${operation}`),
    });
    showProgress("");
    printResult(
      invocation,
      { kernels: rows, operations },
      () =>
        [
          describeValidation(labelOf(device), rows),
          ...(operations.length === 0 ? [] : [describeOperations(operations)]),
          describeDevices(listDevices()),
        ].join("\n\n"),
    );
    return [...rows, ...operations].every(({ passed }) => passed) ? EXIT.done : EXIT.failed;
  },
};
