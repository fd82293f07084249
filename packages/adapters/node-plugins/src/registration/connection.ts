import { connectivityState } from '@grpc/grpc-js';
import type { Cancel } from '@kubus/ports';
import { pluginClient } from './call.ts';

/**
 * Follows whether a process answers on a socket, which may stay when its process dies, until the returned function is called. It counts as
 * not connected at first; `changed` is called at each change.
 */
export function watchConnection(socket: string, changed: (connected: boolean) => void): Cancel {
  const client = pluginClient(socket);
  const channel = client.getChannel();
  let connected = false;
  let over = false;
  const look = () => {
    if (over) return;
    // This connects, too: without it nobody would notice a process that comes back.
    const state = channel.getConnectivityState(true);
    channel.watchConnectivityState(state, Infinity, () => void setImmediate(look));
    if (connected === (state === connectivityState.READY)) return;
    connected = !connected;
    changed(connected);
  };
  look();
  return () => {
    over = true;
    client.close();
  };
}
