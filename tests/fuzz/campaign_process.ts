/**
 * Running a campaign in a process of its own: a crash or a hang is then a result like any other.
 *
 * @module
 */

import { runFile } from "../support/subprocess.ts";
import type { CampaignReport } from "./campaign.ts";

/** A campaign to run. */
export interface Campaign {
  /** The program, relative to the repository. */
  readonly program: string;
  /** What `GRIDSTRIDE_FAKE` is for it. */
  readonly topology: string;
  /** Where the random numbers begin. */
  readonly seed: number;
  /** How long it plays. */
  readonly milliseconds: number;
  /** To go straight to one failure: the path that fast-check printed. */
  readonly path?: string;
}

/** What the process may take beyond the time it plays: to start, to shrink, to end. */
const GRACE_MILLISECONDS = 120_000;

/** Most of the journal that an error shows: the sequence under way when the process ended. */
const JOURNAL_SHOWN = 4000;

async function journalText(journal: string): Promise<string> {
  const text = await Deno.readTextFile(journal);
  if (text === "") return "No sequence had begun.";
  const shown = text.length <= JOURNAL_SHOWN ? text : `${text.slice(0, JOURNAL_SHOWN)}…`;
  return `The last sequence was:\n${shown}`;
}

/**
 * Runs a campaign to its end.
 *
 * @throws {Error} If a defect was found, or the process crashed or hung: with its output, the
 * sequence it was in, and the command that repeats it.
 */
export async function runCampaignProcess(campaign: Campaign): Promise<CampaignReport> {
  const { program, topology, seed, milliseconds, path } = campaign;
  const directory = await Deno.makeTempDir();
  const journal = `${directory}/journal`;
  try {
    await Deno.writeTextFile(journal, "");
    const { code, signal, stdout, stderr } = await runFile(program, {
      environment: {
        GRIDSTRIDE_FAKE: topology,
        GRIDSTRIDE_DEVICE: undefined,
        // These variables are not the user's.
        GRIDSTRIDE_CACHE_DIR: `${directory}/cache`,
      },
      args: [`${seed}`, `${milliseconds}`, journal, ...(path === undefined ? [] : [path])],
      limit: milliseconds + GRACE_MILLISECONDS,
    });
    if (code === 0) return JSON.parse(stdout.trim().split("\n").at(-1)!);
    const found = /\{ seed: (-?\d+), path: "([\d:]+)"/.exec(stderr);
    const repetition = found === null
      ? `${seed} ${Math.ceil(milliseconds / 1000)}`
      : `${found[1]} 10 ${found[2]}`;
    const end = signal === null ? `exit code ${code}` : `signal ${signal}`;
    throw new Error(
      `${program} ended with ${end}.\n${stderr}\n${await journalText(journal)}\n` +
        `Repeat it with: deno task fuzz ${program} ${repetition}`,
    );
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

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
