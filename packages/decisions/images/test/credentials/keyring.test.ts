import { describe, expect, test } from '@jest/globals';
import { CredentialsError, type KeyringPart, lookUp, parseDockerCfg, parseDockerConfigJson } from '../../src/index.ts';

const basic = (login: string) => btoa(login);

function part(logins: Record<string, string>, source?: KeyringPart['source']): KeyringPart {
  const auths = Object.fromEntries(Object.entries(logins).map(([key, user]) => [key, { auth: basic(`${user}:p`) }]));
  return { config: parseDockerConfigJson(JSON.stringify({ auths }), 'test'), source };
}

const users = (parts: readonly KeyringPart[], repository: string) =>
  lookUp(parts, repository).map(({ username }) => username);

describe('logins for a repository', () => {
  test.each<[Record<string, string>, string, string[]]>([
    [{ 'r.io': 'host', 'r.io/team': 'team' }, 'r.io/team/app', ['team', 'host']],
    [{ 'r.io': 'host', 'r.io/team': 'team' }, 'r.io/other', ['host']],
    [{ 'https://r.io/v2/team': 'a' }, 'r.io/team/app', ['a']],
    [{ 'https://r.io/v1/': 'a' }, 'r.io/app', ['a']],
    [{ 'http://r.io/': 'a' }, 'r.io/app', ['a']],
    [{ 'https://index.docker.io/v1/': 'hub' }, 'docker.io/library/busybox', ['hub']],
    [{ 'https://index.docker.io/v1/': 'hub' }, 'library/busybox', ['hub']],
    [{ 'https://index.docker.io/v1/': 'hub' }, 'r.io/library/busybox', []],
    [{ 'docker.io/library': 'lib', 'index.docker.io': 'hub' }, 'docker.io/library/busybox', ['lib']],
    [{ '*.r.io': 'glob', 'eu.r.io': 'eu' }, 'eu.r.io/a', ['eu', 'glob']],
    [{}, 'r.io/a', []],
  ])('in %j for %s are those of %j', (logins, repository, expected) =>
    expect(users([part(logins)], repository)).toEqual(expected),
  );

  test('from several documents for one registry are returned in the documents’ order, each with its source', () => {
    const first = { kind: 'Secret' as const, uid: '1', namespace: 'n', name: 'first' };
    const parts = [part({ 'r.io': 'a' }, first), part({ 'r.io': 'b' })];
    expect(lookUp(parts, 'r.io/x')).toEqual([
      { username: 'a', password: 'p', source: first },
      { username: 'b', password: 'p' },
    ]);
  });
});

describe('a docker configuration', () => {
  test('contains logins in base64 or in plain text; base64 takes precedence', () => {
    const auths = {
      'a.io': { username: 'u', password: 'p' },
      'b.io': { auth: basic('x:y:z'), username: 'other' },
      'c.io': { auth: basic('x:y').replaceAll('=', '') },
    };
    const config = parseDockerConfigJson(JSON.stringify({ auths, credsStore: 'desktop' }), 'test');
    expect([...config]).toEqual([
      ['a.io', { username: 'u', password: 'p' }],
      ['b.io', { username: 'x', password: 'y:z' }],
      ['c.io', { username: 'x', password: 'y' }],
    ]);
    expect(parseDockerCfg(JSON.stringify(auths), 'test')).toEqual(config);
    expect(parseDockerConfigJson('{}', 'test').size).toBe(0);
  });

  test('is decoded from base64 as UTF-8', () => {
    const auth = basic(String.fromCharCode(...new TextEncoder().encode('jürgen:größe')));
    expect(parseDockerCfg(JSON.stringify({ r: { auth } }), 'test').get('r')).toEqual({
      username: 'jürgen',
      password: 'größe',
    });
  });

  test.each([
    '',
    '[]',
    '{"auths": 1}',
    '{"auths": {"r": {"auth": "c2VjcmV0"}}}',
    '{"auths": {"r": {"auth": "s:cret"}}}',
  ])('is not parsed from %j; the error names the source without quoting the content', (text) => {
    const parse = () => parseDockerConfigJson(text, 'Secret n/s');
    expect(parse).toThrow(CredentialsError);
    expect(parse).toThrow(/^Secret n\/s/);
    expect(parse).not.toThrow(/s:?e?cret/);
  });
});
