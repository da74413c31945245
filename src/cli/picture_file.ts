/**
 * The file of `--picture`. The modules that draw are large: a command imports them on demand.
 *
 * @module
 */

import { escape } from "@std/html/entities";
import { type Invocation, writeFile } from "./command.ts";
import { refuseOption, textOption } from "./options.ts";

export interface Picture {
  readonly title: string;
  readonly description: string;
  readonly svg: string;
}

/** Returns the function that writes the file of `--picture`; undefined without this option. */
export function pictureFile(
  invocation: Invocation,
): ((picture: Picture) => Promise<void>) | undefined {
  const path = textOption(invocation, "picture");
  if (path === undefined) return undefined;
  if (/\.svg$/i.test(path)) return ({ svg }) => writeFile(path, `${svg}\n`);
  if (/\.html$/i.test(path)) return (picture) => writeFile(path, pageOf(picture));
  return refuseOption("picture", "a file name that ends in .svg or .html", path);
}

/** A page with one picture. Its content security policy forbids all requests. */
function pageOf({ title, description, svg }: Picture): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escape(title)}</title>
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
<figcaption>${escape(description)}</figcaption>
</figure>
</body>
</html>
`;
}
