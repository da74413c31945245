// `gridstride serve` with a small model, in its own process.

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import OpenAI from "openai";
import { TextLineStream } from "deno-std/streams/text_line_stream.js";
import { smallGguf } from "../bitnet/files/small_gguf.ts";
import "../support/device.ts";
import { processEnvironment, repositoryPath } from "../support/subprocess.ts";
import { TemporaryDirectory } from "../support/temporary_file.ts";
import { assertFails, runInProcess } from "./in_process.ts";

/** Starts the server and waits until its model is loaded. What it says is text without `--json`. */
async function startServer(path: string, ...options: string[]) {
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "-A", "--quiet", "--no-check", "--cached-only"],
      ...[`--config=${repositoryPath("deno.json")}`, repositoryPath("src/cli/main.ts")],
      ...["serve", path, "--port=0", "--cache-tokens=65536", ...options],
    ],
    ...{ stdout: "piped", stderr: "piped" },
    env: processEnvironment({}),
    clearEnv: true,
  }).spawn();
  const problems = new Response(child.stderr).text();
  const lines = child.stdout.pipeThrough(new TextDecoderStream()).pipeThrough(new TextLineStream());
  const reader = lines.getReader();
  let head = "";
  while (!head.includes("http://")) {
    const { value } = await reader.read();
    if (value === undefined) throw new Error(await problems);
    head += `${value}\n`;
  }
  const [url] = /http:\/\/[^\s"/]+/.exec(head)!;
  return {
    ...{ child, url, head },
    client: new OpenAI({ baseURL: `${url}/v1`, apiKey: "none", maxRetries: 0 }),
    /** Waits for the end, and returns the exit code and standard error. */
    async end(): Promise<[number, string]> {
      while (!(await reader.read()).done);
      return [(await child.status).code, await problems];
    },
  };
}

const MESSAGES: { role: "user"; content: string }[] = [{ role: "user", content: "hello" }];

Deno.test("`serve` answers the package openai, and finishes its answers when it is interrupted", async () => {
  using folder = new TemporaryDirectory();
  const { client, child, url, head, end } = await startServer(
    folder.file(smallGguf(), "small.gguf"),
    "--json",
  );
  const { model } = JSON.parse(head);
  const body = { model, messages: MESSAGES, temperature: 0, max_tokens: 100 };
  assertEquals(model, "small");
  const whole = await client.chat.completions.create(body);
  const stream = await client.chat.completions.create({ ...body, stream: true });
  let text = "";
  let isInterrupted = false;
  for await (const { choices } of stream) {
    text += choices[0]!.delta.content ?? "";
    if (!isInterrupted) child.kill("SIGINT");
    isInterrupted = true;
  }
  assertEquals(text, whole.choices[0]!.message.content);
  assertEquals(whole.usage!.completion_tokens, 100);
  const [code, log] = await end();
  assertEquals(code, 0);
  assertMatch(log, /^\S+ POST \/v1\/chat\/completions 200 \S+ s · \d+ \+ 100 tokens$/m);
  assertStringIncludes(log, "Ctrl-C ends them");
  assertMatch(url, /^http:\/\/127\.0\.0\.1:\d+$/);
});

Deno.test("`serve` ends answers at the second interruption, and the process at the third", async () => {
  using folder = new TemporaryDirectory();
  const name = `a\x1b[2Jb${"c".repeat(100)}`;
  const { client, child, url, head, end } = await startServer(
    folder.file(smallGguf(65536, { "general.name": name }), "small.gguf"),
  );
  assertMatch(head, /^a \[2Jbc{73}… on /);
  // A client that does not send the rest of its request.
  using stalled = await Deno.connect({ hostname: "127.0.0.1", port: Number(new URL(url).port) });
  const lines = ["POST /v1/completions HTTP/1.1", "host: localhost", "content-length: 9"];
  const request = [...lines, "content-type: application/json", "", "{"].join("\r\n");
  await stalled.write(new TextEncoder().encode(request));
  const health = async () => (await (await fetch(`${url}/health`)).json()).status;
  const body = { model: name, messages: MESSAGES, stream: true as const };
  let failure: unknown;
  let events = 0;
  try {
    for await (const _ of await client.chat.completions.create(body)) {
      if (events++ > 0) continue;
      child.kill("SIGINT");
      // Signals that arrive at once count once.
      while (await health() === "ok");
      child.kill("SIGINT");
    }
  } catch (error) {
    failure = error;
  }
  assert(failure instanceof Error && failure.message.includes("shutting down"), String(failure));
  child.kill("SIGINT");
  assertEquals((await end())[0], 130);
});

Deno.test("`serve` refuses a port in use, files that hold no model, and options out of range", async () => {
  using folder = new TemporaryDirectory();
  const path = folder.file(smallGguf(), "small.gguf");
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const run = (args: readonly string[]) => runInProcess(["serve", ...args]);
  await assertFails(1, run, [
    [[path, "--port", String(listener.addr.port)], "Cannot listen at 127.0.0.1"],
    [[`${folder.path}/none.gguf`, "--port=0"], "none.gguf"],
  ]);
  await assertFails(2, run, [
    [[], "MODEL"],
    [[path, "--port=70000"], "--port"],
    [[path, "--max-answers=0"], "--max-answers"],
    [[path, "--max-body=much"], "--max-body"],
    [[path, "--port=0", "--max-sequences=0"], "--max-sequences"],
  ]);
});
