/**
 * What a caller may choose for a generation.
 *
 * @module
 */

import { checkInteger, refuseOption, requireOptions } from "../../ffi/arguments.ts";
import { StopMatcher } from "../tokenizer/stop_matcher.ts";

/**
 * Options of `Model.generate()` and `Model.chat()`.
 *
 * Tokens are chosen from those that `topK`, `topP` and `minP` leave, in this order: the repetition
 * penalty, the temperature, `topK`, `topP`, `minP`. Tokens that are equally likely as the last one
 * left are left too.
 * @category Generation
 */
export interface GenerateOptions {
  /** The largest number of new tokens; by default as many as the context takes. */
  readonly maxTokens?: number;
  /** Divides the logits; 0, the default, always takes the likeliest token. */
  readonly temperature?: number;
  /** Leaves so many of the likeliest tokens; 0, the default, all. */
  readonly topK?: number;
  /** Leaves the least number of the likeliest tokens that have this probability together; 1 by default. */
  readonly topP?: number;
  /** Leaves the tokens with at least this share of the largest probability; 0 by default. */
  readonly minP?: number;
  /**
   * Positive logits of tokens in the prompt or the answer are divided by it, negative ones multiplied;
   * 1 by default.
   */
  readonly repetitionPenalty?: number;
  /**
   * An integer in 0..2^64-1. The same seed gives the same answer whatever else the model does, up to
   * rounding: on a GPU, sums of logits may be rounded otherwise beside other requests, which changes
   * an answer where two tokens are all but equally likely. Without it each call has a new one.
   */
  readonly seed?: number | bigint;
  /** Texts that end the answer, which does not have them. */
  readonly stop?: string | readonly string[];
  /** Ends the generation with the signal's reason as the error. */
  readonly signal?: AbortSignal;
}

/** How the tokens of a request are chosen. */
export interface SamplingSettings {
  readonly temperature: number;
  /** 0 for all. */
  readonly topK: number;
  readonly topP: number;
  readonly minP: number;
  readonly repetitionPenalty: number;
  readonly seed: bigint;
}

/** All options, checked. */
export interface GenerationSettings extends SamplingSettings {
  readonly maxTokens: number;
  readonly stop: readonly string[];
  readonly signal: AbortSignal | undefined;
}

const NAMES = [
  "maxTokens",
  "temperature",
  "topK",
  "topP",
  "minP",
  "repetitionPenalty",
  "seed",
  "stop",
  "signal",
];

/** Checks options. */
export function requireSettings(options: GenerateOptions, action: string): GenerationSettings {
  requireOptions(options, NAMES, action);
  const number = (name: keyof GenerateOptions, otherwise: number, allowed: string, is: unknown) => {
    const value = options[name] ?? otherwise;
    const passes = is as (value: number) => boolean;
    if (typeof value !== "number") refuseOption(TypeError, action, name, allowed, value);
    return passes(value) ? value : refuseOption(RangeError, action, name, allowed, value);
  };
  const { maxTokens = Infinity, topK = 0, stop = [], signal } = options;
  if (maxTokens !== Infinity) {
    checkInteger(maxTokens, "options.maxTokens", action, 1, Number.MAX_SAFE_INTEGER);
  }
  checkInteger(topK, "options.topK", action, 0, 2 ** 31 - 1);
  const isSeed = options.seed === undefined || typeof options.seed === "bigint" ||
    Number.isSafeInteger(options.seed);
  const seed = isSeed
    ? BigInt(options.seed ?? crypto.getRandomValues(new BigUint64Array(1))[0]!)
    : -1n;
  if (seed < 0n || seed >= 2n ** 64n) {
    refuseOption(RangeError, action, "seed", "an integer in 0..2^64-1", options.seed);
  }
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    refuseOption(TypeError, action, "signal", "an AbortSignal", signal);
  }
  const stops = typeof stop === "string" ? [stop] : stop;
  new StopMatcher(stops);
  return {
    maxTokens,
    temperature: number(
      "temperature",
      0,
      "a finite number of at least 0",
      (it: number) => it >= 0 && Number.isFinite(it),
    ),
    topK,
    topP: number("topP", 1, "above 0 and at most 1", (it: number) => it > 0 && it <= 1),
    minP: number("minP", 0, "in 0..1", (it: number) => it >= 0 && it <= 1),
    repetitionPenalty: number(
      "repetitionPenalty",
      1,
      "a finite positive number",
      (it: number) => it > 0 && Number.isFinite(it),
    ),
    seed,
    stop: [...stops],
    signal,
  };
}
