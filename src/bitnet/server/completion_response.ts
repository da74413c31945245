/**
 * Answers completions in the form of the OpenAI API, as a whole or as a stream of events.
 *
 * @module
 */

import type { GeneratedPiece, Generation } from "../generation/generation.ts";
import type { CompletionRequest, ServedModel } from "./completion_request.ts";

/** The generations of a request and their effects on the server. */
export interface RunningCompletion {
  readonly request: CompletionRequest;
  readonly model: ServedModel;
  /** Those of a prompt in succession, in the order of the prompts. */
  readonly generations: readonly Generation[];
  /** Takes each piece when it arrives. */
  onPiece(generation: Generation): void;
  /** Ends the generations. */
  cancel(): void;
  /** Takes the end: the error that ended the generations, if any. Returns its JSON for clients. */
  onEnd(error?: unknown): unknown;
}

type Json = Readonly<Record<string, unknown>>;

/** A token with its log-probability, in the form of chats. */
function chatToken({ token, logProbability }: GeneratedPiece, { tokenizer }: ServedModel): Json {
  const text = tokenizer.decode([token], { skipSpecialTokens: false });
  // A token may be part of a character.
  const bytes = text.includes("\ufffd") ? null : [...new TextEncoder().encode(text)];
  return { token: text, logprob: logProbability, bytes, top_logprobs: [] };
}

/** The tokens of one choice in the form that the kind of completion has. */
class LogProbabilities {
  readonly #completion: RunningCompletion;
  #offset = 0;

  constructor(completion: RunningCompletion) {
    this.#completion = completion;
  }

  of(pieces: readonly GeneratedPiece[]): Json | null {
    const { request, model } = this.#completion;
    if (!request.hasLogProbabilities) return null;
    const tokens = pieces.map((piece) => chatToken(piece, model));
    if (request.kind === "chat") return { content: tokens, refusal: null };
    const texts = tokens.map(({ token }) => token as string);
    const text_offset = texts.map((text) => (this.#offset += text.length) - text.length);
    const token_logprobs = pieces.map(({ logProbability }) => logProbability);
    return { tokens: texts, token_logprobs, top_logprobs: null, text_offset };
  }
}

/** The fields of all objects of a response. */
function headOf({ request: { kind, isStreamed }, model }: RunningCompletion): Json {
  const isChat = kind === "chat";
  return {
    id: `${isChat ? "chatcmpl" : "cmpl"}-${crypto.randomUUID().replaceAll("-", "")}`,
    object: isChat ? `chat.completion${isStreamed ? ".chunk" : ""}` : "text_completion",
    created: Math.floor(Date.now() / 1000),
    model: model.name,
    system_fingerprint: null,
  };
}

/** The numbers of tokens. A prompt counts once for all its choices. */
function usageOf({ request, generations }: RunningCompletion): Json {
  const prompt_tokens = generations.filter((_, index) => index % request.options.length === 0)
    .reduce((sum, { promptTokens }) => sum + promptTokens, 0);
  const completion_tokens = generations
    .reduce((sum, { generatedTokens }) => sum + generatedTokens, 0);
  return { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens };
}

/** Runs all generations at once. The first that fails ends the others. */
async function runAll<Result>(
  completion: RunningCompletion,
  run: (generation: Generation, index: number) => Promise<Result>,
): Promise<Result[]> {
  const runs = completion.generations.map(run);
  try {
    return await Promise.all(runs);
  } catch (error) {
    completion.cancel();
    await Promise.allSettled(runs);
    throw error;
  }
}

async function choicesOf(completion: RunningCompletion, onFirst: () => void): Promise<Json[]> {
  const isChat = completion.request.kind === "chat";
  return await runAll(completion, async (generation, index) => {
    const pieces: GeneratedPiece[] = [];
    for await (const piece of generation) {
      pieces.push(piece);
      completion.onPiece(generation);
      onFirst();
    }
    const content = pieces.map(({ text }) => text).join("");
    return {
      index,
      ...(isChat ? { message: { role: "assistant", content, refusal: null } } : { text: content }),
      logprobs: new LogProbabilities(completion).of(pieces),
      finish_reason: generation.finishReason,
    };
  });
}

/**
 * Runs a completion and returns the JSON of its response when the first token has been made. Deno
 * notices that a client has left only if the response has begun.
 *
 * @throws The error that ended a generation before the first token. A later one ends the body.
 */
export async function wholeCompletion(
  completion: RunningCompletion,
): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> {
  const begun = Promise.withResolvers<void>();
  const text = choicesOf(completion, begun.resolve).then((choices) => {
    completion.onEnd();
    return JSON.stringify({ ...headOf(completion), choices, usage: usageOf(completion) });
  }, (error) => {
    completion.onEnd(error);
    throw error;
  });
  text.then(() => begun.resolve(), begun.reject);
  await begun.promise;
  return new ReadableStream({
    async pull(controller) {
      controller.enqueue(new TextEncoder().encode(await text));
      controller.close();
    },
    cancel: completion.cancel,
  });
}

/** Text that producers append to, and a client reads when it can. */
class EventStream {
  #pending = "";
  #hasEnded = false;
  #wake: (() => void) | undefined;
  readonly body: ReadableStream<Uint8Array<ArrayBuffer>>;

  constructor(onCancel: () => void) {
    this.body = new ReadableStream({
      pull: async (controller) => {
        while (this.#pending === "" && !this.#hasEnded) {
          await new Promise<void>((resolve) => this.#wake = resolve);
        }
        if (this.#pending !== "") controller.enqueue(new TextEncoder().encode(this.#pending));
        else controller.close();
        this.#pending = "";
      },
      cancel: onCancel,
    });
  }

  /** Sends an event. What a slow client has not read yet is sent at once when it can. */
  send(value: unknown): void {
    this.#pending += `data: ${typeof value === "string" ? value : JSON.stringify(value)}\n\n`;
    this.#wake?.();
  }

  end(): void {
    this.#hasEnded = true;
    this.#wake?.();
  }
}

/** Runs a completion and returns its server-sent events. */
export function streamedCompletion(
  completion: RunningCompletion,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const { request } = completion;
  const events = new EventStream(completion.cancel);
  const head = headOf(completion);
  const noUsage = request.includesUsage ? { usage: null } : {};
  const send = (index: number, text: string | undefined, logprobs: Json | null, end?: string) => {
    const content = request.kind === "text"
      ? { text: text ?? "" }
      : { delta: text === undefined ? {} : { content: text } };
    const choice = { index, ...content, logprobs, finish_reason: end ?? null };
    events.send({ ...head, choices: [choice], ...noUsage });
  };
  const run = async (generation: Generation, index: number) => {
    const logProbabilities = new LogProbabilities(completion);
    let hasStarted = request.kind === "text";
    const start = () => {
      if (hasStarted) return;
      hasStarted = true;
      const delta = { role: "assistant", content: "", refusal: null };
      const choices = [{ index, delta, logprobs: null, finish_reason: null }];
      events.send({ ...head, choices, ...noUsage });
    };
    for await (const piece of generation) {
      completion.onPiece(generation);
      start();
      if (piece.text === "" && !request.hasLogProbabilities) continue;
      send(index, piece.text, logProbabilities.of([piece]));
    }
    start();
    send(index, undefined, null, generation.finishReason);
  };
  runAll(completion, run).then(() => {
    completion.onEnd();
    if (request.includesUsage) events.send({ ...head, choices: [], usage: usageOf(completion) });
    events.send("[DONE]");
  }, (error) => events.send(completion.onEnd(error))).finally(() => events.end());
  return events.body;
}
