import { Client, Metadata, type MethodDefinition, type ServiceError, credentials } from '@grpc/grpc-js';
import { PluginCallError } from './plugin-call-error.ts';

/** A socket for calls. */
export interface Callee {
  /** Path of the unix socket. */
  readonly socket: string;
  /** Time limit of a call in milliseconds. */
  readonly limitMs: number;
  /** Also waits for a socket on which no process listens yet. Otherwise the call fails at once. */
  readonly waits?: boolean;
}

/**
 * One call over a connection of its own: calls are rare, so it always reaches the process that currently listens, after
 * any number of
 * restarts. Throws {@link PluginCallError}; `UNAVAILABLE` when no process listens.
 */
export async function callPlugin<Request, Response>(
  { socket, limitMs, waits = false }: Callee,
  { path, requestSerialize, responseDeserialize }: MethodDefinition<Request, Response>,
  request: Request,
): Promise<Response> {
  const client = pluginClient(socket);
  // The library takes a deadline and sends the plugin the remaining time.
  const options = { deadline: Date.now() + limitMs };
  try {
    return await new Promise((resolve, reject) => {
      const answered = (error: ServiceError | null, response?: Response) => {
        if (error === null) resolve(response as Response);
        else reject(new PluginCallError(path, error, error));
      };
      client.makeUnaryRequest(
        path,
        requestSerialize,
        responseDeserialize,
        request,
        new Metadata({ waitForReady: waits }),
        options,
        answered,
      );
    });
  } finally {
    client.close();
  }
}

/** A connection to a plugin's socket that nothing else uses. The caller closes it. */
export function pluginClient(socket: string): Client {
  return new Client(`unix:${socket}`, credentials.createInsecure(), {
    'grpc.initial_reconnect_backoff_ms': 100,
    'grpc.max_reconnect_backoff_ms': 10_000,
    'grpc.enable_retries': 0,
    'grpc.enable_channelz': 0,
    'grpc.service_config_disable_resolution': 1,
    'grpc.use_local_subchannel_pool': 1,
  });
}
