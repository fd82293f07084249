import { readFile } from 'node:fs/promises';
import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http';
import { extname, join, normalize } from 'node:path';
import type { LiveTick, ObservatoryDocument, PodTimeline, PressureDocument } from '@kubus/contracts/observatory';
import { BadFault, StandInFaults } from './faults.ts';
import { comparisonOf, latencyOf, mapOf } from './node-documents.ts';
import { pressureOf } from './pressure.ts';
import { podLife } from './pod-life.ts';
import { topologyOf } from './topology.ts';
import { StandInRecording } from './recording.ts';

export interface StandInOptions {
  /** The built page; absent if only the API is needed. */
  readonly page?: string;
  /** Requests without it are refused. */
  readonly token?: string;
  /** Of the recording `million`. */
  readonly millionPods: number;
  readonly contract: () => object;
  /** Default: a node with faults; others: a node without faults, or files without a node. */
  readonly shows?: 'node-without-faults' | 'files';
  /** Default: a node with pods, and three recordings more; others: a node that has published nothing, or no recording. */
  readonly holds?: 'no-messages' | 'no-recordings';
}

const files: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
};
const whole = { droppedByBroker: 0, neverStored: 0, unreadable: 0 };

class Refused extends Error {
  readonly status: number;
  readonly code: string;
  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** Serves the API of the observatory with generated recordings. */
export class StandIn {
  readonly #options: StandInOptions;
  readonly #recordings = new Map<string, StandInRecording>();
  readonly #faults = new StandInFaults();
  readonly #answers = new Map<string, string>();
  readonly #server: Server;

  constructor(options: StandInOptions) {
    this.#options = options;
    this.#server = createServer((request, response) => void this.#answer(request, response));
    const now = Date.now();
    if (options.holds === 'no-recordings') return;
    const live = { name: '~live', pods: options.holds === undefined ? 3000 : 0, began: now - 240_000, everyMs: 2500 };
    this.#add(new StandInRecording(live, 'live', () => Date.now()));
    if (options.holds !== undefined) return;
    const before = { name: 'before', pods: 100, began: now - 7_200_000, everyMs: 1500 };
    this.#add(new StandInRecording(before, 'complete'));
    const slow = { name: 'slow-disk', pods: 100, began: now - 3_600_000, everyMs: 1500, slow: 1.5 };
    this.#add(new StandInRecording({ ...slow, completeness: { ...whole, neverStored: 12 } }, 'imported'));
    const million = { name: 'million', pods: options.millionPods, began: now - 86_400_000, everyMs: 800 };
    this.#add(new StandInRecording(million, 'complete'));
  }

  /** Starts to listen on the loopback address. Returns the address of the page. */
  async listen(port: number): Promise<string> {
    await new Promise<void>((done) => this.#server.listen(port, '127.0.0.1', done));
    const address = this.#server.address();
    const { token } = this.#options;
    const bound = typeof address === 'object' && address !== null ? address.port : port;
    return `http://127.0.0.1:${bound}/${token === undefined ? '' : `#token=${token}`}`;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  #add(recording: StandInRecording): void {
    this.#recordings.set(recording.options.name, recording);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const url = new URL(request.url ?? '/', 'http://stand-in');
      if (!url.pathname.startsWith('/api/v1/')) {
        await this.#file(url.pathname, response);
        return;
      }
      const { token } = this.#options;
      if (token !== undefined && request.headers.authorization !== `Bearer ${token}`) {
        throw new Refused(401, 'no-token', 'the token is missing or wrong');
      }
      const path = url.pathname.slice('/api/v1/'.length).split('/').map(decodeURIComponent);
      if (path[0] === 'live') {
        this.#live(response);
        return;
      }
      const body = await readBody(request);
      // Documents about all pods of the large recording take a while.
      const kept = path[1] === 'million' ? this.#answers.get(url.href) : undefined;
      const found =
        kept ?? JSON.stringify(this.#document(request.method ?? 'GET', path, url.searchParams, body) ?? null);
      if (path[1] === 'million' && path[2] !== 'messages') this.#answers.set(url.href, found);
      response.writeHead(200, { 'content-type': 'application/json' }).end(found);
    } catch (error) {
      const refused = error instanceof Refused ? error : refusedBy(error);
      const { status, code, message } = refused;
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ error: { code, message } }));
    }
  }

  #document(method: string, path: readonly string[], query: URLSearchParams, body: string): unknown {
    const what = query.get('what') === 'stop' ? 'stop' : 'start';
    switch (path[0]) {
      case '':
        return this.#about();
      case 'faults':
        if (method === 'POST') return this.#faults.inject(body);
        if (method === 'DELETE') this.#faults.clear(path[1]);
        return this.#faults.list();
      case 'services':
        return this.#faults.disturb(path[1] ?? '', body);
      case 'pressure':
        return this.#pressure(query.get('signal'));
      case 'contract':
        return this.#options.contract();
      case 'compare':
        return comparisonOf(what, this.#side(query.get('left')), this.#side(query.get('right')));
      case 'recordings':
        return path[1] === undefined ? this.#collection(method, body) : this.#one(method, path, query, what);
      default:
        throw new Refused(404, 'no-path', `there is no ${path.join('/')}`);
    }
  }

  #pressure(signal: string | null): PressureDocument {
    const { shows } = this.#options;
    if (shows === 'files') throw new Refused(404, 'no-node', 'these recordings are files');
    const pods = this.#recording('~live').pods().slice(0, 120);
    return pressureOf({ pods, signal, thresholds: shows !== 'node-without-faults' });
  }

  #about(): ObservatoryDocument {
    const { shows } = this.#options;
    return { version: '0.1.0', ...(shows !== 'files' && { node: 'node0' }), faults: shows === undefined };
  }

  #collection(method: string, body: string): unknown {
    if (method === 'GET') return [...this.#recordings.values()].map((recording) => recording.document());
    const { name } = JSON.parse(body) as { name: string };
    if (this.#recordings.has(name)) throw new Refused(409, 'exists', `there is a recording ${name} already`);
    const began = Date.now();
    const recording = new StandInRecording({ name, pods: 20, began, everyMs: 900 }, 'recording', () => Date.now());
    this.#add(recording);
    return recording.document();
  }

  #one(method: string, path: readonly string[], query: URLSearchParams, what: 'start' | 'stop'): unknown {
    const [, name = '', part, id] = path;
    if (method === 'PUT') {
      this.#add(new StandInRecording({ name, pods: 5, began: Date.now() - 60_000, everyMs: 900 }, 'imported'));
      return this.#recording(name).document();
    }
    const recording = this.#recording(name);
    switch (part) {
      case undefined:
        if (method === 'DELETE') return void this.#recordings.delete(name);
        return recording.document();
      case 'stop':
        recording.state = 'complete';
        return recording.document();
      case 'pods':
        return id === undefined ? recording.pods() : this.#timeline(recording, id);
      case 'messages':
        if (id !== undefined) return this.#found(recording.message(Number(id)), 'message', id);
        return recording.page({
          pod: query.get('pod') ?? undefined,
          type: query.get('type') ?? undefined,
          source: query.get('source') ?? undefined,
          kind: query.get('kind') ?? undefined,
          from: Number(query.get('from') ?? -Infinity),
          to: Number(query.get('to') ?? Infinity),
          after: Number(query.get('after') ?? 0),
          limit: Math.min(1000, Number(query.get('limit') ?? 100)),
        });
      case 'density':
        return recording.density(Number(query.get('buckets') ?? 200));
      case 'latency':
        return latencyOf(recording, what);
      case 'topology':
        return topologyOf(recording.pods(), recording.options.began, Number(query.get('at') ?? Infinity));
      case 'map':
        return mapOf(recording);
      default:
        return recording.document();
    }
  }

  /** The first pod has devices. */
  #timeline(recording: StandInRecording, uid: string): PodTimeline {
    const timeline = this.#found(recording.timeline(uid), 'pod', uid);
    const { devices, claims } = topologyOf(recording.pods(), recording.options.began);
    const own = devices.filter((one) => one.uid === uid).map((one) => ({ ...one, container: 'main' }));
    const ofClaims = claims.filter((one) => one.uid === uid);
    return {
      ...timeline,
      ...(own.length > 0 && { devices: own }),
      ...(ofClaims.length > 0 && { claims: ofClaims }),
    };
  }

  #side(of: string | null): {
    recording: StandInRecording;
    story?: NonNullable<ReturnType<StandInRecording['story']>>;
  } {
    const [name = '', uid] = (of ?? '').split('/');
    const recording = this.#recording(name);
    return uid === undefined ? { recording } : { recording, story: this.#found(recording.story(uid), 'pod', uid) };
  }

  #recording(name: string): StandInRecording {
    return this.#found(this.#recordings.get(name), 'recording', name);
  }

  #found<T>(value: T | undefined, what: string, name: string): T {
    if (value === undefined) throw new Refused(404, `no-${what}`, `there is no ${what} ${name}`);
    return value;
  }

  #live(response: ServerResponse): void {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const live = this.#recordings.get('~live');
    const tick = (): void => {
      const at = Date.now();
      const stories = (live?.stories() ?? []).filter(({ sent }) => (sent.at(-1)?.at ?? 0) > at - 500);
      const recent = stories.flatMap(({ sent }) => sent).filter((sent) => sent.at > at - 2000 && sent.at <= at);
      const rates: Record<string, number> = {};
      for (const { service } of podLife) rates[service] ??= 0;
      for (const { service } of recent) rates[service] = (rates[service] ?? 0) + 0.5;
      const document: LiveTick = { at, seq: live?.size ?? 0, rates, pods: stories.map(({ uid }) => uid) };
      response.write(`data: ${JSON.stringify(document)}\n\n`);
    };
    tick();
    const timer = setInterval(tick, 500);
    response.on('close', () => clearInterval(timer));
  }

  async #file(path: string, response: ServerResponse): Promise<void> {
    const { page } = this.#options;
    if (page === undefined) throw new Refused(404, 'no-path', 'the stand-in was started without a page');
    const file = join(page, normalize(path === '/' ? '/index.html' : path));
    const content = await readFile(file).catch(() => undefined);
    if (content === undefined) throw new Refused(404, 'no-path', `there is no ${path}`);
    const security =
      "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; base-uri 'none'; form-action 'none'";
    const type = files[extname(file)] ?? 'application/octet-stream';
    response.writeHead(200, { 'content-type': type, 'content-security-policy': security }).end(content);
  }
}

function refusedBy(error: unknown): Refused {
  return error instanceof BadFault
    ? new Refused(400, 'bad-request', error.message)
    : new Refused(500, 'internal', String(error));
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}
