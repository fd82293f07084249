import type { CriMethod, CriMethods } from './cri.ts';

/** One method on the wire: its gRPC path, and JSON form to bytes and back for both directions. */
export interface MethodCodec<Request, Response> {
  /** `/package.Service/Method`. */
  readonly path: string;
  /** Throws when a 64-bit integer is not one. */
  readonly encodeRequest: (request: Request) => Buffer;
  readonly decodeRequest: (bytes: Uint8Array) => Request;
  readonly encodeResponse: (response: Response) => Buffer;
  /** Scalars and enums are always there, with their zero value when the runtime left them out. */
  readonly decodeResponse: (bytes: Uint8Array) => Response;
}

export type CriCodecs = {
  readonly [M in CriMethod]: MethodCodec<CriMethods[M]['request'], CriMethods[M]['response']>;
};

/** What ts-proto writes for each message. */
interface WireMessage<T> {
  encode(message: T): { finish(): Uint8Array };
  decode(input: Uint8Array): T;
  fromJSON(object: unknown): T;
  toJSON(message: T): unknown;
}

/** The generator pairs JSON types with wire types of the same message; the casts are between these two. */
export function methodCodec<Request, Response, WireRequest, WireResponse>(
  path: string,
  request: WireMessage<WireRequest>,
  response: WireMessage<WireResponse>,
): MethodCodec<Request, Response> {
  return {
    path,
    encodeRequest: (value) => encode(request, value),
    decodeRequest: (bytes) => request.toJSON(request.decode(bytes)) as Request,
    encodeResponse: (value) => encode(response, value),
    decodeResponse: (bytes) => response.toJSON(response.decode(bytes)) as Response,
  };
}

function encode<T>(wire: WireMessage<T>, value: unknown): Buffer {
  const bytes = wire.encode(wire.fromJSON(value)).finish();
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
