/**
 * `gridstride devices`, `gridstride doctor` and `gridstride validate`.
 *
 * @module
 */

import { formatBytes } from "../lab/memory/mod.ts";
import { green, red, yellow } from "@std/fmt/colors";
import { closestString } from "@std/text/closest-string";
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
} from "../../mod.ts";
import { validate, VALIDATED_OPERATIONS, type ValidationRow } from "../device/tensor.ts";
import {
  type Command,
  DEVICE_OPTION,
  EXIT,
  type Invocation,
  labelOf,
  printResult,
  showProgress,
  UsageError,
} from "./command.ts";
import { textOption } from "./options.ts";
import { formatNumber, formatRate, progressBar, textTable, wrapText } from "./format.ts";

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
  const abilityTable = textTable(
    ["what", "works", "by, or what to install"],
    diagnosis.abilities.map(({ ability, by, install }) => [
      ability,
      by === null ? "no" : "yes",
      by ?? `install ${install}`,
    ]),
  );
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
    abilityTable,
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
  details: `With --json: { ok, libraries, backends, driverVersion, toolkitVersion, abilities,
permissions, problems }.

Exit code 1 if no device can be opened.`,
  async run(invocation) {
    const diagnosis = await diagnose();
    printResult(invocation, diagnosis, () => describeDiagnosis(diagnosis));
    return diagnosis.ok ? EXIT.done : EXIT.failed;
  },
};

/** An error with three digits: `0.498`, `1.2e-9`, `∞`. */
const formatError = (error: number) =>
  error === 0 || (error >= 0.001 && error < 1e6) || error === Infinity
    ? formatNumber(error)
    : error.toExponential(1);

/** The error that is nearest to its bound, or furthest beyond it, and the element types that fail. */
function describeErrors(rows: readonly ValidationRow[]): string {
  const failed = rows.filter(({ passed }) => !passed)
    .map(({ dtype, size }) => size === undefined ? dtype : `${dtype} of size ${size}`);
  const failures = failed.length === 0 ? "" : `; failed: ${failed.join(", ")}`;
  const uncompiled = rows.find(({ compileError }) => compileError !== undefined);
  if (uncompiled !== undefined) {
    return `does not compile: ${uncompiled.compileError!.split("\n")[0]}${failures}`;
  }
  const share = ({ maxError, bound }: ValidationRow) => maxError === 0 ? 0 : maxError / bound;
  const { maxError, bound, unit } = rows.reduce((a, b) => share(b) > share(a) ? b : a);
  if (maxError === 0) return "exact";
  return `${formatError(maxError)} of ${formatError(bound)}${
    unit === "ulp" ? " ULP" : ""
  }${failures}`;
}

function describeValidation(device: string, rows: readonly ValidationRow[]): string {
  const failures = rows.filter(({ passed }) => !passed).length;
  const summary = `${rows.length - failures} passed, ${failures} failed on ${device}`;
  const nameOf = ({ operation, variant = "" }: ValidationRow) => `${operation} ${variant}`.trim();
  const placeOf = ({ operation }: ValidationRow) => VALIDATED_OPERATIONS.indexOf(operation);
  const groups = Map.groupBy(rows.toSorted((a, b) => placeOf(a) - placeOf(b)), nameOf);
  const table = textTable(
    ["", "operation", "checks", "largest error, of its bound"],
    [...groups].map(([name, own]) => [
      own.every(({ passed }) => passed) ? green("✓") : red("✗"),
      ...[name, String(own.length), describeErrors(own)],
    ]),
    "<<>",
  );
  return `${(failures === 0 ? green : red)(summary)}\n\n${table}`;
}

function operationNames(invocation: Invocation): string[] | undefined {
  const names = textOption(invocation, "operations")?.split(",").map((name) => name.trim());
  const unknown = names?.find((name) => !VALIDATED_OPERATIONS.includes(name));
  if (unknown === undefined) return names;
  const closest = closestString(unknown, [...VALIDATED_OPERATIONS]);
  throw new UsageError(
    "Cannot use --operations as each must be listed by `gridstride validate --help`: " +
      `one is "${unknown}". Did you mean "${closest}"?`,
  );
}

export const VALIDATE: Command = {
  name: "validate",
  summary: "compare operations with a double-precision reference",
  description: `Runs operations with every element type that they take, and compares the results
with a double-precision computation in TypeScript. The kernels of device.kernels are built in; those
of tensor operations are compiled on the first run.`,
  options: {
    ...DEVICE_OPTION,
    "--operations <NAMES>": 'operations, such as "sum,exp" [all]',
  },
  details: `With --json: an array of { operation, variant, device, fake, dtype, size, maxError,
bound, unit, passed, compileError }. The unit of errors is "ulp", units in the last place, or
"absolute"; an error is null without a result. A name such as sum stands for a built-in kernel and
for a tensor operation: rows of built-in kernels have the variant "device.kernels".

Exit code 1 if an error exceeds its bound, or a kernel does not compile.

Operations: ${VALIDATED_OPERATIONS.join(", ")}.`,
  async run(invocation) {
    const operations = operationNames(invocation);
    using device = openDevice(invocation.device);
    const rows = await validate(device, {
      ...(operations === undefined ? {} : { operations }),
      onProgress: ({ done, total, operation }) =>
        showProgress(`${progressBar(done / total)} ${done}/${total} ${operation}`),
    });
    showProgress("");
    printResult(
      invocation,
      rows,
      () => `${describeValidation(labelOf(device), rows)}\n\n${describeDevices(listDevices())}`,
    );
    return rows.every(({ passed }) => passed) ? EXIT.done : EXIT.failed;
  },
};
