// Precision of matrix products: rounding of operands, the choice by device and call, and refusals.

import { device } from "../support/device.ts";
import { assertEquals, assertThrows } from "@std/assert";
import {
  attention,
  attentionVariableLength,
  matmul,
  type PrecisionMode,
  setPrecision,
  tensor,
} from "../../src/device/tensor.ts";
import { narrowFromFloat32, widenToFloat32 } from "../../src/memory/element_bits.ts";
import { runProgram } from "../support/subprocess.ts";

const VALUES = [1, -1 / 3, 0.1, 1000.1, 3e-5, 449, 2.0009765625, 1 + 3 * 2 ** -11, 0];

/** Rounds to the 10 bits of TF32, ties to even. */
function toTf32(x: number): number {
  if (x === 0) return 0;
  const unit = 2 ** (Math.floor(Math.log2(Math.abs(x))) - 10);
  const [quotient, floor] = [x / unit, Math.floor(x / unit)];
  const isUp = quotient - floor > 0.5 || (quotient - floor === 0.5 && floor % 2 !== 0);
  return unit * (floor + (isUp ? 1 : 0));
}

const through = (dtype: "float16" | "bfloat16" | "float8_e4m3") => (x: number) =>
  widenToFloat32(dtype, narrowFromFloat32(dtype, Float32Array.of(x)) as never)[0]!;

const ROUNDED: Readonly<Record<PrecisionMode, (x: number) => number>> = {
  auto: (x) => x,
  fp32: (x) => x,
  tf32: toTf32,
  fp16: through("float16"),
  bf16: through("bfloat16"),
  // NVIDIA's conversion saturates.
  fp8: (x) => through("float8_e4m3")(Math.max(-448, Math.min(448, x))),
};
const MODES = Object.keys(ROUNDED) as PrecisionMode[];

Deno.test("matmul() rounds its operands to the precision of the call, then that of the device", async () => {
  const elements = VALUES.map(Math.fround);
  using column = tensor(elements.map((x) => [x]), { device });
  using row = tensor([elements], { device });
  const expected = (mode: PrecisionMode) => {
    const own = elements.map((x) => Math.fround(ROUNDED[mode](x)));
    return own.map((x) => own.map((y) => Math.fround(x * y) + 0));
  };
  const calls = MODES.map((precision) => matmul(column, row, { precision }));
  const policies = MODES.map((mode) => {
    setPrecision(mode, { device });
    return matmul(column, row);
  });
  setPrecision("bf16");
  const own = matmul(column, row); // the device has a setting
  const named = matmul(column, row, { precision: "tf32" });
  setPrecision("auto");
  setPrecision("auto", { device });
  for (const [k, mode] of MODES.entries()) {
    assertEquals(await calls[k]!.toNested(), expected(mode), mode);
    assertEquals(await policies[k]!.toNested(), expected(mode), mode);
  }
  assertEquals(await own.toNested(), expected("fp8"));
  assertEquals(await named.toNested(), expected("tf32"));
});

Deno.test("matmul() adds up in float32 at every precision", async () => {
  // 2^11 + 1 ones: float16 and bfloat16 stop counting at 2^11 and 2^8.
  const ones = new Array(2049).fill(1);
  using rows = tensor([ones, ones], { dtype: "float16", device });
  using columns = tensor(ones.map((x) => [x, x]), { device });
  using wide = rows.astype("float32");
  const results = MODES.map((precision) => matmul(wide, columns, { precision }));
  for (const it of results) assertEquals(await it.toNested(), [[2049, 2049], [2049, 2049]]);
  // The kernels for rows and for tiles round alike.
  const [row, column] = [wide.slice([{ stop: 1 }]), columns.slice([{}, { stop: 1 }])];
  assertEquals(await matmul(row, column, { precision: "bf16" }).item(), 2049);
});

Deno.test("precision is refused if it is unknown, or does not fit the element types", () => {
  using x = tensor([[1]], { dtype: "float64", device });
  using single = tensor([[1]], { dtype: "float32", device });
  const cases: readonly (readonly [() => unknown, string])[] = [
    [() => setPrecision("fp64" as never), "must be one of auto, fp32, tf32, fp16, bf16, fp8"],
    [() => setPrecision("auto", { device: {} as never }), "options.device"],
    [() => matmul(x, x, { precision: "fp4" as never }), "must be one of auto"],
    [() => matmul(single, single, { precision: null as never }), "it is null"],
    [() => matmul(x, x, { precision: "tf32" }), "must have operands of float16, bfloat16 or"],
  ];
  for (const [call, text] of cases) assertThrows(call, TypeError, text);
});

const PROGRAM = `
import { openDevice } from "@gridstride/cuda";
import { matmul, setPrecision, zeros } from "@gridstride/cuda/tensor";
const device = openDevice("host");
// Without elements: nothing is compiled for each compute capability.
const x = zeros([0, 0], { device });
for (const mode of ["auto", "fp32", "tf32", "fp16", "bf16", "fp8"]) {
  for (const run of [
    () => setPrecision(mode, { device }),
    () => matmul(x, x, { precision: mode }),
  ]) {
    try {
      run();
      console.log(mode, "runs");
    } catch (error) {
      console.log(error.name, error.message);
    }
  }
  setPrecision("auto", { device });
}
await x.ready();
`;

Deno.test("setPrecision() and matmul() name the compute capability that a precision needs", async () => {
  const refusals = (own: string, needs: Readonly<Record<string, string>>) =>
    MODES.flatMap((mode) =>
      ["set the precision", "call matmul()"].map((action) =>
        needs[mode] === undefined
          ? `${mode} runs`
          : `RangeError Cannot ${action} as precision ${mode} must have a device of compute ` +
            `capability ${needs[mode]} or higher: host:0 has ${own}`
      )
    );
  const cases = {
    "7.5": { tf32: "8.0", bf16: "8.0", fp8: "8.9" },
    "8.6": { fp8: "8.9" },
    "12.0": {},
  };
  await Promise.all(
    Object.entries(cases).map(async ([own, needs]) => {
      const { stdout, stderr } = await runProgram(PROGRAM, {
        environment: { GRIDSTRIDE_FAKE: `1GiB@${own}` },
      });
      assertEquals([stderr, stdout.trim().split("\n")], ["", refusals(own, needs)]);
    }),
  );
});

Deno.test("attention() of float32 runs in the precision of the device, and no other type does", async () => {
  const values = Array.from({ length: 3 * 8 }, (_, at) => Math.sin(at));
  using q = tensor(values, { device }).reshape([1, 1, 3, 8]);
  const ends = [0, 3];
  using packed = q.reshape([3, 1, 8]);
  for (const [mode, dtype] of [["bf16", "bfloat16"], ["fp16", "float16"]] as const) {
    using narrow = q.astype(dtype);
    using expected = attention(narrow, narrow, narrow);
    setPrecision(mode, { device });
    using actual = attention(q, q, q);
    const { output, logSumExp } = attention(q, q, q, { logSumExp: true });
    using ragged = attentionVariableLength(packed, packed, packed, ends, ends);
    using own = attention(narrow, narrow, narrow);
    setPrecision("auto", { device });
    const nested = await expected.toNested();
    assertEquals(actual.dtype, "float32");
    assertEquals(own.dtype, dtype);
    assertEquals(await actual.toNested(), nested);
    assertEquals(await output.toNested(), nested);
    assertEquals([output.dtype, logSumExp.dtype, logSumExp.shape], ["float32", "float32", [
      1,
      1,
      3,
    ]]);
    assertEquals(await ragged.reshape([1, 1, 3, 8]).toNested(), nested);
  }
});

Deno.test("setPrecision() refuses modes that auto may not choose", () => {
  const cases: readonly (readonly [() => unknown, string])[] = [
    [() => setPrecision("auto", { allow: ["fp8"] as never }), "options.allow must be an array of"],
    [() => setPrecision("auto", { allow: "bf16" as never }), "options.allow must be an array of"],
    [() => setPrecision("bf16", { allow: ["bf16"] }), "options.allow must go with the mode auto"],
  ];
  for (const [call, text] of cases) assertThrows(call, TypeError, text);
});

const ALLOWING = `
import { listDevices, openDevice } from "@gridstride/cuda";
import { matmul, setPrecision, tensor } from "@gridstride/cuda/tensor";
setPrecision("auto", { allow: JSON.parse(Deno.args[0]) });
for (const { label } of listDevices()) {
  using device = openDevice(label);
  // 1 + 2^-9 is a number of float16 and of tf32, and 1 of bfloat16.
  using x = tensor([[1 + 2 ** -9 + 2 ** -14]], { device });
  using one = tensor([[1]], { device });
  using narrow = tensor([[1 + 2 ** -9]], { device, dtype: "float16" });
  const products = [
    matmul(x, one),
    matmul(narrow, one.astype("float16")),
    matmul(x, one, { precision: "fp32" }),
  ];
  const items = await Promise.all(products.map((it) => it.item()));
  console.log(device.info.computeCapability, ...items);
}
`;

Deno.test("setPrecision() lets auto choose what the hardware has, in the order of preference", async () => {
  const exact = 1 + 2 ** -9 + 2 ** -14;
  const fp16 = 1 + 2 ** -9;
  const cases = [
    [["bf16", "fp16"], [fp16, 1]],
    [["tf32", "fp16"], [fp16, fp16]],
    [["bf16"], [exact, 1]],
    [[], [exact, exact]],
  ] as const;
  for (const [allow, chosen] of cases) {
    const { stdout, stderr } = await runProgram(ALLOWING, {
      args: [JSON.stringify(allow)],
      environment: { GRIDSTRIDE_FAKE: "4GiB@7.5,4GiB@8.9", GRIDSTRIDE_DEVICE: undefined },
    });
    assertEquals(stderr, "");
    const lines = ["7.5", "8.9"].map((own, k) => `${own} ${chosen[k]} ${fp16} ${exact}`);
    assertEquals(stdout.trim().split("\n").sort(), lines, allow.join());
  }
});
