/**
 * A campaign: fast-check playing random sequences for a given time, in a process of its own.
 *
 * Arguments of the program: seed, milliseconds, journal file and, to go straight to one failure,
 * the path that fast-check printed.
 *
 * @module
 */

import fc from "fast-check";
import { CudaError } from "../../mod.ts";
import { HostileArgumentError } from "./values.ts";

/** What the program was started with. */
export interface CampaignSettings {
  /** Where the random numbers begin. */
  readonly seed: number;
  /** How long to go on. */
  readonly milliseconds: number;
  /** The file that holds the sequence under way, should the process die of it. */
  readonly journal: string;
  /** The failure to go to, as fast-check printed it. */
  readonly path: string | undefined;
}

/** Reads the program's arguments. */
export function campaignSettings(args: readonly string[] = Deno.args): CampaignSettings {
  const [seed, milliseconds, journal, path] = args;
  const numbers = [Number(seed), Number(milliseconds)] as const;
  if (!numbers.every(Number.isSafeInteger) || journal === undefined) {
    throw new TypeError(
      `Cannot start a campaign as its arguments must be seed, milliseconds and journal: they are ${
        JSON.stringify(args)
      }`,
    );
  }
  return { seed: numbers[0], milliseconds: numbers[1], journal, path };
}

/** What a campaign did, printed as JSON on stdout. */
export interface CampaignReport {
  /** Sequences played. */
  readonly sequences: number;
  /** How often each member was called without throwing, and how often it threw. */
  readonly calls: Readonly<Record<string, { readonly returned: number; readonly threw: number }>>;
  /** Devices that a sequence made unusable. */
  readonly lostDevices: number;
}

/** Counts of calls by name. */
export class CallCounts {
  readonly #counts = new Map<string, { returned: number; threw: number }>();

  /** Counts one call. */
  count(name: string, outcome: "returned" | "threw"): void {
    const counts = this.#counts.get(name) ?? { returned: 0, threw: 0 };
    counts[outcome]++;
    this.#counts.set(name, counts);
  }

  /** All counts, sorted by name. */
  toObject(): CampaignReport["calls"] {
    return Object.fromEntries([...this.#counts].toSorted(([a], [b]) => a < b ? -1 : 1));
  }
}

/** Sequences of a round: enough to find something, few enough to look at the clock in between. */
const SEQUENCES_PER_ROUND = 25;

/** How long fast-check may look for the shortest sequence that fails. */
const SHRINKING_MILLISECONDS = 15_000;

/** Sequences of one call of everything, with which a campaign begins. */
const ROLL_CALLS = 3;

/** Most calls of a sequence, unless a campaign says otherwise. */
const MAX_SEQUENCE = 50;

/** A call that a campaign makes. */
export interface PlayedCall<Step> {
  /** Its arguments and all else that is random about it. */
  readonly step: fc.Arbitrary<Step>;
  /** How often it is made compared with others; 1 by default. */
  readonly weight?: number;
}

/** What a campaign plays. */
export interface Play<Step> {
  /** The calls that sequences consist of. */
  readonly calls: readonly PlayedCall<Step>[];
  /** Most calls of a sequence. */
  readonly longest?: number;
  /** Plays one; throws if something is wrong. */
  readonly play: (steps: readonly Step[]) => Promise<void>;
  /** Whether nothing is left to play with. */
  readonly isOver: () => boolean;
  /** The sequences that are played however slow the machine is, if it is not over; 0 by default. */
  readonly least?: number;
}

/**
 * Plays sequences of one call of everything. A path into these would lead nowhere else, and a
 * sequence of fixed length does not get shorter: the first failure is the reported one.
 */
async function callTheRoll<Step>(
  seed: number,
  calls: readonly PlayedCall<Step>[],
  play: (steps: readonly Step[]) => Promise<void>,
): Promise<void> {
  const roll = fc.tuple(...calls.map(({ step }) => step));
  const { failed, counterexample, errorInstance } = await fc.check(
    fc.asyncProperty(roll, play),
    { seed, numRuns: ROLL_CALLS, endOnFailure: true },
  );
  if (!failed) return;
  throw new Error(`With one call of everything, seed ${seed}: ${fc.stringify(counterexample)}`, {
    cause: errorInstance,
  });
}

/**
 * Plays sequences, in rounds with ascending seeds, until the time is over. The first make every
 * call once: a slow machine leaves none out.
 *
 * @param settings What the program was started with.
 * @returns The number of sequences played.
 * @throws {Error} Fast-check's report of the first failure, with seed, path and counterexample.
 */
export async function runCampaign<Step>(
  { seed, milliseconds, journal, path }: CampaignSettings,
  { calls, longest = MAX_SEQUENCE, play, isOver, least = 0 }: Play<Step>,
): Promise<number> {
  let sequences = 0;
  let underWay = Promise.resolve();
  const playNext = async (steps: readonly Step[]) => {
    if (isOver()) return;
    Deno.writeTextFileSync(journal, fc.stringify(steps));
    await play(steps);
    sequences++;
  };
  const playOne = (steps: readonly Step[]) => underWay = playNext(steps);
  if (path === undefined) await callTheRoll(seed, calls, playOne);
  const step = fc.oneof(...calls.map(({ step, weight = 1 }) => ({ weight, arbitrary: step })));
  const sequence = fc.array(step, { minLength: 1, maxLength: longest, size: "max" });
  const property = fc.asyncProperty(sequence, playOne);
  const end = performance.now() + milliseconds;
  for (let round = 0; !isOver() && (sequences < least || performance.now() < end); round++) {
    await fc.assert(property, {
      seed: seed + round,
      ...(path === undefined ? {} : { path }),
      numRuns: SEQUENCES_PER_ROUND,
      interruptAfterTimeLimit: SHRINKING_MILLISECONDS,
      markInterruptAsFailure: false,
    });
    // The time limit interrupts a round, but not the sequence that it was in.
    await underWay;
    if (path !== undefined) break;
  }
  return sequences;
}

/** V8's messages for an unexpected value: they mean nothing to a caller. */
const INTERNAL: readonly RegExp[] = [
  /^Cannot (?:read|set) propert(?:y|ies) /,
  /^Cannot (?:read|write) private /,
  /^Cannot destructure /,
  /^Cannot convert (?!between )/,
  /^Cannot mix BigInt/,
  /^Cannot access '/,
  /^Cannot perform /,
  /^Cannot use 'in' operator/,
  /^Cannot (?:assign to|redefine property|define property|delete property|add property) /,
];

/** What looking at a revoked proxy throws: the argument's own doing. */
const REVOKED = /on a proxy that has been revoked$/;

/** Statuses that say that the TypeScript above the library is wrong, not its caller. */
const DEFECTS: readonly string[] = ["GS_ERROR_INTERNAL", "GS_ERROR_NO_BLOCK"];

/** The defect of a thrown value; `undefined` without one. */
export function verdict(thrown: unknown): string | undefined {
  if (!(thrown instanceof Error)) return `it threw no Error but ${Deno.inspect(thrown)}`;
  if (thrown instanceof HostileArgumentError) return undefined;
  const { message } = thrown;
  if (REVOKED.test(message)) return undefined;
  const shown = `${thrown.name}: ${message}`;
  if (message === "") return `it threw a ${thrown.name} without a message`;
  if (INTERNAL.some((pattern) => pattern.test(message)) || !message.startsWith("Cannot ")) {
    return `it threw an error that its caller cannot understand: ${shown}`;
  }
  if (thrown instanceof CudaError && DEFECTS.includes(thrown.codeName)) {
    return `it threw an error that says the library is wrong: ${shown}`;
  }
  return undefined;
}
