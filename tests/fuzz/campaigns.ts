/**
 * The campaigns there are.
 *
 * @module
 */

import type { Campaign } from "./campaign_process.ts";

type Program = Pick<Campaign, "program" | "topology">;

/** Everything that `mod.ts` exports. Small devices run out of memory quickly. */
export const PUBLIC_API: Program = {
  program: "tests/fuzz/public_api_campaign.ts",
  topology: "16x64MiB@8.9",
};

/** Every function of `csrc/gridstride*.h`. Many devices, as faults make some unusable. */
export const ABI: Program = {
  program: "tests/fuzz/abi_campaign.ts",
  topology: "64x64MiB@8.9",
};

/** Sources with mistakes. */
export const SOURCES: Program = {
  program: "tests/fuzz/source_campaign.ts",
  topology: "2x64MiB@8.9",
};

/** The same, and their kernels. */
const LAUNCHED_SOURCES: Program = {
  program: "tests/fuzz/source_launch_campaign.ts",
  topology: "64x64MiB@8.9",
};

/** All of them. */
export const CAMPAIGNS: readonly Program[] = [PUBLIC_API, ABI, SOURCES, LAUNCHED_SOURCES];
