/** The part of containerd's content service that shows the progress of pulls (src/containerd/content.proto), on the wire. */
export * from './generated/grpc/containerd/content.ts';
