import { hasErrno } from '@kubus/ports';
import { get } from 'node:http';

/** How often each process is asked, in milliseconds; sooner when one has not answered well. */
const EVERY_MS = 10_000;
const SOON_MS = 2_000;
/** How long an answer may take, in milliseconds: an event loop that does anything else for so long is as good as none. */
const ANSWER_MS = 10_000;
/** So many bad answers of a process in a row mean that it is stuck. */
const BAD_ANSWERS = 3;

/** A process to be watched. */
export interface WatchedProcess {
  /** Its name: an instance, or the host process. */
  readonly what: string;
  readonly pid: number;
  /** `host:port` of the health of each of its instances. */
  readonly http: readonly string[];
  /** It is kept from answering on purpose: it is not asked. */
  readonly isPaused: boolean;
}

export interface LivenessWatchOptions {
  /** The processes that are to answer now. */
  readonly processes: () => readonly WatchedProcess[];
  /** Called when a process is stuck, once for each process. */
  readonly stuck: (process: WatchedProcess, reason: string) => void;
  /** Milliseconds. Defaults: every 10 s, 2 s after a bad answer, 10 s for an answer. */
  readonly everyMs?: number;
  readonly soonMs?: number;
  readonly answerMs?: number;
}

interface Known {
  readonly pid: number;
  /** Bad answers in a row. */
  bad: number;
  /** It was said to be stuck: it is about to end. */
  isStuck: boolean;
}

/** Asks the node's services for their health from outside, since a process that is stuck does not know it. */
export class LivenessWatch {
  readonly #options: Required<LivenessWatchOptions>;
  readonly #known = new Map<string, Known>();
  /** Some process has answered: only then a missing answer says something of a process, and not of the way to it. */
  #isReached = false;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(options: LivenessWatchOptions) {
    this.#options = { everyMs: EVERY_MS, soonMs: SOON_MS, answerMs: ANSWER_MS, ...options };
  }

  /** Watches from now on. */
  start(): void {
    this.#lookAfter(this.#options.soonMs);
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  #lookAfter(ms: number): void {
    this.#timer = setTimeout(() => void this.#look(), ms).unref();
  }

  async #look(): Promise<void> {
    const { processes, everyMs, soonMs } = this.#options;
    const present = processes();
    for (const what of this.#known.keys()) if (!present.some((one) => one.what === what)) this.#known.delete(what);
    await Promise.all(present.filter(({ isPaused }) => !isPaused).map((one) => this.#ask(one)));
    if (this.#stopped) return;
    const isAnyBad = [...this.#known.values()].some(({ bad }) => bad > 0);
    this.#lookAfter(isAnyBad ? soonMs : everyMs);
  }

  async #ask(process: WatchedProcess): Promise<void> {
    const { what, pid, http } = process;
    const known = this.#knownOf(what, pid);
    const problems = await Promise.all(http.map((address) => problemAt(address, this.#options.answerMs)));
    const problem = problems.find((one) => one !== undefined);
    // Another process has taken its place meanwhile.
    if (this.#stopped || this.#known.get(what) !== known || problem === 'unknown') return;
    if (problem === undefined) {
      this.#isReached = true;
      known.bad = 0;
    } else if (++known.bad >= BAD_ANSWERS && this.#isReached && !known.isStuck) {
      known.isStuck = true;
      this.#options.stuck(process, problem);
    }
  }

  #knownOf(what: string, pid: number): Known {
    const before = this.#known.get(what);
    if (before?.pid === pid) return before;
    const known = { pid, bad: 0, isStuck: false };
    this.#known.set(what, known);
    return known;
  }
}

/**
 * What is wrong with a service; `unknown` when this process was too late itself, so that the machine is what is slow, or has no file
 * descriptor to ask with.
 */
function problemAt(address: string, answerMs: number): Promise<string | undefined> {
  const began = performance.now();
  return new Promise((resolve) => {
    const noAnswer = () => {
      const isLate = performance.now() - began > 1.5 * answerMs;
      resolve(isLate ? 'unknown' : `no answer to /healthz within ${answerMs / 1000} s`);
      asked.destroy();
    };
    const limit = setTimeout(noAnswer, answerMs);
    const done = (problem: string | undefined) => {
      clearTimeout(limit);
      resolve(problem);
    };
    const asked = get(`http://${address}/healthz`, { agent: false }, (answer) => {
      let text = '';
      answer.setEncoding('utf8');
      answer.on('data', (part: string) => (text += part));
      answer.on('end', () => done(answer.statusCode === 200 ? undefined : failedChecks(text)));
      answer.on('error', (error) => done(error.message));
    });
    asked.on('error', (error) => {
      if (hasErrno(error, 'EMFILE', 'ENFILE')) done('unknown');
      else done(hasErrno(error, 'ECONNREFUSED') ? 'its health is not served' : error.message);
    });
  });
}

function failedChecks(text: string): string {
  try {
    const { checks } = JSON.parse(text) as { checks: Record<string, string> };
    const failed = Object.entries(checks).filter(([, problem]) => problem !== 'ok');
    return failed.map(([name, problem]) => `${name}: ${problem}`).join('; ');
  } catch {
    return 'its health is unreadable';
  }
}
