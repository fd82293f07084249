/** What older drivers of resource claims serve (src/dra/v1beta1/api.proto) on the wire. */
export * from './generated/grpc/dra/v1beta1/api.ts';
