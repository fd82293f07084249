import { HEADER, type StoredMessage } from '@kubus/bus';
import { describe, expect, test } from '@jest/globals';
import { serviceContracts } from '@kubus/contracts';
import fc from 'fast-check';
import { checkCausality } from '../src/index.ts';
import { REF, Story, heardAt, tellPod } from './story.ts';

const kinds = (messages: Iterable<StoredMessage>) =>
  [...checkCausality(messages, serviceContracts)].map(({ kind }) => kind);

function exampleStory(): Story {
  const story = new Story();
  tellPod(story);
  return story;
}

test('a complete recording has no violations, in any order of messages and with duplicates', () => {
  const { messages } = exampleStory();
  expect(kinds(messages)).toEqual([]);
  expect(kinds([...messages.toReversed(), ...messages])).toEqual([]);
});

test('every removed cause and every missing message is found', () => {
  const { messages } = exampleStory();
  fc.assert(
    fc.property(fc.nat({ max: messages.length - 1 }), (index) => {
      const cut = messages.map((stored, at) =>
        at === index ? without(stored, HEADER.causes, HEADER.received, HEADER.began) : stored,
      );
      const mayBeRoot = messages[index]?.message.headers[HEADER.causes] === undefined;
      expect(kinds(cut)).toEqual(mayBeRoot ? [] : ['undeclared-root']);
      const isCause = messages.some((_, at) => at !== index && names(messages[at], messages[index]));
      const left = messages.filter((_, at) => at !== index);
      expect(kinds(left).includes('lost-cause')).toBe(isCause);
    }),
  );
});

describe('violations', () => {
  const source = { type: 'config.fact.file/1', pod: REF.uid };

  test.each<[string, (story: Story) => unknown, string[]]>([
    [
      'a service names a cause that it does not receive',
      (story) => {
        const root = story.say('config-sources-0', 1, [], { type: 'config.fact.manifest/1' });
        story.say('pod-workers-0', 5, [heardAt(root, 2)], { type: 'worker.fact.state/1', pod: REF.uid });
      },
      ['undeclared-edge'],
    ],
    [
      'a cause was published after it had been received',
      (story) => {
        const root = story.say('config-sources-0', 10, [], { type: 'config.fact.manifest/1' });
        const pod = story.say('config-sources-0', 11, [root], source);
        story.say('sync-loop-0', 20, [heardAt(pod, 5)], { type: 'sync.fact.pod/1', pod: REF.uid });
      },
      ['early-effect'],
    ],
    [
      'the clocks of two processes may differ slightly',
      (story) => {
        const root = story.say('config-sources-0', 10, [], { type: 'config.fact.manifest/1' });
        const pod = story.say('config-sources-0', 11, [root], source);
        story.say('sync-loop-0', 12, [heardAt(pod, 10.5)], { type: 'sync.fact.pod/1', pod: REF.uid });
      },
      [],
    ],
    [
      'a message was published before its cause was received',
      (story) => {
        const root = story.say('config-sources-0', 10, [], { type: 'config.fact.manifest/1' });
        const pod = story.say('config-sources-0', 11, [root], source);
        story.say('sync-loop-0', 12, [heardAt(pod, 15)], { type: 'sync.fact.pod/1', pod: REF.uid });
      },
      ['wrong-times'],
    ],
    [
      'a plugin run without the command of its sandbox',
      (story) =>
        story.say('cni-bridge-0', 1, [], {
          type: 'network.event.plugin/1',
          payload: { command: 'ADD', network: 'kubus' },
        }),
      ['undeclared-root'],
    ],
    [
      'unrequested plugin runs and completion marks need no cause',
      (story) => {
        story.say('cni-bridge-0', 1, [], { type: 'network.event.plugin/1', payload: { command: 'STATUS' } });
        story.say('cni-bridge-0', 2, [], { type: 'network.fact.pod.complete/1' });
      },
      [],
    ],
    [
      'a cause that a sandbox carries to the network may be named',
      (story) => {
        const root = story.say('config-sources-0', 1, [], { type: 'config.fact.manifest/1' });
        const pod = story.say('config-sources-0', 2, [root], source);
        const work = story.say('sync-loop-0', 3, [heardAt(pod, 3)], { type: 'sync.fact.pod/1', pod: REF.uid });
        const run = story.say('pod-workers-0', 4, [heardAt(work, 4)], {
          type: 'runtime.cmd.RunPodSandbox/1',
          pod: REF.uid,
        });
        story.say('cni-bridge-0', 9, [heardAt(run, 8)], { type: 'network.event.plugin/1', pod: REF.uid });
      },
      [],
    ],
  ])('%s', (_, say, expected) => {
    const story = new Story();
    say(story);
    expect(kinds(story.messages)).toEqual(expected);
  });
});

function without(stored: StoredMessage, ...names: readonly string[]): StoredMessage {
  const headers = Object.entries(stored.message.headers).filter(([name]) => !names.includes(name));
  return { ...stored, message: { ...stored.message, headers: Object.fromEntries(headers) } };
}

function names(effect: StoredMessage | undefined, cause: StoredMessage | undefined): boolean {
  const { headers = {} } = cause?.message ?? {};
  const id = ['Kubus-Source', 'Kubus-Epoch', 'Kubus-Seq'].map((name) => headers[name]).join('.');
  return effect?.message.headers[HEADER.causes]?.split(',').includes(id) === true;
}
