import { HEADER } from '@kubus/bus';
import { bareType, imagePulled, pluginRun, typeOf } from '@kubus/contracts';
import type { MessageBrief, WorkSpan } from '@kubus/contracts/observatory';
import type { ReadMessage } from './brief.ts';
import { textAt, valueAt } from './summary.ts';

const plugin = typeOf(pluginRun);
const pulled = typeOf(imagePulled);

interface Begun {
  readonly brief: MessageBrief;
  readonly key: string;
}

interface Ended extends Begun {
  readonly name: string;
  readonly failed: string | undefined;
}

/** Pairs the messages at the start and the end of work. Unfinished work has no span. */
export class WorkSpans {
  readonly #begun: Begun[] = [];
  readonly #ended: Ended[] = [];
  readonly #whole: WorkSpan[] = [];

  add({ brief, recorded, payload }: ReadMessage): void {
    if (brief.kind === 'cmd') this.#begun.push({ brief, key: brief.id });
    else if (brief.kind === 'reply') this.#addReply(brief, recorded.message.headers[HEADER.status], payload);
    else if (brief.type === plugin) this.#addPlugin(brief, payload);
    else if (brief.type === pulled) this.#addPull(brief, payload);
  }

  /** In the order of their start. */
  all(): WorkSpan[] {
    const open = new Map<string, MessageBrief[]>();
    for (const { brief, key } of this.#begun.sort((a, b) => a.brief.at - b.brief.at)) {
      open.set(key, [...(open.get(key) ?? []), brief]);
    }
    const paired = this.#ended
      .sort((a, b) => a.brief.at - b.brief.at)
      .flatMap(({ brief: end, key, name, failed }): WorkSpan[] => {
        const begin = open.get(key)?.shift();
        if (begin === undefined) return [];
        // Work on a command starts when the command is taken from its queue, not when it is sent.
        const from = end.kind === 'reply' ? (end.began ?? end.heard ?? begin.at) : begin.at;
        return [
          {
            name,
            service: end.service,
            from,
            to: end.at,
            messages: [begin.id, end.id],
            ...(failed !== undefined && { failed }),
          },
        ];
      });
    return [...paired, ...this.#whole].sort((a, b) => a.from - b.from);
  }

  /** Only the last of the replies to a command marks its end. */
  #addReply(brief: MessageBrief, status: string | undefined, payload: unknown): void {
    const [command = ''] = brief.causes;
    if (status === 'accepted' || status === 'attached') return;
    const failed = status === 'done' ? undefined : (textAt(payload, 'message') ?? status);
    const name = bareType(brief.type).split('.').slice(2).join('.');
    this.#ended.push({ brief, key: command, name, failed });
  }

  #addPlugin(brief: MessageBrief, payload: unknown): void {
    const name = ['command', 'plugin'].map((field) => textAt(payload, field) ?? '').join(' ');
    this.#addWhole(brief, name, { ms: valueAt(payload, 'durationMs'), failed: textAt(payload, 'error.message') });
  }

  #addPull(brief: MessageBrief, payload: unknown): void {
    const name = `pull ${textAt(payload, 'image') ?? ''}`;
    this.#addWhole(brief, name, { ms: valueAt(payload, 'pullMs'), failed: textAt(payload, 'error') });
  }

  /** Work whose message at its end says how long it took. */
  #addWhole(brief: MessageBrief, name: string, { ms, failed }: { ms: unknown; failed: string | undefined }): void {
    if (typeof ms !== 'number') return;
    this.#whole.push({
      name,
      service: brief.service,
      from: brief.at - ms,
      to: brief.at,
      messages: [brief.id],
      ...(failed !== undefined && { failed }),
    });
  }
}
