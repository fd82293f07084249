import { expect, test } from '@jest/globals';
import { manifestOf, wrongFields } from '../src/index.ts';

const pod = (spec: object) =>
  manifestOf({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p', labels: { any: 'label' } }, spec });
const container = { name: 'c', image: 'i', resources: { limits: { 'example.com/any': '1' } } };

test.each<[string, object, string[]]>([
  ['nothing', { containers: [container], nodeSelector: { any: 'label' } }, []],
  ['an unknown field', { containers: [container], hostNetwrok: true }, ['/spec/hostNetwrok: unknown field']],
  [
    'an unknown field of a list',
    { containers: [container, { ...container, volumeMount: [] }] },
    ['/spec/containers/1/volumeMount: unknown field'],
  ],
  ['a wrong type', { containers: [container], hostPID: 'yes' }, ['data/spec/hostPID must be boolean']],
  ['a missing field', {}, ['data/spec must have required property containers']],
])('%s is reported', (_, spec, wrong) => {
  expect(wrongFields(pod(spec))).toEqual(wrong);
});

test('a kind without a schema is refused', () => {
  const manifest = manifestOf({ apiVersion: 'v2', kind: 'Pod', metadata: { name: 'p' } });
  expect(wrongFields(manifest)).toEqual(['v2 Pod: there is no schema for this kind']);
});
