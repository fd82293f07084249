/** The node's side of CSI (src/csi/v1/csi.proto) on the wire: messages, and its service for @grpc/grpc-js. */
export * from './generated/grpc/csi/v1/csi.ts';
