/**
 * Loads the model of a command, with a bar of its progress.
 *
 * @module
 */

import { type I2sLayout, type Model, type ModelOptions, openModel } from "../device/bitnet.ts";
import { type Device, openDevice } from "../../mod.ts";
import { formatBytes } from "../lab/memory/mod.ts";
import {
  DEVICE_OPTION,
  FileProblem,
  type Invocation,
  isRefusal,
  showProgress,
  throwFileProblem,
} from "./command.ts";
import { progressBar } from "./format.ts";
import { integerOption, refuseOption, textOption } from "./options.ts";

const LAYOUTS: readonly string[] = [
  "i2s-128",
  "i2s-64",
  "i2s-seq",
  "bn32-twos",
  "bn32-offset2",
] satisfies I2sLayout[];

/** The option of commands that read a model's files. */
export const LAYOUT_OPTION = {
  "--layout <LAYOUT>": `the layout of I2_S weights: ${LAYOUTS.join(", ")}; detected by default`,
} as const;

/** The options of commands that load a model. */
export const MODEL_OPTIONS = {
  ...DEVICE_OPTION,
  "--cache-tokens <N>": "positions of the cache, of all answers together",
  ...LAYOUT_OPTION,
} as const;

/** The files that are a model, in descriptions of commands. */
export const MODEL_FILES =
  "a GGUF file, or a folder of Hugging Face with config.json and safetensors";

export function layoutOption(invocation: Invocation): { layout?: I2sLayout } {
  const layout = textOption(invocation, "layout");
  if (layout === undefined) return {};
  if (!LAYOUTS.includes(layout)) refuseOption("layout", `one of ${LAYOUTS.join(", ")}`, layout);
  return { layout: layout as I2sLayout };
}

/** A model on its device, which is closed after it. */
export interface LoadedModel extends AsyncDisposable {
  readonly model: Model;
  readonly device: Device;
  readonly seconds: number;
}

/** Throws the error of a model's files as a {@linkcode FileProblem}. */
function throwModelProblem(path: string, error: unknown): never {
  const isOfFiles = isRefusal(error) && ["Error", "TypeError", "RangeError"].includes(error.name);
  // A layout for a folder is a mistake of the command line.
  if (isOfFiles && !error.message.includes(" as options.")) throw new FileProblem(error.message);
  return throwFileProblem(`open ${path}`, error);
}

/** Loads the model that the first argument names. */
export async function loadModel(
  invocation: Invocation,
  options: Pick<ModelOptions, "maxSequences"> & { readonly signal: AbortSignal },
): Promise<LoadedModel> {
  const path = invocation.positional[0]!;
  const cacheTokens = integerOption(invocation, "cache-tokens", 1, 2 ** 24);
  const layout = layoutOption(invocation);
  const start = performance.now();
  const device = openDevice(invocation.device);
  try {
    const model = await openModel(path, {
      ...options,
      ...layout,
      ...(cacheTokens === undefined ? {} : { cacheTokens }),
      device,
      onProgress: (read, bytes) =>
        showProgress(`${progressBar(read / bytes)} ${formatBytes(read)} of ${formatBytes(bytes)}`),
    });
    return {
      model,
      device,
      seconds: (performance.now() - start) / 1000,
      async [Symbol.asyncDispose]() {
        await model[Symbol.asyncDispose]();
        device[Symbol.dispose]();
      },
    };
  } catch (error) {
    device[Symbol.dispose]();
    return throwModelProblem(path, error);
  } finally {
    showProgress("");
  }
}

/** Aborts a signal at Ctrl-C and at SIGTERM, instead of ending the process at once. */
export class Interruption implements Disposable {
  readonly #control = new AbortController();
  readonly #onSignal: () => void;

  /** @param onAgain Runs at each further interruption. */
  constructor(onAgain: () => void = () => {}) {
    this.#onSignal = () => {
      if (this.#control.signal.aborted) onAgain();
      else this.#control.abort(new Interrupted());
    };
    for (const signal of SIGNALS) Deno.addSignalListener(signal, this.#onSignal);
  }

  get signal(): AbortSignal {
    return this.#control.signal;
  }

  [Symbol.dispose](): void {
    for (const signal of SIGNALS) Deno.removeSignalListener(signal, this.#onSignal);
  }
}

const SIGNALS = ["SIGINT", "SIGTERM"] as const;

/** The reason of the signal: the user has interrupted the command. */
export class Interrupted extends Error {
  override name = "Interrupted";
}
