// Maps errors to gRPC status and back. The status carries the nearest gRPC code for any client; `limpet-code`
// beside it carries the Limpet code. Decoding always returns a LimpetError.
import { Code, ConnectError } from "@connectrpc/connect";
import { CATALOGUE, type ErrorCode, isLimpetError, LimpetError } from "../../../kernel/errors.ts";
import { cutReason } from "./value-codecs.ts";

export const CODE_HEADER = "limpet-code";

const BY_STATUS: Record<number, Code> = {
  400: Code.InvalidArgument,
  401: Code.Unauthenticated,
  403: Code.PermissionDenied,
  404: Code.NotFound,
  408: Code.DeadlineExceeded,
  409: Code.FailedPrecondition,
  413: Code.ResourceExhausted,
  429: Code.ResourceExhausted,
  499: Code.Canceled,
  503: Code.Unavailable,
  504: Code.DeadlineExceeded,
};

/** Codes for which gRPC is more precise than the HTTP status. */
const BY_CODE: Partial<Record<ErrorCode, Code>> = {
  NOT_LEADER: Code.FailedPrecondition,
  ROUTE_UNKNOWN: Code.Unimplemented,
  HOST_FULL: Code.ResourceExhausted,
  LINK_FULL: Code.ResourceExhausted,
};

/** Returns a LimpetError unchanged. Any other error is a bug, and the peer learns no details of it. */
export function asLimpetError(thrown: unknown): LimpetError {
  if (isLimpetError(thrown)) return thrown;
  const what = "internal error in the scheduler; see its log";
  return new LimpetError("INVARIANT", what, { cause: thrown });
}

export function rebuildError(code: string, message: string): LimpetError | undefined {
  if (!Object.hasOwn(CATALOGUE, code)) return undefined;
  return new LimpetError(code as ErrorCode, cutReason(message));
}

export function grpcCode(error: LimpetError): Code {
  return BY_CODE[error.code] ?? BY_STATUS[error.status] ?? Code.Internal;
}

export function toStatus(error: LimpetError): ConnectError {
  return new ConnectError(cutReason(error.message), grpcCode(error), { [CODE_HEADER]: error.code });
}

/**
 * Returns the error that the peer sent, or the failure of the stream. Messages begin with the peer's name,
 * `who`.
 */
export function fromStatus(thrown: unknown, who: string): LimpetError {
  const inner = causeOf(thrown);
  if (inner !== undefined) return inner;
  const error = ConnectError.from(thrown);
  const sent = rebuildError(error.metadata.get(CODE_HEADER) ?? "", error.rawMessage);
  if (sent !== undefined) return sent;
  switch (error.code) {
    case Code.Unauthenticated:
      return new LimpetError("UNAUTHENTICATED", `${who}: ${error.rawMessage}`, { cause: thrown });
    case Code.InvalidArgument:
    case Code.ResourceExhausted:
    case Code.Unimplemented:
      return new LimpetError("PROTOCOL", `${who} uses another protocol: ${error.rawMessage}`, {
        cause: thrown,
      });
    default:
      return new LimpetError("UNREACHABLE", `${who} was lost: ${error.rawMessage}`, { cause: thrown });
  }
}

/** Our own errors pass through the library as causes. */
function causeOf(thrown: unknown): LimpetError | undefined {
  for (let error = thrown, depth = 0; error instanceof Error && depth < 5; error = error.cause, depth++) {
    if (isLimpetError(error)) return error;
  }
  return undefined;
}
