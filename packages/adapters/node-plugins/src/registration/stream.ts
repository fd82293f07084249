import type { Client, MethodDefinition, ServiceError } from '@grpc/grpc-js';
import { type Cancel, KubusError } from '@kubus/ports';
import { pluginClient } from './call.ts';
import { PluginCallError } from './plugin-call-error.ts';

export interface StreamListener<Message> {
  message(message: Message): void;
  /** The plugin has ended the stream: a PluginCallError, or a KubusError when it has ended without one. Not called after it was cancelled. */
  ended(error: Error): void;
}

/** Follows what a plugin reports over a connection of its own, until the returned function is called or the plugin ends it. */
export function followPlugin<Request, Message>(
  socket: string,
  method: MethodDefinition<Request, Message>,
  request: Request,
  listener: StreamListener<Message>,
): Cancel {
  const client = pluginClient(socket);
  return followOver(client, { method, request, listener, over: () => client.close() });
}

/** As {@link followPlugin}, over a connection; `over` is called when the stream has ended. */
export function followOver<Request, Message>(
  client: Client,
  asked: {
    readonly method: MethodDefinition<Request, Message>;
    readonly request: Request;
    readonly listener: StreamListener<Message>;
    readonly over: () => void;
  },
): Cancel {
  const { request, listener } = asked;
  const { path, requestSerialize, responseDeserialize } = asked.method;
  const stream = client.makeServerStreamRequest(path, requestSerialize, responseDeserialize, request);
  let over = false;
  const end = (error?: Error) => {
    if (over) return;
    over = true;
    stream.cancel();
    asked.over();
    if (error !== undefined) listener.ended(error);
  };
  stream.on('data', (message: Message) => {
    if (!over) listener.message(message);
  });
  stream.on('error', (error: ServiceError) => end(new PluginCallError(path, error, error)));
  stream.on('end', () => end(new KubusError('ended', 'the plugin has ended its list of devices')));
  return () => end();
}
