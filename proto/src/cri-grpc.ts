/** CRI `runtime.v1` on the wire: a codec per method, and service definitions for @grpc/grpc-js (both sides). */
export { criCodecs } from './generated/cri-codecs.ts';
export { type CriCodecs, type MethodCodec } from './method-codec.ts';
export { ImageServiceService, RuntimeServiceService } from './generated/grpc/runtime/v1/api.ts';
