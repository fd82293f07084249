import type { Bus } from '@kubus/bus';
import { LogUnavailable, bareContainerId, chooseRun } from '@kubus/container-log';
import { type PodRef, type StreamEvent, podRefOf, streamEvent } from '@kubus/contracts';
import { type LogView, followLog, printLog } from '@kubus/log-reader';
import {
  type LogOptions,
  type NodePod,
  type Query,
  isRefused,
  parseLogOptions,
  sinceNanos,
} from '@kubus/node-requests';
import { findContainer } from '@kubus/pod-lifecycle';
import { type Clock, type Ids, type Logger, toError } from '@kubus/ports';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Refusal } from '../auth/authorization.ts';
import type { NodeFacts } from '../node-facts.ts';

/** The requested log and the user who requested it. */
export interface LogRequest {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
  readonly query: Query;
  readonly user: string;
}

/** The log of one run, which was found. */
export interface ChosenLog {
  readonly ref: PodRef;
  readonly container: string;
  /** The runtime's ID of the run. */
  readonly id: string;
  readonly path: string;
  readonly options: LogOptions;
  readonly user: string;
}

/**
 * Serves the logs of containers (behaviour:labels-paths-logs and behaviour:http-api). Bytes go from the files to the
 * client; events on the bus report the begin and the end of each log.
 */
export class ContainerLogs {
  readonly #facts: NodeFacts;
  readonly #bus: Bus;
  readonly #clock: Clock;
  readonly #ids: Ids;
  readonly #logger: Logger;
  readonly #streams = new Set<Promise<void>>();

  constructor(options: { facts: NodeFacts; bus: Bus; clock: Clock; ids: Ids; logger: Logger }) {
    this.#facts = options.facts;
    this.#bus = options.bus;
    this.#clock = options.clock;
    this.#ids = options.ids;
    this.#logger = options.logger;
  }

  /** Logs that are being read. */
  get count(): number {
    return this.#streams.size;
  }

  /** The requested log, or the reason why there is none; statuses and texts are the reference's. */
  choose(request: LogRequest): ChosenLog | Refusal {
    const { namespace, pod: name, container, user } = request;
    const options = parseLogOptions(request.query);
    if (isRefused(options)) return { status: options.status, text: options.message };
    const found = this.#facts.find(namespace, name);
    if (found === undefined) return { status: 404, text: `pod "${name}" does not exist` };
    if (findContainer(found.pod, container) === undefined) {
      return { status: 404, text: `container "${container}" not found in pod "${name}"` };
    }
    try {
      return { ref: podRefOf(found.pod), container, options, user, ...this.#run(found, container, options) };
    } catch (error) {
      if (error instanceof LogUnavailable) return { status: 400, text: error.message };
      throw error;
    }
  }

  /** Writes the log until its end or until the client has disconnected. Never rejects. */
  serve(log: ChosenLog, response: ServerResponse): Promise<void> {
    const stream = this.#serve(log, response).finally(() => this.#streams.delete(stream));
    this.#streams.add(stream);
    return stream;
  }

  /** Resolves when all logs that are being read have ended; ending them is up to their readers. */
  async settled(): Promise<void> {
    await Promise.all(this.#streams);
  }

  #run({ pod, status }: NodePod, container: string, { previous }: LogOptions): { id: string; path: string } {
    const full = chooseRun(pod.metadata.name, container, status ?? pod.status, { previous });
    const id = bareContainerId(full);
    const path = this.#facts.run(pod.metadata.uid, id)?.logPath ?? '';
    if (path === '') throw new LogUnavailable(`unable to retrieve container logs for ${full}`);
    return { id, path };
  }

  async #serve(log: ChosenLog, response: ServerResponse): Promise<void> {
    const { ref, container, options, user } = log;
    const stop = new AbortController();
    response.once('close', () => stop.abort());
    // Its errors are reported at its end.
    response.on('error', () => undefined);
    const stream = this.#ids.hex(8);
    const publish = (what: 'began' | 'ended', more: Partial<StreamEvent> = {}) =>
      this.#bus.emit(streamEvent, ref.uid, { ref, container, kind: 'logs', what, stream, user, ...more });
    publish('began');
    response.writeHead(200, {
      'content-type': 'text/plain; charset=utf-8',
      // A container's output is never to be taken for a page.
      'x-content-type-options': 'nosniff',
    });
    // Sent before the first line, so that a client that follows a silent container gets an answer.
    response.flushHeaders();
    const sent = new Sent(response, stop.signal);
    const view: LogView = {
      tail: options.tailLines ?? Number.POSITIVE_INFINITY,
      sinceNanos: sinceNanos(options, this.#clock.now()),
      limitBytes: options.limitBytes ?? Number.POSITIVE_INFINITY,
      timestamps: options.timestamps,
      stream: options.stream,
      prefix: '',
      write: (bytes) => sent.write(bytes),
    };
    try {
      await (options.follow ? this.#follow(log, view, stop.signal) : printLog(log.path, view, stop.signal));
      response.end();
      publish('ended', { bytes: sent.bytes });
    } catch (error) {
      const err = toError(error);
      this.#logger.warn(
        { pod: `${ref.namespace}/${ref.name}`, podUid: ref.uid, container, err },
        'streaming a log failed',
      );
      // The text is incomplete: the client must not take it for the whole log.
      response.destroy();
      publish('ended', { bytes: sent.bytes, error: err.message });
    }
  }

  async #follow({ ref, id, path }: ChosenLog, view: LogView, stop: AbortSignal): Promise<void> {
    const ended = new AbortController();
    const look = () => {
      const state = this.#facts.run(ref.uid, id)?.state;
      // A container that was just started may still be shown as created: its pod's status can arrive first.
      if (state === undefined || state === 'exited') ended.abort();
    };
    const forget = this.#facts.onRuntimeChange(ref.uid, look);
    try {
      look();
      await followLog(path, view, { ended: ended.signal, stop });
    } finally {
      forget();
    }
  }
}

/** The output to one client; it is as fast as that client reads. */
class Sent {
  readonly #response: ServerResponse;
  readonly #stop: AbortSignal;
  bytes = 0;

  constructor(response: ServerResponse, stop: AbortSignal) {
    this.#response = response;
    this.#stop = stop;
  }

  async write(bytes: Uint8Array): Promise<void> {
    if (this.#stop.aborted) return;
    this.bytes += bytes.length;
    if (this.#response.write(bytes)) return;
    // Rejects when the client has disconnected, which is checked after each piece anyway.
    await once(this.#response, 'drain', { signal: this.#stop }).catch(() => undefined);
  }
}
