import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ObjectError, type TokenQuestion } from '@kubus/object-socket';
import { type LogFields, silentLogger } from '@kubus/ports';
import { ManualClock } from '@kubus/ports/testing';
import { CredentialPlugins, readProviderFiles } from '../src/credentials/credential-plugins.ts';
import { readDockerConfig } from '../src/credentials/docker-config-files.ts';

let folder: string;
let clock: ManualClock;
let logged: LogFields[];
const logger = { ...silentLogger, error: (fields: LogFields) => void logged.push(fields) };

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kubus-credentials-'));
  clock = new ManualClock();
  logged = [];
});
afterEach(() => rmSync(folder, { recursive: true }));

const apiVersion = 'credentialprovider.kubelet.k8s.io/v1';

/** A plugin that records its input and prints the given output. */
function plugin(name: string, answer: object | string, change: object = {}): object {
  writeFileSync(join(folder, `${name}.out`), typeof answer === 'string' ? answer : JSON.stringify(answer));
  const script = `#!/bin/sh\ncat >> ${folder}/${name}.asked\necho "$1 $SECRET" >> ${folder}/${name}.called\ncat ${folder}/${name}.out\n`;
  writeFileSync(join(folder, name), script, { mode: 0o755 });
  const parameters = { args: ['first'], env: [{ name: 'SECRET', value: 'from the configuration' }] };
  return { name, matchImages: ['r.io'], defaultCacheDuration: '1m', apiVersion, ...parameters, ...change };
}

const answer = (user: string, change: object = {}) => ({
  ...{ kind: 'CredentialProviderResponse', apiVersion, cacheKeyType: 'Registry' },
  auth: { 'r.io': { username: user, password: 'hunter2' } },
  ...change,
});

/** The part of object-cache from which plugins get tokens. */
const accounts = {
  annotations: { role: 'puller' } as Record<string, string>,
  failure: undefined as ObjectError | undefined,
  serviceAccount({ name }: { name: string }) {
    const { annotations, failure } = accounts;
    return failure === undefined ? Promise.resolve({ uid: `uid of ${name}`, annotations }) : Promise.reject(failure);
  },
  token: (_account: object, { pod, audiences, serviceAccountUid }: TokenQuestion) =>
    Promise.resolve({
      token: `hunter2 of ${pod.uid} for ${(audiences ?? []).join()} by ${serviceAccountUid ?? ''}`,
      expirationTimestamp: '2030-01-01T00:00:00Z',
      refreshTimestamp: '2029-12-31T00:00:00Z',
    }),
};

async function pluginsOf(...providers: object[]): Promise<CredentialPlugins> {
  const file = join(folder, 'config.yaml');
  const head = { apiVersion: 'kubelet.config.k8s.io/v1', kind: 'CredentialProviderConfig' };
  writeFileSync(file, JSON.stringify({ ...head, providers }));
  return new CredentialPlugins({ providers: await readProviderFiles(file), folder, accounts, clock, logger });
}

const users = async (plugins: CredentialPlugins, repository: string) =>
  (await plugins.for(repository)).map(({ config }) => config.get('r.io')?.username);
const calls = (name: string) =>
  readFileSync(join(folder, `${name}.called`), 'utf8')
    .trim()
    .split('\n');

describe('credential provider plugins', () => {
  test('are called with their arguments and variables, and answer in the order of the configuration', async () => {
    const other = plugin('other', answer('o'), { matchImages: ['other.io'] });
    const plugins = await pluginsOf(plugin('one', answer('a')), other, plugin('two', answer('b')));
    expect(await users(plugins, 'r.io/x')).toEqual(['a', 'b']);
    expect(calls('one')).toEqual(['first from the configuration']);
    expect(JSON.parse(readFileSync(join(folder, 'one.asked'), 'utf8'))).toMatchObject({ image: 'r.io/x' });
  });

  test('are called once for concurrent requests, and again when the cached answer has expired', async () => {
    const plugins = await pluginsOf(plugin('one', answer('a')));
    await Promise.all([users(plugins, 'r.io/x'), users(plugins, 'r.io/x')]);
    await users(plugins, 'r.io/other');
    expect(calls('one')).toHaveLength(1);
    await clock.advance(60_000);
    await users(plugins, 'r.io/x');
    expect(calls('one')).toHaveLength(2);
  });

  test('that disable caching are called each time', async () => {
    const plugins = await pluginsOf(plugin('one', answer('a', { cacheDuration: '0s' })));
    for (let time = 0; time < 2; time++) expect(await users(plugins, 'r.io/x')).toEqual(['a']);
    expect(calls('one')).toHaveLength(2);
  });

  test('that fail are skipped, and their output is not logged', async () => {
    const absent = { ...plugin('gone', ''), name: 'absent' };
    const plugins = await pluginsOf(plugin('bad', 'hunter2'), absent, plugin('good', answer('a')));
    writeFileSync(join(folder, 'bad.out'), 'hunter2');
    expect(await users(plugins, 'r.io/x')).toEqual(['a']);
    expect(logged.map(({ provider }) => provider).sort()).toEqual(['absent', 'bad']);
    expect(JSON.stringify(logged)).not.toContain('hunter2');
  });

  describe('that need tokens', () => {
    const tokenAttributes = {
      serviceAccountTokenAudience: 'registry',
      cacheType: 'ServiceAccount',
      requireServiceAccount: true,
      requiredServiceAccountAnnotationKeys: ['role'],
    };
    const podOf = (uid: string, name = 'robot') => ({ namespace: 'n', name, pod: { name: uid, uid } });
    const asked = (name: string) => readFileSync(join(folder, `${name}.asked`), 'utf8');
    const started = (name: string) => (existsSync(join(folder, `${name}.called`)) ? calls(name).length : 0);

    beforeEach(() => {
      accounts.annotations = { role: 'puller' };
      accounts.failure = undefined;
    });

    test('get the pod’s token, and their answers are valid for all pods of its service account', async () => {
      const plugins = await pluginsOf(plugin('one', answer('a'), { tokenAttributes }));
      const [part] = await plugins.for('r.io/x', podOf('p'));
      expect(part?.source).toEqual({ kind: 'ServiceAccount', uid: 'uid of robot', namespace: 'n', name: 'robot' });
      expect(JSON.parse(asked('one'))).toMatchObject({
        serviceAccountToken: 'hunter2 of p for registry by uid of robot',
        serviceAccountAnnotations: { role: 'puller' },
      });
      await plugins.for('r.io/x', podOf('q'));
      expect(started('one')).toBe(1);
      await plugins.for('r.io/x', podOf('q', 'other'));
      expect(started('one')).toBe(2);
      accounts.annotations = { role: 'another' };
      await plugins.for('r.io/x', podOf('q'));
      expect(started('one')).toBe(3);
    });

    test('may answer for a single token', async () => {
      const attributes = { ...tokenAttributes, cacheType: 'Token' };
      const plugins = await pluginsOf(plugin('one', answer('a'), { tokenAttributes: attributes }));
      for (const uid of ['p', 'q', 'p']) await plugins.for('r.io/x', podOf(uid));
      expect(started('one')).toBe(2);
    });

    test('are not called for pods without a service account or a required annotation, unless these are optional', async () => {
      const lax = { ...tokenAttributes, requireServiceAccount: false, requiredServiceAccountAnnotationKeys: [] };
      const strict = plugin('strict', answer('a'), { tokenAttributes });
      const plugins = await pluginsOf(strict, plugin('lax', answer('b'), { tokenAttributes: lax }));
      expect(await users(plugins, 'r.io/x')).toEqual(['b']);
      expect(asked('lax')).not.toContain('serviceAccount');
      accounts.annotations = {};
      expect((await plugins.for('r.io/x', podOf('p'))).map(({ source }) => source?.name)).toEqual(['robot']);
      expect(started('strict')).toBe(0);
    });

    test('are skipped when the service account is refused; the pull fails when object-cache is unavailable', async () => {
      const plugins = await pluginsOf(plugin('one', answer('a'), { tokenAttributes }));
      accounts.failure = new ObjectError('Refused', 'serviceaccounts "robot" not found');
      expect(await plugins.for('r.io/x', podOf('p'))).toEqual([]);
      expect(logged).toMatchObject([{ provider: 'one', err: 'serviceaccounts "robot" not found' }]);
      accounts.failure = new ObjectError('ObjectsUnavailable', 'object-cache cannot be asked');
      await expect(plugins.for('r.io/x', podOf('p'))).rejects.toMatchObject({ code: 'ObjectsUnavailable' });
    });

    test('that print the token in an error do not get it into the log', async () => {
      const bad = plugin('bad', '', { tokenAttributes });
      writeFileSync(join(folder, 'bad'), '#!/bin/sh\ncat >&2\nexit 1\n', { mode: 0o755 });
      expect(await (await pluginsOf(bad)).for('r.io/x', podOf('p'))).toEqual([]);
      expect(JSON.stringify(logged)).toContain('<token>');
      expect(JSON.stringify(logged)).not.toContain('hunter2');
    });
  });

  test('of a folder are those of its files, in the order of their names', async () => {
    const head = { apiVersion: 'kubelet.config.k8s.io/v1', kind: 'CredentialProviderConfig' };
    mkdirSync(join(folder, 'all'));
    writeFileSync(join(folder, 'all/b.json'), JSON.stringify({ ...head, providers: [plugin('b', '')] }));
    writeFileSync(join(folder, 'all/a.yml'), JSON.stringify({ ...head, providers: [plugin('a', '')] }));
    writeFileSync(join(folder, 'all/readme.txt'), 'no configuration');
    expect((await readProviderFiles(join(folder, 'all'))).map(({ name }) => name)).toEqual(['a', 'b']);
    await expect(readProviderFiles(join(folder, 'none'))).rejects.toThrow('none: ENOENT');
    mkdirSync(join(folder, 'empty'));
    await expect(readProviderFiles(join(folder, 'empty'))).rejects.toThrow('no configuration file found');
  });
});

describe('the node’s docker configuration', () => {
  const write = (path: string, user: string, older = false) => {
    const logins = { 'r.io': { username: user, password: 'p' } };
    writeFileSync(join(folder, path), JSON.stringify(older ? logins : { auths: logins }));
  };
  const read = async () => {
    const folders = { root: join(folder, 'root'), work: join(folder, 'work'), home: join(folder, 'home') };
    return (await readDockerConfig(folders, silentLogger))?.get('r.io')?.username;
  };

  test('is the first readable one of the usual places; the older format comes last', async () => {
    for (const name of ['root', 'work', 'home', 'home/.docker']) mkdirSync(join(folder, name));
    expect(await read()).toBeUndefined();
    for (const [path, user, older] of [
      ['home/.dockercfg', 'older-home', true],
      ['root/.dockercfg', 'older-root', true],
      ['home/.docker/config.json', 'home', false],
      ['work/config.json', 'work', false],
      ['root/config.json', 'root', false],
    ] as const) {
      write(path, user, older);
      expect(await read()).toBe(user);
    }
    writeFileSync(join(folder, 'root/config.json'), 'not JSON');
    expect(await read()).toBe('work');
  });
});
