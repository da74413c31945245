// Many clients of a server whose model has weights.

import { assert, assertEquals } from "@std/assert";
import { ModelServer } from "../../../src/bitnet/server/model_server.ts";
import { smallModel } from "../generation/model.ts";

function requestOf(prompt: string, options: Record<string, unknown>): Request {
  return new Request("http://localhost/v1/completions", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ prompt, max_tokens: 24, temperature: 0, ...options }),
  });
}

/** The text of a streamed completion. */
async function streamedText(response: Response): Promise<string> {
  const events = (await response.text()).split("\n\n").filter((event) =>
    event.startsWith("data: {")
  );
  return events.map((event) => JSON.parse(event.slice(6)).choices[0].text).join("");
}

Deno.test("64 streams at once have the texts of single requests, and clients that leave free their pages", async () => {
  await using model = await smallModel({ maxSequences: 64, cacheTokens: 4096 });
  const server = new ModelServer(model);
  const promptOf = (index: number) => "hello world ".repeat(1 + index % 5) + index % 8;
  const singles = new Map<string, string>();
  for (let index = 0; index < 40; index++) {
    const prompt = promptOf(index);
    if (singles.has(prompt)) continue;
    const { choices } = await (await server.fetch(requestOf(prompt, {}))).json();
    singles.set(prompt, choices[0].text);
  }
  assert(new Set(singles.values()).size > 4, "the texts differ");
  await Promise.all(Array.from({ length: 64 }, async (_, index) => {
    const prompt = promptOf(index);
    const response = await server.fetch(requestOf(prompt, { stream: true }));
    if (index % 4 < 3) assertEquals(await streamedText(response), singles.get(prompt));
    else {
      // A client that leaves while others go on.
      const reader = response.body!.getReader();
      for (let events = 0; events < index % 3; events++) await reader.read();
      await reader.cancel();
    }
  }));
  await server.drain();
  const { running, waiting, freePages, pages } = model.statistics();
  assertEquals([running, waiting, freePages], [0, 0, pages]);
});
