import { assert, assertAlmostEquals, assertEquals, assertStringIncludes } from "@std/assert";
import "../support/cache_directory.ts";
import { startServer } from "../../examples/server.ts";

const LIMITS = { maxBody: 1 << 20, maxPoolSize: "8MiB", timeout: 60_000 };

Deno.test("examples/server.ts answers 50 requests at once when its memory holds 3", async () => {
  const server = startServer(LIMITS, 0);
  try {
    const numbers = Float32Array.from({ length: 1 << 18 }, (_, index) => index % 1000);
    await Promise.all(Array.from({ length: 50 }, async () => {
      const response = await fetch(server.url, { method: "POST", body: numbers });
      assertEquals(response.status, 200);
      const answer = new Float32Array(await response.arrayBuffer());
      assertEquals(answer.length, numbers.length);
      assertAlmostEquals(answer[999]! - answer[0]!, 999 / Math.sqrt((1000 ** 2 - 1) / 12), 0.01);
    }));
    for (const [bytes, status] of [[0, 400], [3, 400], [LIMITS.maxBody + 4, 413]] as const) {
      const response = await fetch(server.url, { method: "POST", body: new Uint8Array(bytes) });
      assertEquals(response.status, status);
      await response.body?.cancel();
    }
  } finally {
    await server.close();
  }
});

Deno.test("examples/server.ts answers 503 when there is no memory in time", async () => {
  const server = startServer({ ...LIMITS, timeout: 0 }, 0);
  try {
    const body = new Float32Array(1 << 18);
    const answers = await Promise.all(Array.from({ length: 20 }, async () => {
      const response = await fetch(server.url, { method: "POST", body });
      return { status: response.status, text: await response.text() };
    }));
    const refused = answers.filter(({ status }) => status === 503);
    assert(refused.length > 0);
    assertStringIncludes(refused[0]!.text, "Raise maxPoolSize");
  } finally {
    await server.close();
  }
});
