/** Device plugins and their registration (src/deviceplugin/v1beta1/api.proto) on the wire. */
export * from './generated/grpc/deviceplugin/v1beta1/api.ts';
