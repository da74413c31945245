/**
 * How often memory was given back.
 *
 * @module
 */

/**
 * How often memory of any device was given back in this isolate. What has looked at buffers finds
 * them as they were while this stands still, and need not look again.
 */
export const memoryReturns = { count: 0 };
