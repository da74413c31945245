/**
 * Pictures that commands write: `--picture FILE.svg` or `FILE.html`.
 *
 * What draws them is large, so that only a command that draws loads it.
 *
 * @module
 */

import { type Invocation, UsageError } from "./command.ts";
import { FileProblem, isAboutFile, reasonOf } from "./file_problem.ts";
import { textOption } from "./run_options.ts";

/** A picture, drawn. */
export interface Picture {
  /** What it shows, in a line. */
  readonly title: string;
  /** What it says, for those who do not see it, too. */
  readonly description: string;
  /** The picture: one `svg` element, which can be a file of its own. */
  readonly svg: string;
}

/** Where a picture goes. */
export interface PictureFile {
  /**
   * Writes it.
   *
   * @throws {FileProblem} If that fails.
   */
  write(picture: Picture): void;
}

/**
 * The file that `--picture` names; undefined where it is not given.
 *
 * @throws {UsageError} If it has another ending.
 */
export function pictureFile(invocation: Invocation): PictureFile | undefined {
  const path = textOption(invocation, "picture");
  if (path === undefined) return undefined;
  const [, ending] = /\.(svg|html)$/i.exec(path) ?? [];
  if (ending === undefined) {
    throw new UsageError(`Cannot use --picture as it must end in .svg or .html: it is "${path}"`);
  }
  const isPage = ending.toLowerCase() === "html";
  return {
    write: (picture) => write(path, isPage ? page(picture) : `${picture.svg}\n`),
  };
}

function write(path: string, text: string): void {
  try {
    Deno.writeTextFileSync(path, text);
  } catch (error) {
    if (!isAboutFile(error)) throw error;
    throw new FileProblem(
      `Cannot write the picture as ${path} must be writable: ${reasonOf(error)}`,
    );
  }
}

function escaped(text: string): string {
  const names: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };
  return text.replace(/[&<>]/g, (character) => names[character]!);
}

/** A page with one picture; it asks for nothing else, and its policy lets it ask for nothing. */
function page({ title, description, svg }: Picture): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escaped(title)}</title>
<style>
body { margin: 2rem auto; padding: 0 1rem; max-width: 66rem; background: #fff; color: #1b1f24;
  font: 15px/1.5 system-ui, sans-serif; }
figure { margin: 0; }
figure > div { overflow-x: auto; }
figcaption { padding: 0 24px; overflow-wrap: anywhere; }
svg { display: block; max-width: max(100%, 40rem); height: auto; }
@media (prefers-color-scheme: dark) { body { background: #14171b; color: #e6e9ec; } }
</style>
</head>
<body>
<figure>
<div>
${svg}
</div>
<figcaption>${escaped(description)}</figcaption>
</figure>
</body>
</html>
`;
}
