// The chat page in a browser, at the widths of a desktop and of a phone.

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { ModelServer, type ModelServerOptions } from "../../../src/bitnet/server/model_server.ts";
import type { ServedModel } from "../../../src/bitnet/server/completion_request.ts";
import {
  isBrowserMissing,
  type OpenOptions,
  type OpenPage,
  until,
  withAddress,
} from "../../support/browser.ts";
import { ScriptedModel } from "./scripted_model.ts";

const PHONE = { width: 390, height: 844 };

function test(name: string, run: () => Promise<void>): void {
  Deno.test({ name, ignore: isBrowserMissing, fn: run });
}

/** Opens the page of a server. */
async function withChat(
  model: ServedModel | Promise<ServedModel>,
  run: (open: OpenPage) => Promise<void>,
  { server: options, ...window }: OpenOptions & { readonly server?: ModelServerOptions } = {},
): Promise<void> {
  const server = new ModelServer(model, { isLocal: true, ...options });
  const http = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, server.fetch);
  try {
    await withAddress(`http://127.0.0.1:${http.addr.port}/`, run, window);
  } finally {
    server.abort();
    await http.shutdown();
  }
}

/** GRIDSTRIDE_TEST_SCREENSHOTS names a folder for pictures, to look at. */
async function picture({ page }: OpenPage, name: string): Promise<void> {
  const folder = Deno.env.get("GRIDSTRIDE_TEST_SCREENSHOTS");
  if (folder !== undefined) await page.screenshot({ path: `${folder}/${name}.png` });
}

const READY = "document.querySelector('#state.ok') !== null";
const IDLE = "document.getElementById('stop').hidden";

/** Sends a message and waits for the end of the answer. */
async function send({ page }: OpenPage, text: string): Promise<void> {
  await until(page, READY);
  await page.locator("#prompt").fill(text);
  await page.locator("#send").click();
  await until(page, IDLE);
}

const MARKDOWN = `# Steps
Use **deno** and \`curl\`:

1. Open <b>it</b>
2. Ask

- one
- two

\`\`\`ts
const x = "<script>alert(1)</script>";
const long = "${"long ".repeat(40)}";
\`\`\`
Done.`;

test("The page shows a conversation with its Markdown as elements, and figures below", () =>
  withChat(new ScriptedModel(MARKDOWN, 4096), async (open) => {
    const { page, errors, requests } = open;
    await until(page, READY);
    assertEquals(await page.locator("#model").innerText(), "scripted");
    await picture(open, "empty");
    await send(open, "How?");
    await send(open, "Again, with a longer question that takes more than one line? ".repeat(4));
    await picture(open, "chat");
    const answer = page.locator(".assistant").first();
    assertEquals(await page.locator(".user").first().innerText(), "How?");
    assertEquals(await answer.locator("h2").innerText(), "Steps");
    assertEquals(await answer.locator("ol li").allInnerTexts(), ["Open <b>it</b>", "Ask"]);
    assertEquals(await answer.locator("ul li").count(), 2);
    assertEquals(await answer.locator("p code").innerText(), "curl");
    assertStringIncludes(await answer.locator("pre").innerText(), "<script>alert(1)</script>");
    assertMatch(
      await page.locator(".assistant").last().innerText(),
      /\d+ tokens · [\d.e+]+ tokens\/s/,
    );
    assertEquals(await page.locator(".note button", { hasText: "Again" }).count(), 1);
    assertEquals(errors, []);
    const foreign = requests.filter((url) => !url.startsWith("http://127.0.0.1:"));
    assertEquals(foreign.filter((url) => !url.startsWith("data:")), []);
  }));

test("The conversation is sent as a whole, with the system message, and survives a reload", async () => {
  const model = new ScriptedModel("hello");
  await withChat(model, async (open) => {
    const { page } = open;
    await page.locator("#open-settings").click();
    await page.locator("#system").fill("be short");
    await page.locator("#max-tokens").fill("7");
    await picture(open, "settings");
    await page.locator("dialog button").click();
    await send(open, "one");
    await page.reload();
    await send(open, "two");
    const { prompt, options } = model.calls.at(-1)!;
    assertEquals(prompt, "System: be shortUser: oneAssistant: helloUser: twoAssistant: ");
    assertEquals([options.maxTokens, options.temperature], [7, 0.7]);
    await page.locator("#clear").click();
    assertEquals(await page.locator(".message").count(), 0);
    await send(open, "three");
    assertEquals(model.calls.at(-1)!.prompt, "System: be shortUser: threeAssistant: ");
  });
});

test("The stop button ends the answer and keeps its beginning, and a new chat ends it too", async () => {
  const model = new ScriptedModel();
  await withChat(model, async (open) => {
    const { page, errors } = open;
    model.hold();
    await until(page, READY);
    await page.locator("#prompt").fill("hello");
    await page.keyboard.press("Enter");
    await until(page, "document.querySelector('.assistant .text')?.textContent === 'hello'");
    await picture(open, "running");
    await page.locator("#stop").click();
    await until(page, IDLE);
    assertMatch(await page.locator(".assistant").innerText(), /^hello\s+stopped/);
    while (model.running > 0) await new Promise((resolve) => setTimeout(resolve, 5));
    await page.locator("#prompt").fill("again");
    await page.keyboard.press("Enter");
    await until(page, "document.querySelectorAll('.assistant').length === 2");
    await page.locator("#clear").click();
    await until(page, IDLE);
    assertEquals(await page.locator(".message").count(), 0);
    assertEquals(errors, []);
  });
});

test("Errors of the server are shown, and an answer can be requested again", async () => {
  const model = new ScriptedModel("hello");
  model.failure = new Error("the device is lost");
  await withChat(model, async (open) => {
    const { page } = open;
    await send(open, "one");
    await picture(open, "error");
    assertStringIncludes(await page.locator(".note.error").innerText(), "the device is lost");
    model.failure = undefined;
    await until(page, READY);
    await page.locator(".note button", { hasText: "Again" }).click();
    await until(page, `${IDLE} && !document.querySelector('.note.error')`);
    assertMatch(await page.locator(".assistant").innerText(), /^hello\s+1 token/);
    await send(open, "hello ".repeat(64));
    assertStringIncludes(await page.locator(".note.error").innerText(), "Begin a new chat.");
  });
});

test("The page waits for the model, and takes the server's key", async () => {
  const { promise, resolve } = Promise.withResolvers<ServedModel>();
  await withChat(promise, async (open) => {
    const { page } = open;
    await until(page, "document.getElementById('greeting').textContent.includes('loading')");
    assert(await page.locator("#send").isDisabled());
    resolve(new ScriptedModel("hello"));
    await until(page, "document.getElementById('hint').textContent.includes('needs its key')");
    await page.locator("#open-settings").click();
    await page.locator("#key").fill("secret");
    await page.locator("dialog button").click();
    await send(open, "one");
    assertStringIncludes(await page.locator(".assistant").innerText(), "hello");
  }, { server: { apiKey: "secret" } });
});

test("The page fits a phone, and is dark where the system is", () =>
  withChat(new ScriptedModel(MARKDOWN, 4096), async (open) => {
    const { page, errors } = open;
    await send(open, "A question with averyveryverylongwordthatdoesnotfitintoalineofaphoneatall");
    await picture(open, "phone");
    const [width, color] = await page.evaluate(
      "[document.documentElement.scrollWidth, getComputedStyle(document.body).backgroundColor]",
    ) as [number, string];
    assertEquals([width, color], [PHONE.width, "rgb(15, 19, 24)"]);
    const bottom = await page.locator("#send").boundingBox();
    assert(bottom!.y + bottom!.height <= PHONE.height && bottom!.height >= 44);
    await page.locator("#open-settings").click();
    await picture(open, "phone_settings");
    assertEquals(errors, []);
  }, { ...PHONE, scheme: "dark" }));
