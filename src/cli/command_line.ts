/**
 * Parses the command line.
 *
 * @module
 */

import { type Command, type CommandGroup, type Invocation, UsageError } from "./command.ts";

export interface CommandLine {
  /** The command, or the group if its second word is missing; undefined without any word. */
  readonly command: Command | CommandGroup | undefined;
  readonly help: boolean;
  readonly invocation: Invocation;
}

const NUMBER = /^-(?:\.?\d|inf\b)/i;

function isHelp(word: string | undefined): boolean {
  return word === "--help" || word === "-h";
}

function find<E extends Command | CommandGroup>(entries: readonly E[], words: string[]): E {
  const entry = entries.find(({ name }) => name === words.at(-1));
  if (entry !== undefined) return entry;
  const names = entries.map(({ name }) => name).join(", ");
  throw new UsageError(
    `Cannot run gridstride ${words.join(" ")} as the command must be one of ${names}`,
  );
}

/** Parses the command line. */
export function parseCommandLine(
  entries: readonly (Command | CommandGroup)[],
  args: readonly string[],
): CommandLine {
  const none = { json: false, options: {}, lists: {}, positional: [] };
  // Options before the command, such as --json or --device host, belong to the command.
  const start = args.findIndex((word, at) => !word.startsWith("-") && args[at - 1] !== "--device");
  const [first, second, ...rest] = start < 0 ? args : args.slice(start);
  const leading = args.slice(0, Math.max(0, start));
  if (first === undefined || isHelp(first)) {
    return { command: undefined, help: first !== undefined, invocation: none };
  }
  const entry = find(entries, [first]);
  if (!("commands" in entry)) {
    return parseOptions(entry, first, [
      ...leading,
      ...second === undefined ? [] : [second, ...rest],
    ]);
  }
  if (second === undefined || isHelp(second)) {
    return { command: entry, help: second !== undefined, invocation: none };
  }
  return parseOptions(find(entry.commands, [first, second]), `${first} ${second}`, [
    ...leading,
    ...rest,
  ]);
}

/** The names of the options in a help text: flags, and those with one value or several. */
function optionsOf(help: string) {
  const options = [...help.matchAll(/^ {2}--(\S+)( \S+)? {2,}([^]*?)(?=\n {2}-|\n\n|(?![^]))/gm)];
  const names = (isRight: (value: string | undefined, text: string) => boolean) =>
    options.filter(([, , value, text]) => isRight(value, text!)).map(([, name]) => name!);
  return {
    flags: names((value) => value === undefined),
    values: names((value) => value !== undefined),
    lists: names((_, text) => /can\s+be\s+repeated/.test(text)),
  };
}

function parseOptions(command: Command, words: string, args: readonly string[]): CommandLine {
  const { values, lists, flags } = optionsOf(command.help);
  const texts = ["device", ...values];
  const names = [...texts, ...flags, "json", "help"];
  const isOption = (word: string) => {
    const [, name] = /^--([^=]+)/.exec(word) ?? [];
    return word === "-h" || word === "--" || name !== undefined && names.includes(name);
  };
  const options: Record<string, string | true> = {};
  const repeated: Record<string, string[]> = {};
  const positional: string[] = [];
  for (let at = 0; at < args.length; at++) {
    const word = args[at]!;
    if (word === "--") {
      positional.push(...args.slice(at + 1));
      break;
    }
    if (!word.startsWith("-") || NUMBER.test(word)) {
      positional.push(word);
      continue;
    }
    const [, name = "", inline] = /^--([^=]+)(?:=(.*))?$/s.exec(word === "-h" ? "--help" : word) ??
      [];
    if (!names.includes(name)) {
      throw new UsageError(
        `Cannot use ${word} as gridstride ${words} has no such option: see --help`,
      );
    }
    if (!texts.includes(name)) {
      options[name] = true;
      continue;
    }
    // A value may begin with a dash, as compiler options do, unless it is an option itself.
    const next = args[at + 1];
    const value = inline ?? (next === undefined || isOption(next) ? "" : args[++at]!);
    if (value === "") throw new UsageError(`Cannot use --${name} as its value is missing`);
    if (lists.includes(name)) (repeated[name] ??= []).push(value);
    else options[name] = value;
  }
  const { json, help, device, ...own } = options;
  return {
    command,
    help: help === true,
    invocation: {
      json: json === true,
      ...(typeof device === "string" ? { device } : {}),
      options: own,
      lists: repeated,
      positional,
    },
  };
}
