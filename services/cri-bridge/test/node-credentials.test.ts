import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type LogFields, silentLogger } from '@kubus/ports';
import { ManualClock } from '@kubus/ports/testing';
import { CredentialPlugins, readProviderFiles } from '../src/credential-plugins.ts';
import { readDockerConfig } from '../src/docker-config-files.ts';

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

/** A plugin that notes what it is asked and prints what it is given. */
function plugin(name: string, answer: object | string, change: object = {}): object {
  writeFileSync(join(folder, `${name}.out`), typeof answer === 'string' ? answer : JSON.stringify(answer));
  const script = `#!/bin/sh\ncat >> ${folder}/${name}.asked\necho "$1 $SECRET" >> ${folder}/${name}.called\ncat ${folder}/${name}.out\n`;
  writeFileSync(join(folder, name), script, { mode: 0o755 });
  const told = { args: ['first'], env: [{ name: 'SECRET', value: 'from the configuration' }] };
  return { name, matchImages: ['r.io'], defaultCacheDuration: '1m', apiVersion, ...told, ...change };
}

const answer = (user: string, change: object = {}) => ({
  ...{ kind: 'CredentialProviderResponse', apiVersion, cacheKeyType: 'Registry' },
  auth: { 'r.io': { username: user, password: 'hunter2' } },
  ...change,
});

async function pluginsOf(...providers: object[]): Promise<CredentialPlugins> {
  const file = join(folder, 'config.yaml');
  const head = { apiVersion: 'kubelet.config.k8s.io/v1', kind: 'CredentialProviderConfig' };
  writeFileSync(file, JSON.stringify({ ...head, providers }));
  return new CredentialPlugins({ providers: await readProviderFiles(file), folder, clock, logger });
}

const users = async (plugins: CredentialPlugins, repository: string) =>
  (await plugins.for(repository)).map((config) => config.get('r.io')?.username);
const calls = (name: string) =>
  readFileSync(join(folder, `${name}.called`), 'utf8')
    .trim()
    .split('\n');

describe('credential provider plugins', () => {
  test('are asked with their arguments and variables, and answer in the order of the configuration', async () => {
    const other = plugin('other', answer('o'), { matchImages: ['other.io'] });
    const plugins = await pluginsOf(plugin('one', answer('a')), other, plugin('two', answer('b')));
    expect(await users(plugins, 'r.io/x')).toEqual(['a', 'b']);
    expect(calls('one')).toEqual(['first from the configuration']);
    expect(JSON.parse(readFileSync(join(folder, 'one.asked'), 'utf8'))).toMatchObject({ image: 'r.io/x' });
  });

  test('are asked once for what is asked at once, and again when the answer is too old', async () => {
    const plugins = await pluginsOf(plugin('one', answer('a')));
    await Promise.all([users(plugins, 'r.io/x'), users(plugins, 'r.io/x')]);
    await users(plugins, 'r.io/other');
    expect(calls('one')).toHaveLength(1);
    await clock.advance(60_000);
    await users(plugins, 'r.io/x');
    expect(calls('one')).toHaveLength(2);
  });

  test('that want no memory are asked each time', async () => {
    const plugins = await pluginsOf(plugin('one', answer('a', { cacheDuration: '0s' })));
    for (let time = 0; time < 2; time++) expect(await users(plugins, 'r.io/x')).toEqual(['a']);
    expect(calls('one')).toHaveLength(2);
  });

  test('that fail are left out, and what they said stays out of the log', async () => {
    const absent = { ...plugin('gone', ''), name: 'absent' };
    const plugins = await pluginsOf(plugin('bad', 'hunter2'), absent, plugin('good', answer('a')));
    writeFileSync(join(folder, 'bad.out'), 'hunter2');
    expect(await users(plugins, 'r.io/x')).toEqual(['a']);
    expect(logged.map(({ provider }) => provider).sort()).toEqual(['absent', 'bad']);
    expect(JSON.stringify(logged)).not.toContain('hunter2');
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
    await expect(readProviderFiles(join(folder, 'empty'))).rejects.toThrow('there is no configuration file');
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

  test('is the first of the usual places that can be read; the older form comes last', async () => {
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
