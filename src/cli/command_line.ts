/**
 * Builds the program for commander, which parses the command line, prints help and suggests names.
 *
 * @module
 */

import { RootCommand } from "@bomb.sh/tab";
import tab from "@bomb.sh/tab/commander";
import { bold, cyan, green, red, yellow } from "@std/fmt/colors";
import { Command as Parser, CommanderError, Option } from "commander";
import configuration from "../../deno.json" with { type: "json" };
import { type Command, type CommandGroup, EXIT, type Invocation, printText } from "./command.ts";
import { columns, usesColor, wrapText } from "./format.ts";

/** Numbers that commander would read as options; a space hides them from it. */
const NEGATIVE = /^-(?:inf\b|\.?\d)/i;
const HIDDEN = /^ (?=-)/;

/** Removes the line breaks within paragraphs: commander wraps lines at the width of the terminal. */
function unwrapped(text: string): string {
  return text.replace(/(\S)\n(?=\S)/g, "$1 ");
}

function invocationOf(parser: Parser): Invocation {
  const options: Record<string, string | true> = {};
  const lists: Record<string, string[]> = {};
  for (const option of parser.options) {
    const value: unknown = parser.getOptionValue(option.attributeName());
    if (Array.isArray(value)) lists[option.name()] = value;
    else if (typeof value === "string") options[option.name()] = value.replace(HIDDEN, "");
    else if (value === true) options[option.name()] = true;
  }
  const { json = false } = parser.optsWithGlobals<{ json?: boolean }>();
  const { json: _, device, ...own } = options;
  return {
    json,
    ...(typeof device === "string" ? { device } : {}),
    options: own,
    lists,
    positional: parser.args.map((word) => word.replace(HIDDEN, "")),
  };
}

function addCommand(parent: Parser, command: Command, onCode: (code: number) => void): void {
  const { description, details, options = {}, lists = {} } = command;
  const parser = parent.command(command.name).summary(command.summary)
    .description(unwrapped(description))
    .action(async () => onCode(await command.run(invocationOf(parser)) ?? EXIT.done));
  if (command.arguments !== undefined) parser.arguments(command.arguments);
  for (const [flags, text] of Object.entries(options)) {
    parser.addOption(new Option(flags, unwrapped(text)));
  }
  for (const [flags, text] of Object.entries(lists)) {
    const collect = (value: string, previous: string[] = []) => [...previous, value];
    parser.addOption(new Option(flags, unwrapped(`${text}; can be repeated`)).argParser(collect));
  }
  parser.option("--json", "print one JSON value instead of text");
  parser.addHelpText("after", () => {
    if (details === undefined) return "";
    return `\n${wrapText(unwrapped(details))}`;
  });
}

/** Adds the command `complete`. Where it proposes nothing, the shell completes names of files. */
function addCompletion(program: Parser): void {
  const completion = tab(program);
  program.commands.at(-1)!.description("print a completion script for a shell").addHelpText(
    "after",
    `\nFor example in ~/.bashrc or ~/.zshrc: source <(${program.name()} complete bash)`,
  );
  for (const [words, entry] of completion.commands) {
    const find = (parser: Parser | undefined, word: string) =>
      parser?.commands.find((command) => command.name() === word);
    const parser = words.split(" ").reduce<Parser | undefined>(find, program);
    entry.description = parser?.summary() || entry.description;
  }
  completion.setup = (name, executable, shell) => {
    RootCommand.prototype.setup.call(completion, name, executable, shell);
    if (shell === "bash") printText(`complete -o default -F __${name}_complete ${name}`);
  };
  const print = RootCommand.prototype["complete"].bind(completion);
  completion["complete"] = (word: string) => {
    if (completion.completions.some(({ value }) => value.startsWith(word))) print(word);
    else printText(":0");
  };
}

/**
 * Runs the command that a command line names.
 *
 * @param args The arguments of the program.
 * @returns The exit code.
 */
export async function runProgram(
  entries: readonly (Command | CommandGroup)[],
  args: readonly string[],
): Promise<number> {
  let code: number = EXIT.done;
  const onCode = (result: number) => void (code = result);
  const hasColors = usesColor();
  const program = new Parser("gridstride").description("CUDA for Deno").version(
    configuration.version,
  )
    .option("--json", "print one JSON value instead of text")
    .enablePositionalOptions().exitOverride().showHelpAfterError("See --help.")
    .configureOutput({
      writeOut: (text) => printText(text.trimEnd()),
      writeErr: (text) => console.error(text.trimEnd()),
      outputError: (text, write) => write(text.replace(/^error:/, red("error:"))),
      getOutHelpWidth: columns,
      getErrHelpWidth: columns,
      getOutHasColors: () => hasColors,
      getErrHasColors: () => hasColors,
    })
    .configureHelp({
      subcommandTerm: (command) => command.name(),
      styleTitle: bold,
      styleCommandText: cyan,
      styleSubcommandText: cyan,
      styleOptionText: green,
      styleArgumentText: yellow,
    })
    .addHelpText(
      "after",
      "\nExit codes: 0 success, 1 failure or no device, 2 invalid usage or environment, 130 Ctrl-C.",
    );
  for (const entry of entries) {
    if (!("commands" in entry)) addCommand(program, entry, onCode);
    else {
      const group = program.command(entry.name).description(entry.summary);
      for (const command of entry.commands) addCommand(group, command, onCode);
    }
  }
  addCompletion(program);
  const hidden = args.map((word) => NEGATIVE.test(word) ? ` ${word}` : word);
  try {
    await program.parseAsync(hidden, { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return error.exitCode === 0 ? EXIT.done : EXIT.usage;
  }
  return code;
}
