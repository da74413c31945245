// Every generated kernel is compiled for CUDA by NVRTC, which needs no GPU.
//
// GRIDSTRIDE_TEST_CAPABILITIES="8.0 12.0" adds compute capabilities, for which all instances for tensor
// cores are compiled to machine code. Otherwise those with the most registers are.
// Needs no GPU: it compiles for given architectures.

import { assert, assertEquals } from "@std/assert";
import type { DType } from "../../../mod.ts";
import * as ternary from "../../../src/device/ternary.ts";
import * as tensors from "../../../src/device/tensor.ts";
import { TENSOR_CASES } from "../../../src/device/validation/tensor_cases.ts";
import { RandomSource } from "../../../src/device/validation/validation_case.ts";
import { kernelOf, type KernelText } from "../../../src/tensor/kit/expression/kernel_text.ts";
import { nvrtc, withoutNvrtc } from "../../support/nvrtc.ts";
import { compileKernels, tensorCoreCall } from "./compile_units.ts";
import { CALLS, Stage, WITHOUT_KERNELS } from "./kernel_calls.ts";
import { recordingDevice } from "./recording_device.ts";

const MORE = (Deno.env.get("GRIDSTRIDE_TEST_CAPABILITIES") ?? "").split(" ").filter((it) => it);

/** Kernels with local memory, and how many bytes at most. */
const SPILLS: readonly { readonly call: RegExp; readonly most: number; readonly reason: string }[] =
  [
    {
      call:
        /^matmul_mma<Multiply, __nv_fp8_e4m3, __nv_fp8_e4m3, Layout::any, Layout::any, 128, 128, true>/,
      most: 160,
      reason: "elements of other types are converted on their way to shared memory",
    },
    {
      call: /^attention_mma<Multiply, attention::Keys::paged, 4, 1, 32, 256, 256, /,
      most: 24,
      reason: "addresses, of which the loop over keys reads four for 256 instructions of products",
    },
    {
      call: /^attention_mma<Multiply, attention::Keys::dense, [24], 2, 64, 128, 128, \d+, true>/,
      most: 64,
      reason: "addresses, of which the loop over keys reads four for 256 instructions of products",
    },
    {
      call:
        /^matmul_mma_staged<Multiply, __nv_bfloat16, __nv_bfloat16, Layout::across, Layout::along, 4, false>/,
      most: 8,
      reason: "an address outside of the loop, before compute capability 9.0",
    },
    {
      call: /^ternary_mma<Multiply, 3, 4, 2>/,
      most: 16,
      reason: "addresses outside of the inner loop, from compute capability 10.0 on",
    },
  ];

/** The capability for which all kernels are compiled. */
const WHOLE = "9.0";

const isNarrow = (dtype: DType) => /^b?float(?:16|8)/.test(dtype);

/**
 * Whether the code depends on the capability: by headers of narrow floats, and by instructions. Few
 * templates themselves ask for the capability; see `device_text_test.ts`.
 */
const dependsOnCapability = (text: KernelText) =>
  tensorCoreCall(text) !== undefined || text.template.name === "ternaryMatmul" ||
  /attention_decode/.test(text.body) ||
  [...text.dtypes].some(isNarrow);

/** The kernels of all calls on a device of a capability, or of those that depend on it. */
async function recordKernels(capability: string): Promise<KernelText[]> {
  const recording = recordingDevice(capability);
  const random = new RandomSource(1);
  const cases = capability === WHOLE
    ? TENSOR_CASES
    : TENSOR_CASES.filter(({ operation, dtype }) =>
      isNarrow(dtype) || /matmul|attention/i.test(operation)
    );
  for (const { start } of cases) await start(recording.device, random).result;
  const stage = new Stage(recording.device);
  for (const [name, calls] of Object.entries(CALLS)) {
    const before = recording.launches;
    for (const result of calls(stage)) await result;
    assert(recording.launches > before, `${name} launches no kernel`);
  }
  const texts = recording.kernels.map(({ text }) => text);
  return capability === WHOLE ? texts : texts.filter(dependsOnCapability);
}

Deno.test("the recorded calls are of every function of ./tensor and ./ternary", () => {
  const functions = Object.entries({ ...tensors, ...ternary })
    .flatMap(([name, value]) => typeof value === "function" ? [name] : []);
  const validated = TENSOR_CASES.map(({ operation }) => operation);
  const known = [...validated, ...Object.keys(CALLS), ...Object.keys(WITHOUT_KERNELS)];
  assertEquals(functions.filter((name) => !known.includes(name)), []);
  assertEquals(Object.keys(WITHOUT_KERNELS).filter((name) => !functions.includes(name)), []);
});

/** The headers that a kernel uses without a sign of it in its element types. */
function missingHeaders(text: KernelText): string[] {
  const code = `${text.parameters}${kernelOf(text)}`;
  const has = (dtype: "float16" | "bfloat16" | "float8_e4m3" | "float8_e5m2") =>
    text.dtypes.has(dtype);
  return [
    ...(/\b__half\b/.test(code) && !has("float16") ? ["cuda_fp16.h"] : []),
    ...(/\b__nv_bfloat16\b/.test(code) && !has("bfloat16") ? ["cuda_bf16.h"] : []),
    ...(/\b__nv_fp8_/.test(code) && !has("float8_e4m3") && !has("float8_e5m2")
      ? ["cuda_fp8.h"]
      : []),
  ];
}

/** Instances with many registers. */
const HUNGRY =
  /^matmul_mma<.* 128, 128, \w+>|^matmul_mma_staged<|^attention_mma<Multiply, attention::Keys::dense, [24], \d, \d+, \d{2,}, \d{3}, |^attention_decode_mma<.*, (?:128, 128|256, 256), |^ternary_mma<Multiply, 3, /;

/** A kernel of each instance of the templates for tensor cores whose name matches. */
function tensorCoreInstances(kernels: readonly KernelText[], pattern: RegExp): Set<KernelText> {
  const first = Map.groupBy(kernels, (text) => tensorCoreCall(text) ?? "");
  return new Set([...first].flatMap(([call, [text]]) => pattern.test(call) ? [text!] : []));
}

Deno.test("continuous integration finds the NVRTC that it has installed", () => {
  const isInstalled = Deno.env.get("CI") !== undefined && Deno.env.get("GRIDSTRIDE_NVRTC");
  assert(!isInstalled || nvrtc !== undefined, `there is no NVRTC in ${isInstalled}`);
});

for (const capability of new Set([WHOLE, "7.5", ...MORE])) {
  Deno.test({
    name: `every generated kernel compiles for compute capability ${capability}${withoutNvrtc}`,
    ignore: nvrtc === undefined,
    async fn() {
      const kernels = await recordKernels(capability);
      assert(kernels.length > 400, `there are only ${kernels.length}`);
      // Kernels share a source here, and with it the headers of all.
      const lacking = kernels.flatMap((text) =>
        missingHeaders(text).map((header) => `${text.name}: ${header}`)
      );
      assertEquals(lacking, []);
      const instances = tensorCoreInstances(kernels, MORE.includes(capability) ? /./ : HUNGRY);
      assertEquals(instances.size > 0, capability !== "7.5");
      const { failed, resources, warnings } = await compileKernels(
        kernels,
        capability,
        (text) => instances.has(text),
      );
      assertEquals(failed, []);
      assertEquals(warnings, []);
      const spilling = [...resources].flatMap(([text, { localMemory }]) => {
        const call = tensorCoreCall(text)!;
        const most = SPILLS.find((it) => it.call.test(call))?.most ?? 0;
        return localMemory > most ? [`${call} has ${localMemory} bytes, not ${most}`] : [];
      });
      assertEquals(spilling, []);
      assertEquals(resources.size, instances.size);
    },
  });
}
