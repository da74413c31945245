import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { memoryReport } from "../../../../src/lab/memory/mod.ts";
import { isBrowserMissing, until, withPage } from "../../../support/browser.ts";
import { SMALL_SNAPSHOT } from "./small_snapshot.ts";
import { syntheticSnapshot } from "./synthetic_snapshot.ts";

/** The space beside the plots of the timeline, in CSS pixels. */
const [LEFT, RIGHT] = [66, 14];

function test(name: string, run: () => Promise<void>): void {
  Deno.test({ name, ignore: isBrowserMissing, fn: run });
}

const html = memoryReport(SMALL_SNAPSHOT);

test("the timeline shows the pointed event, and pins it on a click", () =>
  withPage(html, async ({ page, errors }) => {
    const canvas = page.locator("#timeline");
    const { width } = (await canvas.boundingBox())!;
    // The second of four events lies at a quarter of 40 ms.
    const position = { x: LEFT + (width - LEFT - RIGHT) / 4, y: 120 };
    await canvas.hover({ position });
    const tooltip = await page.locator("#tooltip").innerText();
    assertStringIncludes(tooltip, "allocate 40 KiB");
    assertStringIncludes(tooltip, "stream default");
    assertStringIncludes(tooltip, "weights (load.ts:7:3)");
    await canvas.click({ position });
    await page.mouse.move(5, 5);
    assertEquals(await page.locator("#tooltip").isVisible(), false);
    const panel = await page.locator("#event").innerText();
    for (const text of ["40,960 B", "0x000000010000", "80 KiB", "10 ms", "main (run.ts:1:1)"]) {
      assertStringIncludes(panel, text);
    }
    assertEquals(await page.locator(".keys:visible").count(), 2);
    assertEquals(errors, []);
  }));

test("the timeline steps, zooms and pans with keys", () =>
  withPage(html, async ({ page, errors }) => {
    const title = () => page.locator("#event h3").innerText();
    const range = () => page.locator("#timeline-range").innerText();
    await page.locator("#timeline").focus();
    const titles: string[] = [];
    for (let step = 0; step < 5; step++) {
      await page.keyboard.press("Shift+ArrowRight");
      titles.push(await title());
    }
    const last = "out of memory 512 KiB";
    assertEquals(titles, ["reserve 80 KiB", "allocate 40 KiB", "allocate 10 KiB", last, last]);
    assertMatch(await page.locator("#announcement").innerText(), /out of memory.*scratch/);
    await page.keyboard.press("Home");
    await page.keyboard.press("Shift+ArrowLeft");
    assertEquals(await title(), "allocate 10 KiB");
    await page.keyboard.press("o");
    assertEquals(await title(), last);
    assertEquals(await range(), "all 4 events");
    for (const key of ["+", "+", "Home"]) await page.keyboard.press(key);
    // A quarter of 40 ms from the first event on: events 1 and 2, the latter on the border.
    await until(page, "document.getElementById('timeline-range').textContent[0] === '2'");
    await page.keyboard.press("End");
    await until(page, "document.getElementById('timeline-range').textContent[0] === '1'");
    await page.keyboard.press("0");
    await until(page, "document.getElementById('timeline-range').textContent === 'all 4 events'");
    assertEquals(errors, []);
  }));

test("the timeline pans by dragging and zooms at the pointer by the wheel", () =>
  withPage(html, async ({ page, errors }) => {
    const box = (await page.locator("#timeline").boundingBox())!;
    const plot = box.width - LEFT - RIGHT;
    const right = box.x + LEFT + plot - 1;
    await page.mouse.move(right, box.y + 100);
    await page.mouse.wheel(0, -240);
    // The second half: 20 ms to 40 ms, with the event at 20 ms or without it.
    const range = "document.getElementById('timeline-range').textContent";
    await until(page, `/^[12] of 4/.test(${range})`);
    await page.mouse.down();
    await page.mouse.move(right - plot * 0.9, box.y + 100, { steps: 4 });
    await page.mouse.move(right, box.y + 100, { steps: 4 });
    await page.mouse.up();
    await page.mouse.move(5, 5);
    assertStringIncludes(await page.locator("#event").innerText(), "Point at the timeline");
    await page.mouse.move(right - plot * 0.9, box.y + 100);
    await page.mouse.down();
    await page.mouse.move(right, box.y + 100, { steps: 4 });
    await page.mouse.up();
    // Panned back by nine tenths of 20 ms: 2 ms to 22 ms.
    await until(page, `${range}.startsWith("2 of 4")`);
    await page.mouse.move(box.x + LEFT + plot * 0.4, box.y + 100);
    assertStringIncludes(await page.locator("#tooltip").innerText(), "allocate 40 KiB");
    assertEquals(errors, []);
  }));

test("the map shows the pointed block, and pins it on a click", () =>
  withPage(html, async ({ page, errors }) => {
    const map = page.locator("#map");
    // By address: the segment at 0x10000 begins the first line, and its first block is a third.
    await map.hover({ position: { x: 160, y: 12 } });
    const tooltip = await page.locator("#tooltip").innerText();
    assertStringIncludes(tooltip, "live 40 KiB");
    assertStringIncludes(tooltip, "weights (load.ts:7:3)");
    await map.click({ position: { x: 160, y: 12 } });
    await page.mouse.move(5, 5);
    const panel = await page.locator("#block").innerText();
    for (
      const text of ["0x000000010000", "0.0 % unused", "1 min 10 s", "large, virtual", "main ("]
    ) {
      assertStringIncludes(panel, text);
    }
    await map.click({ position: { x: 160, y: 12 } });
    await page.mouse.move(5, 5);
    assertStringIncludes(await page.locator("#block").innerText(), "Point at a block");
    assertEquals(errors, []);
  }));

test("the map steps with keys over the matching blocks", () =>
  withPage(html, async ({ page, errors }) => {
    const title = () => page.locator("#block h3").innerText();
    const map = page.locator("#map");
    await map.focus();
    const walk = async (...keys: string[]) => {
      const titles: string[] = [];
      for (const key of keys) {
        await page.keyboard.press(key);
        titles.push(await title());
      }
      return titles;
    };
    const right = "ArrowRight";
    assertEquals(await walk(right, right, right, right, right, right, right, right), [
      "live 40 KiB",
      "cached 16 KiB",
      "free 24 KiB",
      "unmapped 32 KiB",
      "live 10 KiB",
      "free 6 KiB",
      "pending 4 KiB",
      "pending 4 KiB",
    ]);
    assertMatch(await page.locator("#announcement").innerText(), /pending 4 KiB.*stream copy/);
    for (const state of ["cached", "unmapped", "pending"]) {
      await page.locator(`#state-${state}`).uncheck();
    }
    await map.focus();
    assertEquals(await walk("Home", right, right, right, "End"), [
      "live 40 KiB",
      "free 24 KiB",
      "live 10 KiB",
      "free 6 KiB",
      "free 6 KiB",
    ]);
    await page.keyboard.press("Enter");
    await page.keyboard.press("ArrowLeft");
    assertEquals(await title(), "free 6 KiB", "the pinned block stays");
    await page.keyboard.press("Escape");
    assertEquals(await title(), "live 10 KiB");
    assertEquals(errors, []);
  }));

test("the map counts the matching blocks of its filters", () =>
  withPage(html, async ({ page, errors }) => {
    const count = () => page.locator("#filter-count").innerText();
    assertEquals(await count(), "7 of 7 blocks, 100 KiB of memory");
    await page.locator("#filter-size").fill("16 KiB");
    assertEquals(await count(), "4 of 7 blocks, 80 KiB of memory");
    await page.locator("#filter-size").fill("16 apples");
    assertEquals(await page.locator("#filter-size").getAttribute("aria-invalid"), "true");
    assertEquals(await count(), "4 of 7 blocks, 80 KiB of memory");
    await page.locator("#filter-size").fill("");
    await page.locator("#filter-stream").selectOption({ label: "copy" });
    assertEquals(await count(), "1 of 7 blocks, 4 KiB of memory");
    await page.locator("#filter-stream").selectOption("");
    await page.locator("#filter-site").fill("MAIN (run");
    assertEquals(await count(), "2 of 7 blocks, 50 KiB of memory");
    await page.locator("#filter-site").fill("nowhere");
    assertEquals(await count(), "0 of 7 blocks, 0 B of memory");
    assertEquals(errors, []);
  }));

test("the sites sort by any column, and a chosen one filters the map", () =>
  withPage(html, async ({ page, errors }) => {
    const names = () => page.locator("#sites button").allInnerTexts();
    const weights = "weights (load.ts:7:3)";
    const scratch = "scratch (step.ts:9:5)";
    assertEquals(await names(), [weights, scratch]);
    await page.locator("#sort-live").click();
    assertEquals(await names(), [scratch, weights]);
    assertEquals(await page.locator("#column-live").getAttribute("aria-sort"), "ascending");
    await page.locator("#sort-name").click();
    assertEquals(await names(), [scratch, weights]);
    await page.getByRole("button", { name: scratch }).click();
    assertEquals(
      await page.locator("#filter-count").innerText(),
      "1 of 7 blocks, 10 KiB of memory",
    );
    assertEquals(await page.locator("#stack").innerText(), `${scratch}\nmain (run.ts:2:1)`);
    await page.locator("#sites button").first().click();
    assertEquals(
      await page.locator("#filter-count").innerText(),
      "7 of 7 blocks, 100 KiB of memory",
    );
    assertEquals(await page.locator("#stack").isVisible(), false);
    assertEquals(errors, []);
  }));

test("the page escapes HTML in names", async () => {
  const hostile = `</script><script>globalThis.hit=1</script><img src=x onerror="hit=1">'"&<!--`;
  const page = memoryReport({
    ...SMALL_SNAPSHOT,
    device: { ...SMALL_SNAPSHOT.device, name: hostile },
    streams: [hostile, hostile],
    sites: [hostile, hostile],
    settings: { [hostile]: hostile },
    statistics: { [hostile]: 1 },
  });
  await withPage(page, async ({ page, errors, requests }) => {
    await page.locator("#map").hover({ position: { x: 160, y: 12 } });
    assertStringIncludes(await page.locator("#tooltip code").innerText(), hostile);
    await page.locator("#sites button").first().click();
    assertEquals(await page.locator("#stack").innerText(), hostile);
    assertEquals(await page.locator("#filter-stream option").nth(1).innerText(), hostile);
    assertStringIncludes(await page.title(), hostile);
    assertEquals(await page.evaluate("[typeof hit, document.images.length]"), ["undefined", 0]);
    assertEquals(requests.length, 1);
    assertEquals(errors, []);
  });
});

test("the page's policy forbids connections, foreign scripts and pictures", () =>
  withPage(html, async ({ page, errors, refusals }) => {
    await assertRejects(() => page.evaluate("fetch('https://example.com/')"));
    await page.evaluate(`{
      const script = document.createElement("script");
      script.textContent = "globalThis.hit = 1";
      document.body.append(script);
      const picture = document.createElement("img");
      picture.src = "https://example.com/picture.png";
      document.body.append(picture);
    }`);
    assertEquals(await page.evaluate("typeof hit"), "undefined");
    assertEquals(refusals, ["https://example.com/picture.png csp"]);
    assert(errors.length >= 3 && errors.every((error) => /Content Security Policy/.test(error)));
  }));

test("the page of an empty pool has neither timeline nor map", async () => {
  const empty = { ...SMALL_SNAPSHOT, segments: [], sites: [], streams: [], timeline: null };
  await withPage(memoryReport(empty), async ({ page, errors }) => {
    const text = await page.locator("body").innerText();
    assertStringIncludes(
      text,
      "Call using history = recordHistory(pool) before the work.",
    );
    assertStringIncludes(text, "The pool has no memory");
    assertEquals(await page.locator("canvas").count(), 0);
    assertEquals(errors, []);
  });
});

test("the page fits a narrow window and follows a change to the dark scheme", () =>
  withPage(html, async ({ page, errors }) => {
    assertEquals(await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), true);
    // Inside the first block of the map, and inside the area of live memory.
    const pixels = `["map", "timeline"].map((id) => {
      const canvas = document.getElementById(id);
      const [x, y] = id === "map" ? [20, 12] : [canvas.width - 40, 200];
      return [...canvas.getContext("2d").getImageData(x, y, 1, 1).data].join();
    })`;
    const light = await page.evaluate(pixels) as string[];
    await page.emulateMedia({ colorScheme: "dark" });
    assertEquals(light[0], "0,114,178,255", "the style sheet's colour of live");
    await until(page, `(${pixels})[0] === "63,159,219,255"`);
    const dark = await page.evaluate(pixels) as string[];
    assert(light[1] !== dark[1]);
    assertEquals(errors, []);
  }, { width: 360, height: 700 }));

test("the map shows the memory after the event that is kept in the timeline", () =>
  withPage(html, async ({ page, errors }) => {
    const [count, time, live, unmapped] = [
      "filter-count",
      "map-time",
      "total-live",
      "total-unmapped",
    ]
      .map((id) => () => page.locator(`#${id}`).innerText());
    assertEquals([await time!(), await live!()], ["at the time of the snapshot", "50 KiB"]);
    await page.locator("#timeline").focus();
    for (const key of ["Shift+ArrowRight", "Shift+ArrowRight", "Enter"]) {
      await page.keyboard.press(key);
    }
    assertEquals(await time!(), "after event #2 of the timeline");
    assertEquals([await live!(), await unmapped!()], ["40 KiB", "32 KiB"]);
    assertStringIncludes(await count!(), "4 of 4 blocks, 100 KiB of memory");
    await page.locator("#map").hover({ position: { x: 160, y: 12 } });
    assertStringIncludes(await page.locator("#tooltip").innerText(), "live 40 KiB");
    await page.locator("#map-now").click();
    assertEquals([await time!(), await live!()], ["at the time of the snapshot", "50 KiB"]);
    assertEquals(errors, []);
  }));

test("the timeline names its call sites, the peak and the limit", () =>
  withPage(
    memoryReport({ ...SMALL_SNAPSHOT, settings: { limitBytes: 110 * 1024 } }),
    async ({ page, errors }) => {
      assertEquals(await page.locator("#timeline-sites li").allInnerTexts(), [
        "weights (load.ts:7:3) up to 40 KiB",
        "scratch (step.ts:9:5) up to 8 KiB",
        "all other sites up to 2 KiB",
      ]);
      assertStringIncludes(await page.locator("section").first().innerText(), "limit 110 KiB");
      // The site's own colour above the middle of its 40 KiB, and the limit's dashes at its height.
      const pixel = (bytes: number) =>
        `(() => {
      const canvas = document.getElementById("timeline");
      const y = Math.round(16 + 200 * (1 - ${bytes} / (110 * 1024 * 1.06)));
      const row = canvas.getContext("2d").getImageData(400, y, 600, 1).data;
      return [...Array(600).keys()].map((x) => row.slice(4 * x, 4 * x + 3).join()).join(" ");
    })()`;
      assertStringIncludes(String(await page.evaluate(pixel(20 * 1024))), "51,34,136");
      assertStringIncludes(String(await page.evaluate(pixel(44 * 1024))), "136,204,238");
      assertStringIncludes(String(await page.evaluate(pixel(110 * 1024))), "213,94,0");
      assertEquals(errors, []);
    },
  ));

test("the page shows every column and no help for keys in a window of 380 pixels", () =>
  withPage(html, async ({ page }) => {
    assertEquals(await page.locator(".keys:visible").count(), 0);
    assertStringIncludes(await page.locator(".below").first().innerText(), "all 4 events");
    const cut = await page.evaluate(`[...document.querySelectorAll("table, .scroll, .bar-row")]
      .filter((element) => element.scrollWidth > element.clientWidth + 1).map((element) => element.outerHTML.slice(0, 80))`);
    assertEquals(cut, []);
  }, { width: 380, height: 800 }));

test("a search for sites releases the chosen site", () =>
  withPage(html, async ({ page, errors }) => {
    const chosen = () => page.locator("#sites button[aria-pressed=true]").count();
    await page.locator("#sites button").first().click();
    assertEquals([await chosen(), await page.locator("#stack").isVisible()], [1, true]);
    await page.locator("#filter-site").fill("scratch");
    assertEquals([await chosen(), await page.locator("#stack").isVisible()], [0, false]);
    assertStringIncludes(
      await page.locator("#filter-count").innerText(),
      "1 of 7 blocks, 10 KiB of memory",
    );
    assertEquals(errors, []);
  }));

test("memoryReport() makes a page that draws 100 000 events and 20 000 blocks", async () => {
  const html = memoryReport(syntheticSnapshot({ events: 100_000, blocks: 20_000 }));
  await withPage(html, async ({ page, errors, requests }) => {
    await until(page, "performance.getEntriesByName('memory report drawn').length === 1");
    await page.locator("#timeline").hover({ position: { x: 400, y: 100 } });
    await page.mouse.wheel(0, -120);
    await until(page, "document.getElementById('timeline-range').textContent[0] !== 'a'");
    await page.locator("#map").hover({ position: { x: 301, y: 100 } });
    assertMatch(
      await page.locator("#block h3").innerText(),
      /^(live|cached|free|pending|unmapped) /,
    );
    assertEquals([errors, requests.length], [[], 1]);
  });
});
