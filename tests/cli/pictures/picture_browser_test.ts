// Pictures in a real browser: they are drawn inside their frame, no text covers another, the dark
// scheme changes their colours, and nothing is loaded.

import { assert, assertEquals } from "@std/assert";
import { analyzeAccess, roofline } from "../../../src/lab/analysis/mod.ts";
import {
  accessPicture,
  bankPicture,
  type PicturedAccess,
} from "../../../src/cli/pictures/access_pictures.ts";
import { rooflinePicture } from "../../../src/cli/pictures/roofline_picture.ts";
import type { PicturedRoofline } from "../../../src/cli/pictures/roofline_model.ts";
import { powersOfTen } from "../../../src/cli/pictures/roofline_scales.ts";
import { type Picture, pictureFile } from "../../../src/cli/picture_file.ts";
import { isBrowserMissing, withPage } from "../../lab/memory/report/browser.ts";
import { TemporaryDirectory } from "../../support/temporary_file.ts";

function access(stride: number, elementBytes: number, count = 1024): PicturedAccess {
  const indices = Array.from({ length: count }, (_, i) => i * stride);
  const report = analyzeAccess(Float64Array.from(indices), { elementBytes });
  const first = indices.slice(0, 128);
  return {
    subject: `stride ${stride}`,
    indices: first,
    elementBytes,
    offset: 0,
    report,
    advice: "",
  };
}

const DEVICES: readonly Omit<PicturedRoofline, "kernels">[] = [
  {
    subject: "GeForce RTX 4090",
    memory: { name: "memory", peak: 1.008e12 },
    compute: { name: "float32", peak: 82.6e12 },
    others: [
      { name: "float64", peak: 1.29e12 },
      { name: "tfloat32 tensor cores", peak: 82.6e12 },
      { name: "float16 tensor cores", peak: 330e12 },
      { name: "float8 tensor cores", peak: 660e12 },
    ],
  },
  {
    subject: "H100",
    memory: { name: "memory", peak: 3.35e12 },
    compute: { name: "float64", peak: 33.5e12 },
    others: [
      { name: "float32", peak: 66.9e12 },
      { name: "float64 tensor cores", peak: 66.9e12 },
      { name: "float16 tensor cores", peak: 989e12 },
      { name: "float8 tensor cores", peak: 1979e12 },
    ],
  },
];

const KERNELS: readonly (readonly [string, number, number, number])[] = [
  ["saxpy", 8e8, 1.3e8, 9e-4],
  ["softmax", 5.3e8, 6.7e8, 6.1e-4],
  ["layer norm", 5.3e8, 7e8, 6.2e-4],
  ["layer norm of short rows", 5.3e8, 7.1e8, 1.9e-3],
  ["product of matrices", 2e8, 1.37e11, 5e-3],
  ["registers only", 0, 1e11, 4e-3],
  ["copy", 1e9, 0, 1.1e-3],
  ["<tiny> & 'quoted' \"name\"", 4096, 1024, 3e-6],
];

function kernels(device: Omit<PicturedRoofline, "kernels">, count: number) {
  return KERNELS.slice(0, count).map(([name, bytes, operations, seconds]) => ({
    name,
    report: roofline({
      bytes,
      operations,
      seconds,
      bandwidth: device.memory.peak,
      throughput: device.compute.peak,
    }),
  }));
}

const LONG_NAME =
  "void tile_product<__nv_bfloat16, 128, 64, 32, true>(const float*, int) 行列の積 & <b>"
    .repeat(3);

/** A kernel of a long name that stands left, one right, and one that only copies. */
function longNames() {
  const { memory, compute } = DEVICES[0]!;
  const peaks = { bandwidth: memory.peak, throughput: compute.peak, seconds: 0.1 };
  const counts = [[1e9, 1e7], [1e6, 1e12], [1e9, 0]] as const;
  return counts.map(([bytes, operations]) => ({
    name: LONG_NAME,
    report: roofline({ bytes, operations, ...peaks }),
  }));
}

const LONG_NAMES = rooflinePicture({
  ...DEVICES[0]!,
  subject: LONG_NAME,
  kernels: longNames(),
});

const PICTURES: readonly (readonly [string, Picture])[] = [
  ["stride 1", accessPicture(access(1, 4))],
  ["stride 2", accessPicture(access(2, 4))],
  ["stride 7 of bytes", accessPicture(access(7, 1))],
  ["a stride far apart", accessPicture(access(2 ** 40, 8))],
  ["elements of 12 bytes", accessPicture(access(1, 12))],
  ["one access", accessPicture(access(1, 4, 1))],
  ["no access", accessPicture(access(1, 4, 0))],
  ["a long name", accessPicture({ ...access(1, 4), subject: LONG_NAME })],
  ["long names of kernels", LONG_NAMES],
  ["banks, stride 8", bankPicture(access(8, 4))],
  ["banks, 16 bytes", bankPicture(access(2, 16))],
  ...DEVICES.flatMap((device) =>
    [1, KERNELS.length].map((count) =>
      [
        `${device.subject} with ${count}`,
        rooflinePicture({ ...device, kernels: kernels(device, count) }),
      ] as const
    )
  ),
];

/** Texts that cover each other, or stick out of the picture. */
const PROBLEMS = `(() => {
  const frame = document.querySelector("svg").getBoundingClientRect();
  const boxes = [...document.querySelectorAll("svg text, svg tspan")]
    .filter((text) => text.children.length === 0 && text.textContent !== "")
    // What is turned by an odd angle fills little of its box.
    .filter((text) => !/rotate\\((?!-90|0)/.test(text.parentNode.getAttribute("transform") ?? ""))
    .map((text) => [text.textContent, text.getBoundingClientRect()]);
  const problems = boxes
    .filter(([, box]) => box.left < frame.left || box.right > frame.right + 0.5 ||
      box.top < frame.top || box.bottom > frame.bottom)
    .map(([text]) => text + " sticks out");
  const inset = 1.5;
  boxes.forEach(([a, x], i) => boxes.slice(i + 1).forEach(([b, y]) => {
    if (x.left + inset < y.right && y.left + inset < x.right &&
      x.top + inset < y.bottom && y.top + inset < x.bottom) problems.push(a + " | " + b);
  }));
  return problems;
})()`;

Deno.test({
  name: "texts of pictures cover no other and stay inside, and nothing is loaded",
  ignore: isBrowserMissing,
  async fn() {
    const page = PICTURES.map(([, { svg }]) => svg);
    await withPage("<!doctype html><body></body>", async ({ page: browser, errors, requests }) => {
      for (const [index, [name]] of PICTURES.entries()) {
        await browser.setContent(`<!doctype html><body style="margin:0">${page[index]}</body>`);
        assertEquals(await browser.evaluate(PROBLEMS), [], name);
      }
      // What would be found: two texts at one place, and one outside.
      await browser.setContent(
        `<svg width="90" height="40"><text y="20">a</text><text x="2" y="22">b</text>` +
          `<text x="80" y="20">outside</text></svg>`,
      );
      assertEquals(await browser.evaluate(PROBLEMS), ["outside sticks out", "a | b"]);
      assertEquals(errors, []);
      assertEquals(requests.length, 1);
    }, { width: 1100, height: 1500 });
  },
});

Deno.test({
  name: "every picture is well-formed XML, and the dark scheme changes its colours",
  ignore: isBrowserMissing,
  async fn() {
    const colours = `(() => {
      const style = (element) => getComputedStyle(element);
      return [style(document.querySelector("svg > rect")).fill, style(document.querySelector("svg")).color];
    })()`;
    await withPage("<!doctype html><body></body>", async ({ page, errors }) => {
      for (const [name, { svg }] of PICTURES) {
        const parsed = await page.evaluate(`
          new DOMParser().parseFromString(${JSON.stringify(svg)}, "image/svg+xml")
            .querySelectorAll("parsererror").length`);
        assertEquals(parsed, 0, name);
      }
      await page.setContent(PICTURES[0]![1].svg);
      assertEquals(await page.evaluate(colours), ["rgb(255, 255, 255)", "rgb(27, 31, 36)"]);
      await page.emulateMedia({ colorScheme: "dark" });
      assertEquals(await page.evaluate(colours), ["rgb(20, 23, 27)", "rgb(230, 233, 236)"]);
      assertEquals(errors, []);
    });
  },
});

Deno.test({
  name: "a page is as wide as its window, also with long words, and its picture stays readable",
  ignore: isBrowserMissing,
  async fn() {
    using folder = new TemporaryDirectory();
    const path = `${folder.path}/page.html`;
    const invocation = { json: false, options: { picture: path }, lists: {}, positional: [] };
    pictureFile(invocation)!.write({ ...LONG_NAMES, description: "x".repeat(300) });
    await withPage(await Deno.readTextFile(path), async ({ page, errors }) => {
      const [pageWidth, captionWidth, pictureWidth] = await page.evaluate(`[
        document.documentElement.scrollWidth,
        document.querySelector("figcaption").scrollWidth,
        document.querySelector("svg").getBoundingClientRect().width,
      ]`) as [number, number, number];
      assert(pageWidth <= 380 && captionWidth <= 380, `${pageWidth}, ${captionWidth}`);
      assertEquals(pictureWidth, 640);
      assertEquals(errors, []);
    }, { width: 380, height: 800 });
  },
});

Deno.test("what no XML may contain is not in a picture", () => {
  const indices = [0, 1];
  const report = analyzeAccess(indices);
  const subject = "a\u0000b\u001bc\ud800d\uffffe";
  const { svg } = accessPicture({
    ...{ subject, indices, elementBytes: 4, offset: 0, report, advice: "" },
  });
  // deno-lint-ignore no-control-regex
  assertEquals(/[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/.test(svg), false);
  assert(svg.isWellFormed());
  assert(svg.includes("a\ufffdb\ufffdc\ufffdd\ufffde"));
});

Deno.test("axes over many decades have as many labels as have room", () => {
  assertEquals(powersOfTen({ from: 0.05, to: 2000 }), [0.1, 1, 10, 100, 1000]);
  for (const decades of [1, 11, 12, 13, 60, 120]) {
    const ticks = powersOfTen({ from: 1e-30, to: 10 ** (decades - 30) });
    assert(ticks.length > 1 && ticks.length <= 12, `${decades}: ${ticks.length}`);
    const steps = ticks.slice(1).map((tick, i) => Math.round(Math.log10(tick / ticks[i]!)));
    assertEquals(new Set(steps).size, 1);
  }
});

Deno.test("no picture uses a colour that the dark scheme does not know", () => {
  for (const [name, { svg }] of PICTURES) {
    const [, style] = /<style>([^]*?)<\/style>/.exec(svg)!;
    const used = new Set(svg.match(/(?:fill|stroke)="#\w+"/g));
    const unknown = [...used].filter((attribute) => !style!.includes(`[${attribute}]`));
    assertEquals(unknown, [], name);
    assert(used.size > 2);
  }
});
