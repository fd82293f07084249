import type { MessageBrief } from '@kubus/contracts/observatory';
import { Random } from '@kubus/ports';
import { begins, podLife } from './pod-life.ts';

/** A message of one pod with the data for its path. `seq` is filled in by the recording. */
export interface StoryMessage extends Omit<MessageBrief, 'seq'> {
  readonly step: number;
  readonly busMs: number;
  readonly queueMs: number;
  readonly workMs: number;
}

export interface Story {
  readonly index: number;
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly sent: readonly StoryMessage[];
  /** Messages by the names of their steps. */
  readonly byStep: ReadonlyMap<string, StoryMessage>;
}

const namespaces = ['default', 'shop', 'kube-system', 'batch'];
const apps = ['web', 'checkout', 'cart', 'search', 'metrics-agent', 'image-resizer', 'mail-relay', 'ledger'];
const nobodysSteps = new Set(podLife.filter(({ service }) => service === 'object-cache').map(({ name }) => name));

/** The number of pods with different step times; later pods repeat these times. */
export const pace = 200;

/**
 * The life of pod number `index` that starts at `began`.
 *
 * @param slow factor of the runtime's work times, in which two recordings differ.
 */
export function storyOf(index: number, began: number, slow = 1): Story {
  const random = new Random((index % pace) * 7919 + 13);
  const { uid, namespace, name } = namesOf(index);
  const sent: StoryMessage[] = [];
  const byStep = new Map<string, StoryMessage>();
  const spread = (): number => 0.55 + random.fraction() * 0.7 + (random.fraction() < 0.06 ? random.fraction() * 3 : 0);
  podLife.forEach((life, step) => {
    const causes = life.after.flatMap((cause) => byStep.get(cause) ?? []);
    const begin = begins[life.name];
    const free = begin === undefined ? began : (byStep.get(begin[0])?.at ?? began) + begin[1] * spread();
    const source = `${life.service}-0`;
    const last = causes[0];
    const onBus = last !== undefined && last.source !== source;
    const times = {
      busMs: onBus ? micros(life.bus * spread()) : 0,
      queueMs: micros(life.queue * spread()),
      workMs: micros(life.work * spread() * (life.service === 'cri-bridge' ? slow : 1)),
    };
    // The last awaited cause arrived last; the others must not be later than their effect.
    const ready = Math.max(last?.at ?? free, ...causes.slice(1).map(({ at }) => at));
    const at = micros(last === undefined ? free : ready + times.busMs + times.queueMs + times.workMs);
    const heard = onBus ? micros(at - times.queueMs - times.workMs) : undefined;
    const message: StoryMessage = {
      ...times,
      step,
      id: `${source}.3.${index * 1000 + step + 1}`,
      subject: subjectOf(life.kind, life.type, life.service, uid),
      type: life.type,
      kind: life.kind,
      source,
      service: life.service,
      at,
      stored: micros(at + 0.1 + random.fraction() * 0.2),
      ...(heard !== undefined && { heard, ...(times.queueMs > 0 && { began: micros(heard + times.queueMs) }) }),
      ...(!nobodysSteps.has(life.name) && { pod: uid }),
      causes: causes.map(({ id }) => id),
      summary: life.summary,
      bytes: 180 + Math.floor(random.fraction() * 4200),
    };
    sent.push(message);
    byStep.set(life.name, message);
  });
  return { index, uid, namespace, name, sent, byStep };
}

function subjectOf(kind: string, type: string, service: string, uid: string): string {
  const bare = type.replace(/\/\d+$/, '');
  return kind === 'reply' ? `kubus.node0.reply.${service}.pod-workers-0.${uid}` : `kubus.node0.${bare}.${uid}`;
}

function micros(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}

/** The name of pod number `index`. */
export function namesOf(index: number): { uid: string; namespace: string; name: string } {
  const serial = Math.floor(new Random(index).fraction() * 2 ** 31);
  const app = apps[index % apps.length] ?? 'web';
  return {
    uid: uidOf(index),
    namespace: namespaces[index % namespaces.length] ?? 'default',
    name: `${app}-${serial.toString(36).padStart(6, '0')}-${index}`,
  };
}

export function uidOf(index: number): string {
  const random = new Random(index * 31 + 7);
  const hex = (digits: number): string =>
    Math.floor(random.fraction() * 16 ** digits)
      .toString(16)
      .padStart(digits, '0');
  return `${hex(8)}-${hex(4)}-4${hex(3)}-9${hex(3)}-${hex(6)}${hex(6)}`;
}
