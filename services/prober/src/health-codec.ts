import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire';

/** `Check` of grpc.health.v1.Health (github.com/grpc/grpc/blob/master/doc/health-checking.md). */
export const HEALTH_CHECK = '/grpc.health.v1.Health/Check';

/** Both messages have one field, with this number. */
const FIELD = 1;

/** HealthCheckRequest: the name of the service, empty for the server as a whole. */
export function encodeHealthRequest(service: string): Buffer {
  const writer = new BinaryWriter();
  if (service !== '') writer.tag(FIELD, WireType.LengthDelimited).string(service);
  return Buffer.from(writer.finish());
}

/** HealthCheckResponse: the number of the serving status. Throws when the bytes are not such a message. */
export function decodeHealthResponse(bytes: Uint8Array): number {
  const reader = new BinaryReader(bytes);
  let status = 0;
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag();
    if (field === FIELD && type === WireType.Varint) status = reader.int32();
    else reader.skip(type, field);
  }
  return status;
}
