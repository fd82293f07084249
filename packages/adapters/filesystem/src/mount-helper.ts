import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';

/** A request of the helper; see native/mount-helper.c. */
export type HelperRequest =
  | {
      readonly what: 'mount';
      readonly source: string;
      readonly target: string;
      readonly type: string;
      /** Of mount(2). */
      readonly flags: number;
      readonly data: string;
    }
  | { readonly what: 'readonly' | 'unmount'; readonly target: string }
  /** `target`: a folder. */
  | { readonly what: 'project' | 'usage'; readonly target: string; readonly project: number }
  /** `target`: the folder of the files. */
  | { readonly what: 'projects'; readonly target: string; readonly suffix: string; readonly stamp: string };

/** How it ended; `failed`: nothing was done, and a program may say why. `lost`: the helper has ended, and it is unknown whether it was done. */
type HelperOutcome = 'done' | 'failed' | 'timed-out' | 'lost';

export interface HelperAnswer {
  readonly outcome: HelperOutcome;
  /** Number of the error when it has failed. */
  readonly errno?: number;
  /** What was asked for. */
  readonly values: readonly number[];
}

type Helper = ChildProcessByStdio<Writable, Readable, null>;

/** A native program that stays and makes mounts, in place of a program for each of them; started when it is needed. */
export class MountHelper {
  readonly #program: string;
  #child: Helper | undefined;
  #ids = 0;
  readonly #waiting = new Map<string, (answer: HelperAnswer) => void>();

  /** @param program the compiled native/mount-helper.c */
  constructor(program: string) {
    this.#program = program;
  }

  /** @param limitMs then it is not awaited any more */
  run(request: HelperRequest, limitMs: number): Promise<HelperAnswer> {
    return new Promise((resolve) => {
      const id = String(++this.#ids);
      const end = (answer: HelperAnswer) => {
        clearTimeout(timer);
        this.#waiting.delete(id);
        resolve(answer);
      };
      const timer = setTimeout(() => end({ outcome: 'timed-out', values: [] }), limitMs);
      this.#waiting.set(id, end);
      (this.#child ??= this.#start()).stdin.write(encode(id, request));
    });
  }

  #start(): Helper {
    const child = spawn(this.#program, { stdio: ['pipe', 'pipe', 'ignore'] });
    // It ends with this process, which does not wait for it; a request's timer does.
    child.unref();
    for (const stream of [child.stdin, child.stdout]) (stream as { unref?: () => void }).unref?.();
    let text = '';
    child.stdout.setEncoding('utf8').on('data', (part: string) => {
      const lines = (text + part).split('\n');
      text = lines.pop() ?? '';
      for (const line of lines) {
        const [id = '', ...words] = line.split(' ');
        const [errno = 0, ...values] = words.map(Number);
        this.#waiting.get(id)?.({ outcome: errno === 0 ? 'done' : 'failed', errno, values });
      }
    });
    const ended = (outcome: HelperOutcome) => {
      if (this.#child !== child) return;
      this.#child = undefined;
      for (const end of [...this.#waiting.values()]) end({ outcome, values: [] });
    };
    child.once('error', () => ended('failed'));
    child.once('close', () => ended('lost'));
    child.stdin.on('error', () => undefined);
    return child;
  }
}

function encode(id: string, request: HelperRequest): Buffer {
  const { source, type, flags, data } = { ...NONE, ...details(request) };
  const fields = [id, request.what, source, request.target, type, String(flags), data];
  const text = Buffer.from(fields.map((field) => `${field}\0`).join(''));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(text.length);
  return Buffer.concat([length, text]);
}

const NONE = { source: '-', type: '-', flags: '-', data: '-' };

/** What a request has besides its target. */
function details(request: HelperRequest): Partial<Record<keyof typeof NONE, string | number>> {
  switch (request.what) {
    case 'mount':
      return request;
    case 'readonly':
    case 'unmount':
      return {};
    case 'project':
    case 'usage':
      return { flags: request.project };
    case 'projects':
      return { source: request.suffix, data: request.stamp };
  }
}

let helper: MountHelper | undefined;

/**
 * From now on this process has its usual mounts made by a helper that stays. A program is started only for what the helper cannot do, and to
 * say why something has failed.
 *
 * @param program the compiled native/mount-helper.c
 */
export function useMountHelper(program: string): void {
  helper ??= new MountHelper(program);
}

/** The helper of this process; undefined: it has none. */
export function mountHelper(): MountHelper | undefined {
  return helper;
}
