/**
 * Reads the bodies of `/v1/chat/completions` and `/v1/completions`.
 *
 * @module
 */

import { describeValue } from "../../ffi/describe_value.ts";
import type { ChatMessage } from "../tokenizer/chat_template.ts";
import type { GenerateOptions } from "../generation/settings.ts";
import { ApiError, refuseField } from "./api_error.ts";
import type { Model } from "../model.ts";

/**
 * The members of a {@linkcode Model} that a {@linkcode ModelServer} uses.
 * @category Server
 */
export type ServedModel = Pick<
  Model,
  "name" | "config" | "tokenizer" | "generate" | "statistics"
>;

/** The two forms of a completion: the answer in a chat, and the continuation of a text. */
export type CompletionKind = "chat" | "text";

/** A request that has been checked. */
export interface CompletionRequest {
  readonly kind: CompletionKind;
  /** The tokens of each prompt. A chat has one. */
  readonly prompts: readonly ArrayLike<number>[];
  readonly isStreamed: boolean;
  /** Whether a stream ends with the numbers of tokens. */
  readonly includesUsage: boolean;
  /** Whether the response has the log-probability of each token. */
  readonly hasLogProbabilities: boolean;
  /** The options of a choice of each prompt, apart from the signal. */
  readonly options: readonly GenerateOptions[];
}

type Fields = Readonly<Record<string, unknown>>;

/** Returns the value of a field, or refuses it. */
type Reader<T> = (value: unknown, name: string) => T;

const MAX_CHOICES = 128;
const MAX_PROMPTS = 128;
const MAX_STOPS = 16;

/** Defaults of OpenAI: the temperature, and the number of tokens that continue a text. */
const DEFAULT_TEMPERATURE = 1;
const TEXT_TOKENS = 16;

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function numberIn(minimum: number, maximum: number): Reader<number> {
  return (value, name) => {
    if (typeof value === "number" && value >= minimum && value <= maximum) return value;
    return refuseField(name, `a number in ${minimum}..${maximum}`, describeValue(value));
  };
}

function integerIn(minimum: number, maximum: number = Number.MAX_SAFE_INTEGER): Reader<number> {
  return (value, name) => {
    if (Number.isSafeInteger(value) && Number(value) >= minimum && Number(value) <= maximum) {
      return Number(value);
    }
    return refuseField(name, `an integer in ${minimum}..${maximum}`, describeValue(value));
  };
}

const flag: Reader<boolean> = (value, name) =>
  typeof value === "boolean" ? value : refuseField(name, "true or false", describeValue(value));

function stops(value: unknown, name: string): readonly string[] {
  const texts: readonly unknown[] = Array.isArray(value) ? value : [value];
  const isStop = (text: unknown) => typeof text === "string" && text !== "" && text.isWellFormed();
  if (texts.length <= MAX_STOPS && texts.every(isStop)) return texts as string[];
  return refuseField(
    name,
    `a nonempty string, or an array of up to ${MAX_STOPS} of them`,
    describeValue(value),
  );
}

/** The least share of probability; `generate()` refuses 0, which OpenAI takes. */
const MIN_TOP_P = 1e-6;

/** The fields that become options of `generate()`. The last three are no part of OpenAI's API. */
const OPTIONS: Readonly<Record<string, readonly [keyof GenerateOptions, Reader<unknown>]>> = {
  max_tokens: ["maxTokens", integerIn(1)],
  max_completion_tokens: ["maxTokens", integerIn(1)],
  temperature: ["temperature", numberIn(0, 2)],
  top_p: ["topP", (value, name) => Math.max(MIN_TOP_P, numberIn(0, 1)(value, name))],
  seed: ["seed", (value, name) => BigInt(integerIn(-Number.MAX_SAFE_INTEGER)(value, name))],
  stop: ["stop", stops],
  // Some clients write -1 for all tokens.
  top_k: ["topK", (value, name) => Math.max(0, integerIn(-1, 2 ** 31 - 1)(value, name))],
  min_p: ["minP", numberIn(0, 1)],
  repetition_penalty: ["repetitionPenalty", numberIn(0.01, 10)],
};

/** Fields that the readers of the request name. */
const READ: Readonly<Record<CompletionKind, readonly string[]>> = {
  chat: ["messages", "logprobs"],
  text: ["prompt", "logprobs"],
};
const READ_IN_BOTH: readonly string[] = ["model", "n", "stream", "stream_options"];

/** Fields that do not change the answer of a model that runs here. */
const IGNORED: readonly string[] = [
  "metadata",
  "parallel_tool_calls",
  "prompt_cache_key",
  "prompt_cache_retention",
  "safety_identifier",
  "service_tier",
  "store",
  "user",
];

/** Fields that are supported only with the values that leave the answer as it is, as JSON. */
const NEUTRAL: Readonly<Record<string, readonly string[]>> = {
  audio: [],
  best_of: ["1"],
  echo: ["false"],
  frequency_penalty: ["0"],
  function_call: ['"none"', '"auto"'],
  functions: ["[]"],
  logit_bias: ["{}"],
  modalities: ['["text"]'],
  prediction: [],
  presence_penalty: ["0"],
  response_format: ['{"type":"text"}'],
  suffix: ['""'],
  tool_choice: ['"none"', '"auto"'],
  tools: ["[]"],
  top_logprobs: ["0"],
  web_search_options: [],
};

function checkNames(body: Fields, kind: CompletionKind): void {
  const known = [...READ[kind], ...READ_IN_BOTH, ...IGNORED];
  for (const [name, value] of Object.entries(body)) {
    const neutral = Object.hasOwn(NEUTRAL, name) ? NEUTRAL[name] : undefined;
    if (neutral !== undefined) {
      if (neutral.includes(JSON.stringify(value))) continue;
      const allowed = ["absent", ...neutral].join(" or ");
      refuseField(name, allowed, describeValue(value), "unsupported_parameter");
    }
    if (known.includes(name) || Object.hasOwn(OPTIONS, name)) continue;
    throw new ApiError(400, `Cannot complete as there is no parameter ${describeValue(name)}`, {
      param: name,
      code: "unknown_parameter",
    });
  }
}

/** The text of a message: a string, or parts of text. */
function contentOf(message: Fields, place: string): string {
  const { content } = message;
  if (typeof content === "string") return content;
  // Answers of models without text, in the history of a client.
  if (content === null && message["role"] === "assistant") return "";
  if (!Array.isArray(content)) {
    return refuseField(`${place}.content`, "a string or an array", describeValue(content));
  }
  return content.map((part: unknown, index) => {
    const text = isFields(part) && part["type"] === "text" ? part["text"] : undefined;
    if (typeof text === "string") return text;
    const given = isFields(part) ? describeValue(part["type"]) : describeValue(part);
    return refuseField(`${place}.content[${index}]`, 'of type "text" with a text', given);
  }).join("");
}

const ROLES: readonly unknown[] = ["system", "developer", "user", "assistant"];

function messageOf(message: unknown, index: number): ChatMessage {
  const place = `messages[${index}]`;
  if (!isFields(message)) return refuseField(place, "an object", describeValue(message));
  const { role, content: _, name: _name, ...others } = message;
  if (!ROLES.includes(role)) {
    refuseField(`${place}.role`, ROLES.map(describeValue).join(", "), describeValue(role));
  }
  for (const [name, value] of Object.entries(others)) {
    // Clients send answers back as they came, with empty fields.
    if (value === null || (Array.isArray(value) && value.length === 0)) continue;
    refuseField(`${place}.${name}`, "absent", describeValue(value), "unsupported_parameter");
  }
  return {
    role: role === "developer" ? "system" : role as string,
    content: contentOf(message, place).toWellFormed(),
  };
}

function chatPrompt({ messages }: Fields, { tokenizer }: ServedModel): number[] {
  if (!Array.isArray(messages) || messages.length === 0) {
    const given = Array.isArray(messages) ? "empty" : describeValue(messages);
    return refuseField("messages", "a nonempty array", given);
  }
  const chat = messages.map(messageOf);
  try {
    return tokenizer.encodeChat(chat);
  } catch (error) {
    // Templates refuse conversations, for example two messages of a user in succession.
    throw new ApiError(400, (error as Error).message, { param: "messages", code: "invalid_value" });
  }
}

function textPrompts({ prompt }: Fields, { tokenizer }: ServedModel): ArrayLike<number>[] {
  const isToken = (id: unknown) =>
    Number.isInteger(id) && Number(id) >= 0 && Number(id) < tokenizer.vocabularySize;
  const isTokens = (value: unknown): value is number[] =>
    Array.isArray(value) && value.length > 0 && value.every(isToken);
  const all: readonly unknown[] = Array.isArray(prompt) && !isTokens(prompt) ? prompt : [prompt];
  if (all.length === 0 || all.length > MAX_PROMPTS) {
    refuseField("prompt", `one of 1..${MAX_PROMPTS} prompts`, `an array of ${all.length}`);
  }
  return all.map((each) => {
    if (typeof each === "string") return tokenizer.encode(each.toWellFormed());
    if (isTokens(each)) return each;
    const allowed = `a string or an array of tokens below ${tokenizer.vocabularySize}`;
    return refuseField("prompt", allowed, describeValue(each));
  });
}

function usageOf(body: Fields, isStreamed: boolean): boolean {
  const options = body["stream_options"];
  if (options === undefined) return false;
  if (!isStreamed || !isFields(options)) {
    refuseField("stream_options", "an object, and absent without stream", describeValue(options));
  }
  // Padding against observers of the network, which an answer may lack.
  const { include_usage = false, include_obfuscation: _, ...others } = options;
  for (const name of Object.keys(others)) {
    refuseField(`stream_options.${name}`, "absent", describeValue(others[name]));
  }
  return flag(include_usage, "stream_options.include_usage");
}

/** Log-probabilities are a flag in chats. In texts they are the number of alternatives. */
function logProbabilitiesOf(value: unknown, kind: CompletionKind): boolean {
  if (value === undefined) return false;
  if (kind === "chat") return flag(value, "logprobs");
  if (value === 0) return true;
  return refuseField("logprobs", "0 or absent", describeValue(value), "unsupported_parameter");
}

function checkModel(name: unknown, { name: served }: ServedModel): void {
  if (name === served || name === undefined) return;
  if (typeof name !== "string") refuseField("model", "a string", describeValue(name));
  const message = `The model ${describeValue(name)} does not exist: this is "${served}"`;
  throw new ApiError(404, message, { param: "model", code: "model_not_found" });
}

/** The options of each choice. With a seed, each choice has its own. */
function optionsOf(fields: Fields, kind: CompletionKind, choices: number): GenerateOptions[] {
  const given: Record<string, unknown> = {
    temperature: DEFAULT_TEMPERATURE,
    ...(kind === "text" ? { maxTokens: TEXT_TOKENS } : {}),
  };
  for (const [name, [option, read]] of Object.entries(OPTIONS)) {
    if (fields[name] !== undefined) given[option] = read(fields[name], name);
  }
  const { seed, ...options } = given as GenerateOptions;
  return Array.from({ length: choices }, (_, choice) => ({
    ...options,
    ...(seed === undefined ? {} : { seed: BigInt.asUintN(64, BigInt(seed) + BigInt(choice)) }),
  }));
}

/**
 * Reads the body of a request. A field that is null counts as absent, as with OpenAI.
 *
 * @throws {ApiError} If a field is malformed, unknown, or not supported.
 */
export function readCompletion(
  body: unknown,
  kind: CompletionKind,
  model: ServedModel,
): CompletionRequest {
  if (!isFields(body)) return refuseField("the body", "an object", describeValue(body));
  const fields: Fields = Object.fromEntries(
    Object.entries(body).filter(([, value]) => value !== null),
  );
  checkNames(fields, kind);
  checkModel(fields["model"], model);
  const { n = 1, stream = false } = fields;
  const choices = integerIn(1, MAX_CHOICES)(n, "n");
  const isStreamed = flag(stream, "stream");
  return {
    kind,
    isStreamed,
    includesUsage: usageOf(fields, isStreamed),
    hasLogProbabilities: logProbabilitiesOf(fields["logprobs"], kind),
    options: optionsOf(fields, kind, choices),
    // Last, because it takes the longest.
    prompts: kind === "chat" ? [chatPrompt(fields, model)] : textPrompts(fields, model),
  };
}
