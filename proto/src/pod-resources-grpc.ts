/** The pod resources API (src/podresources/v1/api.proto) on the wire. */
export * from './generated/grpc/podresources/v1/api.ts';
