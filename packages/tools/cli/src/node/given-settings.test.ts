import { expect, test } from '@jest/globals';
import { nodeSettingsSchema } from '@kubus/launcher';
import type { UpOptions } from '../commands/up-options.ts';
import { changesOf, explicitSettings, merged } from './given-settings.ts';

const kept = nodeSettingsSchema.parse({
  manifests: '/pods',
  elsewhere: ['prober'],
  instances: { 'pod-workers': 2 },
  programs: {},
  images: [],
  cache: '/cache',
});
const defaults: UpOptions = {
  manifests: '/examples',
  natsFolder: '/nats',
  elsewhere: [],
  placement: 'separate',
  scale: {},
  logLevel: 'info',
  publish: [],
  registry: [],
};

/** The settings of options of which only these were given. */
function given(options: Partial<UpOptions>) {
  return explicitSettings({ ...defaults, ...options }, (name) => name in options);
}

test.each<[string, Partial<UpOptions>, string[]]>([
  ['nothing was given', {}, []],
  ['what was given is what the node has', { manifests: '/pods', elsewhere: ['prober'], logLevel: 'info' }, []],
  ['another folder', { manifests: '/other' }, ['--manifests is /pods']],
  ['a service that the node does not have', { observatory: true }, ['--observatory is off']],
  ['as many instances', { scale: { 'pod-workers': 2 } }, []],
  ['one instance, which is the default', { scale: { prober: 1 } }, []],
  ['more instances', { scale: { prober: 3 } }, ['--scale is pod-workers=2']],
  ['other services elsewhere', { elsewhere: ['node-api'] }, ['--elsewhere is prober']],
  [
    'another network',
    { network: 'nat', publish: ['8080:80'], registry: [] },
    ['--network is none', '--publish is none'],
  ],
  ['the machine’s network', { network: 'host' }, ['--network is none, fixed']],
  ['a configuration', { config: { file: '/c.yaml', patches: [] } }, ['--config is none']],
  ['what the node has no longer', { observatory: false }, []],
  ['several', { logLevel: 'debug', placement: 'hosted' }, ['--log-level is info', '--placement is separate']],
  [
    'what only a new node can have',
    { kubeconfig: '/k', hub: 'tls://h' },
    ['--hub is none', '--kubeconfig is none, fixed'],
  ],
])('options and a running node: %s', (_what, options, expected) => {
  const changes = changesOf(kept, given(options));
  expect(
    changes.map(({ flag, has, needsNewNode }) => `${flag} is ${has}${needsNewNode ? ', fixed' : ''}`).sort(),
  ).toEqual(expected);
});

test('a file whose content has changed is a change', () => {
  const config = { file: '/c.yaml', patches: [{ pods: { max: 110 } }] };
  const change = { config: { file: '/c.yaml', patches: [{ pods: { max: 500 } }] } };
  expect(changesOf({ ...kept, config }, given(change)).map(({ flag }) => flag)).toEqual(['--config']);
  expect(changesOf({ ...kept, config }, given({ config }))).toEqual([]);
});

test('after a restart a node has what was given, and what it had', () => {
  expect(merged(kept, given({ observatory: true, scale: { prober: 2 }, hub: 'tls://h', hubCa: 'ca.pem' }))).toEqual({
    ...kept,
    observatory: true,
    hub: 'tls://h',
    hubCa: true,
    instances: { 'pod-workers': 2, prober: 2 },
  });
  expect(merged(kept, given({}))).toEqual(kept);
});
