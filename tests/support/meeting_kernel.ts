// A kernel that proves that two launches run at the same time.

import { device } from "./device.ts";

const module = await device.compile(`
  __global__ void meet(volatile int* flags, int me, int* met) {
    flags[me] = 1;
    for (long long i = 0; i < 1500000000 && !flags[1 - me]; i++) {}
    met[me] = flags[1 - me];
  }`);

/** Sets its flag and waits for that of its partner, for a second at most; writes 1 if they met. */
export const meet = module.kernel("meet(volatile int* flags, int me, int* met)");
