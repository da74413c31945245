/**
 * Compiles sources with mistakes and launches their kernels. Started by `soak.ts`: a crash here may
 * be the kernel's own doing, which a person has to judge.
 *
 * @module
 */

import { playSources } from "./source_play.ts";

await playSources(true);
