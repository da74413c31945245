/**
 * `gridstride serve`: the OpenAI API and a chat page for a model.
 *
 * @module
 */

import { isLoopback, type Model, ModelServer, type ServedRequest } from "../device/bitnet.ts";
import { formatBytes } from "../lab/memory/mod.ts";
import { type Command, EXIT, FileProblem, type Invocation, labelOf, printText } from "./command.ts";
import { formatNumber, plural, printable } from "./format.ts";
import { Interrupted, Interruption, loadModel, MODEL_FILES, MODEL_OPTIONS } from "./model.ts";
import { integerOption, sizeOption, textOption } from "./options.ts";

const DEFAULTS = { host: "127.0.0.1", port: 8000, sequences: 64, answers: 128 } as const;

/** Characters of a model's name that are shown. */
const MAX_NAME = 80;

/** The longest time for clients to read the rest of answers that are complete. */
const SHUTDOWN_SECONDS = 30;

/** Paths that programs request all the time. */
const POLLED: readonly string[] = ["/health", "/metrics"];

/** A line on standard error for each request. */
function logRequest(request: ServedRequest): void {
  const { method, path, status, seconds, promptTokens, generatedTokens, error } = request;
  if (POLLED.includes(path)) return;
  const tokens = promptTokens === 0 ? [] : [`${promptTokens} + ${generatedTokens} tokens`];
  const reason = error instanceof Error && status !== "aborted" ? [error.message] : [];
  const time = new Date().toLocaleTimeString("en-GB");
  const what = [`${seconds.toFixed(3)} s`, ...tokens, ...reason].join(" · ");
  // A path may contain what a terminal would obey.
  const line = `${time} ${method} ${path} ${status} ${what}`.replaceAll(/\p{C}/gu, "\ufffd");
  console.error(line);
}

function listen(
  server: ModelServer,
  hostname: string,
  port: number,
): Deno.HttpServer<Deno.NetAddr> {
  try {
    return Deno.serve({ hostname, port, onListen: () => {} }, server.fetch);
  } catch (error) {
    // A port in use, a name without an address, or no permission of the system.
    throw new FileProblem(`Cannot listen at ${hostname}:${port}: ${(error as Error).message}`);
  }
}

/**
 * Waits until clients have read their answers, but not for ever: one that has stopped to send or to
 * read holds its connection open. The end of the process closes it.
 */
async function shutDown(http: Deno.HttpServer): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, 1000 * SHUTDOWN_SECONDS);
  await Promise.race([http.shutdown(), late]);
  clearTimeout(timer);
}

function serverOptions(invocation: Invocation, hostname: string) {
  const maxBodyBytes = sizeOption(invocation, "max-body", 2 ** 30);
  const apiKey = textOption(invocation, "api-key") ?? Deno.env.get("GRIDSTRIDE_API_KEY");
  return {
    maxAnswers: integerOption(invocation, "max-answers", 1, 2 ** 20) ?? DEFAULTS.answers,
    ...(maxBodyBytes === undefined ? {} : { maxBodyBytes }),
    ...(apiKey === undefined ? {} : { apiKey }),
    allowedOrigins: invocation.lists["allow-origin"] ?? [],
    isLocal: isLoopback(hostname),
    onRequest: logRequest,
  };
}

async function serve(invocation: Invocation): Promise<number> {
  const hostname = textOption(invocation, "host") ?? DEFAULTS.host;
  const port = integerOption(invocation, "port", 0, 65535) ?? DEFAULTS.port;
  const options = serverOptions(invocation, hostname);
  const maxSequences = integerOption(invocation, "max-sequences", 1, 1024) ?? DEFAULTS.sequences;
  const exit = (): void => Deno.exit(EXIT.interrupted);
  let end = exit;
  using interruption = new Interruption(() => end());
  const { signal } = interruption;
  const { promise, resolve: onLoaded } = Promise.withResolvers<Model>();
  const server = new ModelServer(promise, options);
  const http = listen(server, hostname, port);
  await using cleanup = new AsyncDisposableStack();
  cleanup.defer(() => shutDown(http));
  try {
    await using loaded = await loadModel(invocation, { maxSequences, signal });
    // Compiles most kernels before the first request. Others, for more answers at once or more
    // positions, are compiled by the first request that needs them.
    await loaded.model.generate("Hello", { maxTokens: 2, signal }).text();
    onLoaded(loaded.model);
    const host = http.addr.hostname.includes(":") ? `[${http.addr.hostname}]` : http.addr.hostname;
    const url = `http://${host}:${http.addr.port}`;
    const { model, device, seconds } = loaded;
    if (invocation.json) {
      printText(JSON.stringify({ url, model: model.name, device: labelOf(device) }));
    } else {
      const { pages, pageSize, cacheBytes } = model.statistics();
      printText(
        `${printable(model.name, MAX_NAME)} on ${labelOf(device)}, loaded in ${
          formatNumber(seconds)
        } s
cache: ${plural((pages * pageSize).toLocaleString("en"), "token")}, ${formatBytes(cacheBytes)}
chat page: ${url}/
OpenAI API: ${url}/v1    metrics: ${url}/metrics
Ctrl-C ends it.`,
      );
    }
    await new Promise((resolve) => {
      signal.addEventListener("abort", resolve);
      if (signal.aborted) resolve(undefined);
    });
    // The second interruption ends the answers that the first waits for, and the next one the
    // process.
    end = () => {
      end = exit;
      server.abort();
    };
    console.error("Waiting for the answers that run; Ctrl-C ends them.");
    await server.drain();
    end = exit;
    return EXIT.done;
  } catch (error) {
    if (error instanceof Interrupted) return EXIT.interrupted;
    throw error;
  }
}

export const SERVE: Command = {
  name: "serve",
  summary: "serve a model by the OpenAI API, with a chat page",
  arguments: "<MODEL>",
  description: `Loads a BitNet model and answers requests of the OpenAI API, many at once:
/v1/chat/completions, /v1/completions and /v1/models. At / is a page to chat with the model, at
/health its state, and at /metrics figures for Prometheus. Requests are listed on standard error.

MODEL is ${MODEL_FILES}.`,
  options: {
    "--host <HOST>": `the address to listen at [${DEFAULTS.host}, for this machine only]`,
    "--port <PORT>": `the port; 0 for any [${DEFAULTS.port}]`,
    "--api-key <KEY>": "the key that clients must send [GRIDSTRIDE_API_KEY, else none]",
    "--max-sequences <N>": `answers that run at once [${DEFAULTS.sequences}]`,
    "--max-answers <N>": `answers that run or wait; 429 beyond [${DEFAULTS.answers}]`,
    "--max-body <SIZE>": "the largest request [1MiB]",
    ...MODEL_OPTIONS,
  },
  lists: { "--allow-origin <ORIGIN>": "a web page that may use the API from a browser, or *" },
  details: `Ctrl-C waits for the answers that run, a second one ends them, and a further one the
process.

With --json: { url, model, device }, when the model is loaded.

Exit code 1 if MODEL cannot be read or run, or if the port is in use; 130 if Ctrl-C has ended the
loading or the process.`,
  run: serve,
};
