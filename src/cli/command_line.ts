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

/**
 * Parses the command line.
 *
 * @param entries The known commands.
 * @param args The arguments of the program.
 * @throws {UsageError} If a command or an option is unknown, or an option lacks its value.
 */
export function parseCommandLine(
  entries: readonly (Command | CommandGroup)[],
  args: readonly string[],
): CommandLine {
  const [first, second] = args;
  const none = { json: false, options: {}, lists: {}, positional: [] };
  if (first === undefined || isHelp(first)) {
    return { command: undefined, help: first !== undefined, invocation: none };
  }
  const entry = find(entries, [first]);
  if (!("commands" in entry)) return parseOptions(entry, args.slice(1));
  if (second === undefined || isHelp(second)) {
    return { command: entry, help: second !== undefined, invocation: none };
  }
  return parseOptions(find(entry.commands, [first, second]), args.slice(2));
}

function parseOptions(command: Command, args: readonly string[]): CommandLine {
  const { values = [], lists = [], flags = [] } = command.options ?? {};
  const texts = ["device", ...values, ...lists];
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
        `Cannot use ${word} as gridstride ${command.name} has no such option: see --help`,
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
