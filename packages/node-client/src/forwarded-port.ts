import type { SpdySession, SpdyStream } from '@kubus/spdy';
import { text } from 'node:stream/consumers';
import { type StreamClient, apiPath } from './node-client.ts';

const PROTOCOL = 'portforward.k8s.io';

/** One connection with a port of a pod. It has a connection to the node of its own, so that none waits for another one. */
export class ForwardedPort {
  /** What the pod's process sends and gets; each direction ends by itself. */
  readonly data: SpdyStream;
  /** Why the port could not be reached; undefined when nothing was said. Resolves when the pod's side is over. */
  readonly problem: Promise<string | undefined>;
  readonly #session: SpdySession;

  /** Rejects with a NodeClientError: above all `refused` with status 404 when there is no such pod. */
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
    // The server pairs both by the request's id, whichever comes first.
    const errors = session.open({ streamtype: 'error', ...of }).end();
    this.data = session.open({ streamtype: 'data', ...of });
    this.problem = text(errors).then((said) => said || undefined);
  }

  /** Ends the connection. */
  async close(): Promise<void> {
    await this.#session.close();
  }
}
