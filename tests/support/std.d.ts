// The types of the modules of Deno's standard library that this package uses. JSR serves them with
// the published package; the same modules from npm, which the repository imports, have none.

declare module "@std/cli/parse-args" {
  export function parseArgs(args: string[], options?: {
    readonly boolean?: readonly string[];
    readonly string?: readonly string[];
    readonly collect?: readonly string[];
    readonly alias?: Readonly<Record<string, string>>;
    readonly stopEarly?: boolean;
    readonly unknown?: (arg: string, key?: string, value?: unknown) => unknown;
    // deno-lint-ignore no-explicit-any
  }): { _: (string | number)[]; [name: string]: any };
}

declare module "@std/fmt/colors" {
  export function bold(text: string): string;
  export function cyan(text: string): string;
  export function dim(text: string): string;
  export function green(text: string): string;
  export function red(text: string): string;
  export function yellow(text: string): string;
  export function setColorEnabled(value: boolean): void;
  export function stripAnsiCode(text: string): string;
}

declare module "@std/html/entities" {
  export function escape(text: string): string;
}

declare module "@std/text/closest-string" {
  export function closestString(givenWord: string, possibleWords: readonly string[]): string;
}

declare module "deno-std/streams/text_line_stream.js" {
  export class TextLineStream extends TransformStream<string, string> {}
}
