/**
 * Throws random arguments at everything that `mod.ts` exports. Started by `public_api_test.ts` and
 * `soak.ts` with a topology of fake devices.
 *
 * @module
 */

import fc from "fast-check";
import * as module from "../../mod.ts";
import { resourceTally } from "../../src/ffi/native_device.ts";
import { CallCounts, campaignSettings, type PlayedCall, runCampaign, verdict } from "./campaign.ts";
import { PUBLIC } from "./documented_members.ts";
import { settled } from "./deferred.ts";
import { PUBLIC_ARGUMENTS, RECEIVERS, WEIGHTS } from "./public_arguments.ts";
import { Stage, WITNESS } from "./stage.ts";

interface Step {
  readonly member: string;
  readonly receiver: number;
  readonly arguments: readonly unknown[];
  readonly waits: boolean;
}

const calls = [...PUBLIC_ARGUMENTS].map(([member, list]): PlayedCall<Step> => ({
  weight: WEIGHTS[member] ?? 1,
  step: fc.record({
    member: fc.constant(member),
    receiver: fc.oneof(fc.nat(4), fc.nat(255)),
    arguments: list,
    waits: fc.boolean(),
  }),
}));

// deno-lint-ignore no-explicit-any
type AnyFunction = (...list: unknown[]) => any;
type Members = Readonly<Record<PropertyKey, unknown>>;

const exported: Members = PUBLIC;

const SYMBOLS: ReadonlyMap<string, symbol> = new Map([
  ["[Symbol.dispose]", Symbol.dispose],
  ["[Symbol.hasInstance]", Symbol.hasInstance],
  ["[Symbol.asyncDispose]", Symbol.asyncDispose],
]);

/** Makes one call and returns its result. */
function perform({ member, receiver, arguments: list }: Step, stage: Stage): unknown {
  const [kind, path] = member.split(" ") as [string, string];
  const values = settled(list, stage) as unknown[];
  if (kind === "function") return (exported[path] as AnyFunction)(...values);
  if (kind === "new") return Reflect.construct(exported[path] as AnyFunction, values);
  const [owner, name] = path.split(/\.(.*)/, 2) as [string, string];
  const key = SYMBOLS.get(name) ?? name;
  const target = kind === "static" ? exported[owner] : stage.pick(RECEIVERS[owner]!, receiver);
  const value = (target as Members)[key];
  return kind === "getter" ? value : Reflect.apply(value as AnyFunction, target, values);
}

const counts = new CallCounts();
const DEVICES = module.deviceCount();
const library = module.openDevice("host:0").context.library;
let nextDevice = 0;
let isLost = false;

function judge(name: string, thrown: unknown): void {
  counts.count(name, "threw");
  if (thrown instanceof module.CudaError && thrown.sticky) isLost = true;
  const problem = verdict(thrown);
  if (problem !== undefined) throw new Error(`${name}: ${problem}`, { cause: thrown });
}

/** Plays the steps and waits for their work. */
async function playOn(stage: Stage, steps: readonly Step[]): Promise<void> {
  const pending: Promise<void>[] = [];
  for (const each of steps) {
    let result: unknown;
    try {
      result = perform(each, stage);
    } catch (error) {
      judge(each.member, error);
      continue;
    }
    if (!(result instanceof Promise)) {
      counts.count(each.member, "returned");
      stage.add(result);
      continue;
    }
    const done = result.then(
      (value) => {
        counts.count(each.member, "returned");
        stage.add(value);
      },
      (error) => judge(each.member, error),
    );
    if (each.waits) await done;
    else pending.push(done);
  }
  const outcomes = await Promise.allSettled(pending);
  for (const outcome of outcomes) {
    if (outcome.status === "rejected") throw outcome.reason;
  }
}

/** After these most members that ever succeed have done so. */
const LEAST_SEQUENCES = 25;

async function checkWitness(stage: Stage): Promise<void> {
  const touched = (await stage.witness()).findIndex((element) => element !== WITNESS);
  if (touched >= 0) throw new Error(`A buffer that nobody named was written at ${touched}`);
}

async function play(steps: readonly Step[]): Promise<void> {
  const before = resourceTally(library);
  const stage = await Stage.open([nextDevice, nextDevice + 1]);
  isLost = false;
  try {
    await playOn(stage, steps);
    if (!isLost) await checkWitness(stage);
  } catch (error) {
    if (!(error instanceof module.CudaError && error.sticky)) throw error;
    isLost = true;
  } finally {
    for (const error of await stage.close()) judge("close", error);
    // What this process has found it says on stdout.
    while (library.symbols.gs_output_divert(0) === 0);
    if (isLost) nextDevice += 2;
  }
  const after = resourceTally(library);
  if (!isLost && JSON.stringify(after) !== JSON.stringify(before)) {
    throw new Error(
      `Resources leaked: before ${JSON.stringify(before)}, after ${JSON.stringify(after)}`,
    );
  }
}

const sequences = await runCampaign(campaignSettings(), {
  calls,
  play,
  isOver: () => nextDevice + 1 >= DEVICES,
  least: LEAST_SEQUENCES,
});
console.log(
  JSON.stringify({ sequences, calls: counts.toObject(), lostDevices: nextDevice }),
);
