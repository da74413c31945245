/**
 * Tuners: the choices of one kernel for many keys, found once and looked up in every call.
 *
 * @module
 */

import { contextOf, type DeviceContext } from "../../hardware/device_context.ts";
import { recallKey, tuneKey } from "./autotune.ts";
import { canonicalText, type TuningValue } from "./canonical_text.ts";
import { tuningMode } from "./tuning_mode.ts";
import type { AutotunerOptions, TuningResult, TuningRun } from "./tuning_options.ts";
import { ACTION, prunedCandidates, readSettings, type TunerSettings } from "./tuning_settings.ts";

/**
 * The choices of one kernel on one device. {@linkcode Autotuner.tune} finds the choice for a key,
 * {@linkcode Autotuner.best} has it at once, without reading or timing anything.
 *
 * @typeParam Configuration What is chosen from.
 * @typeParam Prepared What is made for a configuration before it is timed.
 *
 * @example
 * ```ts
 * import { openDevice } from "@gridstride/cuda";
 * import { Autotuner } from "@gridstride/cuda/tuning";
 *
 * using device = openDevice();
 * using x = device.allocate("float32", 100_000, { fill: 1 });
 * const scale = device.kernels.load(
 *   "scale_float32(const float* x, float* out, float factor, float offset, unsigned long long n)",
 * );
 * const tuner = new Autotuner(device, {
 *   name: "scale",
 *   configurations: [{ block: 256 }, { block: 128 }, { block: 512 }],
 * });
 * const launch = ({ block }: { block: number }) =>
 *   scale.launch({ grid: Math.ceil(x.length / block), block }, x, x, 2, 0, x.length);
 * await tuner.tune(x.length, { launch, restore: [x] });
 * launch(tuner.best(x.length)); // in every call
 * ```
 */
export class Autotuner<const Configuration extends TuningValue, Prepared = undefined> {
  readonly #context: DeviceContext;
  readonly #settings: TunerSettings<Configuration, Prepared>;
  // Keys that are numbers or texts are found by themselves: no text has to be made of them.
  readonly #best = new Map<unknown, Configuration>();
  readonly #underWay = new Map<string, Promise<TuningResult<Configuration>>>();

  /**
   * Knows nothing yet, and reads nothing.
   *
   * @param device The device, or anything else that has its context.
   * @throws {TypeError | RangeError} If an option is wrong.
   */
  constructor(
    device: { readonly context: DeviceContext },
    options: AutotunerOptions<Configuration, Prepared>,
  ) {
    this.#context = contextOf(device, "device", ACTION);
    this.#settings = readSettings(options);
  }

  /** What is tuned. */
  get name(): string {
    return this.#settings.name;
  }

  /**
   * The configuration for a key: what `override` says, what was tuned or loaded, else the first one
   * that `prune` leaves. Reads and times nothing. A key that is a number or a text is found fastest.
   *
   * @throws {TypeError} If the key cannot be serialised.
   */
  best(key: TuningValue): Configuration {
    const { override } = this.#settings;
    if (override !== undefined) return override.configuration;
    const known = tuningMode() === "off" ? undefined : this.#best.get(lookupKey(key));
    return known ?? prunedCandidates(this.#settings, key)[0]!.configuration;
  }

  /**
   * Whether a choice for a key was tuned or loaded.
   *
   * @throws {TypeError} If the key cannot be serialised.
   */
  isTuned(key: TuningValue): boolean {
    return this.#best.has(lookupKey(key));
  }

  /**
   * Finds the choice for a key, timing what is not known yet. Who asks for a key that is being tuned
   * waits for it, and its own launches are not made.
   *
   * @throws {TypeError | RangeError} If an option is wrong, or the key cannot be serialised.
   * @throws {TuningError} If all configurations fail, or one takes the device with it.
   */
  async tune(
    key: TuningValue,
    run: TuningRun<Configuration, Prepared>,
  ): Promise<TuningResult<Configuration>> {
    const text = canonicalText(key, ACTION, "options.key");
    const running = this.#underWay.get(text);
    if (running !== undefined) return await running;
    const tuning = tuneKey(this.#context, this.#settings, key, run);
    this.#underWay.set(text, tuning);
    try {
      return this.#keep(key, await tuning);
    } finally {
      this.#underWay.delete(text);
    }
  }

  /**
   * Reads the choice for a key from the store, and times nothing.
   *
   * @returns Whether one was there.
   * @throws {TypeError} If the key cannot be serialised.
   * @throws {TuningError} If all configurations are known to fail.
   */
  async load(key: TuningValue): Promise<boolean> {
    const result = await recallKey(this.#context, this.#settings, key);
    this.#keep(key, result);
    return result.origin === "stored";
  }

  #keep(key: TuningValue, result: TuningResult<Configuration>): TuningResult<Configuration> {
    const isFound = result.origin === "timed" || result.origin === "stored";
    if (isFound) this.#best.set(lookupKey(key), result.best);
    return result;
  }
}

/** What a choice is found by: numbers by themselves, all others by a text that begins otherwise. */
function lookupKey(key: TuningValue): unknown {
  if (typeof key === "number" && Number.isFinite(key)) return key;
  if (typeof key === "string") return `"${key}`;
  return canonicalText(key, ACTION, "options.key");
}
