import { once } from 'node:events';
import { type IncomingMessage, request as plainRequest } from 'node:http';
import { type RequestOptions, request as secureRequest } from 'node:https';
import { type Interface, createInterface } from 'node:readline';
import { buffer, text } from 'node:stream/consumers';
import { KubeConfig } from '@kubernetes/client-node';
import { type Credential, type ObjectName, type PatchKind, kubeconfigText } from '@kubus/kube-server';
import { HANGING_MS } from '@kubus/ports/testing';
import {
  apiVersionOf,
  asList,
  asObject,
  asText,
  badRequest,
  type Json,
  type JsonObject,
  type KubeObject,
  type Resource,
  resourceOfKind,
} from '@kubus/kube-objects';
import { KubeFixtureError } from './errors.ts';

export interface RawRequest {
  readonly query?: Readonly<Record<string, string>>;
  /** Bytes are sent as they are. */
  readonly body?: Json | Uint8Array;
  /** Of the body; left out: JSON. */
  readonly contentType?: string;
  /** Beside, or instead of, those that the kubeconfig gives. */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface RawAnswer {
  readonly code: number;
  readonly body: JsonObject;
  /** The body as it came. */
  readonly bytes: Uint8Array;
  readonly headers: IncomingMessage['headers'];
}

/** A line of a watch. */
export interface SeenEvent {
  readonly type: string;
  readonly object: KubeObject;
}

/** A client of an API server by a kubeconfig: the test API server, or a real one. For tests only. */
export class Cluster {
  readonly url: URL;
  readonly #config: KubeConfig;
  readonly #made: ObjectName[] = [];

  static open(kubeconfig: string): Cluster {
    const config = new KubeConfig();
    config.loadFromFile(kubeconfig);
    return new Cluster(config);
  }

  /** As {@link open}, of a kubeconfig's content. */
  static fromText(kubeconfig: string): Cluster {
    const config = new KubeConfig();
    config.loadFromString(kubeconfig);
    return new Cluster(config);
  }

  private constructor(config: KubeConfig) {
    this.#config = config;
    this.url = new URL(config.getCurrentCluster()?.server ?? '');
  }

  /** The content of a kubeconfig for the same cluster, as another user. */
  async kubeconfigText(credential: Credential): Promise<string> {
    const options: RequestOptions = {};
    await this.#config.applyToHTTPSOptions(options);
    const authority = (options.ca as Buffer | undefined)?.toString();
    return kubeconfigText({ url: this.url.href, ...(authority !== undefined && { authority }) }, credential);
  }

  /** Sends any request; returns the response unchanged, also if it is an error. */
  async raw(method: string, path: string, options: RawRequest = {}): Promise<RawAnswer> {
    const answer = await this.#send(method, path, options);
    const bytes = await buffer(answer);
    const content = bytes.toString();
    const json = (answer.headers['content-type'] ?? '').includes('json');
    const body = json ? (JSON.parse(content) as JsonObject) : { text: content };
    return { code: answer.statusCode ?? 0, body, bytes, headers: answer.headers };
  }

  /** Opens a watch. @throws KubeFixtureError `Refused` when the response is an error. */
  async watch(path: string, query: Readonly<Record<string, string>> = {}): Promise<SeenWatch> {
    const answer = await this.#send('GET', path, { query: { watch: 'true', ...query } });
    if (answer.statusCode !== 200) throw refused('watch', path, asObject(JSON.parse(await text(answer)) as Json));
    return new SeenWatch(answer);
  }

  /** @throws KubeFixtureError `Refused` with the server's message, like all following methods. */
  async create(object: JsonObject): Promise<KubeObject> {
    const metadata = asObject(object['metadata']);
    const name = { kind: asText(object['kind']), namespace: asText(metadata['namespace']), name: '' };
    const made = await this.#done('POST', pathOf(name), { body: object });
    this.#made.push({ ...name, name: made.metadata.name });
    return made;
  }

  /** Deletes everything that was created here and still exists, newest first. Reviews are not stored. */
  async removeMade(): Promise<void> {
    for (const name of this.#made.splice(0).reverse()) {
      const { code, body } = await this.raw('DELETE', pathOf(name), {
        body: { kind: 'DeleteOptions', apiVersion: 'v1', gracePeriodSeconds: 0 },
      });
      if (code >= 300 && code !== 404 && code !== 405) throw refused('DELETE', pathOf(name), body);
    }
  }

  /** The object as it is now; undefined when there is none. */
  async get(name: ObjectName): Promise<KubeObject | undefined> {
    const { code, body } = await this.raw('GET', pathOf(name));
    if (code === 404) return undefined;
    if (code !== 200) throw refused('GET', pathOf(name), body);
    return body as KubeObject;
  }

  /** The objects of a kind, of one namespace or of all. */
  async list(kind: string, namespace?: string): Promise<KubeObject[]> {
    const path = namespace === undefined ? collectionOf(resourceFor(kind)) : pathOf({ kind, namespace, name: '' });
    const list = await this.#done('GET', path);
    return asList(list['items']) as KubeObject[];
  }

  async patch(
    name: ObjectName,
    patch: Json,
    how: { kind?: PatchKind; subresource?: string } = {},
  ): Promise<KubeObject> {
    const contentType = `application/${how.kind ?? 'merge'}-patch+json`;
    return this.#done('PATCH', pathOf(name, how.subresource), { body: patch, contentType });
  }

  async update(object: KubeObject, subresource = ''): Promise<KubeObject> {
    const { kind, metadata } = object;
    return this.#done('PUT', pathOf({ kind, ...metadata }, subresource), { body: object });
  }

  /** Requests a deletion, with `DeleteOptions` of meta/v1. A missing object counts as deleted. */
  async delete(name: ObjectName, options: JsonObject = {}): Promise<void> {
    const { code, body } = await this.raw('DELETE', pathOf(name), {
      body: { kind: 'DeleteOptions', apiVersion: 'v1', ...options },
    });
    if (code !== 404 && code >= 300) throw refused('DELETE', pathOf(name), body);
  }

  /**
   * Resolves with the object as soon as `is` returns true for it.
   *
   * @param limitMs milliseconds.
   * @throws KubeFixtureError `ConditionMissing` with the last state of the object.
   */
  async waitFor(name: ObjectName, is: (object: KubeObject) => boolean, limitMs = HANGING_MS): Promise<KubeObject> {
    return this.#follow(name, limitMs, (object) => (object !== undefined && is(object) ? object : undefined));
  }

  /** Resolves when the object is deleted. @throws KubeFixtureError as {@link waitFor}. */
  async waitGone(name: ObjectName, limitMs = HANGING_MS): Promise<void> {
    await this.#follow(name, limitMs, (object) => (object === undefined ? true : undefined));
  }

  async #follow<T>(
    name: ObjectName,
    limitMs: number,
    look: (object: KubeObject | undefined) => T | undefined,
  ): Promise<T> {
    const resource = resourceFor(name.kind);
    const collection = pathOf({ ...name, name: '' });
    const fieldSelector = `metadata.name=${name.name}`;
    const list = await this.#done('GET', collection, { query: { fieldSelector } });
    let last = asList(list['items']).map((item) => ({ ...asObject(item), kind: resource.kind }) as KubeObject)[0];
    const { resourceVersion } = list.metadata;
    const watch = await this.watch(collection, { fieldSelector, resourceVersion });
    const timer = setTimeout(() => watch.close(), limitMs);
    try {
      for (;;) {
        const found = look(last);
        if (found !== undefined) return found;
        const event = await watch.next();
        if (event === undefined || event.type === 'ERROR') {
          const text = `Not within ${limitMs / 1000} s: ${collection}/${name.name} is ${JSON.stringify(last)}`;
          throw new KubeFixtureError('ConditionMissing', text);
        }
        last = event.type === 'DELETED' ? undefined : event.object;
      }
    } finally {
      clearTimeout(timer);
      watch.close();
    }
  }

  async #done(method: string, path: string, options: RawRequest = {}): Promise<KubeObject> {
    const { code, body } = await this.raw(method, path, options);
    if (code >= 300) throw refused(method, path, body);
    return body as KubeObject;
  }

  async #send(method: string, path: string, request: RawRequest): Promise<IncomingMessage> {
    const { query = {}, body, contentType } = request;
    const options: RequestOptions = {};
    await this.#config.applyToHTTPSOptions(options);
    const url = new URL(path, this.url);
    for (const [key, value] of Object.entries(query)) url.searchParams.set(key, value);
    const content = body === undefined || body instanceof Uint8Array ? body : JSON.stringify(body);
    const headers = {
      ...(options.headers as Record<string, string>),
      accept: 'application/json',
      ...(content !== undefined && {
        'content-type': contentType ?? 'application/json',
        // A DELETE has a content length only if it is set explicitly.
        'content-length': Buffer.byteLength(content),
      }),
      ...request.headers,
    };
    const send = url.protocol === 'http:' ? plainRequest : secureRequest;
    const asked = send(url, { ...options, method, headers, agent: undefined });
    asked.end(content);
    const [answer] = (await once(asked, 'response')) as [IncomingMessage];
    // What breaks the connection from now on, the reader of the answer sees; that of a closed watch is nobody's.
    asked.on('error', () => undefined);
    return answer;
  }
}

/** A watch as its client sees it. */
export class SeenWatch {
  readonly #answer: IncomingMessage;
  readonly #reader: Interface;
  readonly #lines: AsyncIterator<string>;

  constructor(answer: IncomingMessage) {
    this.#answer = answer;
    this.#reader = createInterface(answer);
    this.#lines = this.#reader[Symbol.asyncIterator]();
  }

  /** The next event; undefined when the watch has ended. */
  async next(): Promise<SeenEvent | undefined> {
    const line = await this.#lines.next().catch(() => undefined);
    return line === undefined || line.done === true ? undefined : (JSON.parse(line.value) as SeenEvent);
  }

  close(): void {
    this.#reader.close();
    this.#answer.destroy();
  }
}

function resourceFor(kind: string): Resource {
  const resource = resourceOfKind(kind);
  if (resource === undefined) throw badRequest(`no matches for kind "${kind}"`);
  return resource;
}

/** Of all namespaces, or of one. */
function collectionOf(resource: Resource, namespace = ''): string {
  const root = resource.group === '' ? '/api/v1' : `/apis/${apiVersionOf(resource)}`;
  return `${root}${namespace === '' ? '' : `/namespaces/${namespace}`}/${resource.plural}`;
}

/** The path of an object, of one of its subresources, or of its kind in its namespace when the name is empty. */
export function pathOf({ kind, namespace = '', name }: ObjectName, subresource = ''): string {
  const resource = resourceFor(kind);
  const within = namespace === '' ? 'default' : namespace;
  const path = collectionOf(resource, resource.namespaced ? within : '');
  return [path, name, subresource].filter((part) => part !== '').join('/');
}

function refused(method: string, path: string, status: JsonObject): KubeFixtureError {
  return new KubeFixtureError('Refused', `${method} ${path}: ${asText(status['message'])}`, {
    context: { reason: asText(status['reason']) },
  });
}
