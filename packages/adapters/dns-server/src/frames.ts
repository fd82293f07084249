/** The TCP and UDP port of DNS. */
export const DNS_PORT = 53;

/** Bytes of the length before a message over TCP. */
const LENGTH = 2;

/** A message as it is sent over TCP. */
export function framed(message: Buffer): Buffer {
  const length = Buffer.alloc(LENGTH);
  length.writeUInt16BE(message.length);
  return Buffer.concat([length, message]);
}

/** The first message of what was received over TCP, and what follows it; undefined until it is whole. */
export function takeFrame(received: Buffer): { readonly frame: Buffer; readonly rest: Buffer } | undefined {
  if (received.length < LENGTH) return undefined;
  const end = LENGTH + received.readUInt16BE(0);
  if (received.length < end) return undefined;
  return { frame: received.subarray(LENGTH, end), rest: received.subarray(end) };
}
