// Pictures in a real browser: no text overlaps another one or the frame, in both color schemes.

import { assert, assertEquals } from "@std/assert";
import { analyzeAccess, roofline } from "../../../src/lab/analysis/mod.ts";
import { accessPicture } from "../../../src/cli/pictures/access_picture.ts";
import {
  type PicturedRoofline,
  rooflinePicture,
} from "../../../src/cli/pictures/roofline_picture.ts";
import { type Picture, pictureFile } from "../../../src/cli/picture_file.ts";
import { isBrowserMissing, withPage } from "../../support/browser.ts";
import { TemporaryDirectory } from "../../support/temporary_file.ts";

function access(
  stride: number,
  elementBytes: number,
  { count = 1024, isShared = false, isQuadratic = false, subject = `stride ${stride}` } = {},
): Picture {
  const indices = Array.from({ length: count }, (_, i) => i * stride * (isQuadratic ? i : 1));
  const report = analyzeAccess(Float64Array.from(indices), { elementBytes });
  const first = indices.slice(0, 128);
  return accessPicture({
    ...{ subject, indices: first, elementBytes, offset: 0, isShared, report, advice: "" },
  });
}

const DEVICES: readonly Omit<PicturedRoofline, "kernel">[] = [
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

function withKernel(
  device: Omit<PicturedRoofline, "kernel">,
  [name, bytes, operations, seconds]: typeof KERNELS[number],
): Picture {
  const bandwidth = device.memory.peak;
  const throughput = device.compute.peak;
  const report = roofline({ bytes, operations, seconds, bandwidth, throughput });
  return rooflinePicture({ ...device, kernel: { name, report } });
}

const LONG_NAME =
  "void tile_product<__nv_bfloat16, 128, 64, 32, true>(const float*, int) 行列の積 & <b>"
    .repeat(3);

const LONG_NAMES = [[1e9, 1e7], [1e6, 1e12], [1e9, 0]].map(([bytes, operations]) =>
  withKernel({ ...DEVICES[0]!, subject: LONG_NAME }, [LONG_NAME, bytes!, operations!, 0.1])
);

const PICTURES: readonly (readonly [string, Picture])[] = [
  ["stride 1", access(1, 4)],
  ["stride 2", access(2, 4)],
  ["stride 7 of bytes", access(7, 1)],
  ["a stride far apart", access(2 ** 40, 8)],
  ["elements of 12 bytes", access(1, 12)],
  ["a growing stride", access(1, 1, { isQuadratic: true })],
  ["banks, a growing stride", access(1, 4, { isQuadratic: true, isShared: true })],
  ["one access", access(1, 4, { count: 1 })],
  ["no access", access(1, 4, { count: 0 })],
  ["a long name", access(1, 4, { subject: LONG_NAME })],
  ["banks, stride 8", access(8, 4, { isShared: true })],
  ["banks, 16 bytes", access(2, 16, { isShared: true })],
  ...LONG_NAMES.map((picture, index) => [`long name ${index}`, picture] as const),
  ...DEVICES.flatMap((device) =>
    KERNELS.map((kernel) =>
      [`${kernel[0]} on ${device.subject}`, withKernel(device, kernel)] as const
    )
  ),
];

/** Texts that overlap others or the border of the picture. */
const PROBLEMS = `(() => {
  const frame = document.querySelector("svg").getBoundingClientRect();
  const boxes = [...document.querySelectorAll("svg text, svg tspan")]
    .filter((text) => text.children.length === 0 && text.textContent !== "")
    // A rotated text fills only a small part of its box.
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
  name: "`accessPicture()` and `rooflinePicture()` return XML without overlapping texts",
  ignore: isBrowserMissing,
  async fn() {
    const page = PICTURES.map(([, { svg }]) => svg);
    await withPage("<!doctype html><body></body>", async ({ page: browser, errors, requests }) => {
      for (const [index, [name]] of PICTURES.entries()) {
        await browser.setContent(`<!doctype html><body style="margin:0">${page[index]}</body>`);
        assertEquals(await browser.evaluate(PROBLEMS), [], name);
        const xml = `new DOMParser().parseFromString(${
          JSON.stringify(page[index])
        }, "image/svg+xml")`;
        assertEquals(
          await browser.evaluate(`${xml}.querySelectorAll("parsererror").length`),
          0,
          name,
        );
      }
      // The check itself finds overlaps.
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
  name: "`svg` of a picture follows the color scheme",
  ignore: isBrowserMissing,
  async fn() {
    const colours = `(() => {
      const style = (element) => getComputedStyle(element);
      return [style(document.querySelector("svg > rect")).fill, style(document.querySelector("svg")).color];
    })()`;
    await withPage("<!doctype html><body></body>", async ({ page, errors }) => {
      await page.setContent(PICTURES[0]![1].svg);
      assertEquals(await page.evaluate(colours), ["rgb(255, 255, 255)", "rgb(27, 31, 36)"]);
      await page.emulateMedia({ colorScheme: "dark" });
      assertEquals(await page.evaluate(colours), ["rgb(20, 23, 27)", "rgb(230, 233, 236)"]);
      assertEquals(errors, []);
    });
  },
});

Deno.test({
  name: "`pictureFile()` writes a page that fits a narrow window",
  ignore: isBrowserMissing,
  async fn() {
    using folder = new TemporaryDirectory();
    const path = `${folder.path}/page.html`;
    const invocation = { json: false, options: { picture: path }, lists: {}, positional: [] };
    await pictureFile(invocation)!({ ...LONG_NAMES[0]!, description: "x".repeat(300) });
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

Deno.test("`accessPicture()` draws requests that look the same once", () => {
  const titles = ({ svg }: Picture) => svg.match(/(?:each of )?requests? \d[^:]*(?=:)/g);
  for (const isShared of [false, true]) {
    assertEquals(titles(access(2, 4, { isShared })), ["each of requests 0 to 3"]);
    assertEquals(titles(access(2, 4, { isShared, count: 32 })), ["request 0"]);
    assertEquals(titles(access(2, 4, { isShared, count: 80 }))?.length, 2);
  }
  assert(access(2, 4, { count: 64 }).svg.includes("from byte 0, 256"));
  const growing = access(1, 1, { isQuadratic: true });
  assertEquals(titles(growing), [0, 1, 2, 3].map((index) => `request ${index}`));
});

Deno.test("`accessPicture()` replaces characters that XML does not allow", () => {
  const { svg } = access(1, 4, { subject: "a\u0000b\u001bc\ud800d\uffffe" });
  // deno-lint-ignore no-control-regex
  assertEquals(/[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/.test(svg), false);
  assert(svg.isWellFormed());
  assert(svg.includes("a\ufffdb\ufffdc\ufffdd\ufffde"));
});

Deno.test("`svg` of a picture uses only colors of both color schemes", () => {
  for (const [name, { svg }] of PICTURES) {
    const [, style] = /<style>([^]*?)<\/style>/.exec(svg)!;
    const used = new Set(svg.match(/(?:fill|stroke)="#\w+"/g));
    const unknown = [...used].filter((attribute) => !style!.includes(`[${attribute}]`));
    assertEquals(unknown, [], name);
    assert(used.size > 2);
  }
});
