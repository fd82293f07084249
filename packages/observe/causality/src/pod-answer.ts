import { bareType } from '@kubus/contracts';
import type {
  CriticalPath,
  MessageBrief,
  NextLook,
  PodAnswer,
  PodFailure,
  PodTimeline,
} from '@kubus/contracts/observatory';
import { durationWords, rankWords } from './duration-words.ts';
import { largestPart } from './path-parts.ts';
import type { Explanation } from './explain/explanation.ts';
import type { PodNote } from './pod-notes.ts';

/** What an answer about a pod is made of. */
export interface AskedPod extends Omit<PodTimeline, 'answer' | 'services'> {
  /** What its own messages say, in the order of their publication. */
  readonly notes: readonly { readonly brief: MessageBrief; readonly note: PodNote }[];
  /** What it waits for or why it failed, and the message that says so; undefined: its messages do not tell. */
  readonly explained:
    | (Pick<Explanation, 'state' | 'text'> & {
        readonly notice: string | undefined;
        readonly said: MessageBrief | undefined;
      })
    | undefined;
  /** How long the last starts of other pods took, in milliseconds. */
  readonly starts: readonly number[];
}

/** How the pod is doing in one sentence, why, and what to look at next. */
export function podAnswer(asked: AskedPod): PodAnswer {
  const { state } = asked.pod;
  const why = troubled.has(state) ? failureOf(asked) : undefined;
  const notice = asked.explained?.notice;
  return {
    ...{ state, sentence: sentenceOf(asked) },
    ...(notice !== undefined && { notice }),
    ...(why !== undefined && { why }),
    next: nextOf(asked, why),
  };
}

/** The states in which something is wrong. */
const troubled: ReadonlySet<string> = new Set(['unready', 'failing', 'failed']);

/** The last one that says more than that the pod is tried again. */
function lastWarning(notes: AskedPod['notes']) {
  const all = notes.flatMap(({ brief, note: { warning } }) => (warning === undefined ? [] : [{ brief, warning }]));
  return all.findLast(({ warning }) => warning.reason !== 'BackOff') ?? all.at(-1);
}

function failureOf({ notes, messages, explained }: AskedPod): PodFailure | undefined {
  const event = lastWarning(notes);
  // A pod that its source does not pass on has nothing but its event.
  const said = explained === undefined ? event?.brief : explained.said;
  if (said === undefined) return undefined;
  return {
    said,
    chain: chainTo(said, messages),
    ...(event !== undefined && { event: { message: event.brief, ...event.warning } }),
  };
}

/** How long a chain of causes may be: a pod that is tried again for days has thousands. */
const LONGEST_CHAIN = 8;

/** From the first cause to a message, each time by the cause that was awaited last; of a long chain, its end. */
function chainTo(message: MessageBrief, messages: readonly MessageBrief[]): MessageBrief[] {
  const byId = new Map(messages.map((one) => [one.id, one]));
  const chain = [message];
  for (let cause = byId.get(message.causes[0] ?? ''); cause !== undefined && chain.length < LONGEST_CHAIN;) {
    if (chain.includes(cause)) break;
    chain.unshift(cause);
    cause = byId.get(cause.causes[0] ?? '');
  }
  return chain;
}

function sentenceOf(asked: AskedPod): string {
  const { pod, paths, explained } = asked;
  switch (pod.state) {
    case 'ready':
      return pod.startMs === undefined
        ? 'Ready; this recording does not have its start.'
        : `Ready after ${timesOf(asked)}.`;
    case 'succeeded':
      return pod.startMs === undefined ? 'Succeeded.' : `Succeeded; started in ${timesOf(asked)}.`;
    case 'failed':
      return explained?.text ?? lastWarning(asked.notes)?.warning.text ?? 'Failed.';
    case 'failing':
    case 'unready':
      return explained?.text ?? (pod.phase === 'Running' ? 'Running, but not ready.' : 'Not ready.');
    case 'starting': {
      const since = `Not ready yet, ${durationWords(pod.lastAt - pod.firstAt)} after its first message`;
      return `${since}${waitsFor(asked)}.${explained === undefined ? '' : ` ${explained.text}`}`;
    }
    case 'stopping':
      return `${explained?.state === 'ending' ? explained.text : 'Stopping.'}${waitsFor(asked).replace(/^; w(.*)$/, ' W$1.')}`;
    case 'deleted': {
      const path = paths.find(({ what }) => what === 'stop');
      const failed = pod.phase === 'Failed' ? 'Deleted after it had failed' : 'Deleted';
      return path === undefined
        ? `${failed}.`
        : `${failed}; its stop took ${durationWords(path.ms)}${largestOf(path)}.`;
    }
  }
}

/** `412 ms; 238 ms of it the sandbox; slower than 95 % of the last 100 starts`. */
function timesOf({ pod: { startMs = 0 }, paths, starts }: AskedPod): string {
  const path = paths.find(({ what }) => what === 'start');
  const rank = rankWords(startMs, starts);
  return `${durationWords(startMs)}${path === undefined ? '' : largestOf(path)}${rank === undefined ? '' : `; ${rank}`}`;
}

function largestOf(path: CriticalPath): string {
  const part = largestPart(path);
  return part === undefined ? '' : `; ${durationWords(part.ms)} of it ${part.what}`;
}

/** The command without an answer that was sent last. */
function waitsFor({ pod, messages, spans }: AskedPod): string {
  const answered = new Set(spans.flatMap((span) => span.messages));
  const open = messages.findLast(({ kind, id, pod: of }) => kind === 'cmd' && of === pod.uid && !answered.has(id));
  return open === undefined ? '' : `; waits for ${bareType(open.type).split('.').slice(2).join('.')}`;
}

function nextOf({ pod, paths, notes }: AskedPod, why: PodFailure | undefined): NextLook[] {
  const looks: NextLook[] = [];
  const trouble = notes.findLast(({ note }) => note.trouble !== undefined)?.note.trouble;
  const hasEnded = pod.state === 'failed' || (pod.state === 'failing' && trouble?.ranBefore === true);
  if (trouble?.container !== undefined && hasEnded) {
    const previous = trouble.ranBefore === true ? ' --previous' : '';
    const command = `./kubus logs ${pod.name} -n ${pod.namespace} -c ${trouble.container}${previous}`;
    looks.push({ text: 'What it printed before it ended', command });
  }
  if (why !== undefined) looks.push({ text: 'The message that says so', message: why.said.seq });
  if (why?.event !== undefined && why.event.message !== why.said) {
    looks.push({ text: `The event ${why.event.reason}`, message: why.event.message.seq });
  }
  const path = paths.find(({ what }) => what === (pod.state === 'deleted' ? 'stop' : 'start'));
  const longest = path?.segments.toSorted((a, b) => b.ms - a.ms)[0];
  if (why === undefined && longest !== undefined) {
    const text = `The longest step, ${durationWords(longest.ms)}: ${longest.step}`;
    looks.push({ text, message: longest.effect.seq });
  }
  if (why === undefined && pod.startMs !== undefined)
    looks.push({ text: 'All starts of this recording', view: 'latency' });
  return looks;
}
