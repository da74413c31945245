/**
 * Reads what was typed: which command, with which options and arguments.
 *
 * @module
 */

import { parseArgs } from "@std/cli/parse-args";
import {
  type Command,
  type CommandGroup,
  type CommandOptions,
  type Invocation,
  UsageError,
} from "./command.ts";

/** What was typed, as far as it could be made out; no command asks for the list of commands. */
export interface CommandLine {
  /** What to run, or the group to choose from. */
  readonly command: Command | CommandGroup | undefined;
  /** Whether help was asked for instead. */
  readonly help: boolean;
  /** What the command is given. */
  readonly invocation: Invocation;
}

type Entry = Command | CommandGroup;

/** Options that every command takes. */
const FLAGS = ["json", "help"];
const VALUES = ["device"];

function commandsOf(entries: readonly Entry[]): Command[] {
  return entries.flatMap((entry) => "commands" in entry ? entry.commands : [entry]);
}

function find<E extends Entry>(entries: readonly E[], name: string, typed: string): E {
  const entry = entries.find((candidate) => candidate.name === name);
  if (entry !== undefined) return entry;
  const names = entries.map((candidate) => candidate.name).join(", ");
  throw new UsageError(`Cannot run ${typed} as the command must be one of ${names}`);
}

/** The command that the first words name, and the words that follow. */
function resolve(
  entries: readonly Entry[],
  words: readonly string[],
): { command: Entry | undefined; positional: readonly string[] } {
  const [first, second] = words;
  if (first === undefined) return { command: undefined, positional: [] };
  const entry = find(entries, first, first);
  if (!("commands" in entry)) return { command: entry, positional: words.slice(1) };
  if (second === undefined) return { command: entry, positional: [] };
  const command = find(entry.commands, second, `${first} ${second}`);
  return { command, positional: words.slice(2) };
}

/** The command's own options among those that were given. */
function ownOptions(
  command: Entry | undefined,
  parsed: Readonly<Record<string, unknown>>,
  { values, flags, lists }: Required<CommandOptions>,
): Pick<Invocation, "options" | "lists"> {
  const own = (command !== undefined && "run" in command ? command.options : undefined) ?? {};
  const options: Record<string, string | boolean> = {};
  const given: Record<string, readonly string[]> = {};
  for (const name of [...values, ...flags, ...lists]) {
    const value = parsed[name];
    if (value === undefined || value === false) continue;
    if (Array.isArray(value) && value.length === 0) continue;
    if (![...own.values ?? [], ...own.flags ?? [], ...own.lists ?? []].includes(name)) {
      throw new UsageError(`Cannot use --${name} as the command has no such option`);
    }
    if (value === "" || Array.isArray(value) && value.includes("")) {
      throw new UsageError(`Cannot use --${name} as it must have a value`);
    }
    if (Array.isArray(value)) given[name] = value.map(unmasked);
    else options[name] = typeof value === "string" ? unmasked(value) : value as boolean;
  }
  return { options, lists: given };
}

/** What stands before what is no option while options are looked for: none begins with it. */
const MASK = "\0";

/** Arguments, of which those that are not to be taken for options are marked. */
function masked(args: readonly string[], { values, flags, lists }: Required<CommandOptions>) {
  const isText = new Set([...values, ...lists]);
  const isOption = (argument: string) => {
    const [, name] = /^--(?:no-)?([^=]+)/.exec(argument) ?? [];
    return argument === "-h" || (name !== undefined && (isText.has(name) || flags.includes(name)));
  };
  return args.map((argument, index) => {
    if (!argument.startsWith("-")) return argument;
    // A number, such as -2.
    const isNumber = /^-(?:\.?\d|inf\b)/i.test(argument);
    // What belongs to the option before it, such as `--option -O3`.
    const before = args[index - 1] ?? "";
    const isValue = isText.has(before.replace(/^--/, "")) && before.startsWith("--") &&
      !isOption(argument) && argument !== "--";
    return isNumber || isValue ? MASK + argument : argument;
  });
}

function unmasked(argument: string): string {
  return argument.startsWith(MASK) ? argument.slice(MASK.length) : argument;
}

/**
 * The names of the options of all commands, since one reader reads for all. A name that is of
 * several kinds is of the one that the command gives it; it takes a value as long as none is known.
 */
function allOptions(
  commands: readonly Command[],
  command: Entry | undefined,
): Required<CommandOptions> {
  const own = (command !== undefined && "run" in command ? command.options : undefined) ?? {};
  const ownNames = (kind: keyof CommandOptions): readonly string[] => own[kind] ?? [];
  const kinds = ["values", "lists", "flags"] as const;
  const names = (kind: keyof CommandOptions, firstKinds: readonly string[]) => {
    const all = new Set(commands.flatMap(({ options }) => options?.[kind] ?? []));
    const others = kinds.filter((other) => other !== kind).flatMap(ownNames);
    return [...all].filter((name) =>
      ownNames(kind).includes(name) || !others.includes(name) && !firstKinds.includes(name)
    );
  };
  const values = names("values", []);
  const lists = names("lists", values);
  return { values, lists, flags: names("flags", [...values, ...lists]) };
}

/** Reads arguments by the kinds that options have for a command. */
function parsedArguments(
  commands: readonly Command[],
  command: Entry | undefined,
  args: readonly string[],
) {
  const all = allOptions(commands, command);
  const flags = [...FLAGS, ...all.flags];
  const values = [...VALUES, ...all.values];
  const parsed = parseArgs(masked(args, { flags, values, lists: all.lists }), {
    boolean: flags,
    string: [...values, ...all.lists, "_"],
    collect: all.lists,
    alias: { h: "help" },
    unknown: (argument: string, key?: string) => {
      if (key === undefined) return true;
      throw new UsageError(`Cannot use ${argument} as there is no such option`);
    },
  });
  const words = parsed._.map((word: string | number) => unmasked(String(word)));
  return { all, parsed, words };
}

/**
 * Reads the command line.
 *
 * @param entries The commands there are.
 * @param args What follows the program's name.
 * @throws {UsageError} If there is no such command or option.
 */
export function readCommandLine(entries: readonly Entry[], args: readonly string[]): CommandLine {
  const commands = commandsOf(entries);
  const { command: named } = resolve(entries, parsedArguments(commands, undefined, args).words);
  const { all, parsed, words } = parsedArguments(commands, named, args);
  const { command, positional } = resolve(entries, words);
  const device = parsed["device"] === undefined ? undefined : unmasked(String(parsed["device"]));
  if (device === "") throw new UsageError("Cannot use --device as it must name a device");
  return {
    command,
    help: parsed["help"] === true,
    invocation: {
      json: parsed["json"] === true,
      ...(typeof device === "string" ? { device } : {}),
      ...ownOptions(command, parsed, all),
      positional,
    },
  };
}
