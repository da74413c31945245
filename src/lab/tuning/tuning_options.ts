/**
 * What can be said of a tuning.
 *
 * @module
 */

import type { DeviceBuffer } from "../../memory/device_buffer.ts";
import type { Stream } from "../../stream/stream.ts";
import type { TuningValue } from "./canonical_text.ts";

/** Where the results of tunings are kept. */
export type TuningStorage = "disk" | "memory" | false;

/**
 * What all tunings of one kernel have in common.
 *
 * @typeParam Configuration What is chosen from.
 * @typeParam Prepared What is made for a configuration before it is timed.
 */
export interface AutotunerOptions<Configuration extends TuningValue, Prepared = undefined> {
  /** What is tuned: results are kept by this name. */
  readonly name: string;
  /**
   * What is chosen from, in the order of preference: the first is what is used without tuning, and
   * keeps its place unless another is faster beyond the noise, twice: among all, and once more a
   * little later beside the first alone.
   */
  readonly configurations: readonly Configuration[];
  /**
   * Makes what a configuration needs, such as a module compiled for it, before anything is timed;
   * several at once. What it returns is handed to `launch`, and disposed when the tuning is over if
   * it can be.
   */
  readonly prepare?: (configuration: Configuration) => Prepared | Promise<Prepared>;
  /** Leaves out configurations that are not worth timing for a key; at least one must stay. */
  readonly prune?: (
    configurations: readonly Configuration[],
    key: TuningValue,
  ) => Iterable<Configuration>;
  /**
   * State of what is tuned: another text finds no results of this one. To be changed with the
   * kernel.
   */
  readonly version?: string;
  /** Takes this one of the configurations for every key, and times nothing. */
  readonly override?: Configuration;
  /**
   * Where results are kept: `"disk"` by default, for other processes too, where the compiled kernels
   * lie; `"memory"` until this process ends; `false` not at all. Where the disk cannot be used they
   * are kept in memory. That a configuration fails is kept as well, unless none runs or the error is
   * one of the program, such as a `TypeError`.
   */
  readonly store?: TuningStorage;
  /** Rounds before the first that counts: 0 to 1000; 2 by default. */
  readonly warmUp?: number;
  /**
   * Rounds that count, at most: 1 to 10 000; 30 by default. With fewer than 8 nothing is dropped
   * early but what is clearly slower.
   */
  readonly repeats?: number;
  /**
   * Whether the level-2 cache is overwritten before each launch, as in `timeKernel()`; `true` by
   * default.
   */
  readonly flushCache?: boolean;
}

/** One tuning: what is launched, and what that changes. */
export interface TuningRun<Configuration extends TuningValue, Prepared = undefined> {
  /**
   * Enqueues the work of a configuration on the stream, and returns: what it enqueues elsewhere is
   * not timed. Called many times.
   */
  readonly launch: (configuration: Configuration, prepared: Prepared) => void;
  /**
   * Buffers that a launch writes to. Before each launch, and in the end, they hold what they held in
   * the beginning. It takes as much memory again.
   */
  readonly restore?: readonly DeviceBuffer[];
  /** The stream that `launch` enqueues on; the device's default stream when absent. */
  readonly stream?: Stream;
  /** Ends the tuning between two launches; nothing is kept. */
  readonly signal?: AbortSignal;
}

/** Options of {@linkcode autotune}. */
export interface AutotuneOptions<Configuration extends TuningValue, Prepared = undefined>
  extends AutotunerOptions<Configuration, Prepared>, TuningRun<Configuration, Prepared> {
  /**
   * What the choice depends on besides the device, such as `{ rows, columns, dtype }`: each key has
   * results of its own.
   */
  readonly key: TuningValue;
}

/** What is known of one configuration. */
export interface TuningRow<Configuration extends TuningValue = TuningValue> {
  /** It. */
  readonly configuration: Configuration;
  /**
   * The median time of a launch on the device; `Infinity` where it failed. Times of several tunings
   * are on the scale of the first: those of what was added later are corrected by what the best one
   * took in both.
   */
  readonly medianMicroseconds: number;
  /** Whether it failed. */
  readonly failed: boolean;
  /** Why. */
  readonly reason?: string;
  /** The time of each launch that counted, in order. */
  readonly samples: readonly number[];
  /** Whether it was dropped because another was sure to be faster. */
  readonly stoppedEarly: boolean;
  /**
   * Whether it seemed to be the best, but was not faster than the first when the two of them were
   * timed once more alone. It is not taken then.
   */
  readonly refuted: boolean;
}

/**
 * Where a choice comes from: it was timed just now, found in the store, asked for by `override`, or
 * is the first configuration because nothing is known and nothing was to be timed.
 */
export type TuningOrigin = "timed" | "stored" | "override" | "default";

/** What came of a tuning. */
export interface TuningResult<Configuration extends TuningValue = TuningValue> {
  /** The configuration to use. */
  readonly best: Configuration;
  /** Where it comes from. */
  readonly origin: TuningOrigin;
  /** All that is known of the configurations, in their order; empty where nothing was asked. */
  readonly report: readonly TuningRow<Configuration>[];
}
