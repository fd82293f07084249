import type { StoredMessage } from '@kubus/bus';
import { briefOf } from '@kubus/causality';
import { bareType } from '@kubus/contracts';
import type { Explanation } from './explanation.ts';

/** The message that says why a pod is as it is. */
export interface Evidence {
  readonly id: string;
  readonly type: string;
  readonly source: string;
  /** RFC 3339 with milliseconds. */
  readonly time: string;
}

/** The newest message of the type that contains the text, else the newest one of the type; undefined: the record has none. */
export function evidenceOf(
  messages: readonly StoredMessage[],
  { type, text }: Explanation['says'],
): Evidence | undefined {
  // As it is within JSON.
  const wanted = text === undefined ? undefined : JSON.stringify(text).slice(1, -1);
  const ofType = messages.filter((stored) => {
    const brief = briefOf(stored);
    const bare = brief === undefined ? '' : bareType(brief.type);
    return bare === type || bare.endsWith(`.${type}`);
  });
  const found =
    ofType.findLast(({ message }) => wanted !== undefined && message.data.includes(wanted)) ?? ofType.at(-1);
  const brief = found && briefOf(found);
  return (
    brief && {
      id: brief.id,
      type: bareType(brief.type),
      source: brief.source,
      time: new Date(brief.at).toISOString(),
    }
  );
}
