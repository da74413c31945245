/**
 * Plays the fuzz campaigns for long: `deno task fuzz [program|all] [seed] [seconds] [path]`. Each
 * campaign plays in rounds of a minute at most, in a process of its own, with another seed each.
 *
 * @module
 */

import { CAMPAIGNS, runCampaignProcess } from "./campaign_process.ts";

const ROUND_SECONDS = 60;
const USAGE = `Usage: deno task fuzz [all|${
  CAMPAIGNS.map(({ program }) => program).join("|")
}] [seed] [seconds] [path]`;

function integer(text: string, name: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= 0) return value;
  console.error(
    `Cannot fuzz as ${name} must be an integer of at least 0: it is "${text}"\n${USAGE}`,
  );
  Deno.exit(2);
}

const [which = "all", seedText, secondsText = "600", path] = Deno.args;
const campaigns = CAMPAIGNS.filter(({ program }) => which === "all" || which === program);
if (campaigns.length === 0) {
  console.error(`Cannot fuzz as there is no campaign "${which}"\n${USAGE}`);
  Deno.exit(2);
}
const seconds = integer(secondsText, "seconds");
const end = performance.now() + seconds * 1000;
let seed = seedText === undefined ? Date.now() % 2 ** 31 : integer(seedText, "seed");

try {
  do {
    for (const campaign of campaigns) {
      const milliseconds = 1000 * Math.max(1, Math.min(ROUND_SECONDS, seconds));
      console.error(`${campaign.program}, seed ${seed}, ${milliseconds / 1000} s`);
      const { sequences, calls, lostDevices } = await runCampaignProcess({
        ...campaign,
        seed,
        milliseconds,
        ...(path === undefined ? {} : { path }),
      });
      const total = Object.values(calls).reduce(
        (sum, { returned, threw }) => sum + returned + threw,
        0,
      );
      console.error(`  ${sequences} sequences, ${total} calls, ${lostDevices} devices lost`);
    }
    // Rounds inside a campaign count up from its seed.
    seed += 100_000;
  } while (performance.now() < end && path === undefined);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  Deno.exit(1);
}
