/**
 * The script of the page, as text.
 *
 * The script is the text that the engine holds of the functions in `page/`, after the removal of
 * types. So the code of the page is checked, formatted and tested like all other, there is no
 * generated copy, and no import of text, which JSR refuses. The rules for the modules in `page/`:
 *
 * - They declare functions only, and this module lists each.
 * - The functions refer to each other and to globals of the browser only.
 *
 * Tests check these rules and open the page that a bundled and minified program makes.
 *
 * @module
 */

import * as tools from "./page/page_tools.ts";
import * as segments from "./page/segment_view.ts";
import * as sites from "./page/site_table.ts";
import * as timeline from "./page/timeline_view.ts";
import * as quantities from "./quantities.ts";

/** All functions of the script. */
export const PAGE_FUNCTIONS: readonly { readonly name: string }[] = [
  quantities,
  tools,
  timeline,
  segments,
  sites,
].flatMap((module) => Object.values(module));

/** Returns the whole script. */
export function pageScript(): string {
  return [
    "(() => {",
    '"use strict";',
    // A bundler may change the name in the text of a function.
    ...PAGE_FUNCTIONS.map((part) => `const ${part.name} = ${part};`),
    `${sites.startReport.name}();`,
    "})();",
  ].join("\n");
}
