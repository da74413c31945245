// The OpenAI API by the package `openai` and by requests of our own.

import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import fc from "fast-check";
import OpenAI, {
  APIError,
  AuthenticationError,
  BadRequestError,
  InternalServerError,
  NotFoundError,
  RateLimitError,
} from "openai";
import {
  ModelServer,
  type ModelServerOptions,
  type ServedRequest,
} from "../../../src/bitnet/server/model_server.ts";
import type { ServedModel } from "../../../src/bitnet/server/completion_request.ts";
import { CudaError } from "../../../src/ffi/cuda_error.ts";
import { ApiError } from "../../../src/bitnet/server/api_error.ts";
import { RequestGuard } from "../../../src/bitnet/server/request_guard.ts";
import { ScriptedModel } from "./scripted_model.ts";

const ANSWER = "hello world, hello 🌍!";
const MESSAGES: { role: "user"; content: string }[] = [{ role: "user", content: "hello" }];

/** A server on a free port, and a client of it. */
async function withServer(
  model: ServedModel | Promise<ServedModel>,
  run: (open: {
    readonly client: OpenAI;
    readonly server: ModelServer;
    readonly url: string;
    readonly log: ServedRequest[];
  }) => Promise<void>,
  options: ModelServerOptions = {},
): Promise<void> {
  const log: ServedRequest[] = [];
  const server = new ModelServer(model, {
    isLocal: true,
    onRequest: (request) => log.push(request),
    ...options,
  });
  await using http = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    server.fetch,
  );
  const url = `http://127.0.0.1:${http.addr.port}`;
  const client = new OpenAI({
    ...{ baseURL: `${url}/v1`, apiKey: "none", maxRetries: 0, timeout: 10_000 },
  });
  try {
    await run({ client, server, url, log });
  } finally {
    // Answers that still run would keep the port open.
    server.abort();
  }
}

/** A request of a server without a port. */
function post(path: string, body: unknown, headers: Record<string, string> = {}): Request {
  return new Request(`http://localhost${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
}

const postChat = (body: Record<string, unknown>) =>
  post("/v1/chat/completions", { model: "scripted", messages: MESSAGES, ...body });

/** Waits until something is true, which depends on events of sockets. */
async function until(isTrue: () => boolean): Promise<void> {
  const end = performance.now() + 10_000;
  while (!isTrue()) {
    assert(performance.now() < end, `waited in vain for ${isTrue}`);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

Deno.test("The package openai lists the model, and completes chats and texts", () =>
  withServer(new ScriptedModel(), async ({ client, log }) => {
    const models = await client.models.list();
    assertEquals(models.data.map(({ id }) => id), ["scripted"]);
    assertEquals((await client.models.retrieve("scripted")).object, "model");
    const chat = await client.chat.completions.create({
      model: "scripted",
      messages: MESSAGES,
    });
    const { finish_reason, message } = chat.choices[0]!;
    assertEquals([finish_reason, message.role, message.content], ["stop", "assistant", ANSWER]);
    assertEquals(chat.object, "chat.completion");
    const { prompt_tokens, completion_tokens, total_tokens } = chat.usage!;
    assert(prompt_tokens > 3 && completion_tokens > 3);
    assertEquals(total_tokens, prompt_tokens + completion_tokens);
    const text = await client.completions.create({
      model: "scripted",
      prompt: ["hello", "world"],
      n: 2,
      max_tokens: 2,
    });
    assertEquals(
      text.choices.map(({ index, text, finish_reason }) => [index, text, finish_reason]),
      [0, 1, 2, 3].map((index) => [index, "hello world", "length"]),
    );
    // Prompts of two and four tokens count once for their two choices.
    assertEquals([text.usage!.prompt_tokens, text.usage!.completion_tokens], [6, 8]);
    const last = log.at(-1)!;
    assertEquals([last.path, last.status, last.generatedTokens], ["/v1/completions", 200, 8]);
  }));

Deno.test("Streamed completions are equal to whole ones", () =>
  withServer(new ScriptedModel(), async ({ client }) => {
    for (const options of [{}, { max_tokens: 3 }, { stop: "lo 🌍" }, { n: 3, logprobs: true }]) {
      const body = { model: "scripted", messages: MESSAGES, ...options };
      const whole = await client.chat.completions.create(body);
      const stream = client.chat.completions.stream({
        ...body,
        stream: true,
        stream_options: { include_usage: true },
      });
      let chunks = 0;
      for await (const { object, usage, choices } of stream) {
        assertEquals([object, usage === null], ["chat.completion.chunk", choices.length > 0]);
        chunks++;
      }
      assert(chunks > 3);
      const joined = await stream.finalChatCompletion();
      const essence = ({ choices, usage }: typeof whole) => [
        choices.map((
          { index, message, finish_reason, logprobs },
        ) => [index, message.content, finish_reason, logprobs?.content]),
        usage,
      ];
      assertEquals(essence(joined), essence(whole));
    }
    const body = { model: "scripted", prompt: "hello", logprobs: 0, max_tokens: 9 };
    const [whole] = (await client.completions.create(body)).choices;
    let text = "";
    const offsets: number[] = [];
    for await (
      const { choices: [choice] } of await client.completions.create({ ...body, stream: true })
    ) {
      text += choice!.text;
      offsets.push(...choice!.logprobs?.text_offset ?? []);
    }
    assertEquals([text, offsets], [whole!.text, whole!.logprobs!.text_offset]);
    assertEquals(offsets.slice(0, 3), [0, 5, 11]);
  }));

Deno.test("A stream is server-sent events that end with [DONE]", async () => {
  const server = new ModelServer(new ScriptedModel("hello"));
  const response = await server.fetch(postChat({ stream: true }));
  assertEquals(response.headers.get("content-type"), "text/event-stream; charset=utf-8");
  const events = (await response.text()).split("\n\n");
  assertEquals(events.slice(-2), ["data: [DONE]", ""]);
  const chunks = events.slice(0, -2).map((event) => JSON.parse(event.replace(/^data: /, "")));
  assertEquals(chunks.map(({ choices }) => choices[0].delta), [
    { role: "assistant", content: "", refusal: null },
    { content: "hello" },
    {},
  ]);
  assertEquals(new Set(chunks.map(({ id }) => id)).size, 1);
});

Deno.test("Options of a request become those of generate(), with a seed for each choice", async () => {
  const model = new ScriptedModel();
  const server = new ModelServer(model);
  const optionsOf = async (path: string, body: Record<string, unknown>) => {
    model.calls.length = 0;
    const response = await server.fetch(post(path, { model: "scripted", ...body }));
    assertEquals(response.status, 200, await response.text());
    return model.calls.map(({ options: { signal: _, ...options } }) => options);
  };
  assertEquals(await optionsOf("/v1/chat/completions", { messages: MESSAGES }), [{
    temperature: 1,
  }]);
  assertEquals(await optionsOf("/v1/completions", { prompt: "a", temperature: 0 }), [
    { temperature: 0, maxTokens: 16 },
  ]);
  const all = {
    ...{ messages: MESSAGES, n: 2, max_completion_tokens: 5, temperature: 0.5, top_p: 0 },
    ...{ top_k: -1, min_p: 0.1, repetition_penalty: 1.5, seed: -1, stop: ["a", "b"] },
    ...{ user: "u", metadata: {}, tools: [], response_format: { type: "text" }, n_: undefined },
    ...{ logit_bias: null, frequency_penalty: 0 },
  };
  const options = {
    ...{ maxTokens: 5, temperature: 0.5, topP: 1e-6, topK: 0, minP: 0.1 },
    ...{ repetitionPenalty: 1.5, stop: ["a", "b"] },
  };
  assertEquals(await optionsOf("/v1/chat/completions", all), [
    { ...options, seed: 2n ** 64n - 1n },
    { ...options, seed: 0n },
  ]);
});

Deno.test("Messages may have parts, the role developer, and the empty fields of an answer", async () => {
  const model = new ScriptedModel();
  const server = new ModelServer(model);
  const parts = [{ type: "text", text: "hello" }, { type: "text", text: " world" }];
  const messages = [
    { role: "developer", content: "short", name: "n" },
    { role: "user", content: parts },
    { role: "assistant", content: null, refusal: null, annotations: [] },
    { role: "user", content: "\ud800" },
  ];
  const response = await server.fetch(postChat({ messages }));
  assertEquals(response.status, 200, await response.text());
  assertEquals(
    model.calls[0]!.prompt,
    "System: short<|eot_id|>User: hello world<|eot_id|>Assistant: <|eot_id|>User: \ufffd<|eot_id|>Assistant: "
      .replaceAll("<|eot_id|>", ""),
  );
});

Deno.test("Malformed requests are refused with the field and a code", async () => {
  const server = new ModelServer(new ScriptedModel());
  const chat = { model: "scripted", messages: MESSAGES };
  const long = "hello ".repeat(64);
  const cases: [body: unknown, param: string | null, message: string][] = [
    ["{", null, "as JSON"],
    [[], "the body", "an object"],
    [{ ...chat, messages: [] }, "messages", "empty"],
    [{ ...chat, messages: undefined }, "messages", "undefined"],
    [{ ...chat, messages: [1] }, "messages[0]", "1"],
    [{ ...chat, messages: [{ role: "tool", content: "" }] }, "messages[0].role", '"tool"'],
    [{ ...chat, messages: [{ role: "user", content: 1 }] }, "messages[0].content", "1"],
    [{ ...chat, messages: [{ role: "user", content: null }] }, "messages[0].content", "null"],
    [
      { ...chat, messages: [{ role: "user", content: [{ type: "image_url" }] }] },
      "messages[0].content[0]",
      '"image_url"',
    ],
    [
      { ...chat, messages: [{ role: "assistant", content: "", tool_calls: [{}] }] },
      "messages[0].tool_calls",
      "absent",
    ],
    [{ ...chat, messages: [{ role: "user", content: long }] }, null, "context"],
    [{ ...chat, temperature: "hot" }, "temperature", "a number in 0..2"],
    [{ ...chat, temperature: 2.1 }, "temperature", "2.1"],
    [{ ...chat, top_p: -0.1 }, "top_p", "-0.1"],
    [{ ...chat, max_tokens: 0 }, "max_tokens", "0"],
    [{ ...chat, n: 0 }, "n", "0"],
    [{ ...chat, n: 129 }, "n", "129"],
    [{ ...chat, seed: 1.5 }, "seed", "1.5"],
    [{ ...chat, stop: [""] }, "stop", "nonempty"],
    [{ ...chat, stop: Array(17).fill("a") }, "stop", "16"],
    [{ ...chat, stream: "yes" }, "stream", '"yes"'],
    [{ ...chat, stream_options: { include_usage: true } }, "stream_options", "absent"],
    [{ ...chat, stream: true, stream_options: { x: 1 } }, "stream_options.x", "absent"],
    [{ ...chat, logprobs: 1 }, "logprobs", "true or false"],
    [{ ...chat, logprobs: true, top_logprobs: 2 }, "top_logprobs", "absent or 0"],
    [{ ...chat, tools: [{ type: "function" }] }, "tools", "absent or []"],
    [{ ...chat, frequency_penalty: 1 }, "frequency_penalty", "1"],
    [{ ...chat, temprature: 1 }, "temprature", "no parameter"],
    [{ ...chat, constructor: 1 }, "constructor", "no parameter"],
    ['{"model":"scripted","__proto__":{"messages":[]}}', "__proto__", "no parameter"],
    [{ ...chat, prompt: "a" }, "prompt", "no parameter"],
  ];
  for (const [body, param, message] of cases) {
    const response = await server.fetch(post("/v1/chat/completions", body));
    const { error } = await response.json();
    const label = JSON.stringify(body);
    assertEquals([response.status, error.type], [400, "invalid_request_error"], label);
    assertEquals(error.param, param, label);
    assertStringIncludes(error.message, message);
  }
  for (
    const [prompt, message] of [[[], "0"], [[[300]], "268"], [1, "1"], [[1.5], "1.5"]] as const
  ) {
    const response = await server.fetch(post("/v1/completions", { prompt }));
    const { error } = await response.json();
    assertEquals([response.status, error.param], [400, "prompt"]);
    assertStringIncludes(error.message, message);
  }
});

Deno.test("Random bodies are completed or refused, never an error of the server", async () => {
  const model = new ScriptedModel("hello");
  const server = new ModelServer(model);
  const names = ["messages", "prompt", "n", "stream", "stream_options", "logprobs", "stop", "seed"];
  const value = fc.oneof(
    fc.jsonValue({ maxDepth: 2 }),
    fc.constantFrom<unknown>(MESSAGES, [1, 2], "hello", { include_usage: true }, true, 1),
  );
  const fields = fc.dictionary(fc.oneof(fc.constantFrom(...names), fc.string()), value);
  const paths = fc.constantFrom("/v1/chat/completions", "/v1/completions");
  await fc.assert(
    fc.asyncProperty(paths, fields, async (path, body) => {
      const response = await server.fetch(post(path, body));
      const text = await response.text();
      assert(response.status === 200 || response.status === 400, text);
      if (response.status === 400) assertEquals(typeof JSON.parse(text).error.message, "string");
    }),
    { numRuns: 300 },
  );
  assertEquals(model.running, 0);
});

Deno.test("Errors have the classes of the package openai", async () => {
  const model = new ScriptedModel();
  await withServer(model, async ({ client, url }) => {
    const create = (options: Record<string, unknown> = {}) =>
      client.chat.completions.create({ model: "scripted", messages: MESSAGES, ...options });
    await assertRejects(() => create({ model: "gpt-5" }), NotFoundError, "does not exist");
    const error = await assertRejects(() => create({ temperature: 3 }), BadRequestError);
    assertEquals([error.param, error.code], ["temperature", "invalid_value"]);
    const key = new OpenAI({ baseURL: `${url}/v1`, apiKey: "wrong", maxRetries: 0 });
    await assertRejects(() => key.models.list(), AuthenticationError, "key");
    await assertRejects(() => create({ n: 3 }), BadRequestError, "at most 2 answers");
    const release = model.hold();
    const held = create({ n: 2 });
    await until(() => model.tokens === 2);
    const busy = await assertRejects(() => create(), RateLimitError, "2 answers run");
    assertEquals(busy.headers?.get("retry-after"), "1");
    // The response has begun, so its status can change no more.
    release(new Error("the device is lost"));
    await assertRejects(() => held);
    model.failure = new Error("lost again");
    await assertRejects(() => create(), InternalServerError, "lost again");
    const stream = await client.chat.completions.create({
      ...{ model: "scripted", messages: MESSAGES, stream: true },
    });
    const read = async () => (await Array.fromAsync(stream)).length;
    await assertRejects(read, APIError, "lost again");
    assertEquals(model.running, 0);
  }, { maxAnswers: 2, apiKey: "none" });
});

Deno.test("A client that leaves ends its answers, streamed or not", async () => {
  const model = new ScriptedModel();
  await withServer(model, async ({ client, log }) => {
    for (const stream of [true, false]) {
      model.hold();
      const control = new AbortController();
      const body = { model: "scripted", messages: MESSAGES, n: 2, stream };
      const answer = client.chat.completions.create(body, { signal: control.signal });
      await until(() => model.tokens === 2);
      model.tokens = 0;
      const read = (async () => {
        const result = await answer;
        if (Symbol.asyncIterator in result) await Array.fromAsync(result);
      })();
      control.abort();
      await read.catch(() => {});
      await until(() => model.running === 0);
      await until(() => log.at(-1)?.status === "aborted");
      log.length = 0;
    }
  });
});

Deno.test("64 streams at once each get their whole answer", async () => {
  const model = new ScriptedModel();
  await withServer(model, async ({ client, url }) => {
    const texts = await Promise.all(Array.from({ length: 64 }, async () => {
      const body = { model: "scripted", messages: MESSAGES, stream: true as const };
      let text = "";
      for await (const { choices } of await client.chat.completions.create(body)) {
        text += choices[0]?.delta.content ?? "";
      }
      return text;
    }));
    assertEquals(new Set(texts), new Set([ANSWER]));
    const metrics = await (await fetch(`${url}/metrics`)).text();
    assertMatch(metrics, /^gridstride_answers_in_progress 0$/m);
  });
});

/** The samples of Prometheus' text format by their names with labels. */
function samplesOf(text: string): Map<string, number> {
  const types = new Map<string, string>();
  const samples = new Map<string, number>();
  for (const line of text.trimEnd().split("\n")) {
    const [, name, kind] = /^# TYPE ([a-z_]+) (counter|gauge|histogram)$/.exec(line) ?? [];
    if (name !== undefined) {
      assert(!types.has(name), name);
      types.set(name, kind!);
      continue;
    }
    if (/^# HELP [a-z_]+ \S/.test(line)) continue;
    const [, full, base, value] = /^(([a-z_]+)(?:\{(?:[a-z_]+="[^"\n]*",?)+\})?) (\S+)$/.exec(
      line,
    )!;
    const family = types.get(base!) ?? types.get(base!.replace(/_(?:bucket|sum|count)$/, ""));
    assert(family !== undefined && Number.isFinite(Number(value)), line);
    assert(!samples.has(full!), full);
    samples.set(full!, Number(value));
  }
  return samples;
}

Deno.test("/metrics is Prometheus' text format and counts requests, times and the model's state", async () => {
  const server = new ModelServer(new ScriptedModel());
  await (await server.fetch(postChat({ stream: true, max_tokens: 4 }))).text();
  await server.fetch(postChat({ n: "many" }));
  await server.fetch(new Request("http://localhost/some/path"));
  const response = await server.fetch(new Request("http://localhost/metrics"));
  assertMatch(response.headers.get("content-type")!, /^text\/plain; version=0\.0\.4/);
  const samples = samplesOf(await response.text());
  const chat = "/v1/chat/completions";
  for (
    const [name, value] of [
      [`requests_total{path="${chat}",status="200"}`, 1],
      [`requests_total{path="${chat}",status="400"}`, 1],
      ['requests_total{path="other",status="404"}', 1],
      ["time_to_first_token_seconds_count", 1],
      ["time_per_token_seconds_count", 3],
      ['request_duration_seconds_bucket{le="+Inf"}', 1],
      ["answers_in_progress", 0],
      ["cache_pages_free", 8],
      ["generated_tokens_total", 9],
    ] as const
  ) assertEquals(samples.get(`gridstride_${name}`), value, name);
  const buckets = [...samples].filter(([name]) => name.includes("time_per_token_seconds_bucket"));
  const counts = buckets.map(([, count]) => count);
  assertEquals(counts, counts.toSorted((a, b) => a - b));
  assertEquals(buckets.slice(-2).map(([name]) => name.match(/le="(.*)"/)![1]), ["600", "+Inf"]);
  assertEquals(counts.slice(-2), [3, 3]);
});

Deno.test("/health says whether the model loads, runs, or stops, and requests get 503 meanwhile", async () => {
  const { promise, resolve } = Promise.withResolvers<ServedModel>();
  const server = new ModelServer(promise);
  const health = async () => {
    const response = await server.fetch(new Request("http://localhost/health"));
    return [response.status, (await response.json()).status];
  };
  assertEquals(await health(), [503, "loading"]);
  const early = await server.fetch(postChat({}));
  assertEquals([early.status, (await early.json()).error.code], [503, "loading"]);
  const model = new ScriptedModel();
  const release = model.hold();
  resolve(model);
  await promise;
  assertEquals(await health(), [200, "ok"]);
  const answer = server.fetch(postChat({}));
  await until(() => model.running === 1);
  const drained = server.drain();
  assertEquals(await health(), [503, "stopping"]);
  const late = await server.fetch(postChat({}));
  assertEquals([late.status, (await late.json()).error.code], [503, "shutting_down"]);
  release();
  await drained;
  assertEquals((await (await answer).json()).object, "chat.completion");
  const lost = new ScriptedModel();
  const running = new ModelServer(lost);
  const stateAfter = async (code: number) => {
    lost.failure = new CudaError({ action: "launch a kernel", code });
    assertEquals((await running.fetch(postChat({}))).status, 500);
    const response = await running.fetch(new Request("http://localhost/health"));
    return [response.status, (await response.json()).status];
  };
  // cudaErrorMemoryAllocation may pass, and cudaErrorIllegalAddress does not.
  assertEquals(await stateAfter(2), [200, "ok"]);
  assertEquals(await stateAfter(700), [503, "failed"]);
  const failing = new ModelServer(Promise.reject(new Error("no such file")));
  await Promise.resolve();
  const failed = await failing.fetch(postChat({}));
  assertEquals([failed.status, (await failed.json()).error.message], [500, "no such file"]);
});

Deno.test("abort() ends the answers that run with an error", async () => {
  const model = new ScriptedModel();
  model.hold();
  const server = new ModelServer(model);
  const [whole, stream] = [server.fetch(postChat({})), server.fetch(postChat({ stream: true }))];
  await until(() => model.tokens === 2);
  const drained = server.drain();
  server.abort();
  await drained;
  await assertRejects(async () => await (await whole).text(), Error, "shutting down");
  assertStringIncludes(await (await stream).text(), '"code":"shutting_down"');
  assertEquals(model.running, 0);
});

Deno.test("Requests that are too large, of another type, method, path or host are refused", async () => {
  const model = new ScriptedModel();
  const server = new ModelServer(model, { maxBodyBytes: 1000, isLocal: true });
  const large = JSON.stringify({ x: "a".repeat(1000) });
  const stream = ReadableStream.from([new TextEncoder().encode(large)]);
  const chat = "http://localhost/v1/chat/completions";
  const json = { "content-type": "application/json" };
  for (
    const [status, request] of [
      [413, post("/v1/chat/completions", large)],
      [413, new Request(chat, { method: "POST", headers: json, body: stream })],
      [415, new Request(chat, { method: "POST", body: "{}" })],
      [405, new Request(chat)],
      [404, new Request("http://localhost/v1/embeddings")],
      [404, new Request("http://localhost/toString")],
      [404, new Request("http://localhost/v1/models/other")],
      [403, new Request("http://rebound.example/v1/models")],
      [403, new Request(chat, { method: "OPTIONS", headers: { origin: "https://a.example" } })],
      [403, new Request("http://127.0.0.2.example/v1/models")],
      [200, new Request("http://[::1]:8000/v1/models/scripted")],
      [200, new Request("http://127.0.0.2:8000/v1/models/scripted")],
    ] as const
  ) {
    const response = await server.fetch(request);
    assertEquals(response.status, status, `${request.method} ${request.url}`);
    assertEquals("error" in await response.json(), status !== 200);
  }
});

Deno.test("readJson() refuses a body that does not arrive in time", async () => {
  const guard = new RequestGuard({
    ...{ maxBodyBytes: 1000, bodySeconds: 0.01, apiKey: undefined },
    ...{ allowedOrigins: [], isLocal: false },
  });
  let isCancelled = false;
  const body = new ReadableStream({
    start: (controller) => controller.enqueue(new TextEncoder().encode('{"a":')),
    cancel: () => void (isCancelled = true),
  });
  const headers = { "content-type": "application/json" };
  const request = new Request("http://localhost/", { method: "POST", headers, body });
  const { status } = await assertRejects(() => guard.readJson(request), ApiError, "within 0.01 s");
  assertEquals([status, isCancelled], [408, true]);
});

Deno.test("Pages of allowed origins may use the API, and others may not", async () => {
  const allow = (...allowedOrigins: string[]) =>
    new ModelServer(new ScriptedModel(), { allowedOrigins });
  const ask = async (server: ModelServer, method: string) => {
    const headers = { origin: "https://a.example" };
    const response = await server.fetch(
      new Request("http://localhost/v1/models", { method, headers }),
    );
    return [response.status, response.headers.get("access-control-allow-origin")];
  };
  assertEquals(await ask(allow("https://a.example"), "OPTIONS"), [204, "https://a.example"]);
  assertEquals(await ask(allow("https://a.example"), "GET"), [200, "https://a.example"]);
  assertEquals(await ask(allow("*"), "GET"), [200, "*"]);
  assertEquals(await ask(allow("https://b.example"), "GET"), [200, null]);
  assertEquals(await ask(allow(), "GET"), [200, null]);
});
