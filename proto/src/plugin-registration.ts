/** The registration of a node's plugins (src/pluginregistration/api.proto) on the wire. */
export * from './generated/grpc/pluginregistration/api.ts';
