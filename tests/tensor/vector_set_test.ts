// The vector instructions of generated kernels on the host device.

import { assert, assertEquals, assertThrows } from "@std/assert";
import { EnvironmentError } from "../../src/ffi/granted_environment.ts";
import { openDevice } from "../../mod.ts";
import { matmul } from "../../src/device/tensor.ts";
import { sourceOf } from "../../src/tensor/expression/kernel_text.ts";
import { hostVectors } from "../../src/tensor/expression/vector_set.ts";
import { Grid } from "../support/tensor_forms.ts";

const VARIABLE = "GRIDSTRIDE_HOST_VECTORS";

function withVectors<T>(value: string | undefined, run: () => T): T {
  const before = Deno.env.get(VARIABLE);
  const set = (text: string | undefined) =>
    text === undefined ? Deno.env.delete(VARIABLE) : Deno.env.set(VARIABLE, text);
  set(value);
  try {
    return run();
  } finally {
    set(before);
  }
}

Deno.test("hostVectors() follows GRIDSTRIDE_HOST_VECTORS downwards, and refuses sets that the processor lacks", () => {
  const widest = withVectors(undefined, hostVectors);
  assertEquals(withVectors(widest, hostVectors), widest);
  assertEquals(withVectors("portable", hostVectors), "portable");
  const foreign = Deno.build.arch === "x86_64" ? "neon" : "avx2";
  const error = assertThrows(() => withVectors(foreign, hostVectors), EnvironmentError);
  assert(error.message.includes(`the processor has no ${foreign}`), error.message);
  assert(error.allowed.startsWith(widest) && error.allowed.endsWith("portable"), error.allowed);
});

Deno.test("sourceOf() defines the macros of the vector set in the block form alone", () => {
  const text = {
    name: "k",
    template: "map",
    dtypes: new Set<never>(),
    parameters: [],
    body: "",
  } as const;
  const defines = (set: string | undefined, form: "block" | "threads") =>
    withVectors(set, () => sourceOf(text, form)).match(/^#define GS_(PORTABLE|AVX512|VNNI)\b/gm);
  assertEquals(defines("portable", "block"), ["#define GS_PORTABLE"]);
  assertEquals(defines("portable", "threads"), null);
  const own = withVectors(undefined, hostVectors);
  assertEquals(
    defines(undefined, "block")?.length ?? 0,
    {
      "avx512-vnni": 2,
      avx512: 1,
      portable: 1,
    }[own as string] ?? 0,
  );
});

Deno.test("matmul() has the same bits with all vectors, since they add up in one order", async () => {
  const widest = withVectors(undefined, hostVectors);
  const family = ["avx512-vnni", "avx512", "avx2", "portable"];
  const narrower = family.slice(family.indexOf(widest) + 1).filter((set) => set !== "avx512");
  const results = await Promise.all([widest, ...narrower].map(async (set) => {
    using device = openDevice("host");
    const grids = [[31, 300], [300, 70]].map((shape) => Grid.mixed(shape, 1009));
    const [x, y] = grids.map((grid) => grid.map((it) => it / 300 - 1).tensor("float32", device));
    return [...await withVectors(set, () => matmul(x!, y!)).toArray()];
  }));
  for (const result of results) assertEquals(result, results[0]);
});
