import { Client, credentials } from '@grpc/grpc-js';
import type { CriMethods, UnaryCriMethod } from '@kubus/proto/cri';
import { criCodecs } from '@kubus/proto/cri-grpc';

/**
 * One CRI call over its own connection, for checks whether a runtime is ready. It fails at once when the runtime is not reachable, where the
 * client of `@kubus/cri` would reconnect; the caller retries.
 *
 * @throws the gRPC error (`ServiceError`).
 */
export async function callCriOnce<M extends UnaryCriMethod>(
  socket: string,
  method: M,
  request: CriMethods[M]['request'],
): Promise<CriMethods[M]['response']> {
  const { path, encodeRequest, decodeResponse } = criCodecs[method];
  const client = new Client(`unix:${socket}`, credentials.createInsecure());
  try {
    return await new Promise((resolve, reject) => {
      client.makeUnaryRequest(path, encodeRequest, decodeResponse, request, (error, response) => {
        if (error !== null || response === undefined) {
          reject(error ?? new Error(`${method} gave no answer`));
        } else {
          resolve(response);
        }
      });
    });
  } finally {
    client.close();
  }
}
