/**
 * Checks requests before they are answered: the machine that they name, their origin, their key, and
 * the size of their bodies.
 *
 * @module
 */

import { createHash, timingSafeEqual } from "node:crypto";
import { describeValue } from "../../ffi/describe_value.ts";
import { ApiError } from "./api_error.ts";

/** The rules of a server. */
export interface GuardOptions {
  readonly maxBodyBytes: number;
  /** The longest time that a body may take to arrive. */
  readonly bodySeconds: number;
  readonly apiKey: string | undefined;
  readonly allowedOrigins: readonly string[];
  readonly isLocal: boolean;
}

/**
 * Whether a host is the loopback interface, by its name or by one of its addresses: whether a
 * `ModelServer` that listens there should have the option `isLocal`.
 *
 * @param host The name or the address, also in the brackets of URLs.
 * @returns Whether only this machine reaches it.
 * @throws {TypeError} If the host is no string.
 *
 * @example
 * ```ts
 * import { isLoopback } from "@gridstride/cuda/bitnet";
 *
 * console.log(isLoopback("127.0.0.1"), isLoopback("0.0.0.0")); // true false
 * ```
 * @category Server
 */
export function isLoopback(host: string): boolean {
  if (typeof host !== "string") {
    throw new TypeError(
      `Cannot call isLoopback() as host must be a string: it is ${describeValue(host)}`,
    );
  }
  return /^(?:localhost|127(?:\.\d+){3}|::1|\[::1\])$/i.test(host);
}

const digestOf = (text: string): Uint8Array => createHash("sha256").update(text).digest();

/** Refuses requests that a server must not answer. */
export class RequestGuard {
  readonly #options: GuardOptions;

  constructor(options: GuardOptions) {
    this.#options = options;
  }

  /**
   * Refuses a request that names another machine. A foreign page reaches this one by a name of its
   * own that leads here (DNS rebinding).
   */
  checkHost({ url }: Request): void {
    const { hostname } = new URL(url);
    if (!this.#options.isLocal || isLoopback(hostname)) return;
    throw new ApiError(403, `Cannot answer as the host must be this machine: it is ${hostname}`);
  }

  /** Refuses a request without the server's key. */
  checkKey({ headers }: Request): void {
    const { apiKey } = this.#options;
    if (apiKey === undefined) return;
    const given = /^Bearer (.*)$/i.exec(headers.get("authorization") ?? "")?.[1] ?? "";
    // Digests have the same length, and comparing them takes the same time for all keys.
    if (timingSafeEqual(digestOf(given), digestOf(apiKey))) return;
    throw new ApiError(401, "Cannot answer as authorization must be Bearer with the server's key", {
      code: "invalid_api_key",
      headers: { "www-authenticate": "Bearer" },
    });
  }

  /** The headers by which a browser lets pages of an allowed origin read a response. */
  originHeaders({ headers }: Request): Readonly<Record<string, string>> {
    const { allowedOrigins } = this.#options;
    const origin = headers.get("origin");
    if (origin === null || allowedOrigins.length === 0) return {};
    const allowed = allowedOrigins.find((each) => each === "*" || each === origin);
    return allowed === undefined
      ? { vary: "origin" }
      : { vary: "origin", "access-control-allow-origin": allowed };
  }

  /** Answers a browser's query whether a page may send a request. */
  preflight(): Response {
    if (this.#options.allowedOrigins.length === 0) {
      throw new ApiError(403, "Cannot answer pages of other origins, as none is allowed");
    }
    return new Response(null, {
      status: 204,
      headers: {
        "access-control-allow-methods": "GET, POST",
        // The clients of OpenAI send several headers of their own.
        "access-control-allow-headers": "authorization, *",
        "access-control-max-age": "86400",
      },
    });
  }

  /** Reads the body of a request as JSON. */
  async readJson(request: Request): Promise<unknown> {
    // A foreign page may send a text without a preflight, but no JSON.
    if (!/^application\/json\b/i.test(request.headers.get("content-type") ?? "")) {
      throw new ApiError(415, "Cannot read the body as content-type must be application/json");
    }
    const { maxBodyBytes, bodySeconds } = this.#options;
    const tooLarge = () =>
      new ApiError(413, `Cannot read the body as it must have at most ${maxBodyBytes} bytes`);
    if (Number(request.headers.get("content-length")) > maxBodyBytes) throw tooLarge();
    const decoder = new TextDecoder();
    let text = "";
    let size = 0;
    // A client that sends no more must not hold its request forever.
    const control = new AbortController();
    const tooSlow = () =>
      control.abort(
        new ApiError(408, `Cannot read the body as it must arrive within ${bodySeconds} s`),
      );
    const timer = setTimeout(tooSlow, 1000 * bodySeconds);
    try {
      const body = request.body?.pipeThrough(new TransformStream(), { signal: control.signal });
      for await (const part of body ?? []) {
        size += part.length;
        if (size > maxBodyBytes) throw tooLarge();
        text += decoder.decode(part, { stream: true });
      }
    } finally {
      clearTimeout(timer);
    }
    try {
      return JSON.parse(text + decoder.decode());
    } catch (error) {
      throw new ApiError(400, `Cannot read the body as JSON: ${(error as Error).message}`, {
        code: "invalid_json",
      });
    }
  }
}
