import { type Client, type MethodDefinition, connectivityState } from '@grpc/grpc-js';
import type { Cancel } from '@kubus/ports';
import { type CallTerms, callOver, pluginClient } from './call.ts';
import { type StreamListener, followOver } from './stream.ts';

/** How long it takes at most until a connection is tried again, in milliseconds. */
const AGAIN_MS = 1000;

/** How long a call waits for a connection that is to be tried again, in milliseconds: until that has happened. */
const AWAIT_MS = 1.5 * AGAIN_MS;

/**
 * A connection to a plugin's socket, for all that is asked of the plugin: the reference kubelet has one for each plugin, too. It exists while
 * something uses it, and a call reaches the process that currently listens, after any number of restarts.
 */
export class PluginConnection {
  readonly #socket: string;
  #client: Client | undefined;
  #users = 0;

  /** @param socket its path */
  constructor(socket: string) {
    this.#socket = socket;
  }

  /** Throws {@link PluginCallError}; `UNAVAILABLE` when no process listens, after a moment in which one may come back. */
  async call<Request, Response>(
    terms: CallTerms,
    method: MethodDefinition<Request, Response>,
    request: Request,
  ): Promise<Response> {
    const release = this.#use();
    try {
      const client = this.#present;
      await backAgain(client);
      return await callOver(client, terms, method, request);
    } finally {
      release();
    }
  }

  /** Follows what a plugin reports, until the returned function is called or the plugin ends it. */
  follow<Request, Message>(
    method: MethodDefinition<Request, Message>,
    request: Request,
    listener: StreamListener<Message>,
  ): Cancel {
    const release = this.#use();
    return followOver(this.#present, { method, request, listener, over: release });
  }

  /**
   * Follows whether a process answers on the socket, which may stay when its process dies, until the returned function is called. It counts as
   * not connected at first; `changed` is called at each change.
   */
  watch(changed: (connected: boolean) => void): Cancel {
    const release = this.#use();
    let connected = false;
    let over = false;
    const look = () => {
      if (over) return;
      const channel = this.#present.getChannel();
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
      release();
    };
  }

  #use(): Cancel {
    this.#users += 1;
    let over = false;
    return () => {
      if (over) return;
      over = true;
      this.#users -= 1;
      if (this.#users > 0) return;
      this.#client?.close();
      this.#client = undefined;
    };
  }

  get #present(): Client {
    return (this.#client ??= pluginClient(this.#socket, AGAIN_MS));
  }
}

/** Resolves at once unless the connection waits before it is tried again, and then when it is there, or was not there in time. */
async function backAgain(client: Client): Promise<void> {
  if (client.getChannel().getConnectivityState(false) !== connectivityState.TRANSIENT_FAILURE) return;
  await new Promise<void>((resolve) => client.waitForReady(Date.now() + AWAIT_MS, () => resolve()));
}
