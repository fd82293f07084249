import { Client, Metadata, type MethodDefinition, type ServiceError, credentials } from '@grpc/grpc-js';
import { PluginCallError } from './plugin-call-error.ts';

/** How a call is made. */
export interface CallTerms {
  /** Time limit of a call in milliseconds. */
  readonly limitMs: number;
  /** Also waits for a socket on which no process listens yet. Otherwise the call fails at once. */
  readonly waits?: boolean;
}

/** A socket for calls. */
export interface Callee extends CallTerms {
  /** Path of the unix socket. */
  readonly socket: string;
}

/**
 * One call over a connection of its own: calls are rare, so it always reaches the process that currently listens, after
 * any number of
 * restarts. Throws {@link PluginCallError}; `UNAVAILABLE` when no process listens.
 */
export async function callPlugin<Request, Response>(
  { socket, ...terms }: Callee,
  method: MethodDefinition<Request, Response>,
  request: Request,
): Promise<Response> {
  const client = pluginClient(socket);
  try {
    return await callOver(client, terms, method, request);
  } finally {
    client.close();
  }
}

/** One call over a connection. See {@link callPlugin}. */
export function callOver<Request, Response>(
  client: Client,
  { limitMs, waits = false }: CallTerms,
  { path, requestSerialize, responseDeserialize }: MethodDefinition<Request, Response>,
  request: Request,
): Promise<Response> {
  // The library takes a deadline and sends the plugin the remaining time.
  const options = { deadline: Date.now() + limitMs };
  return new Promise((resolve, reject) => {
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
}

/**
 * A connection to a plugin's socket that nothing else uses. The caller closes it.
 *
 * @param againMs how long it takes at most until it is tried again, in milliseconds
 */
export function pluginClient(socket: string, againMs = 10_000): Client {
  return new Client(`unix:${socket}`, credentials.createInsecure(), {
    'grpc.initial_reconnect_backoff_ms': 100,
    'grpc.max_reconnect_backoff_ms': againMs,
    'grpc.enable_retries': 0,
    'grpc.enable_channelz': 0,
    'grpc.service_config_disable_resolution': 1,
    'grpc.use_local_subchannel_pool': 1,
  });
}
