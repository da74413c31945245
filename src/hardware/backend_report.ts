/**
 * The form in which detection reports a backend.
 *
 * @module
 */

import type { Backend } from "./fake_topology.ts";
import type { CommandOutcome, PathOutcome } from "./probe.ts";

/** What a probe came to. `denied` is a missing permission, `failed` an error or a time limit. */
export type EvidenceOutcome = "found" | "not-found" | "denied" | "failed" | "skipped";

/** One thing that was looked at and what it said. */
export interface Evidence {
  /** The command, path or interface, such as `"nvcc --version"`. */
  readonly probe: string;
  /** What came of it. */
  readonly outcome: EvidenceOutcome;
  /** What it said, or why it said nothing. */
  readonly detail: string;
}

/** What is known of one backend. */
export interface BackendReport {
  /** The backend. */
  readonly backend: Backend;
  /** Whether a GPU can be used through it. */
  readonly available: boolean;
  /** Whether `GRIDSTRIDE_FAKE` made the report up. */
  readonly fake: boolean;
  /** Its version: for CUDA that of the driver. Absent where nothing tells it. */
  readonly version?: string;
  /** For CUDA, the version of the toolkit, which is another thing than the driver's. */
  readonly toolkitVersion?: string;
  /** The GPUs that were found, by name. */
  readonly devices: readonly string[];
  /** What was looked at. */
  readonly evidence: readonly Evidence[];
}

/** The first line of an output that is not blank, shortened to fit a report. */
function firstLine(text: string): string {
  const line = text.split("\n").map((line) => line.trim()).find((line) => line !== "") ?? "";
  return line.length > 200 ? `${line.slice(0, 197)}...` : line;
}

/**
 * The output of a command that ran and succeeded, else the evidence of why there is none.
 *
 * @param probe The command line, as the evidence names it.
 */
export function commandOutput(
  probe: string,
  outcome: CommandOutcome,
): { readonly output: string } | { readonly evidence: Evidence } {
  const evidence = (outcome: EvidenceOutcome, detail: string) => ({
    evidence: { probe, outcome, detail },
  });
  switch (outcome.kind) {
    case "exited": {
      if (outcome.code === 0) return { output: outcome.stdout };
      const said = firstLine(outcome.stderr) || firstLine(outcome.stdout) || "said nothing";
      return evidence("failed", `exited with ${outcome.code}: ${said}`);
    }
    case "timeout":
      return evidence("failed", `gave no answer within ${outcome.milliseconds} ms and was killed`);
    case "absent":
      return evidence("not-found", "the command is not installed or not in PATH");
    case "denied":
      return evidence("denied", `needs --allow-run=${probe.split(" ")[0]}`);
    case "failed":
      return evidence("failed", outcome.message);
  }
}

/** The evidence that a path gives. */
export function pathEvidence(path: string, outcome: PathOutcome): Evidence {
  switch (outcome.kind) {
    case "present":
      return { probe: path, outcome: "found", detail: firstLine(outcome.text) || "is there" };
    case "absent":
      return { probe: path, outcome: "not-found", detail: "is not there" };
    case "denied":
      return { probe: path, outcome: "denied", detail: `needs --allow-read=${path}` };
    case "failed":
      return { probe: path, outcome: "failed", detail: outcome.message };
  }
}
