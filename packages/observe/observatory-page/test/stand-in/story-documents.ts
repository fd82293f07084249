import { type AskedPod, podAnswer, saidOf } from '@kubus/causality';
import type {
  CriticalPath,
  MessageBrief,
  MessageDocument,
  PodSummary,
  PodTimeline,
  Segment,
  WorkSpan,
} from '@kubus/contracts/observatory';
import { measured, podLife } from './pod-life.ts';
import type { Story, StoryMessage } from './story.ts';

type Numbered = (sent: StoryMessage) => MessageBrief;

export function summaryOf(story: Story, until: number): PodSummary {
  const sent = story.sent.filter(({ at }) => at <= until);
  const said = (step: string): boolean => (story.byStep.get(step)?.at ?? Infinity) <= until;
  const lasted = ([first, last]: readonly [string, string]): number | undefined =>
    said(last) ? (story.byStep.get(last)?.at ?? 0) - (story.byStep.get(first)?.at ?? 0) : undefined;
  const startMs = lasted(measured.start);
  const stopMs = lasted(measured.stop);
  const phase = said('succeeded') ? 'Succeeded' : said('running') ? 'Running' : said('pending') ? 'Pending' : undefined;
  const workers = sent.filter(({ type }) => type === 'worker.fact.state/1');
  const worker = workers.length === 0 ? undefined : (workers.at(-1)?.summary ?? 'syncing');
  const end = said('ready') ? endOf(story) : undefined;
  return {
    uid: story.uid,
    namespace: story.namespace,
    name: story.name,
    firstAt: story.sent[0]?.at ?? 0,
    lastAt: Math.max(...sent.map(({ at }) => at)),
    messages: sent.length,
    ...saidOf(end ?? { phase, worker, ready: said('ready') && !said('stop.worker') }),
    ...(startMs !== undefined && { startMs }),
    ...(stopMs !== undefined && { stopMs }),
  };
}

/** Some pods fail after their start. */
function endOf({ index }: Story) {
  if (index % 11 === 5) return { phase: 'Failed', ready: false, worker: 'terminated', trouble: 'Error' };
  if (index % 11 === 8) return { phase: 'Running', ready: false, worker: 'syncing', trouble: 'CrashLoopBackOff' };
  return undefined;
}

export function pathOf(story: Story, what: 'start' | 'stop', brief: Numbered): CriticalPath {
  const [first, last] = measured[what];
  const byId = new Map(story.sent.map((sent) => [sent.id, sent]));
  const segments: Segment[] = [];
  for (let effect = messageOfStep(story, last); effect.id !== story.byStep.get(first)?.id;) {
    const cause = byId.get(effect.causes[0] ?? '');
    if (cause === undefined) break;
    const ms = effect.at - cause.at;
    const busMs = Math.min(effect.busMs, ms);
    const queueMs = Math.min(effect.queueMs, ms - busMs);
    const stepName = `${bare(cause)} > ${effect.service} ${bare(effect)}`;
    segments.unshift({
      cause: brief(cause),
      effect: brief(effect),
      service: effect.service,
      step: stepName,
      busMs,
      queueMs,
      workMs: ms - busMs - queueMs,
      ms,
    });
    effect = cause;
  }
  const sum = (time: 'busMs' | 'queueMs' | 'workMs' | 'ms'): number =>
    segments.reduce((total, segment) => total + segment[time], 0);
  return {
    what,
    from: brief(messageOfStep(story, first)),
    to: brief(messageOfStep(story, last)),
    ms: sum('ms'),
    busMs: sum('busMs'),
    queueMs: sum('queueMs'),
    workMs: sum('workMs'),
    segments,
  };
}

export function timelineOf(story: Story, until: number, brief: Numbered): PodTimeline {
  const messages = story.sent
    .filter(({ at }) => at <= until)
    .map(brief)
    .sort((a, b) => a.at - b.at);
  const pod = summaryOf(story, until);
  const document = {
    pod,
    messages,
    spans: spansOf(story, until),
    paths: [
      ...(pod.startMs === undefined ? [] : [pathOf(story, 'start', brief)]),
      ...(pod.stopMs === undefined ? [] : [pathOf(story, 'stop', brief)]),
    ],
  };
  return {
    ...document,
    answer: podAnswer({
      ...document,
      ...(pod.reason === undefined ? wellOf(story) : failureOf(messages, pod.reason)),
      starts,
    }),
    services: [...new Set(messages.map(({ service }) => service))],
  };
}

type Said = Pick<AskedPod, 'notes' | 'explained'>;

/** What is said about a pod that is well: of one, two manifests are there. */
function wellOf({ index, name }: Story): Said {
  const notice = `/m/a.yaml has this pod; another with its name in /m/b.yaml is not run.`;
  const explained = { state: 'ready', text: `${name} runs and is ready.`, notice, said: undefined } as const;
  return { notes: [], explained: index === TWICE ? explained : undefined };
}

/** The pod of which there are two manifests. */
const TWICE = 3;

/** What a failed pod's last status and its warning say. */
function failureOf(messages: readonly MessageBrief[], reason: string): Said {
  const text = 'The pod has failed: container web exited with code 3 and left "the database does not answer".';
  const warning = {
    reason: 'Unhealthy',
    text: 'Readiness probe failed: HTTP probe failed with statuscode: 503',
    count: 3,
  };
  const notes = messages.flatMap((brief): AskedPod['notes'] => {
    if (brief.summary === 'Running, Ready') return [{ brief, note: { trouble: { reason, container: 'web' } } }];
    return brief.type === 'probe.event.recorded/1' ? [{ brief, note: { warning } }] : [];
  });
  return {
    notes,
    explained: {
      ...{ state: 'failed', text, notice: undefined },
      said: notes.find(({ note }) => note.trouble !== undefined)?.brief,
    },
  };
}

/** The starts of other pods that one is compared with, in milliseconds. */
const starts = Array.from({ length: 100 }, (_, index) => 300 + index * 2);

/** How long each plugin runs, in milliseconds. */
const PLUGIN_MS = 7;

function spansOf(story: Story, until: number): WorkSpan[] {
  return podLife.flatMap(({ name, service }): WorkSpan[] => {
    const run = name.startsWith('plugin') ? story.byStep.get(name) : undefined;
    if (run !== undefined && run.at <= until) {
      const [to, messages] = [run.at, [run.id]];
      return [{ name: run.summary.replace('end ', ''), service, from: to - PLUGIN_MS, to, messages }];
    }
    const end = story.byStep.get(`${name}.done`);
    if (end === undefined || end.at > until) return [];
    const begin = messageOfStep(story, name);
    return [
      {
        name: begin.summary,
        service: end.service,
        from: begin.at,
        to: end.at,
        messages: [begin.id, end.id],
        ...(name === 'findImage#3' && story.index % 9 === 4 && { failed: 'the registry did not answer' }),
      },
    ];
  });
}

export function wholeMessage(story: Story, message: StoryMessage, brief: Numbered): MessageDocument {
  const byId = new Map(story.sent.map((one) => [one.id, one]));
  const [, epoch = '3', number = '1'] = /\.(\d+)\.(\d+)$/.exec(message.id) ?? [];
  return {
    ...brief(message),
    headers: {
      'Kubus-Type': message.type,
      'Kubus-Source': message.source,
      'Kubus-Epoch': epoch,
      'Kubus-Seq': number,
      'Kubus-Time': new Date(message.at).toISOString(),
      'Kubus-Node': 'node0',
      ...(message.pod !== undefined && { 'Kubus-Pod': message.pod }),
      ...(message.causes.length > 0 && { 'Kubus-Causes': message.causes.join(',') }),
      traceparent: `00-${story.uid.replaceAll('-', '')}-${message.step.toString(16).padStart(16, '0')}-01`,
    },
    payload: payloadOf(story, message),
    causedBy: message.causes.flatMap((id) => byId.get(id) ?? []).map(brief),
    caused: story.sent.filter(({ causes }) => causes.includes(message.id)).map(brief),
  };
}

function payloadOf(story: Story, message: StoryMessage): unknown {
  return {
    ref: { uid: story.uid, namespace: story.namespace, name: story.name },
    says: message.summary,
    status: {
      phase: 'Running',
      podIP: `10.88.${story.index % 250}.7`,
      conditions: ['Initialized', 'PodScheduled', 'ContainersReady', 'Ready'].map((type) => ({ type, status: 'True' })),
      containerStatuses: ['web', 'client'].map((name) => ({
        name,
        ready: true,
        restartCount: 0,
        image: `registry.example/${name}:1.27`,
        state: { running: { startedAt: new Date(message.at).toISOString() } },
      })),
    },
  };
}

function messageOfStep(story: Story, step: string): StoryMessage {
  const found = story.byStep.get(step);
  if (found === undefined) throw new Error(`no step ${step}`);
  return found;
}

function bare(message: StoryMessage): string {
  return message.type.replace(/\/\d+$/, '');
}
