/** What drivers of resource claims serve (src/dra/v1/api.proto) on the wire. */
export * from './generated/grpc/dra/v1/api.ts';
