/**
 * Serves a model by the OpenAI API.
 *
 * @module
 */

import { createHash } from "node:crypto";
import { requireInteger, requireOptions } from "../../ffi/arguments.ts";
import { CudaError } from "../../ffi/cuda_error.ts";
import { describeValue } from "../../ffi/describe_value.ts";
import type { Generation } from "../generation/generation.ts";
import { ApiError, refuseField } from "./api_error.ts";
import CHAT_PAGE from "./chat_page.html" with { type: "text" };
import {
  type CompletionKind,
  type CompletionRequest,
  readCompletion,
  type ServedModel,
} from "./completion_request.ts";
import {
  type RunningCompletion,
  streamedCompletion,
  wholeCompletion,
} from "./completion_response.ts";
import { RequestGuard } from "./request_guard.ts";
import { type ModelMetric, ServerMetrics } from "./server_metrics.ts";

/**
 * A request that a {@linkcode ModelServer} has answered.
 * @category Server
 */
export interface ServedRequest {
  /** The method, such as `POST`. */
  readonly method: string;
  /** The path, without parameters. */
  readonly path: string;
  /** The status of the response; `"aborted"` if the client left before the end of the answer. */
  readonly status: number | "aborted";
  /** Seconds from the request to the end of its answer. */
  readonly seconds: number;
  /** Tokens of the prompts; 0 for anything but a completion. */
  readonly promptTokens: number;
  /** Tokens of the answers. */
  readonly generatedTokens: number;
  /** The error that has ended the answer. */
  readonly error?: unknown;
}

/**
 * Options of {@linkcode ModelServer}.
 * @category Server
 */
export interface ModelServerOptions {
  /**
   * Maximum number of answers that run or wait, 128 by default. Requests beyond it are answered with
   * the status 429.
   */
  readonly maxAnswers?: number;
  /** Maximum size of the body of a request; 1 MiB by default. */
  readonly maxBodyBytes?: number;
  /** The key that clients must send as `Authorization: Bearer <key>`; none by default. */
  readonly apiKey?: string;
  /** Origins whose pages may use the API, such as `https://example.com`, or `*`; none by default. */
  readonly allowedOrigins?: readonly string[];
  /**
   * Whether requests must name this machine, as `localhost`, `[::1]` or an address such as
   * `127.0.0.1`; false by default. It protects a server on the loopback interface from foreign pages.
   */
  readonly isLocal?: boolean;
  /** Takes each request when its answer has ended. */
  readonly onRequest?: (request: ServedRequest) => void;
}

const OPTION_NAMES = [
  "maxAnswers",
  "maxBodyBytes",
  "apiKey",
  "allowedOrigins",
  "isLocal",
  "onRequest",
] satisfies readonly (keyof ModelServerOptions)[];

const MAX_ANSWERS = 128;
const MAX_BODY_BYTES = 2 ** 20;
const BODY_SECONDS = 30;

/** The page runs its own script only, and connects to this server only. */
function policyOf(page: string): string {
  const hashes = (tag: string) =>
    [...page.matchAll(new RegExp(`<${tag}>([^]*?)</${tag}>`, "g"))]
      .map(([, text]) => `'sha256-${createHash("sha256").update(text!).digest("base64")}'`);
  return [
    "default-src 'none'",
    `script-src ${hashes("script").join(" ")}`,
    `style-src ${hashes("style").join(" ")}`,
    "img-src data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
}

function pageResponse(): Response {
  return new Response(CHAT_PAGE, {
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": policyOf(CHAT_PAGE),
      "referrer-policy": "no-referrer",
      "x-content-type-options": "nosniff",
    },
  });
}

const RETRY = { "retry-after": "1" };

const clientLeft = () => new ApiError(499, "The client has closed the request");
const stopping = () =>
  new ApiError(503, "The server is shutting down", { code: "shutting_down", headers: RETRY });

function apiErrorOf(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  return new ApiError(500, error instanceof Error ? error.message : String(error));
}

/** A request until its answer has ended. */
interface Exchange {
  readonly request: Request;
  readonly path: string;
  readonly start: number;
  generations: readonly Generation[];
  /** Whether the response begins before the answer ends. */
  hasBegun: boolean;
}

interface Route {
  readonly methods: readonly string[];
  /** Whether it needs the server's key. */
  readonly isProtected: boolean;
  answer(exchange: Exchange): Response | Promise<Response>;
}

/**
 * Answers requests of the OpenAI API with a model: `/v1/chat/completions`, `/v1/completions` and
 * `/v1/models`; and serves a chat page at `/`, `/health`, and `/metrics` for Prometheus.
 *
 * It opens no port itself: {@linkcode ModelServer.fetch} is a handler for `Deno.serve()`.
 *
 * @example
 * ```ts
 * import { ModelServer, openModel } from "@gridstride/cuda/bitnet";
 *
 * async function serve(path: string): Promise<void> {
 *   await using model = await openModel(path);
 *   const server = new ModelServer(model, { isLocal: true });
 *   await Deno.serve({ hostname: "127.0.0.1", port: 8000 }, server.fetch).finished;
 * }
 * console.log(typeof serve); // function
 * ```
 * @category Server
 */
export class ModelServer {
  readonly #guard: RequestGuard;
  readonly #maxAnswers: number;
  readonly #onRequest: (request: ServedRequest) => void;
  readonly #metrics = new ServerMetrics();
  readonly #created = Math.floor(Date.now() / 1000);
  #model: ServedModel | undefined;
  #loadError: unknown;
  /** Whether the device is lost to this process. */
  #isLost = false;
  #answers = 0;
  /** Ends the completions that run. */
  readonly #running = new Set<AbortController>();
  #isStopping = false;
  #idle = Promise.withResolvers<void>();
  readonly #routes: Readonly<Record<string, Route>> = {
    "/": this.#get(() => pageResponse()),
    "/health": this.#get(() => this.#health()),
    "/metrics": this.#get(() => this.#metricsResponse()),
    "/v1/models": this.#get(() => this.#models(), true),
    "/v1/completions": this.#post("text"),
    "/v1/chat/completions": this.#post("chat"),
  };

  /**
   * Makes a server of a model.
   *
   * @param model The model. Until a promise of it resolves, requests are answered with 503.
   * @param options Limits, the key, and allowed origins.
   * @throws {TypeError} If an option is of the wrong type or unknown.
   * @throws {RangeError} If a limit is out of range.
   */
  constructor(model: ServedModel | Promise<ServedModel>, options: ModelServerOptions = {}) {
    const action = "serve a model";
    const {
      maxAnswers = MAX_ANSWERS,
      maxBodyBytes = MAX_BODY_BYTES,
      apiKey,
      allowedOrigins = [],
      isLocal = false,
      onRequest = () => {},
    } = requireOptions(options, OPTION_NAMES, action);
    requireInteger(maxAnswers, "options.maxAnswers", action, 1);
    requireInteger(maxBodyBytes, "options.maxBodyBytes", action, 1);
    if (apiKey !== undefined && (typeof apiKey !== "string" || apiKey === "")) {
      throw new TypeError(
        `Cannot ${action} as options.apiKey must be a nonempty string: it is ${
          describeValue(apiKey)
        }`,
      );
    }
    this.#maxAnswers = maxAnswers;
    this.#onRequest = onRequest;
    this.#guard = new RequestGuard({
      ...{ maxBodyBytes, bodySeconds: BODY_SECONDS, apiKey, allowedOrigins, isLocal },
    });
    this.#idle.resolve();
    if (!(model instanceof Promise)) this.#model = model;
    else {
      model.then(
        (loaded) => this.#model = loaded,
        (error) => this.#loadError = error ?? new Error("The model could not be loaded"),
      );
    }
  }

  /** Answers a request. Its promise never rejects. */
  readonly fetch = async (request: Request): Promise<Response> => {
    const { pathname } = new URL(request.url);
    const exchange: Exchange = {
      request,
      path: Object.hasOwn(this.#routes, pathname) ? pathname : "other",
      start: performance.now(),
      generations: [],
      hasBegun: false,
    };
    let response: Response;
    let failure: unknown;
    try {
      this.#guard.checkHost(request);
      response = request.method === "OPTIONS"
        ? this.#guard.preflight()
        : await this.#routeOf(request, pathname).answer(exchange);
    } catch (error) {
      failure = error;
      response = apiErrorOf(error).toResponse();
    }
    for (const [name, value] of Object.entries(this.#guard.originHeaders(request))) {
      response.headers.set(name, value);
    }
    if (!exchange.hasBegun) this.#endExchange(exchange, response.status, failure);
    return response;
  };

  /**
   * Refuses new requests, and waits for the answers that run or wait.
   *
   * @example
   * ```ts ignore
   * await server.drain();
   * ```
   */
  async drain(): Promise<void> {
    this.#isStopping = true;
    await this.#idle.promise;
  }

  /**
   * Refuses new requests, and ends those that run or wait with an error.
   *
   * @example
   * ```ts ignore
   * server.abort();
   * ```
   */
  abort(): void {
    this.#isStopping = true;
    for (const control of this.#running) control.abort(stopping());
  }

  #get(answer: Route["answer"], isProtected = false): Route {
    return { methods: ["GET", "HEAD"], isProtected, answer };
  }

  #post(kind: CompletionKind): Route {
    const answer = (exchange: Exchange) => this.#complete(exchange, kind);
    return { methods: ["POST"], isProtected: true, answer };
  }

  #routeOf(request: Request, path: string): Route {
    const route = Object.hasOwn(this.#routes, path) ? this.#routes[path] : this.#modelRoute(path);
    const { method } = request;
    if (route === undefined) {
      throw new ApiError(404, `There is no ${method} ${path}`, { code: "unknown_url" });
    }
    if (!route.methods.includes(method)) {
      const methods = route.methods.join(", ");
      throw new ApiError(405, `Cannot ${method} ${path}: it takes ${methods}`, {
        headers: { allow: methods },
      });
    }
    if (route.isProtected) this.#guard.checkKey(request);
    return route;
  }

  /** The route of one model by its name, which may be any. */
  #modelRoute(path: string): Route | undefined {
    const [, name] = /^\/v1\/models\/(.+)$/.exec(path) ?? [];
    if (name === undefined) return undefined;
    return this.#get(() => {
      const description = this.#describeModel();
      if (encodeURIComponent(description.id) === name || description.id === name) {
        return Response.json(description);
      }
      throw new ApiError(404, `The model ${describeValue(name)} does not exist`, {
        param: "model",
        code: "model_not_found",
      });
    }, true);
  }

  #requireModel(): ServedModel {
    if (this.#isStopping) throw stopping();
    if (this.#model !== undefined) return this.#model;
    if (this.#loadError !== undefined) throw apiErrorOf(this.#loadError);
    throw new ApiError(503, "The model is loading", { code: "loading", headers: RETRY });
  }

  #describeModel() {
    const { name, config: { contextLength } } = this.#requireModel();
    return {
      id: name,
      object: "model",
      created: this.#created,
      owned_by: "gridstride",
      // A field of other servers that clients know.
      max_model_len: contextLength,
    };
  }

  #models(): Response {
    return Response.json({ object: "list", data: [this.#describeModel()] });
  }

  #health(): Response {
    const status = this.#isStopping
      ? "stopping"
      : this.#isLost || this.#loadError !== undefined
      ? "failed"
      : this.#model !== undefined
      ? "ok"
      : "loading";
    const { running = 0, waiting = 0 } = this.#model?.statistics() ?? {};
    return Response.json({ status, running, waiting }, { status: status === "ok" ? 200 : 503 });
  }

  #metricsResponse(): Response {
    const own: ModelMetric = {
      name: "answers_in_progress",
      kind: "gauge",
      help: "Answers that run or wait.",
      value: this.#answers,
    };
    return new Response(this.#metrics.text([own, ...modelMetrics(this.#model)]), {
      headers: { "content-type": "text/plain; version=0.0.4; charset=utf-8" },
    });
  }

  async #complete(exchange: Exchange, kind: CompletionKind): Promise<Response> {
    this.#requireModel();
    // Before the work of reading it.
    this.#requireRoom(1);
    const body = await this.#guard.readJson(exchange.request);
    const model = this.#requireModel();
    const completion = readCompletion(body, kind, model);
    const running = this.#start(completion, model, exchange);
    if (!completion.isStreamed) {
      const headers = { "content-type": "application/json" };
      return new Response(await wholeCompletion(running), { headers });
    }
    exchange.hasBegun = true;
    return new Response(streamedCompletion(running), {
      headers: {
        "content-type": "text/event-stream; charset=utf-8",
        // Proxies must neither store nor hold back events.
        "cache-control": "no-cache",
        "x-accel-buffering": "no",
      },
    });
  }

  /** Refuses answers for which there is no room. */
  #requireRoom(answers: number): void {
    if (answers > this.#maxAnswers) {
      refuseField("n", `such that there are at most ${this.#maxAnswers} answers`, `${answers} now`);
    }
    if (this.#answers + answers <= this.#maxAnswers) return;
    throw new ApiError(429, `Cannot complete as ${this.#answers} answers run or wait`, {
      code: "rate_limit_exceeded",
      headers: RETRY,
    });
  }

  #admit(answers: number): void {
    this.#requireRoom(answers);
    if (this.#answers === 0) this.#idle = Promise.withResolvers();
    this.#answers += answers;
  }

  #start(completion: CompletionRequest, model: ServedModel, exchange: Exchange): RunningCompletion {
    const answers = completion.prompts.length * completion.options.length;
    this.#admit(answers);
    const control = new AbortController();
    this.#running.add(control);
    const leave = () => {
      if (!this.#running.delete(control)) return;
      this.#answers -= answers;
      if (this.#answers === 0) this.#idle.resolve();
    };
    const { signal } = control;
    try {
      exchange.generations = completion.prompts.flatMap((prompt) =>
        completion.options.map((options) => model.generate(prompt, { ...options, signal }))
      );
    } catch (error) {
      leave();
      throw refusalOf(error);
    }
    const times = new Map<Generation, number>();
    return {
      request: completion,
      model,
      generations: exchange.generations,
      onPiece: (generation) => {
        exchange.hasBegun = true;
        const now = performance.now();
        const last = times.get(generation);
        times.set(generation, now);
        if (last !== undefined) {
          this.#metrics.addTime("time_per_token_seconds", (now - last) / 1000);
        } else {
          this.#metrics.addTime("time_to_first_token_seconds", (now - exchange.start) / 1000);
        }
      },
      cancel: () => control.abort(clientLeft()),
      onEnd: (error) => {
        leave();
        // All later steps fail as this one did, until the process ends.
        if (error instanceof CudaError && error.sticky) this.#isLost = true;
        if (exchange.hasBegun) this.#endExchange(exchange, 200, error);
        return error === undefined ? undefined : apiErrorOf(error);
      },
    };
  }

  #endExchange(exchange: Exchange, responseStatus: number, error: unknown): void {
    const { request, path, start, generations } = exchange;
    const isAborted = error instanceof ApiError && error.status === 499;
    const status = isAborted
      ? "aborted"
      : error === undefined
      ? responseStatus
      : apiErrorOf(error).status;
    const seconds = (performance.now() - start) / 1000;
    this.#metrics.addRequest(path, status);
    if (generations.length > 0) this.#metrics.addTime("request_duration_seconds", seconds);
    const [first] = generations;
    this.#onRequest({
      method: request.method,
      path: new URL(request.url).pathname,
      status,
      seconds,
      promptTokens: first?.promptTokens ?? 0,
      generatedTokens: generations.reduce((sum, each) => sum + each.generatedTokens, 0),
      ...(error === undefined ? {} : { error }),
    });
  }
}

/** The error of `generate()`, which refuses prompts that are too long. */
function refusalOf(error: unknown): unknown {
  const isRefusal = error instanceof RangeError || error instanceof TypeError;
  if (!isRefusal) return error;
  const code = error instanceof RangeError ? "context_length_exceeded" : "invalid_value";
  return new ApiError(400, error.message, { code });
}

/** The state of a model as metrics. */
function modelMetrics(model: ServedModel | undefined): ModelMetric[] {
  if (model === undefined) return [];
  const values = model.statistics();
  const metric = (name: string, kind: ModelMetric["kind"], help: string, value: number) => ({
    name,
    kind,
    help,
    value,
  });
  return [
    metric("sequences_running", "gauge", "Sequences that have pages.", values.running),
    metric("sequences_waiting", "gauge", "Sequences that wait for pages.", values.waiting),
    metric("cache_pages", "gauge", "Pages of the cache.", values.pages),
    metric("cache_pages_free", "gauge", "Pages that a sequence can take.", values.freePages),
    metric("cache_bytes", "gauge", "Memory of the cache.", values.cacheBytes),
    metric("prompt_tokens_total", "counter", "Computed tokens of prompts.", values.promptTokens),
    metric("generated_tokens_total", "counter", "Generated tokens.", values.generatedTokens),
    metric("preemptions_total", "counter", "Sequences that gave up pages.", values.preemptions),
  ];
}
