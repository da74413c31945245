/**
 * `gridstride doctor`: what is there, what is missing, and what to do.
 *
 * @module
 */

import { diagnose, type Diagnosis } from "../../mod.ts";
import { type Command, EXIT, printResult, requireNoArguments } from "./command.ts";
import { textTable } from "./text_table.ts";

function librarySection({ libraries }: Diagnosis): string {
  return textTable(
    ["library", "file", "built with", "for"],
    libraries.map(({ kind, path, build }) => [
      kind,
      path ?? "not found",
      build?.compiler ?? "",
      build?.architectures ?? "",
    ]),
  );
}

function backendSection({ backends }: Diagnosis): string {
  const rows = backends.flatMap(({ backend, available, version, fake, evidence }) => [
    [backend, `${available ? "yes" : "no"}${fake ? " (fake)" : ""}`, version ?? "", ""],
    ...evidence.map((
      { probe, outcome, detail },
    ) => ["", "", `  ${probe}`, `${outcome}: ${detail}`]),
  ]);
  return textTable(["backend", "usable", "version / probe", "what it said"], rows);
}

function problemSection({ problems }: Diagnosis): string {
  if (problems.length === 0) return "No problems.";
  return problems.map(({ code, message, fix }) => `✗ ${code}: ${message}\n  → ${fix}`).join("\n");
}

function describe(diagnosis: Diagnosis): string {
  const permissions = textTable(
    ["permission", "granted", "for"],
    diagnosis.permissions.map(({ flag, granted, purpose }) => [
      flag,
      granted ? "yes" : "no",
      purpose,
    ]),
  );
  return [
    librarySection(diagnosis),
    `CUDA driver: ${diagnosis.driverVersion ?? "none"}    CUDA toolkit: ${
      diagnosis.toolkitVersion ?? "none"
    }`,
    backendSection(diagnosis),
    permissions,
    problemSection(diagnosis),
    diagnosis.ok ? "A device can be opened." : "No device can be opened.",
  ].join("\n\n");
}

/** The command. */
export const DOCTOR: Command = {
  name: "doctor",
  summary: "say what is there, what is missing and what to do",
  help: `gridstride doctor [--json]

Looks at the native libraries, the GPU backends (with what each probe said), the versions of
driver and toolkit, the permissions and the environment, and says how to mend what is wrong.
With --json: { ok, libraries, backends, driverVersion, toolkitVersion, permissions, problems }.
Exit code 1 when no device can be opened.`,
  async run(invocation) {
    requireNoArguments("doctor", invocation);
    const diagnosis = await diagnose();
    printResult(invocation, diagnosis, () => describe(diagnosis));
    return diagnosis.ok ? EXIT.done : EXIT.failed;
  },
};
