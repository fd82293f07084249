import type { MethodDefinition, ServiceError } from '@grpc/grpc-js';
import { type Cancel, KubusError } from '@kubus/ports';
import { pluginClient } from './call.ts';
import { PluginCallError } from './plugin-call-error.ts';

export interface StreamListener<Message> {
  message(message: Message): void;
  /** The plugin has ended the stream: a PluginCallError, or a KubusError when it has ended without one. Not called after it was cancelled. */
  ended(error: Error): void;
}

/** Follows what a plugin reports, until the returned function is called or the plugin ends it. */
export function followPlugin<Request, Message>(
  socket: string,
  { path, requestSerialize, responseDeserialize }: MethodDefinition<Request, Message>,
  request: Request,
  listener: StreamListener<Message>,
): Cancel {
  const client = pluginClient(socket);
  const stream = client.makeServerStreamRequest(path, requestSerialize, responseDeserialize, request);
  let over = false;
  const end = (error?: Error) => {
    if (over) return;
    over = true;
    stream.cancel();
    client.close();
    if (error !== undefined) listener.ended(error);
  };
  stream.on('data', (message: Message) => {
    if (!over) listener.message(message);
  });
  stream.on('error', (error: ServiceError) => end(new PluginCallError(path, error, error)));
  stream.on('end', () => end(new KubusError('ended', 'the plugin has ended its list of devices')));
  return () => end();
}
