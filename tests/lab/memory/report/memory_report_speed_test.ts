import { assert, assertEquals, assertLess } from "@std/assert";
import { memoryReport } from "../../../../src/lab/memory/report/memory_report.ts";
import { repositoryPath } from "../../../support/subprocess.ts";
import { isBrowserMissing, type OpenPage, until, withPage } from "./browser.ts";
import { syntheticSnapshot } from "./synthetic_snapshot.ts";

const EVENTS = 100_000;
const BLOCKS = 20_000;
const FIRST_PAINT = 2000;
const PAN_FRAME = 50;

const ARTEFACTS = repositoryPath("build/test-artefacts");

/** Times from the start of the navigation, in milliseconds. */
interface Paint {
  readonly first: number;
  readonly drawn: number;
}

/** Times of the frames while a mouse dragged, in milliseconds. */
interface Pan {
  /** From one frame to the next. */
  readonly between: number[];
  /** What the page itself took to draw one. */
  readonly drawing: number[];
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1]!;
}

function paintOf({ page }: OpenPage): Promise<Paint> {
  return page.evaluate(`({
    first: performance.getEntriesByName("first-contentful-paint")[0].startTime,
    drawn: performance.getEntriesByName("memory report drawn")[0].startTime,
  })`);
}

/** Notes each frame, and how long the page's own callbacks take in it. */
const RECORDER = `{
  globalThis.frames = { between: [], drawing: [], isOver: false };
  const request = requestAnimationFrame.bind(globalThis);
  globalThis.requestAnimationFrame = (callback) => request((time) => {
    const start = performance.now();
    callback(time);
    frames.drawing.push(performance.now() - start);
  });
  let before;
  request(function frame(time) {
    if (before !== undefined) frames.between.push(time - before);
    before = time;
    if (!frames.isOver) request(frame);
  });
}`;

async function pan({ page }: OpenPage): Promise<Pan> {
  const box = (await page.locator("#timeline").boundingBox())!;
  const middle = box.y + 100;
  await page.mouse.move(box.x + box.width / 2, middle);
  // Far enough in that there is somewhere to pan to, with most events in sight still.
  await page.mouse.wheel(0, -120);
  await until(page, "document.getElementById('timeline-range').textContent[0] !== 'a'");
  await page.evaluate(RECORDER);
  await page.mouse.down();
  for (let step = 1; step <= 40; step++) {
    await page.mouse.move(box.x + box.width / 2 - 9 * (step <= 20 ? step : 40 - step), middle);
  }
  await page.mouse.up();
  return await page.evaluate("(frames.isOver = true, frames)");
}

Deno.test({
  name: `${EVENTS} events and ${BLOCKS} blocks: first paint < 2 s, a frame while panning < 50 ms`,
  ignore: isBrowserMissing,
  async fn() {
    const html = memoryReport(syntheticSnapshot({ events: EVENTS, blocks: BLOCKS }));
    await Deno.mkdir(ARTEFACTS, { recursive: true });
    await withPage(html, async (open) => {
      const paint = await paintOf(open);
      const { between, drawing } = await pan(open);
      const map = await open.page.locator("#map");
      await map.hover({ position: { x: 301, y: 100 } });
      await open.page.screenshot({ path: `${ARTEFACTS}/memory_report.png`, fullPage: true });
      const figures = {
        events: EVENTS,
        blocks: BLOCKS,
        bytes: html.length,
        firstPaint: paint.first,
        drawn: paint.drawn,
        frames: between.length,
        panFrame: median(between),
        panFrameWorst: Math.max(...between),
        drawing: median(drawing),
        drawingWorst: Math.max(...drawing),
      };
      const text = JSON.stringify(figures, null, 2) + "\n";
      await Deno.writeTextFile(`${ARTEFACTS}/memory_report.json`, text);
      assertLess(paint.first, FIRST_PAINT);
      assertLess(paint.drawn, FIRST_PAINT, "first paint with timeline and map");
      assert(drawing.length >= 10, `panning must draw: there were ${drawing.length} frames`);
      // Half of the frames, as other work on the machine may hold up any one of them.
      assertLess(median(between), PAN_FRAME);
      assertLess(median(drawing), PAN_FRAME);
      assertEquals(open.errors, []);
      assertEquals(open.requests.length, 1);
    });
  },
});
