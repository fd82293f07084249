import { HEADER, type StoredMessage, formatTime } from '@kubus/bus';

export interface LivesOptions {
  readonly pods: number;
  /** Pods that live at the same time. */
  readonly parallel: number;
  /** Messages of each pod between its start and its stop, besides those of both. */
  readonly between: number;
  /** Additional characters in each payload. */
  readonly filling?: number;
}

/** Time of the first message; one follows each millisecond. */
export const LIVES_BEGAN = 1_800_000_000_000;

interface Said {
  readonly source: string;
  readonly type: string;
  readonly data?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly withoutPod?: boolean;
}

const calls = ['RunPodSandbox', 'PullImage', 'CreateContainer', 'StartContainer'];
const ends = ['StopContainer', 'StopPodSandbox', 'RemovePodSandbox'];

/**
 * The messages of pods that start, run and stop, with a number of them at the same time; the cause of each message is the
 * pod's previous one, with its time of receipt. Every instance announces itself first.
 */
export function* podLives({ pods, parallel, between, filling = 0 }: LivesOptions): Generator<StoredMessage> {
  const numbers = new Map<string, number>();
  let seq = 0;
  const say = (said: Said, pod: string | undefined, cause: StoredMessage | undefined): StoredMessage => {
    const { source, type, data = {}, headers: more = {}, withoutPod = false } = said;
    const number = (numbers.get(source) ?? 0) + 1;
    numbers.set(source, number);
    seq += 1;
    const at = LIVES_BEGAN + seq;
    const heard = cause && cause.stored - 0.5 + 0.2 + ((seq * 7919) % 700) / 1000;
    const headers: Record<string, string> = {
      [HEADER.type]: type,
      [HEADER.source]: source,
      [HEADER.epoch]: '1',
      [HEADER.seq]: String(number),
      [HEADER.time]: formatTime(at),
      [HEADER.node]: 'node0',
      [HEADER.trace]: `00-${'1'.repeat(32)}-${seq.toString(16).padStart(16, '0')}-01`,
      ...(pod !== undefined && !withoutPod && { [HEADER.pod]: pod }),
      ...(cause !== undefined && { [HEADER.causes]: idOf(cause) }),
      ...(heard !== undefined &&
        cause?.message.headers[HEADER.source] !== source && { [HEADER.received]: formatTime(heard) }),
      ...more,
    };
    const payload =
      more[HEADER.removed] === undefined ? JSON.stringify({ ...(data as object), filling: 'x'.repeat(filling) }) : '';
    return {
      seq,
      stored: at + 0.5,
      message: { subject: `kubus.node0.${type}.${pod ?? '-'}`, headers, data: payload },
    };
  };
  for (const service of ['config-sources', 'sync-loop', 'pod-workers', 'cri-bridge', 'prober']) {
    const data = { service, epoch: 1, version: '1', pid: 1, startedAt: '2027-01-15T08:00:00Z' };
    yield say({ source: `${service}-0`, type: 'service.fact.instance/1', data }, undefined, undefined);
  }
  for (let first = 0; first < pods; first += parallel) {
    let open = Array.from({ length: Math.min(parallel, pods - first) }, (_, index) => {
      const uid = `pod-${first + index}`;
      return { uid, rest: lifeOf(uid, between), cause: undefined as StoredMessage | undefined };
    });
    while (open.length > 0) {
      for (const pod of open) {
        const { value } = pod.rest.next();
        if (value === undefined) open = open.filter((one) => one !== pod);
        else {
          pod.cause = say(value, pod.uid, pod.cause);
          yield pod.cause;
        }
      }
    }
  }
}

function* lifeOf(uid: string, between: number): Generator<Said, undefined> {
  const ref = { namespace: 'default', name: `web-${uid}`, uid };
  const ready = { ref, status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] } };
  yield { source: 'config-sources-0', type: 'config.fact.manifest/1', withoutPod: true };
  yield { source: 'config-sources-0', type: 'config.fact.file/1', data: { pod: { metadata: ref } } };
  yield { source: 'sync-loop-0', type: 'sync.fact.pod/1', data: { ref, work: 'sync' } };
  yield* callsOf(calls);
  yield { source: 'pod-workers-0', type: 'worker.fact.status/1', data: ready };
  for (let index = 0; index < between; index += 1) {
    yield index % 2 === 0
      ? { source: 'prober-0', type: 'probe.fact.results/1', data: { ref } }
      : { source: 'pod-workers-0', type: 'worker.fact.status/1', data: ready };
  }
  yield { source: 'config-sources-0', type: 'config.fact.file/1', headers: { [HEADER.removed]: 'true' } };
  yield { source: 'sync-loop-0', type: 'sync.fact.pod/1', data: { ref, work: 'kill' } };
  yield* callsOf(ends);
  yield { source: 'pod-workers-0', type: 'worker.fact.state/1', data: { ref, state: 'finished' } };
}

function* callsOf(names: readonly string[]): Generator<Said> {
  for (const name of names) {
    yield { source: 'pod-workers-0', type: `runtime.cmd.${name}/1`, data: { params: {} } };
    const headers = { [HEADER.status]: 'done' };
    yield { source: 'cri-bridge-0', type: `runtime.reply.${name}/1`, data: { response: {} }, headers };
  }
}

function idOf({ message: { headers } }: StoredMessage): string {
  return `${headers[HEADER.source] ?? ''}.${headers[HEADER.epoch] ?? ''}.${headers[HEADER.seq] ?? ''}`;
}
