import type { SpdySession } from './spdy/spdy-session.ts';
import type { SpdyStream } from './spdy/spdy-stream.ts';
import { text } from 'node:stream/consumers';
import { type StreamClient, apiPath } from './node-client.ts';

const PROTOCOL = 'portforward.k8s.io';

/** One connection to a port of a pod. It has its own connection to the node, so that none waits for another one. */
export class ForwardedPort {
  /** Data from and to the pod's process; each direction ends separately. */
  readonly data: SpdyStream;
  /** The error why the port could not be reached, if one was reported. Resolves when the pod's side has ended. */
  readonly problem: Promise<string | undefined>;
  readonly #session: SpdySession;

  /** Rejects with a NodeClientError, such as `refused` with status 404 when the pod does not exist. */
  static async open(
    client: StreamClient,
    pod: { namespace: string; name: string },
    port: number,
  ): Promise<ForwardedPort> {
    const path = apiPath(['portForward', pod.namespace, pod.name]);
    return new ForwardedPort(await client.upgrade(path, PROTOCOL), port);
  }

  private constructor(session: SpdySession, port: number) {
    const of = { port: String(port), requestid: '0' };
    this.#session = session;
    // The server pairs both by the request's ID, in either order.
    const errors = session.open({ streamtype: 'error', ...of }).end();
    this.data = session.open({ streamtype: 'data', ...of });
    this.problem = text(errors).then((said) => said || undefined);
  }

  /** Ends the connection. */
  async close(): Promise<void> {
    await this.#session.close();
  }
}
