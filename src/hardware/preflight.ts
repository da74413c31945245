/**
 * Whether CUDA can be used here, and if not, why and what to do.
 *
 * @module
 */

import { type BackendReport, detectBackends, type DetectionOptions, summary } from "./backends.ts";
import { cudaObstacle, type CudaObstacleCode } from "./cuda_driver_state.ts";
import { FAKE_VARIABLE, fakeDevices, type FakeSetting } from "./fake_topology.ts";

/** Why CUDA cannot be used. */
export type PreflightCode = CudaObstacleCode | "fake-refused";

/** What {@linkcode preflight} found. */
export type PreflightResult =
  | {
    /** CUDA, or the fake that stands in for it, can be used. */
    readonly ok: true;
    /** What is there, in one line; a fake is called one. */
    readonly summary: string;
  }
  | {
    /** CUDA cannot be used. */
    readonly ok: false;
    /** The cause, for programs. */
    readonly code: PreflightCode;
    /** The cause in one sentence. */
    readonly reason: string;
    /** What to do, in one or two sentences. */
    readonly fix: string;
    /** What other backends the machine has, in one line. */
    readonly summary: string;
  };

/** Where the check looks. */
export interface PreflightOptions extends DetectionOptions {
  /** Whether a fake is refused, as `GRIDSTRIDE_STRICT` says. */
  readonly strict?: boolean;
}

function checkFake(
  fake: FakeSetting,
  strict: boolean,
  reports: readonly BackendReport[],
): PreflightResult {
  if (strict) {
    return {
      ok: false,
      code: "fake-refused",
      reason: `${FAKE_VARIABLE} is set and GRIDSTRIDE_STRICT=1 refuses fakes`,
      fix: `Unset ${FAKE_VARIABLE} or GRIDSTRIDE_STRICT.`,
      summary: summary(reports),
    };
  }
  const count = fakeDevices(fake).length;
  if (count > 0) {
    return {
      ok: true,
      summary: `${count} fake device(s) of ${FAKE_VARIABLE}; ${summary(reports)}`,
    };
  }
  return {
    ok: false,
    code: "no-device",
    reason: `${FAKE_VARIABLE} shows no device`,
    fix: `Unset ${FAKE_VARIABLE}, or name devices in it.`,
    summary: summary(reports),
  };
}

/**
 * Checks whether CUDA can be used and tells apart no library, no driver, a driver too old, no
 * device and a missing permission. Never throws for what it finds.
 */
export async function preflight(options: PreflightOptions): Promise<PreflightResult> {
  const reports = await detectBackends(options);
  if (options.fake !== undefined) return checkFake(options.fake, options.strict ?? false, reports);
  const obstacle = cudaObstacle(options.cuda.state());
  if (obstacle === undefined) return { ok: true, summary: summary(reports) };
  return { ok: false, ...obstacle, summary: summary(reports) };
}
