/**
 * `gridstride generate`: a model's text, as it is made.
 *
 * @module
 */

import type { GenerateOptions, Model } from "../device/bitnet.ts";
import { formatBytes } from "../lab/memory/mod.ts";
import {
  type Command,
  EXIT,
  type Invocation,
  labelOf,
  printResult,
  printText,
  throwFileProblem,
} from "./command.ts";
import { formatNumber, plural } from "./format.ts";
import { Interrupted, Interruption, loadModel, MODEL_FILES, MODEL_OPTIONS } from "./model.ts";
import { integerOption, numberOption, textOption } from "./options.ts";

/** The times and sizes of an answer. */
interface Figures {
  readonly promptTokens: number;
  readonly generatedTokens: number;
  readonly loadSeconds: number;
  readonly secondsToFirstToken: number | null;
  /** Tokens after the first, by the time that they took. */
  readonly tokensPerSecond: number | null;
  readonly device: string;
  readonly memoryBytes: number;
  readonly cacheBytes: number;
}

/** The options of the generation; those that are not given have the library's defaults. */
function generateOptions(invocation: Invocation): GenerateOptions {
  const options = {
    maxTokens: integerOption(invocation, "max-tokens", 1, 2 ** 24),
    temperature: numberOption(invocation, "temperature", 0, 100),
    topK: integerOption(invocation, "top-k", 0, 2 ** 31 - 1),
    topP: numberOption(invocation, "top-p", 1e-6, 1),
    minP: numberOption(invocation, "min-p", 0, 1),
    repetitionPenalty: numberOption(invocation, "repetition-penalty", 0.01, 100),
    seed: integerOption(invocation, "seed", 0, Number.MAX_SAFE_INTEGER),
    stop: invocation.lists["stop"],
  };
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given);
}

async function promptOf({ positional: [, prompt] }: Invocation): Promise<string> {
  if (prompt !== "-") return prompt!;
  return await new Response(Deno.stdin.readable).text();
}

function start(model: Model, prompt: string, invocation: Invocation, signal: AbortSignal) {
  const options = { ...generateOptions(invocation), signal };
  const system = textOption(invocation, "system");
  if (invocation.options["chat"] !== true && system === undefined) {
    return model.generate(prompt, options);
  }
  const first = system === undefined ? [] : [{ role: "system", content: system }];
  return model.chat([...first, { role: "user", content: prompt }], options);
}

/** Writes a piece of text. On a terminal, control sequences of a model must have no effect. */
function writePiece(text: string): void {
  const shown = Deno.stdout.isTerminal() ? text.replaceAll(/(?![\n\t])\p{Cc}/gu, "\ufffd") : text;
  const bytes = new TextEncoder().encode(shown);
  try {
    for (let written = 0; written < bytes.length;) {
      written += Deno.stdout.writeSync(bytes.subarray(written));
    }
  } catch (error) {
    throwFileProblem("print the result", error);
  }
}

function describeFigures(figures: Figures): string {
  const { promptTokens, generatedTokens, loadSeconds, device } = figures;
  const { secondsToFirstToken, tokensPerSecond, memoryBytes, cacheBytes } = figures;
  return [
    plural(promptTokens, "prompt token"),
    plural(generatedTokens, "token"),
    ...(tokensPerSecond === null ? [] : [`${formatNumber(tokensPerSecond)} tokens/s`]),
    ...(secondsToFirstToken === null
      ? []
      : [`first after ${formatNumber(1000 * secondsToFirstToken)} ms`]),
    `loaded in ${formatNumber(loadSeconds)} s`,
    `${formatBytes(memoryBytes)} on ${device}, ${formatBytes(cacheBytes)} of it cache`,
  ].join(" · ");
}

async function generate(invocation: Invocation): Promise<number> {
  // Errors of options come before a model is loaded.
  generateOptions(invocation);
  const prompt = await promptOf(invocation);
  using interruption = new Interruption(() => Deno.exit(EXIT.interrupted));
  const { signal } = interruption;
  try {
    await using loaded = await loadModel(invocation, { maxSequences: 1, signal });
    const { model, device } = loaded;
    const begin = performance.now();
    const generation = start(model, prompt, invocation, signal);
    let text = "";
    let first: number | undefined;
    const figures = (): Figures => {
      const later = generation.generatedTokens - 1;
      return {
        promptTokens: generation.promptTokens,
        generatedTokens: generation.generatedTokens,
        loadSeconds: loaded.seconds,
        secondsToFirstToken: first === undefined ? null : (first - begin) / 1000,
        tokensPerSecond: first === undefined || later === 0
          ? null
          : 1000 * later / (performance.now() - first),
        device: labelOf(device),
        memoryBytes: device.pool.stats().reserved,
        cacheBytes: model.statistics().cacheBytes,
      };
    };
    try {
      for await (const piece of generation) {
        first ??= performance.now();
        text += piece.text;
        if (!invocation.json) writePiece(piece.text);
      }
    } finally {
      // The line of figures, and a prompt of the shell, begin on a line of their own.
      if (!invocation.json && text !== "" && !text.endsWith("\n")) printText("");
    }
    const result = { text, finishReason: generation.finishReason, ...figures() };
    if (invocation.json) printResult(invocation, result, () => "");
    else console.error(describeFigures(result));
    return EXIT.done;
  } catch (error) {
    if (error instanceof Interrupted) return EXIT.interrupted;
    throw error;
  }
}

export const GENERATE: Command = {
  name: "generate",
  summary: "print the text that a model makes of a prompt",
  arguments: "<MODEL> <PROMPT>",
  description:
    `Continues a prompt with a BitNet model, or answers it with --chat, and prints the text
as it is made. The likeliest token is always taken, unless --temperature is given. With the prompt
"-", it is read from standard input.

MODEL is ${MODEL_FILES}.`,
  options: {
    "--chat": "take the prompt as a message in a conversation, by the model's chat template",
    "--system <TEXT>": "the message that begins the conversation; implies --chat",
    "--max-tokens <N>": "stop after so many tokens [as many as the context takes]",
    "--temperature <T>": "divide the logits by this; 0 takes the likeliest token [0]",
    "--top-k <N>": "choose among so many of the likeliest tokens; 0 for all [0]",
    "--top-p <P>": "choose among the likeliest tokens with this probability together [1]",
    "--min-p <P>": "choose among tokens with this share of the largest probability [0]",
    "--repetition-penalty <R>": "make tokens that have occurred less likely [1]",
    "--seed <N>": "the same seed gives the same text",
    ...MODEL_OPTIONS,
  },
  lists: { "--stop <TEXT>": "end before this text" },
  details: `The figures at the end, on standard error, are tokens per second after the first token,
the time to the first token, and the memory of the device.

With --json: { text, finishReason, promptTokens, generatedTokens, loadSeconds, secondsToFirstToken,
tokensPerSecond, device, memoryBytes, cacheBytes }. The finish reason is "stop" or "length".

Exit code 1 if MODEL cannot be read or run, 130 if Ctrl-C has ended it.`,
  run: generate,
};
