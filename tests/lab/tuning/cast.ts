/**
 * Configurations that behave differently in the race of all and in the second race.
 *
 * @module
 */

import { autotune, type AutotuneOptions } from "../../../src/lab/tuning/mod.ts";
import { poolOf } from "../../../src/memory/pool/device_pools.ts";
import { device } from "../../support/device.ts";
import { type Spin, Spinner } from "./spinning.ts";

/**
 * Microseconds that a busy machine does not confuse: a configuration with the longer time is dropped
 * after a round or two.
 */
export const SHORT = 100;
/** The longer time. */
export const LONG = 20_000;

/** The behaviour of a configuration in a race: 0 is that of all, 1 the second one. */
export type Actor = (race: number) => Spin;

/** Does the same every time. */
export function always(microseconds: number): Actor {
  return () => ({ microseconds });
}

/** Is faster than the others in the first race only. */
export const LUCKY: Actor = (race) => ({ microseconds: race === 0 ? SHORT : 2 * LONG });

/** Runs in the first race, and fails in the next. */
export function breaking(microseconds: number): Actor {
  return (race) => {
    if (race > 0) throw new RangeError("Cannot go on");
    return { microseconds };
  };
}

/** Configurations by their names. */
export class Cast implements Disposable {
  readonly actors: Map<string, Actor>;
  readonly #name: string;
  readonly #out = device.allocate("float32", 1);
  readonly #spinner = new Spinner(device, this.#out);

  /** Takes the name of the tuning. */
  constructor(name: string, actors: Readonly<Record<string, Actor>>) {
    this.#name = name;
    this.actors = new Map(Object.entries(actors));
  }

  /** Tunes some of them; `races` has the names in each race. */
  async tune(
    names: readonly string[] = [...this.actors.keys()],
    more: Pick<AutotuneOptions<string>, "prune" | "signal"> = {},
  ) {
    const races: string[][] = [];
    let allocations = -1;
    const { best, origin, report } = await autotune(device, {
      name: this.#name,
      key: 1,
      store: "memory",
      warmUp: 0,
      repeats: 20,
      configurations: names,
      launch: (name) => {
        // Only the timer of each race allocates memory.
        const { allocationCount } = poolOf(device.context).stats();
        if (allocationCount !== allocations) races.push([]);
        allocations = allocationCount;
        const race = races.length - 1;
        races[race] = names.filter((each) => each === name || races[race]!.includes(each));
        this.#spinner.launch(this.actors.get(name)!(race));
      },
      ...more,
    });
    const namesOf = (is: "refuted" | "failed") =>
      report.filter((row) => row[is]).map(({ configuration }) => configuration);
    return { best, origin, refuted: namesOf("refuted"), failed: namesOf("failed"), races };
  }

  [Symbol.dispose](): void {
    this.#out.free();
  }
}
