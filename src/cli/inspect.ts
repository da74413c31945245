/**
 * `gridstride inspect`: the content of a model's files.
 *
 * @module
 */

import { describeModel, type ModelDescription } from "../device/bitnet.ts";
import { formatBytes } from "../lab/memory/mod.ts";
import { type Command, type Invocation, printResult, throwFileProblem } from "./command.ts";
import { plural, printable, textTable, wrapText } from "./format.ts";
import { LAYOUT_OPTION, layoutOption, MODEL_FILES } from "./model.ts";

async function inspect(invocation: Invocation): Promise<number> {
  const path = invocation.positional[0]!;
  const description = await describeModel(path, layoutOption(invocation))
    .catch((error) => throwFileProblem(`inspect ${path}`, error));
  printResult(invocation, description, () => text(path, description, invocation));
  return description.problem === undefined ? 0 : 1;
}

const elementsOf = (shape: readonly number[]) => shape.reduce((size, extent) => size * extent, 1);

/** Sums of things with the same key, in the order of their first ones. */
function grouped<Item>(items: readonly Item[], keyOf: (item: Item) => string): [string, Item[]][] {
  const groups = new Map<string, Item[]>();
  for (const item of items) {
    const key = keyOf(item);
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key)!.push(item);
  }
  return [...groups];
}

function text(path: string, description: ModelDescription, { options }: Invocation): string {
  const { kind, keys, tensors, config, problem } = description;
  const bytes = tensors.reduce((sum, tensor) => sum + tensor.bytes, 0);
  const parameters = tensors.reduce((sum, { shape }) => sum + elementsOf(shape), 0);
  const head = `${path}: ${kind}, ${plural(tensors.length, "tensor")}, ${
    parameters.toLocaleString("en-US")
  } elements, ${formatBytes(bytes)}`;
  const keyRows = Object.entries(keys).map((entry) => entry.map((part) => printable(part)));
  const types = grouped(tensors, ({ type }) => type).map(([type, group]) => [
    type,
    String(group.length),
    group.reduce((sum, { shape }) => sum + elementsOf(shape), 0).toLocaleString("en-US"),
    formatBytes(group.reduce((sum, { bytes }) => sum + bytes, 0)),
  ]);
  const all = tensors.map(({ name, shape, type, bytes }) => [
    printable(name),
    shape.join(" × "),
    type,
    formatBytes(bytes),
  ]);
  const fields = Object.entries(config ?? {}).filter(([, value]) => value !== undefined)
    .map(([name, value]) => [name, printable(value)]);
  return [
    wrapText(head),
    keyRows.length === 0 ? "" : textTable(["key", "value"], keyRows),
    textTable(["type", "tensors", "elements", "bytes"], types, "<>>>"),
    options["tensors"] === true ? textTable(["tensor", "shape", "type", "bytes"], all, "<<<>") : "",
    fields.length === 0 ? "" : textTable(["decoder", ""], fields),
    weightsTable(description),
    problem === undefined ? "" : wrapText(`This model cannot be run. ${printable(problem)}`),
  ].filter((part) => part !== "").join("\n\n");
}

/** The weights of the decoder by place and format. */
function weightsTable({ weights }: ModelDescription): string {
  if (weights === undefined) return "";
  const kindOf = ({ name, shape, format, formatOptions, quantization }: typeof weights[number]) =>
    [
      name.replace(/^layers\.\d+\./, ""),
      shape.join(" × "),
      [format, ...Object.values(formatOptions).map((option) => printable(option))].join(" ") +
      (quantization === undefined ? "" : `, quantised by the ${quantization} magnitude`),
    ].join("\0");
  const rows = grouped(weights, kindOf).map(([key, group]) => {
    const [name, shape, format] = key.split("\0") as [string, string, string];
    const bytes = group.reduce((sum, weight) => sum + weight.bytes, 0);
    return [name, String(group.length), shape, formatBytes(bytes), format];
  });
  return textTable(["weight", "count", "shape", "bytes", "format"], rows, "<><><");
}

export const INSPECT: Command = {
  name: "inspect",
  summary: "show the content of a model's files",
  arguments: "<FILE>",
  description: `Shows the keys and the tensors of a model, and the decoder that they make. Only
headers are read, and no device is used.

FILE is ${MODEL_FILES}.`,
  options: {
    ...LAYOUT_OPTION,
    "--tensors": "list all tensors",
  },
  details: `With --json: { kind, keys, tensors, config, weights, problem }, where config and weights
are absent if the package cannot read them, and problem if it can run the model.

Exit code 1 if FILE cannot be read, or the package cannot run the model.`,
  run: inspect,
};
