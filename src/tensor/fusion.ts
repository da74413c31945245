/**
 * `fuse()`: several operations in one kernel.
 *
 * @module
 */

import { cannot } from "../ffi/arguments.ts";
import { describeValue } from "../ffi/describe_value.ts";
import { commonContext, requireTensor } from "./kit/checks.ts";
import type { Scalar } from "./kit/kernel_call.ts";
import { runMap } from "./elementwise_kernel.ts";
import { DeviceWork } from "./kit/device_work.ts";
import { type ExpressionNode, keyOf, nodesOf, replaceLeaves } from "./kit/expression/node.ts";
import type { Shape } from "./kit/layout.ts";
import { reduceExpression, type ReduceOptions, type Reduction } from "./reductions.ts";
import { tidy } from "./scope.ts";
import { makeTraced, Tensor, tracedOf } from "./tensor.ts";

const FUSE = "fuse operations";

/** Records the expression of a call. */
export class Tracer {
  /** The operands: those of the call, then tensors from outside, each once. */
  readonly inputs: Tensor[];
  readonly #operandCount: number;
  /** The numbers, in the order of their first use. */
  readonly scalars: Scalar[] = [];
  /** The reduction that ends the expression. */
  end: { readonly reduction: Reduction; readonly options: ReduceOptions } | undefined = undefined;

  constructor(inputs: readonly Tensor[]) {
    this.inputs = [...inputs];
    this.#operandCount = inputs.length;
  }

  /** Stands for operand `index` of the call. */
  input(index: number): Tensor {
    const { dtype, shape } = this.inputs[index]!;
    return this.tensor({ kind: "input", index, dtype }, shape);
  }

  /** Adds a number; the result is its index. */
  scalar(value: Scalar): number {
    return this.scalars.push(value) - 1;
  }

  /** The node of an operand of an operation. */
  nodeOf(tensor: Tensor, action: string): ExpressionNode {
    const { dtype } = tensor;
    const traced = tracedOf(tensor);
    if (this.end !== undefined) {
      throw new TypeError(
        `${cannot(action)} in fuse() as a reduction must be the last operation: ` +
          `${this.end.reduction.action} comes before`,
      );
    }
    if (traced === undefined) {
      const known = this.inputs.indexOf(tensor, this.#operandCount);
      return { kind: "input", index: known < 0 ? this.inputs.push(tensor) - 1 : known, dtype };
    }
    if (traced.tracer === this) return traced.node;
    throw new TypeError(`${cannot(action)} as a tensor of another call of fuse() has ended`);
  }

  tensor(node: ExpressionNode, shape: Shape): Tensor {
    return makeTraced({ tracer: this, node }, shape, this.inputs[0]!.context);
  }

  /** Ends the expression by a reduction. */
  reduction(x: Tensor, reduction: Reduction, options: ReduceOptions): Tensor {
    const node = this.nodeOf(x, reduction.action);
    this.end = { reduction, options };
    return this.tensor(node, x.shape);
  }
}

interface Plan {
  readonly key: string;
  readonly root: ExpressionNode;
  readonly shape: Shape;
  /** The operands that the result uses: the number of one of the call, or a tensor from outside. */
  readonly operands: readonly (number | Tensor)[];
  readonly scalars: readonly Scalar[];
  readonly end: Tracer["end"];
}

let isEnabled = true;

/**
 * Whether functions of {@linkcode fuse} run as one kernel. Without, they run their operations one by
 * one, with the same results, for finding a mistake or comparing speed.
 *
 * @param enabled Whether one kernel runs them; true at first.
 * @throws {TypeError} If the argument is no boolean.
 *
 * @example
 * ```ts
 * import { fuse, setKernelFusion, type Tensor, tensor } from "@gridstride/cuda/tensor";
 *
 * const f = fuse((x: Tensor<"float32">) => x.multiply(2).add(1));
 * setKernelFusion(false); // f() runs two kernels.
 * using y = f(tensor([1, 2]));
 * console.log(await y.toNested()); // [ 3, 5 ]
 * setKernelFusion(true);
 * ```
 * @category Tensors
 */
export function setKernelFusion(enabled: boolean): void {
  if (typeof enabled !== "boolean") {
    throw new TypeError(
      `Cannot set kernel fusion as enabled must be a boolean: it is ${describeValue(enabled)}`,
    );
  }
  isEnabled = enabled;
}

/**
 * A fused function.
 * @category Tensors
 */
export interface Fused<Inputs extends readonly Tensor[], Result extends Tensor> {
  (...inputs: Inputs): Result;
  /** The source of the kernel for operands of these types and shapes. */
  explain(...inputs: Inputs): string;
}

/**
 * Makes a function that runs elementwise operations, and a reduction after them, in one kernel: the
 * operands are read once and nothing but the result is written.
 *
 * The function is called once for each combination of types and shapes, to record its operations. It
 * must be pure: numbers and other tensors that it uses are recorded with their values.
 *
 * @param f Composed of elementwise operations, `where`, `clip`, `astype`, and at most one reduction
 * as the last operation.
 * @throws {TypeError} If it uses another operation, or returns no tensor.
 *
 * @example
 * ```ts
 * import { fuse, type Tensor, tensor } from "@gridstride/cuda/tensor";
 *
 * const f = fuse((x: Tensor<"float32">, y: Tensor<"float32">) => x.multiply(y).add(1).tanh());
 * using x = tensor([0, 1]);
 * using y = f(x, x);
 * console.log(await y.toNested()); // [ 0.7615941762924194, 0.9640275835990906 ]
 * ```
 * @category Tensors
 */
export function fuse<Inputs extends readonly Tensor[], Result extends Tensor>(
  f: (...inputs: Inputs) => Result,
): Fused<Inputs, Result> {
  if (typeof f !== "function") {
    throw new TypeError(`${cannot(FUSE)} as f must be a function: it is ${describeValue(f)}`);
  }
  const plans = new Map<string, Plan>();
  const planOf = (inputs: Inputs): Plan => {
    let key = "";
    for (const [index, input] of inputs.entries()) {
      requireTensor(input, `operand ${index + 1}`, FUSE);
      key += `${input.dtype}${input.shape};`;
    }
    let plan = plans.get(key);
    if (plan === undefined) plans.set(key, plan = makePlan(f, inputs));
    return plan;
  };
  const run = (...inputs: Inputs): Result => {
    const isTraced = inputs.some((input) =>
      input instanceof Tensor && tracedOf(input) !== undefined
    );
    if (!isEnabled || isTraced) return tidy(() => f(...inputs));
    return runPlan(planOf(inputs), inputs) as Result;
  };
  const explain = (...inputs: Inputs): string => {
    const { root, end } = planOf(inputs);
    const work = DeviceWork.of(commonContext(FUSE, inputs));
    runPlan(planOf(inputs), inputs).dispose();
    const operations = `${keyOf(root)}${end === undefined ? "" : ` → ${end.reduction.action}`}`;
    return `// ${operations}\n${work.lastKernel!.source}`;
  };
  return Object.assign(run, { explain });
}

function makePlan<Inputs extends readonly Tensor[]>(
  f: (...inputs: Inputs) => Tensor,
  inputs: Inputs,
): Plan {
  if (inputs.length === 0) {
    throw new TypeError(`${cannot(FUSE)} as f must have operands: it has none`);
  }
  const tracer = new Tracer(inputs);
  const tracedInputs: readonly Tensor[] = inputs.map((_, index) => tracer.input(index));
  const result: unknown = f(...tracedInputs as Inputs);
  // The promise is refused below, so a rejection of it must not be reported as unhandled.
  if (result instanceof Promise) result.catch(() => {});
  const traced = result instanceof Tensor ? tracedOf(result) : undefined;
  const isOperand = traced?.node.kind === "input" && tracer.end === undefined;
  if (traced?.tracer !== tracer || isOperand) {
    throw new TypeError(
      `${cannot(FUSE)} as f must return the result of its operations: it has returned ${
        describeValue(result)
      }`,
    );
  }
  // Without the operands and numbers of operations that the result does not use.
  const operands: number[] = [];
  const scalars: number[] = [];
  for (const node of nodesOf(traced.node)) {
    if (node.kind === "input" && !operands.includes(node.index)) operands.push(node.index);
    if (node.kind === "scalar") scalars.push(node.index);
  }
  for (const used of [operands, scalars]) used.sort((one, other) => one - other);
  const numbers = new Map(scalars.map((index, number) => [index, number]));
  const root = replaceLeaves(traced.node, (leaf) => {
    if (leaf.kind === "input") return { ...leaf, index: operands.indexOf(leaf.index) };
    return leaf.kind === "scalar" ? { ...leaf, index: numbers.get(leaf.index)! } : leaf;
  });
  return {
    key: `fused ${keyOf(root)}`,
    root,
    shape: (result as Tensor).shape,
    operands: operands.map((index) => index < inputs.length ? index : tracer.inputs[index]!),
    scalars: [...numbers.keys()].map((index) => tracer.scalars[index]!),
    end: tracer.end,
  };
}

function runPlan({ key, root, shape, operands, scalars, end }: Plan, inputs: readonly Tensor[]) {
  const tensors = operands.map((operand) =>
    typeof operand === "number"
      ? inputs[operand]!
      : requireTensor(operand, "a tensor that f uses", FUSE)
  );
  if (end !== undefined) {
    return reduceExpression(end.reduction, { value: root, tensors, scalars }, end.options);
  }
  const { dtype } = root;
  return runMap({ action: FUSE, key, root: () => root, tensors, scalars, shape, dtype });
}
