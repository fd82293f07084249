import { Client, credentials } from '@grpc/grpc-js';
import type { CriMethods, UnaryCriMethod } from '@kubus/proto/cri';
import { criCodecs } from '@kubus/proto/cri-grpc';

/**
 * One CRI call over a connection of its own, for programs that look whether a runtime has come so far. It fails at once
 * where a client for longer use (`@kubus/cri`) would connect again: the caller looks again.
 *
 * @throws what gRPC reports (`ServiceError`).
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
