/**
 * Configurations that do one thing while all are timed and another at a second look.
 *
 * @module
 */

import { autotune, type AutotuneOptions } from "../../../src/lab/tuning/mod.ts";
import { poolOf } from "../../../src/memory/pool/device_pool.ts";
import { device } from "../../support/device.ts";
import { type Spin, Spinner } from "./spinning.ts";

/**
 * Microseconds that a busy machine does not turn into one another. Whoever takes the longer time is
 * dropped after a round or two.
 */
export const SHORT = 100;
/** The longer time. */
export const LONG = 20_000;

/** What a configuration does in a race: 0 is that of all, and each second look is the next one. */
export type Actor = (race: number) => Spin;

/** Does the same every time. */
export function always(microseconds: number): Actor {
  return () => ({ microseconds });
}

/** Is faster than the others only as long as all are timed. */
export const LUCKY: Actor = (race) => ({ microseconds: race === 0 ? SHORT : 2 * LONG });

/** Runs as long as all are timed, and fails in what follows. */
export function breaking(microseconds: number): Actor {
  return (race) => {
    if (race > 0) throw new RangeError("Cannot go on");
    return { microseconds };
  };
}

/** Configurations, by their names; a test may change what they do between tunings. */
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

  /** Tunes some of them, and says who was launched in which race. */
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
        // Nothing but the timer that each race has for itself allocates memory.
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
