// The generated kernel that CONTRIBUTING.md prints is the one that the generator writes.

import "../support/cache_directory.ts";
import { assertEquals } from "@std/assert";
import { openDevice } from "../../mod.ts";
import { square, zeros } from "../../src/device/tensor.ts";
import { kernelOf } from "../../src/tensor/kit/expression/kernel_text.ts";
import { recordKernels } from "../support/recorded_kernels.ts";

const DOCUMENT = new URL("../../CONTRIBUTING.md", import.meta.url);

const device = openDevice("host");

/** A text without line breaks, which the document has in long lines. */
const joined = (text: string) => text.trim().replaceAll(/\(\s+/g, "(").replaceAll(/\s+/g, " ");

Deno.test("CONTRIBUTING.md prints the kernel of square()", () => {
  using x = zeros([9], { device });
  const [launch] = recordKernels(device, () => square(x));
  const kernel = kernelOf(launch!.text).trim();
  const [, printed] = /```cpp\n([\s\S]*?)```/.exec(Deno.readTextFileSync(DOCUMENT))!;
  assertEquals(joined(printed!), joined(kernel), `CONTRIBUTING.md must print:\n${kernel}\n`);
});
