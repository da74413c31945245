/**
 * Checks the configuration that a file gives, by the names of its fields.
 *
 * @module
 */

import { describeValue } from "../../ffi/describe_value.ts";
import { TensorFileError } from "../../tensor/mod.ts";
import type { ModelConfig } from "../config.ts";

/**
 * Limits far above any model, because sums and products of sizes must stay exact: a layer's weights
 * are at most 2^24 · 2^24 elements.
 */
const LIMITS = {
  layers: 2 ** 16,
  hiddenSize: 2 ** 24,
  feedForwardSize: 2 ** 24,
  heads: 2 ** 16,
  keyValueHeads: 2 ** 16,
  headSize: 2 ** 16,
  vocabularySize: 2 ** 24,
  contextLength: 2 ** 31 - 1,
} as const;

/** The names of a file's fields by those of the configuration, for messages. */
export type ConfigFields = Partial<Readonly<Record<keyof ModelConfig, string>>>;

/**
 * Checks a configuration.
 *
 * @param fields The names of the fields in the file.
 * @param subject The file in messages.
 * @throws {TensorFileError} If a value is out of range or contradicts another one.
 */
export function checkConfig(
  config: ModelConfig,
  fields: ConfigFields,
  subject: string,
): ModelConfig {
  const require = (isRight: boolean, name: keyof ModelConfig, allowed: string) => {
    if (isRight) return;
    throw new TensorFileError(
      `has ${fields[name] ?? name} ${describeValue(config[name])}, which must be ${allowed}`,
      subject,
    );
  };
  for (const [name, limit] of Object.entries(LIMITS) as [keyof typeof LIMITS, number][]) {
    const value = config[name];
    const isRight = Number.isInteger(value) && value >= 1 && value <= limit;
    require(isRight, name, `an integer in 1..${limit}`);
  }
  const { heads, keyValueHeads, headSize, epsilon, ropeTheta } = config;
  require(heads % keyValueHeads === 0, "keyValueHeads", `a divisor of ${heads} heads`);
  require(headSize % 2 === 0, "headSize", "even");
  require(epsilon > 0 && epsilon < 1, "epsilon", "above 0 and below 1");
  require(ropeTheta >= 1 && ropeTheta < Infinity, "ropeTheta", "finite and at least 1");
  const isToken = (token: number) =>
    Number.isInteger(token) && token >= 0 && token < config.vocabularySize;
  const tokens = `tokens below ${config.vocabularySize}`;
  require(config.beginToken === undefined || isToken(config.beginToken), "beginToken", tokens);
  require(config.endTokens.every(isToken), "endTokens", tokens);
  return config;
}
