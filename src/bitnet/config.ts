/**
 * The shape of a ternary decoder.
 *
 * @module
 */

import { cannot, checkInteger, requireObject } from "../ffi/arguments.ts";
import { describeValue } from "../ffi/describe_value.ts";

/**
 * What a model file says about its decoder.
 * @category Files
 */
export interface ModelConfig {
  /** The name of the architecture in files. */
  readonly architecture: "bitnet-b1.58" | "bitnet" | "bitnet-25";
  /** The number of layers. */
  readonly layers: number;
  /** Elements of a token between layers. */
  readonly hiddenSize: number;
  /** Elements of the gate and its factor. */
  readonly feedForwardSize: number;
  /** Heads of queries. */
  readonly heads: number;
  /** Heads of keys and values, which divide those of queries. */
  readonly keyValueHeads: number;
  /** Elements of a head. */
  readonly headSize: number;
  /** The number of tokens, with those that a tokenizer may not use. */
  readonly vocabularySize: number;
  /** The number of positions for which the model was trained. */
  readonly contextLength: number;
  /** Added to the mean of squares in each norm. */
  readonly epsilon: number;
  /** The base of the rotary embedding. */
  readonly ropeTheta: number;
  /** Pairs of the rotary embedding: elements j and j + headSize / 2, or 2j and 2j + 1. */
  readonly ropePairs: "halves" | "interleaved";
  /** The function of the gate. */
  readonly activation: "squaredRelu" | "silu";
  /** Whether the outputs of attention and of the gate are normalised before their projections. */
  readonly hasSubNorms: boolean;
  /** Whether the embedding is the head too. */
  readonly isHeadTied: boolean;
  /** The token that begins a text; undefined if the file names none. */
  readonly beginToken: number | undefined;
  /** The tokens that end a text. */
  readonly endTokens: readonly number[];
}

const SIZES = [
  "layers",
  "hiddenSize",
  "feedForwardSize",
  "heads",
  "keyValueHeads",
  "headSize",
  "vocabularySize",
  "contextLength",
] as const;

/** The values of the names. */
const CHOICES = {
  architecture: ["bitnet-b1.58", "bitnet", "bitnet-25"],
  ropePairs: ["halves", "interleaved"],
  activation: ["squaredRelu", "silu"],
  hasSubNorms: [true, false],
  isHeadTied: [true, false],
} as const satisfies Partial<Record<keyof ModelConfig, readonly unknown[]>>;

/**
 * Checks that a decoder can have these sizes.
 *
 * @throws {TypeError} If a name or a flag is none of the allowed ones.
 * @throws {RangeError} If a number is out of range, or sizes contradict each other.
 */
export function requireConfig(config: ModelConfig, action: string): ModelConfig {
  requireObject(config, "config", action);
  for (const name of SIZES) checkInteger(config[name], `config.${name}`, action, 1, 2 ** 31 - 1);
  for (const [name, allowed] of Object.entries(CHOICES)) {
    const value = config[name as keyof typeof CHOICES];
    if ((allowed as readonly unknown[]).includes(value)) continue;
    throw new TypeError(
      `${cannot(action)} as config.${name} must be ${allowed.join(" or ")}: it is ${
        describeValue(value)
      }`,
    );
  }
  const { epsilon, ropeTheta, heads, keyValueHeads, headSize, hiddenSize } = config;
  const refuse = (name: string, allowed: string, value: unknown) => {
    throw new RangeError(
      `${cannot(action)} as config.${name} must be ${allowed}: it is ${describeValue(value)}`,
    );
  };
  if (!(epsilon >= 0 && Number.isFinite(epsilon))) {
    refuse("epsilon", "a finite number of at least 0", epsilon);
  }
  if (!(ropeTheta > 0 && Number.isFinite(ropeTheta))) {
    refuse("ropeTheta", "a positive number", ropeTheta);
  }
  if (heads % keyValueHeads !== 0) {
    refuse("keyValueHeads", `a divisor of ${heads}, the number of heads`, keyValueHeads);
  }
  if (headSize % 2 !== 0) refuse("headSize", "even", headSize);
  if (config.hasSubNorms && heads * headSize !== hiddenSize) {
    refuse("headSize", `${hiddenSize} / ${heads}, hiddenSize / heads`, headSize);
  }
  const tokens = [config.beginToken, ...config.endTokens].filter((token) => token !== undefined);
  for (const token of tokens) {
    checkInteger(token, "a token of config", action, 0, config.vocabularySize - 1);
  }
  return config;
}
