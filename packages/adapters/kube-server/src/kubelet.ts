import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { asList, asText, at, failure, type KubeObject } from '@kubus/kube-objects';
import type { KeyPair } from '@kubus/certificates';

/** The address of a node's HTTPS server. */
export interface KubeletAddress {
  readonly host: string;
  readonly port: number;
}

/** A node's server, and the API server's credentials for it. */
export interface Kubelet {
  readonly address: KubeletAddress;
  readonly client: KeyPair;
}

/** Requests a path of a node's server, until `ended`. Returns the response, whose body has just begun; rejects when the node does not answer. */
export async function askKubelet(
  path: string,
  { address, client }: Kubelet,
  ended: AbortSignal,
): Promise<IncomingMessage> {
  const credentials = { cert: client.certificate, key: client.key, rejectUnauthorized: false };
  const asked = request({ ...address, ...credentials, path, signal: ended });
  // An error after the response has begun is one of its body.
  asked.on('error', () => undefined).end();
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  return answer;
}

/** The address at which a node reports that it serves. @throws StatusError. */
export function kubeletAddress(node: KubeObject): KubeletAddress {
  const addresses = asList(at(node, 'status', 'addresses'));
  const host = asText(
    at(
      addresses.find((one) => at(one, 'type') === 'InternalIP'),
      'address',
    ),
  );
  const port = at(node, 'status', 'daemonEndpoints', 'kubeletEndpoint', 'Port');
  if (host === '' || typeof port !== 'number') {
    throw failure(
      500,
      'InternalError',
      `no preferred addresses found; known addresses: ${JSON.stringify(addresses)}`,
      {},
    );
  }
  return { host, port };
}
