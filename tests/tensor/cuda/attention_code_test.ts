// The machine code of attention for an H100. There the inner loops decide the speed.
// Needs no GPU: it compiles for given architectures.

import { assert, assertEquals, assertLessOrEqual } from "@std/assert";
import {
  attention,
  type AttentionDType,
  decodeAttention,
  PagedCache,
  type Tensor,
  zeros,
} from "../../../src/device/tensor.ts";
import {
  countOf,
  type Instruction,
  type MachineCode,
  machineCode,
  withoutMachineCode,
} from "./machine_code.ts";
import { recordingDevice } from "./recording_device.ts";

const ignore = withoutMachineCode !== "";

/** The code of the kernel that a call takes, without the one that merges parts. */
async function codeOf(call: (device: ReturnType<typeof recordingDevice>["device"]) => Tensor) {
  const { device, kernels } = recordingDevice("9.0");
  await call(device).ready();
  const own = kernels.map(({ text }) => text).filter(({ body }) => /attention_\w+</.test(body));
  assertEquals(own.length, 1);
  return machineCode(own[0]!);
}

/** The shortest loop with instructions that match. */
function innerLoop({ loops }: MachineCode, pattern: RegExp): readonly Instruction[] {
  const found = loops.find((it) => countOf(it, pattern) > 0);
  assert(found !== undefined, `no loop has ${pattern}`);
  return found;
}

/** Address and loop arithmetic. */
const INTEGER = /^(?:IMAD|IADD3|LEA|LOP3|SHF|SEL|ISETP|VIADD|MOV|PRMT|IABS|I2F|F2I)/;
const HEADS = 264;

const KEYS = 64;
// Both types have the same code but for one instruction.
for (const [dtype, size] of [["bfloat16", 64], ["float16", 128]] as const) {
  Deno.test({
    name:
      `attention() multiplies without address work, ${dtype} heads of ${size}${withoutMachineCode}`,
    ignore,
    async fn() {
      const code = await codeOf((device) => {
        const x = zeros([1, HEADS, 128, size], { device, dtype }) as Tensor<AttentionDType>;
        return attention(x, x, x, { causal: true }) as Tensor;
      });
      const loop = innerLoop(code, /^HMMA/);
      // A warp has 2 times 16 rows, and an instruction 16 x 8 x 16.
      assertEquals(countOf(loop, /^HMMA/), 2 * 2 * (KEYS / 8) * (size / 16));
      assertLessOrEqual(countOf(loop, INTEGER) / countOf(loop, /^HMMA/), 0.5);
      // A power for each score, and the factors of rows that are rescaled.
      assertLessOrEqual(countOf(loop, /^MUFU/), 2 * KEYS / 8 * 4 + 4);
      // Fragments serve both times 16 rows.
      assertEquals(countOf(loop, /^LDSM/), 2 * size / 16 + 2 * (KEYS / 16) * (size / 16));
      // No comparison of keys, and of each row one with its base.
      assertLessOrEqual(countOf(loop, /^ISETP/), 1);
      assertEquals(countOf(loop, /^LDGSTS.*\.128$/), 2 * KEYS * size / 8 / 128);
      assertEquals(countOf(loop, /^(?:LDL|STL|LDG\.|CALL)/), 0);
      assertEquals(code.localMemory, 0);
    },
  });
}

const SIZE = 128;
for (const blockSize of [64, 128]) {
  Deno.test({
    name:
      `attention() multiplies visible blocks of ${blockSize} as it does all keys${withoutMachineCode}`,
    ignore,
    async fn() {
      const dtype = "bfloat16";
      const code = await codeOf((device) => {
        const x = zeros([1, HEADS, 128, 128], { device, dtype });
        const mask = zeros([128 / blockSize, 128 / blockSize], { device, dtype: "bool" });
        return attention(x, x, x, { blockMask: { mask, blockSize } }) as Tensor;
      });
      const loop = innerLoop(code, /^HMMA/);
      assertEquals(countOf(loop, /^HMMA/), 256);
      // Tiles of 64 rows have half as many threads, so each copies twice as much.
      const most = blockSize === 64 ? 0.6 : 0.5;
      assertLessOrEqual(countOf(loop, INTEGER) / countOf(loop, /^HMMA/), most);
      // Two copies and the end of each, no look-up in the mask, and no comparison of keys.
      assertEquals(countOf(loop, /^BAR/), 2);
      assertEquals(countOf(loop, /^(?:STL|LDG\.|CALL)/), 0);
      assertLessOrEqual(countOf(loop, /^ISETP/), 12);
      // A tile has 64 or 128 rows, of which a warp has 32.
      assertEquals(countOf(loop, /^LDGSTS.*\.128$/), 2 * KEYS * 128 / 8 / blockSize);
      // Addresses of the next keys and values.
      assertLessOrEqual(countOf(loop, /^LDL/), 4);
    },
  });
}

Deno.test({
  name: `attention() of few rows on tensor cores copies keys ahead${withoutMachineCode}`,
  ignore,
  async fn() {
    const code = await codeOf((device) => {
      const dtype = "bfloat16";
      const q = zeros([1, 32, 1, 128], { device, dtype });
      const k = zeros([1, 8, 4096, 128], { device, dtype });
      return attention(q, k, k) as Tensor;
    });
    const loop = innerLoop(code, /^LDGSTS/);
    // 16 keys and values of 16 chunks, by 32 lanes.
    assertEquals(countOf(loop, /^LDGSTS.*\.128/), 2 * 16 * 16 / 32);
    // Keys and values, in the loop and in that of hidden keys.
    assertEquals(countOf(loop, /^HMMA/), 2 * 2 * 2 * 128 / 16);
    assertEquals(countOf(loop, /^LDSM/), 2 * 2 * 128 / 16);
    assertEquals(countOf(loop, /^(?:BAR|LDG\.|LDL|STL)/), 0);
    assertEquals(code.localMemory, 0);
  },
});

Deno.test({
  name: `decodeAttention() copies keys ahead, and shares out scores${withoutMachineCode}`,
  ignore,
  async fn() {
    const code = await codeOf((device) => {
      const dtype = "float16";
      const cache = new PagedCache({ device, dtype, pages: 40, heads: 1, headSize: SIZE });
      const sequence = cache.add();
      const keys = zeros([1, 1, 600, SIZE], { device, dtype });
      cache.append([sequence], keys, keys);
      const q = zeros([1, 4, 1, SIZE], { device, dtype });
      return decodeAttention(q, cache, [sequence], { variant: "simt" }) as Tensor;
    });
    const loop = innerLoop(code, /^LDGSTS/);
    // Four keys and their values, which the next steps use.
    assertEquals(countOf(loop, /^LDGSTS.*\.128/), 2 * 4);
    // Beside these only the pages of the next keys.
    assertEquals(countOf(loop, /^LDG\./), 4);
    assertEquals(countOf(loop, /^BAR/), 0);
    // Of 16 scores each of 16 lanes has one. They are added up by halves, the maximum of four is
    // found, and factors and powers go to all lanes; in the loop and in that of hidden keys.
    assertLessOrEqual(countOf(loop, /^SHFL/), 2 * (8 + 4 + 2 + 1 + 2 + 4 + 16));
    assertLessOrEqual(countOf(loop, /^MUFU/), 2 * 2);
    assertEquals(code.localMemory, 0);
    // Four blocks of 128 threads fit a multiprocessor.
    assertLessOrEqual(code.registers, 128);
  },
});
