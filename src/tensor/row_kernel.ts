/**
 * C++ of the kernels of row programs.
 *
 * @module
 */

import { templates } from "./kit/expression/kernel_template.ts";
import { BLOCK, ENOUGH_JOBS, rowThreadsOf, stepOf } from "../kernels/row_plan.ts";
import { bytesPerElement, cTypeOf, type DType } from "../memory/dtype.ts";
import {
  dtypesIn,
  type ExpressionNode,
  ExpressionWriter,
  nodesOf,
  replaceLeaves,
  storeText,
} from "./kit/expression/node.ts";
import { valueType } from "./kit/expression/operations.ts";
import type { KernelCode } from "./kit/kernel_call.ts";
import { spaceText } from "./kit/layout.ts";
import {
  isPlace,
  isSplittable,
  keptName,
  POSITION,
  rootsOf,
  type RowPick,
  type RowProgram,
  type RowStage,
} from "./row_program.ts";

/** How operands lie in a space around rows or columns. */
export interface OperandLayout {
  /** The element types of the operands. */
  readonly dtypes: readonly DType[];
  /** The number of dimensions of the space. */
  readonly rank: number;
  /** The classes of the operands' innermost strides. */
  readonly kinds: string;
}

/** The class of dense rows that do not begin with a packet, beside those of `strideClass()`. */
export const UNALIGNED = "u";

/** How CUDA threads take a row. */
export interface RowShare {
  /** The threads of a part of a row: lanes of a warp, a warp or a block. */
  readonly threads: number;
  /** The elements of a packet, and the packets of a thread in a step. */
  readonly size: number;
  readonly packets: number;
  /** Whether a part of a row is one step, whose elements stay in registers. */
  readonly isHeld: boolean;
  /** The parts of a row, and whether the blocks of a cluster have one each. */
  readonly parts: number;
  readonly isCluster: boolean;
}

/** What decides how CUDA threads take rows. */
export interface RowExtents {
  readonly rows: number;
  /** The length of a row, of which a kernel takes segments of `length`. */
  readonly width: number;
  readonly length: number;
  /** Blocks of the largest cluster, 1 without clusters. It does not change a result. */
  readonly maxCluster: number;
}

/** The packets of a thread in a step; those of one element are many. */
const PACKETS: readonly number[] = [1, 2, 4, 8, 16];
const LONE_PACKETS: readonly number[] = [1, 4, 8, 12, 16, 20, 24, 28, 32];
/** The same for few rows, whose sums have the bits of built-in kernels. */
const FEW_LONE_PACKETS: readonly number[] = [1, 8, 32];
/** The threads of a block that takes a row too long for another. */
const LARGE_BLOCK = 2 * BLOCK;
/** Blocks of a cluster: CUDA's portable size, if a device has as many multiprocessors. */
const MAX_CLUSTER = 8;
/**
 * Blocks of a multiprocessor for which registers suffice. Without such a bound ptxas takes 32
 * registers, and loads one packet after another. Values that a row keeps need a few more.
 */
const BLOCKS = { plain: 4, keeping: 3, large: 2 } as const;

/** The numbers of the operands in expressions. */
export function operandsIn(roots: readonly ExpressionNode[]): readonly number[] {
  const found = new Set<number>();
  for (const node of nodesOf(...roots)) if (node.kind === "input") found.add(node.index);
  return [...found].sort((a, b) => a - b);
}

const stageRoots = ({ stages }: RowProgram) =>
  stages.flatMap(({ value, place }) => place === undefined ? [value] : [value, place]);

/** The bytes of an element of each of some operands. */
export const bytesOf = (operands: readonly number[], { dtypes }: OperandLayout): number[] =>
  operands.map((k) => bytesPerElement(dtypes[k]!));

/**
 * Chooses the threads of a row by the shape and by the element types, so that sums do not depend on
 * anything else.
 */
export function shareOf(
  program: RowProgram,
  layout: OperandLayout,
  { rows, width, length, maxCluster }: RowExtents,
): RowShare {
  const step = stepOf(bytesOf(operandsIn(stageRoots(program)), layout));
  const { elements } = step;
  const isReread = program.stages.length + program.elements.length > 1;
  const isFew = !isReread && rows < ENOUGH_JOBS;
  const ofBlock = rowThreadsOf(step, width, length, !isFew);
  const { size } = ofBlock;
  // A large block holds a row in less time than two blocks of a cluster take, which wait for each
  // other. It has no registers for values that a row keeps.
  const isLarge = isReread && program.stages.every(({ keeps }) => keeps === undefined) &&
    length > BLOCK * elements && length <= LARGE_BLOCK * elements;
  const threads = isLarge ? LARGE_BLOCK : ofBlock.threads;
  const most = threads * elements;
  const parts = isReread && length <= MAX_CLUSTER * most
    ? 2 ** Math.ceil(Math.log2(Math.max(1, length / most)))
    : 1;
  const needed = Math.ceil(partLength(length, parts, size) / (threads * size));
  // A row is taken in steps of the same length.
  const ofStep = needed / (isFew ? 1 : Math.ceil(needed * size / elements));
  const allowed = size === step.size ? PACKETS : isFew ? FEW_LONE_PACKETS : LONE_PACKETS;
  const packets = allowed.find((it) => it * size < elements && it >= ofStep) ?? elements / size;
  const isCluster = parts > 1 && parts <= maxCluster;
  const isHeld = isReread && needed <= packets && (parts === 1 || isCluster);
  return { threads, size, packets, isHeld, parts, isCluster };
}

/** The elements of a part of a row, of which all but the last have as many. */
export const partLength = (width: number, parts: number, size: number): number =>
  Math.ceil(width / parts / size) * size;

/** What the C++ of a stage has of the form of the kernel. */
interface StageForm {
  /** A function of an element. */
  readonly lambda: (body: string) => string;
  /** The merge of the values of a function. */
  readonly merge: (stage: RowStage, f: string) => string;
  /** The variable that keeps the value of an output. */
  readonly keep: (output: number) => string;
}

/** C++ of a stage: the merge of a lambda over the row. */
function stageText(
  stage: RowStage,
  load: (index: number) => string,
  { lambda, merge, keep }: StageForm,
): string[] {
  const { value, name, finish, keeps } = stage;
  const writer = new ExpressionWriter(load);
  const text = writer.value(value);
  const type = valueType(value.dtype);
  const place = isPlace(stage.reducer) ? writer.value(stage.place ?? POSITION) : undefined;
  const result = place === undefined ? text : `Place<${type}>{${text}, ${place}}`;
  const kept = keeps === undefined ? "" : `${keep(keeps)} = ${text}; `;
  const f = `f_${name}`;
  const lines = [
    `const auto ${f} = ${lambda(`${writer.lines.join(" ")} ${kept}return ${result};`)};`,
    `const auto m_${name} = ${merge(stage, f)};`,
  ];
  if (finish === undefined) {
    return [
      ...lines,
      place === undefined
        ? `const ${type} ${name} = m_${name};`
        : `const auto ${name} = m_${name}.index;`,
    ];
  }
  // Several stages may name their merged value alike.
  const final = new ExpressionWriter(load);
  const done = final.value(finish);
  return [
    ...lines,
    `const auto ${name} = [=] { const auto merged = m_${name}; ${
      final.lines.join(" ")
    } return ${done}; }();`,
  ];
}

/** The element of an input in a row: `p0[i]`. */
function inputText(k: number, kind: string): string {
  return kind === "0" ? `p${k}[0]` : kind === "s" ? `p${k}[i * t${k}]` : `p${k}[i]`;
}

/** C++ of an element at a checked position. */
function pickText(pick: RowPick, load: (index: number) => string, team: string): string[] {
  const { name, index, position } = pick;
  const writer = new ExpressionWriter(load);
  const text = writer.value(position);
  return [
    ...writer.lines,
    `const i64 at_${name} = ${text};`,
    `const bool has_${name} = at_${name} >= 0 && at_${name} < width;`,
    `if (!has_${name} && is_first_of_row<${team}>()) report(faults, operation, at_${name});`,
    `const auto ${name} = [=] { const i64 i = has_${name} ? at_${name} : 0; return load(${
      load(index)
    }); };`,
  ];
}

/** C++ of the space of rows. Its last dimension is a single element, because locate() takes rows. */
export function rowSpaceText(rank: number, operands: number): string[] {
  return [
    `  Space<${rank + 1}, ${Math.max(1, operands)}> space{};`,
    `  space.size[${rank}] = 1;`,
    ...spaceText(rank, operands),
  ];
}

/** C++ that stores the results of a row. */
function resultText({ elements, results }: RowProgram, load: (index: number) => string): string[] {
  const writer = new ExpressionWriter(load);
  const values = results.map(({ value }) => writer.value(value));
  return [
    ...writer.lines,
    ...results.map(({ dtype }, k) => storeText(`y${elements.length + k}[job]`, values[k]!, dtype)),
  ];
}

/** The kernel of a row program, whose lines `ofRow` work on one row, which a team takes. */
function kernelOf(
  program: RowProgram,
  { dtypes, rank, kinds }: OperandLayout,
  team: string,
  ofRow: readonly string[],
): KernelCode {
  const { pick, elements, results } = program;
  const load = (k: number) => inputText(k, kinds[k]!);
  const step = (k: number) =>
    kinds[k] === "0" ? "" : kinds[k] === "s" ? ` + begin * t${k}` : " + begin";
  return {
    template: templates.reduce,
    dtypes: dtypesIn(...rootsOf(program)),
    body: [
      "  using namespace reduce;",
      ...rowSpaceText(rank, dtypes.length),
      `  for_each_row<${team}>(rows * segments, per_block, [=](i64 job) {`,
      ...(isSplittable(program)
        ? [
          "    const i64 row = segments == 1 ? job : job / segments;",
          "    const i64 begin = (job - row * segments) * length;",
          "    const i64 columns = width - begin < length ? width - begin : length;",
        ]
        : [
          "    const i64 row = job;",
          "    const i64 begin = 0;",
          "    const i64 columns = width;",
        ]),
      `    i64 at[${Math.max(1, dtypes.length)}];`,
      "    space.locate(row, at);",
      ...dtypes.map((_, k) => `    const auto* const p${k} = x${k} + o${k} + at[${k}]${step(k)};`),
      ...(pick === undefined ? [] : pickText(pick, load, team)).map((line) => `    ${line}`),
      ...elements.map((_, k) => `    auto* const q${k} = y${k} + row * width;`),
      ...ofRow.map((line) => `    ${line}`),
      ...(results.length === 0 ? [] : [
        `    if (is_first_of_row<${team}>()) {`,
        ...resultText(program, load).map((line) => `      ${line}`),
        "    }",
      ]),
      "  });",
    ].join("\n"),
  };
}

/** Composes the kernel of a row program for the block form. */
export function rowLoopsCode(program: RowProgram, layout: OperandLayout): KernelCode {
  const { stages, elements } = program;
  const load = (k: number) => inputText(k, layout.kinds[k]!);
  const writer = new ExpressionWriter(load);
  const values = elements.map(({ value }) => writer.value(value));
  const merge = ({ reducer, value }: RowStage, f: string) => {
    const type = valueType(value.dtype);
    if (reducer === "Sum") return `sum_row<${type}>(columns, ${f})`;
    if (reducer === "SquareSum") return `sum_squares_row<${type}>(columns, ${f})`;
    const first = reducer === "Product" ? "1" : `${f}(0)`;
    return `reduce_row<${reducer}<${type}>>(columns, ${first}, ${f})`;
  };
  const lambda = (body: string) => `[=](i64 i) { ${body} }`;
  return kernelOf(program, layout, "1", [
    ...stages.flatMap((stage) => stageText(stage, load, { lambda, merge, keep: keptName })),
    ...(elements.length === 0 ? [] : [
      "map_row(columns, [=](i64 i) {",
      ...writer.lines.map((line) => `  ${line}`),
      ...elements.map(({ dtype }, k) => `  ${storeText(`q${k}[i]`, values[k]!, dtype)}`),
      "});",
    ]),
  ]);
}

/** The arguments that read a packet of operand #, by the class of its stride. */
const READS: Readonly<Record<string, string>> = {
  "1": "p# + i",
  [UNALIGNED]: "p# + i, 1",
  "s": "p# + i * t#, t#",
};

/** C++ of a struct of packets of operands, and of the lambda that reads it at a position. */
function packetText(
  type: string,
  lambda: string,
  operands: readonly number[],
  { dtypes, kinds }: OperandLayout,
  size: number,
): { readonly definition: string; readonly read: readonly string[] } {
  const members = operands.map((k) => `  Packet<${cTypeOf(dtypes[k]!)}, ${size}> x${k};\n`);
  return {
    definition: `struct ${type} {\n${members.join("")}};`,
    read: [
      `const auto ${lambda} = [=](${type}& to, i64 i) {`,
      ...operands.map((k) => `  to.x${k}.read(${READS[kinds[k]!]!.replaceAll("#", `${k}`)});`),
      "};",
    ],
  };
}

/** A program whose kept values are in registers, or computed again if the row is not held. */
function withKept(program: RowProgram, isHeld: boolean): RowProgram {
  const kept = new Map(
    program.stages.flatMap(({ keeps, value }) =>
      keeps === undefined ? [] : [[keptName(keeps), { keeps, value }] as const]
    ),
  );
  const resolve = (leaf: ExpressionNode): ExpressionNode => {
    const own = leaf.kind === "name" ? kept.get(leaf.name) : undefined;
    if (own === undefined) return leaf;
    return isHeld ? { ...leaf, name: `kept${own.keeps}[packet][j]` } as ExpressionNode : own.value;
  };
  return {
    ...program,
    stages: program.stages.map(({ keeps, ...stage }) =>
      isHeld && keeps !== undefined ? { ...stage, keeps } : stage
    ),
    elements: program.elements.map((element) => ({
      ...element,
      value: replaceLeaves(element.value, resolve),
    })),
  };
}

/** Composes the kernel of a row program for CUDA threads. */
export function rowThreadsCode(
  program: RowProgram,
  layout: OperandLayout,
  { threads, size, packets, isHeld, parts, isCluster }: RowShare,
): KernelCode {
  const { stages, elements } = withKept(program, isHeld);
  const keeping = stages.filter(({ keeps }) => keeps !== undefined);
  const keep = (output: number) => `kept${output}[packet][j]`;
  const { dtypes, kinds } = layout;
  const isAlong = (k: number) => kinds[k] !== "0";
  const ofStages = operandsIn(stageRoots(program)).filter(isAlong);
  const late = operandsIn(elements.map(({ value }) => value)).filter((k) =>
    isAlong(k) && !ofStages.includes(k)
  );
  const load = (k: number) =>
    kinds[k] === "0" ? `z${k}` : `${late.includes(k) ? "late" : "own"}.x${k}.element[j]`;
  const own = packetText("Elements", "read", ofStages, layout, size);
  const other = packetText("LateElements", "read_late", late, layout, size);
  const merge = ({ reducer, value }: RowStage, f: string) => {
    const type = valueType(value.dtype);
    if (reducer === "Sum") return `sum_row<${type}>(elements, ${f})`;
    if (reducer === "SquareSum") return `sum_squares_row<${type}>(elements, ${f})`;
    return `reduce_row<${reducer}<${type}>>(elements, ${f})`;
  };
  const lambda = (body: string) => `[&](const Elements& own, int packet, int j, i64 i) { ${body} }`;
  const writer = new ExpressionWriter(load);
  const values = elements.map(({ value }) => writer.value(value));
  return {
    ...kernelOf(program, layout, `${threads}, ${isCluster ? parts : 1}`, [
      `using Own = Share<${threads}, ${size}, ${packets}>;`,
      // An operand may have no elements.
      ...dtypes.flatMap((_, k) =>
        isAlong(k) ? [] : [`const auto z${k} = element_if(columns > 0, p${k});`]
      ),
      ...own.read,
      `const Row<Own, ${isHeld}, Elements, decltype(read), ${parts}, ${isCluster}> elements(columns, read, length);`,
      ...(isHeld ? keeping : []).map(({ keeps, value }) =>
        `${valueType(value.dtype)} kept${keeps}[${packets}][${size}];`
      ),
      ...stages.flatMap((stage) => stageText(stage, load, { lambda, merge, keep })),
      ...(elements.length === 0 ? [] : [
        ...(late.length === 0 ? [] : other.read),
        "map_row(elements, [&](const Elements& own, int packet, i64 first) {",
        ...(late.length === 0 ? [] : ["  LateElements late;", "  read_late(late, first);"]),
        ...elements.map(({ dtype }, k) => `  Packet<${cTypeOf(dtype)}, ${size}> out${k};`),
        "#pragma unroll",
        `  for (int j = 0; j < ${size}; ++j) {`,
        "    const i64 i = first + j;",
        ...writer.lines.map((line) => `    ${line}`),
        ...elements.map(({ dtype }, k) =>
          `    ${storeText(`out${k}.element[j]`, values[k]!, dtype)}`
        ),
        "  }",
        ...elements.map((_, k) => `  out${k}.write(q${k} + first);`),
        "});",
      ]),
    ]),
    definitions: [own.definition, ...(late.length === 0 ? [] : [other.definition])].join("\n"),
    launchBounds: threads === LARGE_BLOCK
      ? [threads, BLOCKS.large]
      : [BLOCK, isHeld && keeping.length > 0 ? BLOCKS.keeping : BLOCKS.plain],
  };
}
