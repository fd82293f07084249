/** The part of containerd's event service that PLEG needs (src/containerd/events.proto), on the wire. */
export * from './generated/grpc/containerd/events.ts';
export { Timestamp } from './generated/grpc/google/protobuf/timestamp.ts';
