// The keys of generated kernels. Calls that differ in one thing at a time are recorded, neither
// compiled nor launched: calls with one key must have one kernel, or the second runs the first's.

import { assert } from "@std/assert";
import * as tensors from "../../../src/device/tensor.ts";
import { type Tensor, zeros } from "../../../src/device/tensor.ts";
import {
  quantizeActivations,
  quantizeWeights,
  ternaryMatmul,
  TernaryWeights,
} from "../../../src/device/ternary.ts";
import type { DType } from "../../../mod.ts";
import { DeviceWork } from "../../../src/tensor/kit/device_work.ts";
import type { KernelText } from "../../../src/tensor/kit/expression/kernel_text.ts";
import { ternaryVariants } from "../../../src/ternary/ternary_matmul.ts";
import { recordKernels } from "../../support/recorded_kernels.ts";
import { forms } from "../../support/tensor_forms.ts";

/** Calls a public function, whose types say which options go together. */
const run = (name: string, ...operands: readonly unknown[]): Tensor =>
  (tensors as unknown as Record<string, (...operands: readonly unknown[]) => Tensor>)[name]!(
    ...operands,
  );

type Device = { readonly context: Tensor["context"] };

/** A kernel without its name: operations share those that compute the same. */
function contentOf({ template, vectors, dtypes, parameters, definitions, body }: KernelText) {
  return [template, vectors, [...dtypes].sort(), parameters, definitions, body].join("\n");
}

/** Views of a shape that differ in the strides of one axis each. */
function viewsOf(shape: readonly number[], dtype: DType, device: Device): Tensor[] {
  const last = shape.length - 1;
  const make = (own: readonly number[]) => zeros(own, { dtype, device }) as Tensor;
  const wide = (axis: number) => make(shape.with(axis, 2 * shape[axis]!));
  const everySecond = (axis: number) => [...Array(axis).fill({}), { step: 2 }];
  const axes = [...shape.keys()];
  return [
    make(shape),
    ...axes.map((axis) => wide(axis).slice(everySecond(axis))),
    ...axes.map((axis) => make(shape.with(axis, 1)).broadcastTo(shape)),
    make([]).broadcastTo(shape),
    ...(last > 0
      ? [make(shape.with(-1, shape[last - 1]!).with(-2, shape[last]!)).transpose()]
      : []),
    ...(last > 1 ? [make(shape.toReversed()).permute(axes.toReversed())] : []),
    ...(last > 1 ? [wide(last).slice(everySecond(last)).transpose()].filter(isOf(shape)) : []),
  ];
}

const isOf = (shape: readonly number[]) => (x: Tensor) => `${x.shape}` === `${shape}`;

/** Ranks, and extents on both sides of the least one for which tiles are taken. */
const SHAPES = [[9], [9, 9], [7, 7], [7, 9], [9, 9, 9], [3, 7, 7], [9, 3, 9], [9, 9, 3], [
  3,
  2,
  9,
  9,
]];
const TYPES = ["float32", "float64", "int32", "float16"] as const;

const CALLS: Readonly<Record<string, (device: Device) => void>> = {
  elementwise(device) {
    for (const shape of SHAPES) {
      const views = viewsOf(shape, "float32", device);
      const targets = viewsOf(shape, "float32", device).slice(0, 1 + shape.length);
      for (const x of views) {
        for (const y of [views[0]!, views[shape.length]!, views.at(-1)!]) {
          run("subtract", x, y);
          for (const out of targets) run("subtract", x, y, { out });
        }
        run("subtract", x, 1);
        run("subtract", 1, x);
        for (const bounds of [[1, 2], [1], [undefined, 2], [x, 2], [1, x], [x, x]]) {
          x.clip(...bounds as [number, number]);
        }
        const flags = x.greater(0);
        for (const [yes, no] of [[x, 1], [1, x], [x, x], [x, views[0]!]]) {
          run("where", flags, yes, no);
        }
        if (shape.length > 1) run("tril", x), run("triu", x);
        run("concat", [x, x]);
      }
    }
    for (const from of TYPES) {
      const x = zeros([9], { device, dtype: from }) as Tensor;
      for (const to of TYPES) {
        x.astype(to);
        const y = zeros([9], { device, dtype: to }) as Tensor;
        for (const name of ["add", "less", "maximum", "divide"] as const) run(name, x, y);
        run("where", x.greater(0), x, y);
      }
      run("add", x, 1);
      if (from !== "int32") run("uniform", [9], { device, dtype: from });
      if (from !== "int32") run("normal", [9], { device, dtype: from });
      run("arange", 0, 9, 1, { device, dtype: from });
      run("linspace", 0, 9, 9, { device, dtype: from });
    }
  },
  fused(device) {
    const x = zeros([9], { device }) as Tensor;
    const wide = zeros([9], { device, dtype: "float64" }) as Tensor;
    const functions: ((a: Tensor, b: Tensor) => Tensor)[] = [
      (a, b) => a.add(b).multiply(2),
      (a, b) => b.add(a).multiply(2),
      (a, b) => a.add(b).multiply(a),
      (a) => a.add(2).multiply(3),
      (a) => a.add(a).multiply(3),
      (a, b) => a.subtract(b).abs(),
      (a, b) => a.subtract(b).abs().sum(),
      (a, b) => a.multiply(b).abs().sum(),
      (a, b) => a.subtract(b).abs().max(),
      (a, b) => run("where", a.less(b), a, b),
      (a, b) => run("where", a.less(b), b, a),
      (a, b) => run("where", a.greater(b), a, b),
      (a) => a.astype("int32").abs().astype("float32"),
      (a) => a.astype("int8").abs().astype("float32"),
      (a) => a.multiply(3).subtract(a.add(2)),
      (a) => {
        const sum = a.add(2); // its number is the first
        return a.multiply(3).subtract(sum);
      },
      (a, b) => a.less(b).astype("float32"),
      (a, b) => a.less(b).astype("int32"),
    ];
    for (const f of functions) {
      for (const [a, b] of [[x, x], [x, wide], [wide, x], [wide, wide]] as const) {
        tensors.fuse(f)(a, b);
      }
    }
  },
  reductions(device) {
    for (
      const shape of [[9], [9, 9], [9, 40], [3, 40, 2], [3, 9, 40], [2, 3, 9, 40], [2, 2000]]
    ) {
      for (const x of viewsOf(shape, "float32", device)) {
        const axes = [
          undefined,
          ...shape.keys(),
          ...(shape.length > 2 ? [[0, 2], [1, 2], [0, 1]] : []),
        ];
        for (const axis of axes) {
          const options = axis === undefined ? {} : { axis };
          for (const name of ["sum", "prod", "mean", "max", "any", "countNonzero"] as const) {
            run(name, x, options);
          }
          for (const correction of [0, 1]) run("variance", x, { ...options, correction });
          run("std", x, options);
          if (Array.isArray(axis)) continue;
          run("argmax", x, options);
        }
      }
    }
    for (const long of [2 ** 19, 1025]) {
      for (const dtype of TYPES) {
        const row = zeros([long], { device, dtype }) as Tensor;
        const columns = zeros([1], { device, dtype }).broadcastTo([long, 16]) as Tensor;
        for (const x of [row, row.slice([{ step: 2 }]), columns]) {
          for (const name of ["sum", "mean", "max", "variance", "all"] as const) {
            run(name, x, { axis: 0 });
          }
          run("sum", x, { axis: 0, dtype: "float64" });
        }
        run("argmin", row);
      }
    }
  },
  rows(device) {
    const make = (dtype: DType, ...shape: number[]) => zeros(shape, { device, dtype }) as Tensor;
    const types = ["float32", "float16", "float64"] as const;
    for (const dtype of types) {
      for (const x of viewsOf([5, 9], dtype, device).slice(0, dtype === "float32" ? 5 : 2)) {
        for (const name of ["softmax", "logSoftmax"] as const) {
          for (const axis of [0, 1]) run(name, x, { axis });
          run(`${name}Backward`, x, make(dtype, 5, 9));
          run(`${name}Backward`, make(dtype, 5, 9), x);
        }
        for (
          const weight of [undefined, make(dtype, 9), make("float32", 18).slice([{ step: 2 }])]
        ) {
          const own = weight === undefined ? {} : { weight: weight };
          run("layerNormBackward", x, x, own);
          run("rmsNormBackward", x, x, own);
          for (const residual of [{}, { residual: make(dtype, 5, 9) }]) {
            for (
              const quantize of [{}, { quantize: "int8" }, { quantize: "float8_e4m3" }] as const
            ) {
              for (const epsilon of [1e-5, 1e-6]) {
                const options = { ...own, ...residual, ...quantize, epsilon };
                run("rmsNorm", x, options);
                run("layerNorm", x, options);
                run("layerNorm", x, { ...options, bias: make(dtype, 9) });
              }
            }
          }
        }
        for (const labels of ["int32", "int64"] as const) {
          const places = [make(labels, 5), make(labels, 10).slice([{ step: 2 }])];
          for (const label of places) {
            for (const reduction of ["mean", "sum", "none"] as const) {
              run("crossEntropy", x, label, { reduction });
              run("crossEntropyBackward", 1, x, label, { reduction });
              const shape = reduction === "none" ? [5] : [];
              for (const type of types) {
                const dy = make(type, ...shape);
                run("crossEntropyBackward", dy, x, label, { reduction });
              }
            }
          }
        }
        quantizeActivations(x as Tensor<"float32">);
        quantizeWeights(x as Tensor<"float32">, { segments: [2, 3] });
      }
    }
    // Few long rows take a kernel for each stage.
    for (const dtype of types) {
      const x = make(dtype, 1, 2 ** 15);
      for (const quantize of [{}, { quantize: "int8" }]) {
        run("layerNorm", x, quantize);
        for (const weight of types) {
          run("rmsNorm", x, { ...quantize, residual: x, weight: make(weight, 2 ** 15) });
        }
      }
      quantizeActivations(x as Tensor<"float32">);
    }
  },
  matmul(device) {
    const forms: readonly (readonly [m: number, n: number, k: number, batch: number[]])[] = [
      [5, 7, 9, []],
      [1, 7, 9, []],
      [5, 1, 9, []],
      [5, 7, 9, [3]],
      [5, 7, 9, [2, 3]],
    ];
    for (const [m, n, k, batch] of forms) {
      const [a] = viewsOf([...batch, m, k], "float32", device);
      const addends = [undefined, ...viewsOf([...batch, m, n], "float32", device)];
      for (const b of [[...batch, k, n], [k, n]].map((it) => zeros(it, { device }) as Tensor)) {
        for (const bias of addends) {
          for (const residual of addends) {
            run("matmul", a!, b, {
              ...(bias === undefined ? {} : { bias }),
              ...(residual === undefined ? {} : { residual }),
            });
          }
        }
        for (const out of viewsOf([...batch, m, n], "float32", device)) {
          if (out.strides.some((stride, axis) => stride === 0 && out.shape[axis]! > 1)) continue;
          run("matmul", a!, b, { out });
        }
      }
    }
    for (const left of ["float32", "float64", "float16", "int8", "uint8", "int32"] as const) {
      for (const right of ["float32", "float16", "int8", "uint8"] as const) {
        const [x, y] = [
          zeros([5, 9], { device, dtype: left }) as Tensor,
          zeros([9, 7], { device, dtype: right }) as Tensor,
        ];
        run("matmul", x, y);
        for (const dtype of ["float32", "float16", "int32", "int64"] as const) {
          run("matmul", x, y, { dtype });
          run("matmul", x, y, { dtype, scale: 2 });
          run("matmul", x, y, { dtype, bias: zeros([7], { device, dtype: left }) as Tensor });
        }
        for (const activation of ["relu", "gelu", "silu", "tanh"] as const) {
          run("matmul", x, y, { activation });
        }
      }
    }
    const wide = zeros([64, 64], { device }) as Tensor;
    for (const precision of ["fp32", "tf32", "bf16", "fp16"] as const) {
      run("matmul", wide, wide, { precision });
    }
    if (DeviceWork.of(device.context).form === "block") return;
    for (const dtype of ["float16", "bfloat16", "int8"] as const) {
      const options = { variant: "mma", ...(dtype === "int8" ? { dtype: "int32" } : {}) } as const;
      const x = zeros([65, 65], { device, dtype }) as Tensor;
      const y = zeros([128, 128], { device, dtype }) as Tensor;
      for (const it of [x, y, y.transpose(), y.slice([{ start: 1 }, { start: 1 }])]) {
        run("matmul", it, it, options);
        run("matmul", it, it.transpose(), options);
      }
    }
  },
  attention(device) {
    const make = (dtype: DType, ...shape: number[]) => zeros(shape, { device, dtype }) as Tensor;
    const types = DeviceWork.of(device.context).form === "block"
      ? ["float32", "bfloat16"] as const
      : ["float32", "float16"] as const;
    for (const dtype of types) {
      const any = (...shape: number[]) => make(dtype, ...shape);
      for (
        const [queries, size, value] of [[3, 64, 64], [40, 64, 64], [3, 64, 128], [3, 128, 64]]
      ) {
        const [heads, keys] = [4, 70];
        const q = any(2, heads, queries!, size!);
        const [k, v] = [any(2, 2, keys, size!), any(2, 2, keys, value!)];
        const flags = make("bool", queries!, keys);
        const masks = [undefined, flags, make("float32", queries!, keys), make("float16", 1, keys)];
        const blocks = [
          undefined,
          { mask: make("bool", 1, 2), blockSize: 64 },
          { mask: make("bool", 4, 1, 2), blockSize: 64 },
        ];
        const variants = dtype === "float16" ? ["mma", "simt"] as const : [undefined];
        for (const mask of masks) {
          for (const blockMask of blocks) {
            for (const logSumExp of [false, true]) {
              for (const causal of [false, true]) {
                for (const variant of variants) {
                  run("attention", q, k, v, {
                    causal,
                    logSumExp: logSumExp,
                    ...(mask === undefined ? {} : { mask }),
                    ...(blockMask === undefined ? {} : { blockMask }),
                    ...(variant === undefined ? {} : { variant }),
                  });
                }
              }
            }
          }
        }
        const cache = new tensors.PagedCache({
          ...{ device, dtype, pages: 8, heads: 2, headSize: size!, valueSize: value! },
        });
        const sequence = cache.add();
        cache.append([sequence], any(1, 2, 40, size!) as never, any(1, 2, 40, value!) as never);
        for (const logSumExp of [false, true]) {
          const one = q.slice([{ stop: 1 }]);
          run("decodeAttention", one, cache, [sequence], { logSumExp });
          const packed = [any(queries!, heads, size!), any(keys, 2, size!), any(keys, 2, value!)];
          const ends = [[0, 1, queries!], [0, 1, keys]] as const;
          run("attentionVariableLength", ...packed, ...ends, {
            logSumExp,
          });
        }
      }
      // Few queries and many keys, which are taken in parts.
      const long = any(1, 1, 4096, 64);
      for (const logSumExp of [false, true]) {
        run("attention", any(1, 1, 3, 64), long, long, { logSumExp });
      }
      const x = any(2, 3, 5, 8);
      for (const positions of [0, make("int32", 5), make("int64", 5), make("int32", 2, 5)]) {
        run("rotaryEmbedding", x, { positions: positions });
        run("rotaryEmbedding", x, { positions: positions, interleaved: true });
      }
    }
  },
  places(device) {
    for (const dtype of ["float32", "int32", "bool", "float16"] as const) {
      for (const type of ["int32", "int64"] as const) {
        const indices = [[4], [2, 3]].map((it) => zeros(it, { device, dtype: type }));
        for (const shape of [[9], [9, 9], [3, 9, 9]]) {
          for (const x of viewsOf(shape, dtype, device).slice(0, dtype === "float32" ? 9 : 1)) {
            for (const places of indices) {
              run("take", x, places);
              for (const axis of shape.keys()) {
                run("take", x, places, { axis });
                if (dtype === "bool") continue;
                const updates = shape.toSpliced(axis, 1, ...places.shape);
                run("scatterAdd", x, places, zeros(updates, { device, dtype }) as Tensor, {
                  axis,
                });
              }
            }
            const along = zeros(shape, { device, dtype: type });
            run("takeAlongAxis", x, along, { axis: 0 });
          }
        }
      }
      for (const x of [zeros([5, 40], { device, dtype }), zeros([5, 5000], { device, dtype })]) {
        for (const axis of [0, 1]) {
          for (const descending of [false, true]) {
            run("sort", x as Tensor, { axis, descending });
            run("argsort", x as Tensor, { axis, descending });
          }
          run("topk", x as Tensor, 3, { axis });
          for (const includeInitial of [false, true]) {
            run("cumulativeSum", x as Tensor, { axis, includeInitial });
          }
        }
        const flat = (x as Tensor).flatten();
        for (const side of ["left", "right"] as const) {
          run("searchsorted", flat, x as Tensor, { side });
          run("searchsorted", flat, zeros([3], { device, dtype: "float32" }) as Tensor, { side });
        }
      }
    }
  },
  ternary(device) {
    const scaleOf = (n: number) => tensors.ones([n], { device });
    const bias = zeros([6], { device });
    for (const scale of [scaleOf(1), scaleOf(6)]) {
      const codes = zeros([6, 70], { device, dtype: "int8" });
      const weights = TernaryWeights.from({ codes, scale });
      for (const rows of [1, 3, 9, 70]) {
        const whole = zeros([rows, 70], { device, dtype: "int8" });
        const floats = zeros([rows, 70], { device });
        for (const variant of ternaryVariants(DeviceWork.of(device.context))) {
          ternaryMatmul(whole, weights, { dtype: "int32", variant });
          for (const dtype of ["float32", "float16", "bfloat16"] as const) {
            for (const own of [{}, { bias }]) {
              ternaryMatmul(floats, weights, { dtype, variant, ...own });
              ternaryMatmul(whole, weights, { dtype, variant, ...own });
              ternaryMatmul(whole, weights, { dtype, variant, ...own, scale: scaleOf(rows) });
            }
          }
        }
      }
    }
  },
};

for (const [form, on] of forms) {
  for (const [name, call] of Object.entries(CALLS)) {
    Deno.test(`A kernel's key distinguishes all that its code depends on: ${name} (${form})`, () => {
      const kernels = new Map<string, string>();
      for (const { key, text } of recordKernels(on, () => call(on))) {
        const content = contentOf(text);
        const known = kernels.get(key) ?? content;
        assert(known === content, `one key of two kernels: ${key}\n\n${known}\n\n${content}`);
        kernels.set(key, content);
      }
      assert(kernels.size >= 20, `${kernels.size} kernels were recorded`);
    });
  }
}
