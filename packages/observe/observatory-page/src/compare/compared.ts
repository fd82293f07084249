import type { ComparedStep } from '@kubus/contracts/observatory';
import { difference } from '../format/quantity.ts';

/** A side of a comparison in an address: `recording` or `recording/uid`. */
export interface Side {
  readonly recording: string;
  readonly pod: string | undefined;
}

export function parseSide(text: string): Side {
  const [recording = '', pod] = text.split('/', 2);
  return { recording, pod: pod === '' ? undefined : pod };
}

export function formatSide({ recording, pod }: Side): string {
  return pod === undefined || recording === '' ? recording : `${recording}/${pod}`;
}

/** A verdict as text: a sign and a word, so that it does not depend on colour. */
export function verdictWords({ verdict, left, right }: ComparedStep): string {
  const by = left === undefined || right === undefined ? undefined : difference(right - left);
  switch (verdict) {
    case 'same':
      return '= same';
    case 'slower':
      return `▲ slower${by === undefined ? '' : ` ${by}`}`;
    case 'faster':
      return `▼ faster${by === undefined ? '' : ` ${by}`}`;
    case 'missing':
      return '− missing on the right';
    case 'added':
      return '+ added on the right';
  }
}

export function countVerdicts(steps: readonly ComparedStep[]): Readonly<Record<ComparedStep['verdict'], number>> {
  const counts = { same: 0, slower: 0, faster: 0, missing: 0, added: 0 };
  for (const { verdict } of steps) counts[verdict]++;
  return counts;
}
