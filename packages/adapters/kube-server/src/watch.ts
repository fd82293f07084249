import {
  apiVersionOf,
  expired,
  type JsonObject,
  type KubeObject,
  type Resource,
  type Selector,
  shownAs,
  tableOf,
} from '@kubus/kube-objects';
import { checkVersionMatch, selectorOf, tooOld, versionOf } from './lists.ts';
import { isSet, type RequestInfo } from './request-info.ts';
import type { Change, Store } from './store.ts';

export interface WatchEvent extends JsonObject {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: JsonObject;
}

/** The output of a watch's events. */
export interface WatchOutput {
  /** One line of the response. */
  send(event: WatchEvent): void;
  /** Ends the response as a server does at its timeout. */
  end(): void;
  /** Breaks the connection. */
  reset(): void;
}

/** One open watch, which tests inspect and break. */
export class Watch {
  readonly info: RequestInfo;
  readonly user: string;
  readonly #resource: Resource;
  readonly #store: Store;
  readonly #matches: Selector;
  readonly #output: WatchOutput;
  readonly #bookmarks: boolean;
  #unfollow: (() => void) | undefined;
  #stalled = false;

  /**
   * @throws StatusError 400 or 422 for a request that cannot be served.
   */
  constructor(parts: { store: Store; resource: Resource; info: RequestInfo; user: string; output: WatchOutput }) {
    const { store, resource, info, user, output } = parts;
    this.info = info;
    this.user = user;
    this.#resource = resource;
    this.#store = store;
    this.#output = output;
    this.#matches = selectorOf(resource, info);
    this.#bookmarks = isSet(info.query, 'allowWatchBookmarks');
    checkVersionMatch(info);
    versionOf(info);
  }

  /** Sends the initial events of the watch, and then each change. */
  start(): void {
    const { query } = this.info;
    const version = versionOf(this.info) ?? 0;
    const initial = isSet(query, 'sendInitialEvents');
    const from = initial || version === 0 ? this.#store.version : version;
    if (initial || version === 0) this.#sendState(initial);
    const changes = this.#store.changesAfter(tableOf(this.#resource), from);
    if (changes === undefined) {
      this.expire(tooOld(from, this.#store.version));
      return;
    }
    for (const change of changes) this.#sendChange(change);
    this.#unfollow = this.#store.follow((change) => {
      if (change.version > from && change.resource === tableOf(this.#resource)) this.#sendChange(change);
    });
  }

  /** Sends a bookmark with the version that has been reached, if the client accepts bookmarks. */
  bookmark(annotations?: JsonObject): void {
    if (!this.#bookmarks) return;
    const metadata = { resourceVersion: String(this.#store.version), ...(annotations && { annotations }) };
    const { kind, always } = this.#resource;
    const object = { kind, apiVersion: apiVersionOf(this.#resource), metadata, ...always };
    this.#send({ type: 'BOOKMARK', object });
  }

  /** From now on nothing is sent, and the connection stays open. */
  stall(): void {
    this.#stalled = true;
  }

  /** Reports that the client's version has expired, and ends. */
  expire(message = tooOld(1, this.#store.version)): void {
    this.#send({ type: 'ERROR', object: expired(message).status });
    this.end();
  }

  /** Ends regularly. */
  end(): void {
    this.closed();
    this.#output.end();
  }

  /** Breaks the connection. */
  cut(): void {
    this.closed();
    this.#output.reset();
  }

  /** The client has closed the connection, or is about to. */
  closed(): void {
    this.#unfollow?.();
    this.#stalled = true;
  }

  #sendState(initial: boolean): void {
    for (const stored of this.#store.list(tableOf(this.#resource))) {
      const object = shownAs(this.#resource, stored);
      if (this.#matches(object)) this.#send({ type: 'ADDED', object });
    }
    if (initial) this.bookmark({ 'k8s.io/initial-events-end': 'true' });
  }

  #sendChange(change: Change): void {
    const event = watchEvent(shownChange(this.#resource, change), this.#matches);
    if (event !== undefined) this.#send(event);
  }

  #send(event: WatchEvent): void {
    if (!this.#stalled) this.#output.send(event);
  }
}

function shownChange(resource: Resource, change: Change): Change {
  if (resource.view === undefined) return change;
  const { object, previous } = change;
  return { ...change, object: shownAs(resource, object), ...(previous && { previous: shownAs(resource, previous) }) };
}

/**
 * A change as seen by a watch with a selector: an object that starts to match is added, one that no longer matches is deleted.
 */
function watchEvent(change: Change, matches: Selector): WatchEvent | undefined {
  const { type, object, previous } = change;
  const was = previous !== undefined && matches(previous);
  const is = type !== 'DELETED' && matches(object);
  if (is) return { type: was ? 'MODIFIED' : 'ADDED', object };
  if (!was) return undefined;
  return { type: 'DELETED', object: type === 'DELETED' ? object : atVersionOf(previous, object) };
}

/** Its last matching state, at the version of the change. */
function atVersionOf(previous: KubeObject, { metadata: { resourceVersion } }: KubeObject): KubeObject {
  return { ...previous, metadata: { ...previous.metadata, resourceVersion } };
}
