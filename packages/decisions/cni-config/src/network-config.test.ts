import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type ConfigFile, NetworkConfigError, chooseConfig, parseNetworkConfig } from './network-config.ts';

const bridge = { type: 'bridge', bridge: 'cni0', ipam: { type: 'host-local', subnet: '10.88.0.0/16' } };
const list = {
  cniVersion: '1.0.0',
  name: 'pods',
  plugins: [bridge, { type: 'portmap', capabilities: { portMappings: true } }],
};

function file(name: string, content: unknown): ConfigFile {
  return { name, content: typeof content === 'string' ? content : JSON.stringify(content) };
}

describe('parseNetworkConfig', () => {
  test('keeps each plugin of a list unchanged', () => {
    expect(parseNetworkConfig('10-pods.conflist', JSON.stringify(list))).toEqual({
      file: '10-pods.conflist',
      name: 'pods',
      cniVersion: '1.0.0',
      disableCheck: false,
      disableGC: false,
      plugins: list.plugins,
    });
  });

  test.each(['10-pods.conf', '10-pods.json'])('makes a single plugin in %s a list of one', (name) => {
    const content = { cniVersion: '0.3.1', name: 'pods', ...bridge };
    expect(parseNetworkConfig(name, JSON.stringify(content))).toMatchObject({
      name: 'pods',
      cniVersion: '0.3.1',
      plugins: [content],
    });
  });

  test.each([
    [{ cniVersion: '0.4.0' }, '0.4.0'],
    [{}, '0.1.0'],
    [{ cniVersion: '' }, '0.1.0'],
    [{ cniVersion: '0.3.1', cniVersions: ['0.4.0', '1.1.0', '1.0.0'] }, '1.1.0'],
    [{ cniVersions: ['0.4.0', '9.0.0'] }, '0.4.0'],
    [{ cniVersion: '1.0.0', cniVersions: ['0.3.1'] }, '1.0.0'],
    [{ cniVersion: '9.0.0', cniVersions: ['1.0.0'] }, '1.0.0'],
  ])('chooses for %j the version %s', (versions, expected) => {
    const content = JSON.stringify({ name: 'pods', plugins: [bridge], ...versions });
    expect(parseNetworkConfig('a.conflist', content).cniVersion).toBe(expected);
  });

  test.each([
    [true, true],
    ['true', true],
    ['false', false],
    [undefined, false],
  ])('reads disableCheck and disableGC: %j as %j', (given, expected) => {
    const content = JSON.stringify({ ...list, disableCheck: given, disableGC: given });
    expect(parseNetworkConfig('a.conflist', content)).toMatchObject({ disableCheck: expected, disableGC: expected });
  });

  test.each([
    ['a.conflist', '{"name": "pods",', undefined, /^a\.conflist: is not JSON: /],
    ['a.conflist', '[]', '', /^a\.conflist: Invalid input: expected record/],
    ['a.conflist', { ...list, name: undefined }, 'name', /^a\.conflist: name: /],
    ['a.conflist', { ...list, name: '-pods' }, 'name', /^a\.conflist: name: must start with a letter or digit/],
    ['a.conflist', { ...list, plugins: [] }, 'plugins', /^a\.conflist: plugins: is empty/],
    ['a.conflist', { ...list, plugins: undefined }, 'plugins', /^a\.conflist: plugins: /],
    ['a.conflist', { ...list, plugins: [bridge, {}] }, 'plugins[1].type', /^a\.conflist: plugins\[1\]\.type: /],
    ['a.conflist', { ...list, plugins: [{ type: '../sh' }] }, 'plugins[0].type', /must be the name of a program/],
    ['a.conflist', { ...list, plugins: [{ type: '..' }] }, 'plugins[0].type', /must be the name of a program/],
    [
      'a.conflist',
      { ...list, plugins: [{ type: 'a', capabilities: { dns: 1 } }] },
      'plugins[0].capabilities.dns',
      /expected boolean/,
    ],
    ['a.conflist', { ...list, disableCheck: 'maybe' }, 'disableCheck', /^a\.conflist: disableCheck: /],
    ['a.conflist', { ...list, cniVersion: '2.0.0' }, 'cniVersion', /offers "2\.0\.0"; supported are 0\.1\.0, /],
    ['a.conf', { name: 'pods' }, 'type', /^a\.conf: type: /],
    ['a.conf', list, 'type', /must end in \.conflist/],
  ])('refuses %s with %j at %s', (name, content, field, message) => {
    const parse = () => parseNetworkConfig(name, typeof content === 'string' ? content : JSON.stringify(content));
    expect(parse).toThrow(NetworkConfigError);
    expect(parse).toThrow(
      expect.objectContaining({ message: expect.stringMatching(message), context: { file: name, field } }),
    );
  });
});

describe('chooseConfig', () => {
  test('takes the first valid file in name order and lists the broken ones', () => {
    const chosen = chooseConfig([
      file('30-other.conflist', { ...list, name: 'other' }),
      file('20-pods.conflist', list),
      file('00-empty.conf', ''),
      { name: '10-locked.conflist', unreadable: 'EACCES' },
      file('99-last.json', '{}'),
      file('05-notes.txt', 'not for us'),
    ]);
    expect(chosen.network).toMatchObject({ file: '20-pods.conflist', name: 'pods' });
    expect(chosen.broken.map(({ file: name }) => name)).toEqual([
      '00-empty.conf',
      '10-locked.conflist',
      '99-last.json',
    ]);
    expect(chosen.broken[1]?.error).toBe('10-locked.conflist: cannot be read: EACCES');
  });

  test('returns no network for an empty folder', () => {
    expect(chooseConfig([])).toEqual({ network: undefined, broken: [] });
  });

  test('never throws, and accounts for every file that it reads', () => {
    const names = fc.constantFrom('a.conf', 'b.conflist', 'c.json', 'd.conflist', 'e.bak');
    const contents = fc.oneof(fc.string(), fc.json(), fc.constant(JSON.stringify(list)));
    fc.assert(
      fc.property(fc.dictionary(names, contents), (folder) => {
        const files = Object.entries(folder).map(([name, content]) => ({ name, content }));
        const { network, broken } = chooseConfig(files);
        const valid = files.filter((each) => each.name.endsWith('.conflist') && each.content === JSON.stringify(list));
        expect(network?.file).toBe(valid.map((each) => each.name).sort()[0]);
        expect(broken.length + valid.length).toBe(files.filter((each) => each.name !== 'e.bak').length);
      }),
    );
  });
});
