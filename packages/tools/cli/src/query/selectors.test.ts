import { describe, expect, test } from '@jest/globals';
import { fieldSelector } from './field-selector.ts';
import { labelSelector } from './label-selector.ts';

const labels = { app: 'web', tier: 'front', 'example.com/rank': '5', empty: '' };

describe('a label selector', () => {
  test.each([
    ['', true],
    ['app=web', true],
    ['app==web', true],
    ['app=db', false],
    ['app = web , tier = front', true],
    ['app=web,tier=back', false],
    ['app!=db', true],
    ['none!=db', true],
    ['none=', false],
    ['empty=', true],
    ['app', true],
    ['none', false],
    ['!none', true],
    ['! app', false],
    ['app in (db, web)', true],
    ['app in (db)', false],
    ['none in (db)', false],
    ['app notin (db,cache),tier', true],
    ['none notin (db)', true],
    ['app notin (web)', false],
    ['example.com/rank>4', true],
    ['example.com/rank<5', false],
    ['app>1', false],
    ['constructor', false],
  ])('%s', (text, expected) => {
    expect(labelSelector(text)(labels)).toBe(expected);
  });

  test('selects objects without labels as those that lack every key', () => {
    expect(labelSelector('!app')(undefined)).toBe(true);
    expect(labelSelector('app')(undefined)).toBe(false);
  });

  test.each(['=web', 'app=a b', 'app in web', 'app in (a', 'app~web', 'app,,tier', '-app'])('%s is refused', (text) => {
    expect(() => labelSelector(text)).toThrow(/^invalid label selector/);
  });
});

describe('a field selector', () => {
  const pod = { metadata: { name: 'one' }, spec: {}, status: { phase: 'Running' } };
  const fields = ['metadata.name', 'status.phase', 'spec.hostNetwork', 'status.podIP'];

  test.each([
    ['metadata.name=one', true],
    ['metadata.name==two', false],
    ['status.phase!=Running', false],
    ['status.phase!=Failed,metadata.name=one', true],
    ['status.podIP=', true],
    ['spec.hostNetwork=false', true],
    ['spec.hostNetwork!=true', true],
    ['', true],
  ])('%s', (text, expected) => {
    expect(fieldSelector(text, fields)(pod)).toBe(expected);
  });

  test.each([
    ['metadata.name', /use FIELD=VALUE/],
    ['status.reason=x', /field "status.reason" cannot be selected by: use metadata\.name, status\.phase/],
  ])('%s is refused', (text, message) => {
    expect(() => fieldSelector(text, fields)).toThrow(message);
  });
});
