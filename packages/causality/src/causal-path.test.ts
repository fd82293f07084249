import { describe, expect, test } from '@jest/globals';
import { Publisher, type Cause, type WireMessage, parseTime } from '@kubus/bus';
import { causalPath } from './causal-path.ts';
import { causalTree } from './causal-tree.ts';
import { type RecordedMessage, recordedMessage } from './recorded-message.ts';

/** Two services whose messages are stamped as on a real bus, at chosen times in milliseconds. */
class Story {
  readonly messages: RecordedMessage[] = [];
  #now = 0;
  readonly #publishers = new Map(['a', 'b'].map((instance) => [instance, this.#publisher(instance)]));

  say(who: 'a' | 'b', at: number, causes: readonly Cause[]): Cause {
    this.#now = at;
    const { headers, cause } = this.#publishers.get(who)?.stamp('x.event.y/1', { causes }) ?? {};
    const wire: WireMessage = { subject: 's', headers: headers ?? {}, data: '{}' };
    const recorded = recordedMessage(wire);
    if (recorded === undefined || cause === undefined) throw new Error('the message was not stamped as one of a node');
    this.messages.push(recorded);
    return cause;
  }

  find(cause: Cause): RecordedMessage {
    const found = this.messages.find(({ envelope }) => envelope.cause.id === cause.id);
    if (found === undefined) throw new Error(`no message ${cause.id}`);
    return found;
  }

  #publisher(instance: string): Publisher {
    let ids = 0;
    return new Publisher({
      speaker: { instance, epoch: 1, node: 'n' },
      clock: { now: () => this.#now, after: () => () => undefined },
      ids: { hex: (bytes: number) => (++ids).toString(16).padStart(bytes * 2, '0'), fraction: () => 0 },
    });
  }
}

describe('the path to a message', () => {
  test('tells bus from work, and follows the cause that was awaited last', () => {
    const story = new Story();
    const first = story.say('a', 100, []);
    const early = story.say('a', 101, []);
    const second = story.say('b', 112, [
      { ...first, heard: 104 },
      { ...early, heard: 103 },
    ]);
    const third = story.say('b', 115, [second]);
    const path = causalPath(story.messages, story.find(third));
    expect(path.map(({ cause, effect, onBus, working }) => [cause.at, effect.at, onBus, working])).toEqual([
      [100, 112, 4, 8],
      [112, 115, 0, 3],
    ]);
  });

  test('begins where the record begins', () => {
    const story = new Story();
    const lost = story.say('a', 100, []);
    const kept = story.say('b', 110, [{ ...lost, heard: 105 }]);
    const last = story.say('b', 120, [kept]);
    const path = causalPath(story.messages.slice(1), story.find(last));
    expect(path.map(({ cause }) => cause.at)).toEqual([110]);
  });

  test('ends also when messages name each other', () => {
    const story = new Story();
    const one = story.say('a', 100, [{ id: 'b.1.1', traceId: '0'.repeat(32), spanId: '0'.repeat(16) }]);
    const other = story.say('b', 110, [one]);
    expect(causalPath(story.messages, story.find(other))).toHaveLength(1);
  });

  test('a message says when its cause was delivered, and none of its own', () => {
    const story = new Story();
    const first = story.say('a', 100, []);
    const second = story.say('b', 112, [{ ...first, heard: 104.25 }]);
    const third = story.say('b', 113, [second]);
    expect(parseTime(story.find(second).envelope.heard ?? '')).toBe(104.25);
    expect(story.find(third).envelope.heard).toBeUndefined();
  });
});

test('a tree has each message once, under the cause that it waited for last and that is known', () => {
  const story = new Story();
  const root = story.say('a', 1, []);
  const left = story.say('b', 2, [root]);
  const right = story.say('b', 3, [root]);
  story.say('a', 4, [right, left]);
  story.say('a', 5, [{ ...root, id: 'gone.1.7' }, left]);
  const again = [...story.messages, ...story.messages.slice(0, 2)];
  const shape = (nodes: ReturnType<typeof causalTree>): unknown =>
    nodes.map(({ recorded, children }) => [recorded.at, shape(children)]);
  expect(shape(causalTree(again))).toEqual([
    [
      1,
      [
        [2, [[5, []]]],
        [3, [[4, []]]],
      ],
    ],
  ]);
});
