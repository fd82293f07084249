import type { StoredMessage } from '@kubus/bus';
import { bareType } from '@kubus/contracts';
import type { MessageBrief } from '@kubus/contracts/observatory';
import { briefOf } from '../brief.ts';
import type { Explanation } from './explanation.ts';

/** The newest message of the type that contains the text, else the newest one of the type; undefined: the record has none. */
export function evidenceOf(
  messages: readonly StoredMessage[],
  { type, text }: Explanation['says'],
): MessageBrief | undefined {
  // As it is within JSON.
  const wanted = text === undefined ? undefined : JSON.stringify(text).slice(1, -1);
  const ofType = messages.filter((stored) => {
    const brief = briefOf(stored);
    const bare = brief === undefined ? '' : bareType(brief.type);
    return bare === type || bare.endsWith(`.${type}`);
  });
  const found =
    ofType.findLast(({ message }) => wanted !== undefined && message.data.includes(wanted)) ?? ofType.at(-1);
  return found && briefOf(found);
}
