/** The fields of an error of Node.js's network calls. */
interface SystemError extends Error {
  readonly code?: string;
  readonly syscall?: string;
  readonly hostname?: string;
  /** One per address that was tried. */
  readonly errors?: readonly Error[];
}

/** The system's words for its error numbers, as the reference's messages have them. */
const systemTexts: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EADDRNOTAVAIL: 'cannot assign requested address',
  ECONNABORTED: 'software caused connection abort',
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset by peer',
  EHOSTUNREACH: 'no route to host',
  EMFILE: 'too many open files',
  ENETUNREACH: 'network is unreachable',
  EPIPE: 'broken pipe',
  ETIMEDOUT: 'connection timed out',
};

/**
 * What happened to a connection, in the words of the reference's messages.
 *
 * @param address `host:port` of the attempt
 */
export function networkErrorText(thrown: Error, address: string): string {
  const error = firstOf(thrown);
  const { code = '', syscall } = error;
  const text = systemTexts[code];
  if (syscall === 'connect') return `dial tcp ${address}: connect: ${text ?? error.message}`;
  if (syscall === 'getaddrinfo') {
    return `dial tcp: lookup ${error.hostname ?? ''}: ${code === 'ENOTFOUND' ? 'no such host' : error.message}`;
  }
  if (syscall !== undefined && text !== undefined) return `${syscall} tcp ${address}: ${syscall}: ${text}`;
  // The server ended the connection without an answer.
  if (code === 'ECONNRESET') return 'EOF';
  if (code.startsWith('HPE_')) {
    return `net/http: HTTP/1.x transport connection broken: malformed HTTP response: ${error.message}`;
  }
  if (code === 'EPROTO') {
    const reason = /SSL routines:[^:]*:([^:]+)/.exec(error.message)?.[1] ?? error.message;
    const plain = reason === 'wrong version number' || reason === 'packet length too long';
    return plain ? 'http: server gave HTTP response to HTTPS client' : `tls: ${reason}`;
  }
  return error.message;
}

function firstOf(error: SystemError): SystemError {
  return error.errors?.[0] ?? error;
}
