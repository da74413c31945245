/**
 * Errors in the form of the OpenAI API.
 *
 * @module
 */

/** The field `type` of an error. */
export type ErrorType =
  | "invalid_request_error"
  | "authentication_error"
  | "rate_limit_error"
  | "server_error";

/** The fields of an error beside its message and type, and headers of its response. */
export interface ErrorDetails {
  /** The field of the request. */
  readonly param?: string | undefined;
  /** A name for programs, such as `context_length_exceeded`. */
  readonly code?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

function typeOf(status: number): ErrorType {
  if (status >= 500) return "server_error";
  if (status === 429) return "rate_limit_error";
  return status === 401 ? "authentication_error" : "invalid_request_error";
}

/** A request that is answered by an error. */
export class ApiError extends Error {
  override name = "ApiError";
  readonly status: number;
  readonly #details: ErrorDetails;

  constructor(status: number, message: string, details: ErrorDetails = {}) {
    super(message);
    this.status = status;
    this.#details = details;
  }

  /** The body of the response, and the event that ends a stream. */
  toJSON(): { readonly error: Readonly<Record<string, string | null>> } {
    const { param = null, code = null } = this.#details;
    return { error: { message: this.message, type: typeOf(this.status), param, code } };
  }

  toResponse(): Response {
    const { headers = {} } = this.#details;
    return Response.json(this, { status: this.status, headers });
  }
}

/** Refuses the value of a field of a request. */
export function refuseField(param: string, allowed: string, given: string, code?: string): never {
  const message = `Cannot complete as ${param} must be ${allowed}: it is ${given}`;
  throw new ApiError(400, message, { param, code: code ?? "invalid_value" });
}
