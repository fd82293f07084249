/** How drivers of resource claims report the health of devices (src/dra-health/v1alpha1/api.proto) on the wire. */
export * from './generated/grpc/dra-health/v1alpha1/api.ts';
