import type { NewFault, NewServiceFault } from '@kubus/contracts/observatory';

/** What happens to messages. */
export const actions = ['delay', 'drop', 'duplicate', 'reorder'] as const;
/** Which of the matching messages are affected. */
export const choices = ['all', 'probability', 'every', 'nth'] as const;

/** The fields of the form as filled in; an empty one is left out. Times in milliseconds. */
export interface FaultDraft {
  readonly action: (typeof actions)[number];
  readonly subject: string;
  readonly by: string;
  readonly jitter: string;
  readonly times: string;
  readonly window: string;
  readonly hold: string;
  readonly choice: (typeof choices)[number];
  /** The probability, the n of every n-th, or numbers with commas between them. */
  readonly chosen: string;
  /** UID of a pod. */
  readonly pod: string;
  readonly source: string;
  readonly reader: string;
  readonly kind: string;
  readonly seconds: string;
}

export const emptyDraft: FaultDraft = {
  ...{ action: 'delay', subject: '', by: '500', jitter: '', times: '1', window: '2', hold: '' },
  ...{ choice: 'all', chosen: '', pod: '', source: '', reader: '', kind: '', seconds: '' },
};

/** The rule that the fields describe. The observatory validates it and names the wrong field. */
export function faultOf(draft: FaultDraft): NewFault {
  const { subject, pod, source, reader, kind } = draft;
  const when = whenOf(draft);
  return {
    match: {
      subject: subject.trim(),
      ...filled({ pod, source: source.trim(), reader: reader.trim() }),
      ...filled({ kind: kind as 'fact' }),
    },
    what: whatOf(draft),
    ...(Object.keys(when).length > 0 && { when }),
  };
}

function whatOf({ action, by, jitter, times, window, hold }: FaultDraft): NewFault['what'] {
  switch (action) {
    case 'drop':
      return { kind: action };
    case 'delay':
      return { kind: action, ms: Number(by), ...(jitter !== '' && { jitterMs: Number(jitter) }) };
    case 'duplicate':
      return { kind: action, times: Number(times) };
    case 'reorder':
      return { kind: action, window: Number(window), ...(hold !== '' && { holdMs: Number(hold) }) };
  }
}

function whenOf({ choice, chosen, seconds }: FaultDraft): NonNullable<NewFault['when']> {
  return {
    ...(choice === 'probability' && { probability: Number(chosen) }),
    ...(choice === 'every' && { everyNth: Number(chosen) }),
    ...(choice === 'nth' && { nth: chosen.split(',').map(Number) }),
    ...(seconds !== '' && { forMs: Number(seconds) * 1000 }),
  };
}

export function serviceFaultOf(what: NewServiceFault['what'], seconds: string): NewServiceFault {
  return what === 'pause' ? { what, forMs: Number(seconds) * 1000 } : { what };
}

/** The subject pattern of all messages of a type: `runtime.fact.pod.*` of `runtime.fact.pod/1`. */
export function patternOfType(type: string): string {
  return `${type.replace(/\/\d+$/, '')}.*`;
}

/** The number of active faults as text; undefined if there is none. */
export function inForce(rules: number, pauses: number): string | undefined {
  const count = rules + pauses;
  if (count === 0) return undefined;
  return count === 1 ? '1 active fault' : `${count} active faults`;
}

function filled<T extends Readonly<Record<string, string>>>(fields: T): Partial<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== '')) as Partial<T>;
}
