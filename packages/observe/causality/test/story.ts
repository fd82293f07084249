import { type Cause, HEADER, Publisher, type StoredMessage } from '@kubus/bus';
import type { MessageBrief } from '@kubus/contracts/observatory';
import { briefOf } from '../src/index.ts';

export interface Said {
  readonly type?: string;
  readonly pod?: string | undefined;
  readonly payload?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly subject?: string;
}

/** Services whose messages are stamped as on a real bus, at chosen times in milliseconds. */
export class Story {
  readonly messages: StoredMessage[] = [];
  #now = 0;
  readonly #publishers = new Map<string, Publisher>();

  say(who: string, at: number, causes: readonly Cause[], said: Said = {}): Cause {
    const { type = 'x.event.y/1', pod, payload = {}, headers: more = {}, subject } = said;
    this.#now = at;
    const { headers, cause } = this.#publisher(who).stamp(type, { pod, causes });
    const [bare = ''] = type.split('/');
    this.messages.push({
      seq: this.messages.length + 1,
      stored: at + 0.5,
      message: {
        subject: subject ?? `kubus.n.${bare}.${pod ?? '-'}`,
        headers: { ...headers, ...more },
        data: more[HEADER.removed] === undefined ? JSON.stringify(payload) : '',
      },
    });
    return cause;
  }

  find({ id }: Cause): MessageBrief {
    const found = this.briefs.find((brief) => brief.id === id);
    if (found === undefined) throw new Error(`no message ${id}`);
    return found;
  }

  get briefs(): MessageBrief[] {
    return this.messages.flatMap((stored) => briefOf(stored) ?? []);
  }

  #publisher(instance: string): Publisher {
    const known = this.#publishers.get(instance);
    if (known !== undefined) return known;
    const number = this.#publishers.size + 1;
    let ids = 0;
    const publisher = new Publisher({
      publisherId: { instance, epoch: 1, node: 'n' },
      clock: { now: () => this.#now, after: () => () => undefined },
      ids: {
        hex: (bytes: number) => `${number}${(++ids).toString(16).padStart(4, '0')}`.padStart(bytes * 2, '0'),
        fraction: () => 0,
      },
    });
    this.#publishers.set(instance, publisher);
    return publisher;
  }
}

/** The same cause as received by another process, with its wait in a queue. */
export function heardAt(cause: Cause, heard: number, began?: number): Cause {
  return { ...cause, received: heard, ...(began !== undefined && { began }) };
}

export const REF = { namespace: 'default', name: 'web-n', uid: 'u1' };

/** What sync-loop has to do with a pod. */
export function workOf(ref: typeof REF, work: 'sync' | 'kill') {
  return {
    ...{ ref, work, source: 'file', reason: work === 'sync' ? 'desired' : 'removed from its source' },
    pod: { metadata: ref, spec: { containers: [{ name: 'web', image: 'web' }], restartPolicy: 'Never' } },
    ...{ worker: 'pod-workers-0', firstSeen: '1970-01-01T00:00:00Z' },
  };
}

/** A pod from its addition to its removal, as one chain of messages; its sandbox takes `late` milliseconds longer. */
export function tellPod(
  story: Story,
  options: { uid?: string; at?: number; late?: number; stops?: boolean } = {},
): void {
  const { uid = REF.uid, at = 0, late = 0, stops = true } = options;
  const ref = { ...REF, name: `web-${uid}`, uid };
  const say = (who: string, time: number, causes: readonly Cause[], type: string, more: Said = {}) =>
    story.say(who, at + time, causes, { type, pod: uid, ...more });
  const file = story.say('config-sources-0', at, [], { type: 'config.fact.manifest/1' });
  const source = say('config-sources-0', 1, [file], 'config.fact.file/1', {
    payload: { operation: 'ADD', source: 'file', pod: { metadata: ref } },
  });
  const added = say('sync-loop-0', 4, [heardAt(source, at + 2)], 'sync.fact.pod/1', { payload: workOf(ref, 'sync') });
  const begun = heardAt(added, at + 5, at + 8);
  const run = say('pod-workers-0', 10, [begun], 'runtime.cmd.RunPodSandbox/1', { payload: { params: {} } });
  const answer = {
    subject: `kubus.n.reply.pod-workers.pod-workers-0.${uid}`,
    payload: { response: { podSandboxId: 's' } },
  };
  const done = say('cri-bridge-0', 30 + late, [heardAt(run, at + 11, at + 15)], 'runtime.reply.RunPodSandbox/1', {
    ...answer,
    headers: { [HEADER.status]: 'done' },
  });
  const conditions = [{ type: 'Ready', status: 'True' }];
  say('pod-workers-0', 35 + late, [heardAt(done, at + late + 31)], 'worker.fact.status/1', {
    payload: { ref, status: { phase: 'Running', conditions } },
  });
  if (!stops) return;
  const gone = say('config-sources-0', 1000, [file], 'config.fact.file/1', { headers: { [HEADER.removed]: 'true' } });
  const kill = say('sync-loop-0', 1003, [heardAt(gone, at + 1002)], 'sync.fact.pod/1', {
    payload: workOf(ref, 'kill'),
  });
  say('pod-workers-0', 1050, [heardAt(kill, at + 1004)], 'worker.fact.state/1', {
    payload: { ref, state: 'finished' },
  });
}
