/**
 * Devices that run tensor kernels in the forms under test: as vectorised loops, and as CUDA threads.
 *
 * @module
 */

import type { KernelForm } from "../../src/kernels/kernel_form.ts";
import { assert, assertEquals } from "@std/assert";
import { type DType, openDevice } from "../../mod.ts";
import { type Tensor, tensor } from "../../src/device/tensor.ts";
import { DeviceWork } from "../../src/tensor/kit/device_work.ts";
import { device } from "./device.ts";

const VARIABLE = "GRIDSTRIDE_SIMULATE";

function simulated() {
  const before = Deno.env.get(VARIABLE);
  Deno.env.set(VARIABLE, "1");
  try {
    const other = openDevice("host");
    DeviceWork.of(other.context); // the form is decided here
    return other;
  } finally {
    if (before === undefined) Deno.env.delete(VARIABLE);
    else Deno.env.set(VARIABLE, before);
  }
}

/** The device under test, and the host device with simulated threads. */
export const forms = new Map<KernelForm, typeof device>([
  [DeviceWork.of(device.context).form, device],
  ["threads", DeviceWork.of(device.context).form === "threads" ? device : simulated()],
]);

/** An array in JavaScript, as reference of operations on tensors. */
export class Grid {
  constructor(readonly shape: readonly number[], readonly values: readonly number[]) {}

  /** A grid of a function of the position. */
  static of(shape: readonly number[], value: (at: number[]) => number): Grid {
    const size = shape.reduce((product, extent) => product * extent, 1);
    return new Grid(
      shape,
      Array.from({ length: size }, (_, flat) => {
        const at = shape.map(() => 0);
        for (let axis = shape.length - 1; axis >= 0; axis--) {
          at[axis] = flat % shape[axis]!;
          flat = Math.floor(flat / shape[axis]!);
        }
        return value(at);
      }),
    );
  }

  /** Small integers that every element type holds, in an irregular order. */
  static mixed(shape: readonly number[], range = 7): Grid {
    let seed = 12345;
    return Grid.of(shape, () => {
      seed = (seed * 16807) % 2147483647;
      return seed % range;
    });
  }

  map(f: (value: number) => number): Grid {
    return new Grid(this.shape, this.values.map(f));
  }

  at(position: readonly number[]): number {
    return this
      .values[position.reduce((flat, index, axis) => flat * this.shape[axis]! + index, 0)]!;
  }

  /** The tensor. */
  tensor<D extends DType>(dtype: D, on: typeof device): Tensor<D> {
    const elements = this.values.map((it) => dtype === "bool" ? it !== 0 : it);
    using flat = tensor(elements, { dtype, device: on });
    return flat.reshape(this.shape);
  }

  /** Views with the elements of this grid: dense, transposed, backwards, and with gaps. */
  *views<D extends DType>(dtype: D, on: typeof device): Generator<Tensor<D>> {
    const { shape } = this;
    const last = shape.length - 1;
    yield this.tensor(dtype, on);
    yield Grid.of(shape.toReversed(), (at) => this.at(at.toReversed()))
      .tensor(dtype, on).permute([...shape.keys()].reverse());
    yield Grid.of(shape, (at) => this.at(at.with(last, shape[last]! - 1 - at[last]!)))
      .tensor(dtype, on).flip(last);
    yield Grid.of(
      shape.with(0, 2 * shape[0]! + 1),
      (at) => at[0]! % 2 === 1 ? this.at(at.with(0, (at[0]! - 1) / 2)) : 1,
    )
      .tensor(dtype, on).slice([{ start: 1, step: 2 }]);
  }
}

/** The shape and the elements of a tensor, read as numbers; disposes it. */
export async function read(result: Tensor | Promise<Tensor>): Promise<Grid> {
  using own = await result;
  const values = [await own.toNested()].flat(Infinity as 1).map(Number);
  return new Grid(own.shape, values);
}

/** Checks a tensor against a reference. */
export async function expect(actual: Tensor | Promise<Tensor>, grid: Grid, message = "") {
  const { shape, values } = await read(actual);
  assertEquals([...shape], [...grid.shape], message);
  const wrong = values.findIndex((it, at) => it !== grid.values[at] && it === it);
  const missing = values.findIndex((it, at) => it !== it && !Number.isNaN(grid.values[at]));
  for (const at of [wrong, missing]) {
    // The difference of long arrays would take minutes.
    assert(at < 0, `${message} element ${at} is ${values[at]}, not ${grid.values[at]}`);
  }
}
