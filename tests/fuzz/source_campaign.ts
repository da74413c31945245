/**
 * Compiles sources with mistakes. Started by `source_test.ts` and `soak.ts`.
 *
 * @module
 */

import { playSources } from "./source_play.ts";

await playSources(false);
