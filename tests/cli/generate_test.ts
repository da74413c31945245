// `gridstride generate` with a small model.

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { openModel } from "../../src/device/bitnet.ts";
import { folderTensorsOf, HF_CONFIG, safetensorsFile } from "../bitnet/files/model_files.ts";
import { smallGguf } from "../bitnet/files/small_gguf.ts";
import "../support/cache_directory.ts";
import { device } from "../support/device.ts";
import { processEnvironment, repositoryPath } from "../support/subprocess.ts";
import { TemporaryDirectory } from "../support/temporary_file.ts";
import { assertFails, runInProcess } from "./in_process.ts";

/** The place of the small model. */
function smallFile(folder: TemporaryDirectory, contextLength?: number): string {
  return folder.file(smallGguf(contextLength), "small.gguf");
}

/** A folder of a model that has no tokenizer. */
function withoutTokenizer(folder: TemporaryDirectory): string {
  folder.file(safetensorsFile(folderTensorsOf("packed")), "model.safetensors");
  const config = { ...HF_CONFIG, quantization_config: { quant_method: "bitnet" } };
  folder.file(new TextEncoder().encode(JSON.stringify(config)), "config.json");
  return folder.path;
}

Deno.test("`generate` prints the text of the model, and its figures on standard error", async () => {
  using folder = new TemporaryDirectory();
  const path = smallFile(folder);
  await using model = await openModel(path, { device });
  const expected = await model.generate("hello", { maxTokens: 20 }).text();
  const chat = [{ role: "system", content: "world" }, { role: "user", content: "hello" }];
  const answer = await model.chat(chat, { maxTokens: 20, temperature: 1, topK: 9, seed: 7 }).text();
  assert(expected !== answer && expected.length > 5, expected);
  const run = (...options: string[]) =>
    runInProcess(["generate", path, "hello", "--max-tokens=20", ...options]);
  const text = await run();
  assertEquals([text.code, text.stdout.trimEnd()], [0, expected.trimEnd()]);
  assert(text.stdout.endsWith("\n"));
  assertMatch(
    text.stderr,
    /^2 prompt tokens · 20 tokens · [\d.]+ tokens\/s · first after [\d.]+ ms · loaded in [\d.e-]+ s · [\d.]+ [KMG]iB on \S+:0[^,]*, [\d.]+ [KMG]iB of it cache\n$/,
  );
  const json = await run("--system=world", "--temperature=1", "--top-k=9", "--seed=7", "--json");
  const result = JSON.parse(json.stdout);
  assertEquals([result.text, json.stderr], [answer, ""]);
  assertEquals(
    Object.keys(result).join(),
    "text,finishReason,promptTokens,generatedTokens,loadSeconds,secondsToFirstToken," +
      "tokensPerSecond,device,memoryBytes,cacheBytes",
  );
  assertEquals([result.finishReason, result.generatedTokens], ["length", 20]);
  const [stop] = expected.match(/(?<=^.{4}).{2}/su)!;
  const stopped = JSON.parse((await run("--stop", stop, "--json")).stdout);
  assertEquals([stopped.text, stopped.finishReason], [
    expected.slice(0, expected.indexOf(stop)),
    "stop",
  ]);
});

Deno.test("`generate` refuses files that hold no model, and options out of range", async () => {
  using folder = new TemporaryDirectory();
  const path = smallFile(folder);
  const run = (args: readonly string[]) => runInProcess(["generate", ...args]);
  let files = 0;
  const withKeys = (keys: Record<string, string>) =>
    folder.file(smallGguf(256, keys), `${files++}.gguf`);
  await assertFails(1, run, [
    [[`${folder.path}/none.gguf`, "hello"], "none.gguf"],
    [[folder.file(new TextEncoder().encode("no model"), "text.gguf"), "hello"], "magic number"],
    [[withKeys({ "tokenizer.ggml.model": "t5" }), "hello"], "tokenizer.ggml.model"],
    [[withKeys({ "tokenizer.chat_template": "{% for %}" }), "hello"], "valid Jinja"],
    [
      [withKeys({ "tokenizer.chat_template": "{{ raise_exception('no') }}" }), "hello", "--chat"],
      "Cannot render a chat as the model's template refuses it: no",
    ],
    [[withoutTokenizer(folder), "hello"], "must have a tokenizer: there is none"],
  ]);
  await assertFails(2, run, [
    [[path], "PROMPT"],
    [[path, "a", "--temperature=hot"], "--temperature as it must be a number in 0..100"],
    [[path, "a", "--top-p=0"], "--top-p"],
    [[path, "a", "--max-tokens=0"], "--max-tokens"],
    [[path, "a", "--seed=-1"], "--seed"],
    [[path, "a", "--layout=i2s-32"], "--layout"],
    [[folder.path, "a", "--layout=i2s-64"], "this is a folder"],
    [[path, "a", "--device=gpu"], "gpu"],
    [[path, "hello ".repeat(300)], "at most 256 tokens"],
  ]);
});

Deno.test("`generate` reads the prompt from standard input, streams, and ends with 130 at SIGINT", async () => {
  using folder = new TemporaryDirectory();
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "-A", "--quiet", "--no-check", "--cached-only"],
      ...[`--config=${repositoryPath("deno.json")}`, repositoryPath("src/cli/main.ts")],
      ...["generate", smallFile(folder, 65536), "-", "--cache-tokens=65536"],
    ],
    ...{ stdin: "piped", stdout: "piped", stderr: "piped" },
    env: processEnvironment({}),
    clearEnv: true,
  }).spawn();
  const input = child.stdin.getWriter();
  await input.write(new TextEncoder().encode("hello"));
  await input.close();
  const output = child.stdout.getReader();
  const first = await output.read();
  assert(first.value!.length > 0);
  child.kill("SIGINT");
  let last = first.value!;
  for (let part = await output.read(); !part.done; part = await output.read()) last = part.value;
  const problems = await new Response(child.stderr).text();
  assertEquals([(await child.status).code, problems], [130, ""]);
  assertStringIncludes(new TextDecoder().decode(last.slice(-1)), "\n");
});
