import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { helpText, parseCommandLine } from '../src/index.ts';
import { shownFlags } from '../src/flagz.ts';
import { configFlags, otherFlags } from '../src/flag-table.ts';
import { fieldsByPath } from '../src/values.ts';

const fieldOf = (path: string, ...args: string[]) => parseCommandLine(args).fields.get(path);
const flagOf = (name: string, ...args: string[]) => parseCommandLine(args).flags.get(name);

describe('a command line', () => {
  test.each<[field: string, args: string[], value: unknown]>([
    ['maxPods', ['--max-pods=7'], 7],
    ['maxPods', ['--max-pods', '7'], 7],
    ['maxPods', ['--max_pods', '0x10'], 16],
    ['maxPods', ['--max-pods=7', '--max-pods=8'], 8],
    ['failSwapOn', ['--fail-swap-on=false'], false],
    ['rotateCertificates', ['--rotate-certificates', '--max-pods=1'], true],
    ['syncFrequency', ['--sync-frequency=1m30s'], 90_000],
    ['logging.verbosity', ['-v', '4'], 4],
    ['logging.verbosity', ['-v=4'], 4],
    ['logging.verbosity', ['-v4'], 4],
    ['logging.verbosity', ['--v=4'], 4],
    ['clusterDNS', ['--cluster-dns=10.0.0.1,10.0.0.2', '--cluster-dns=10.0.0.3'], ['10.0.0.1', '10.0.0.2', '10.0.0.3']],
    [
      'evictionHard',
      ['--eviction-hard=memory.available<1Gi,nodefs.available<10%'],
      { 'memory.available': '1Gi', 'nodefs.available': '10%' },
    ],
    ['kubeReserved', ['--kube-reserved=cpu=100m', '--kube-reserved=memory=1Gi'], { cpu: '100m', memory: '1Gi' }],
    ['cpuManagerPolicyOptions', ['--cpu-manager-policy-options=a=b,c'], { a: 'b,c' }],
    ['featureGates', ['--feature-gates=MemoryQoS=true,AllBeta=false'], { MemoryQoS: true, AllBeta: false }],
    ['staticPodURLHeader', ['--manifest-url-header=a:1,b:2', '--manifest-url-header=a:3'], { a: ['1', '3'], b: ['2'] }],
    [
      'registerWithTaints',
      ['--register-with-taints=a=b:NoSchedule,c:NoExecute'],
      [
        { key: 'a', value: 'b', effect: 'NoSchedule', timeAdded: undefined },
        { key: 'c', value: undefined, effect: 'NoExecute', timeAdded: undefined },
      ],
    ],
    [
      'reservedMemory',
      ['--reserved-memory', '0:memory=1Gi,hugepages-1M=2Gi', '--reserved-memory=1:memory=2Gi'],
      [
        { numaNode: 0, limits: { memory: '1Gi', 'hugepages-1M': '2Gi' } },
        { numaNode: 1, limits: { memory: '2Gi' } },
      ],
    ],
    ['logging.vmodule', ['--vmodule=kube*=3'], [{ filePattern: 'kube*', verbosity: 3 }]],
    ['imageMinimumGCAge', ['--minimum-image-ttl-duration', '0'], 0],
  ])('sets %s with %j', (path, args, value) => {
    expect(fieldOf(path, ...args)).toEqual(value);
  });

  test('has flags that do not set a field', () => {
    expect(flagOf('root-dir', '--root-dir', '/x=y')).toBe('/x=y');
    expect(flagOf('node-labels', '--node-labels=a=b,c=')).toEqual({ a: 'b', c: '' });
    expect(flagOf('help', '-h')).toBe(true);
    expect(flagOf('version', '--version')).toBe('true');
    expect(flagOf('version', '--version=raw')).toBe('raw');
    expect(flagOf('machine-id-file', '--machine_id_file=/x')).toBe('/x');
  });

  test.each([
    [['--nonsense'], 'unknown flag: --nonsense'],
    [['--nonsense=1'], 'unknown flag: --nonsense'],
    [['--constructor'], 'unknown flag: --constructor'],
    [['-x'], "unknown shorthand flag: 'x' in -x"],
    [['run'], 'unknown command run'],
    [['--', 'run'], 'unknown command run'],
    [['--max-pods'], 'flag needs an argument: --max-pods'],
    [
      ['--max-pods=many'],
      'invalid argument "many" for "--max-pods" flag: strconv.ParseInt: parsing "many": invalid syntax',
    ],
    [
      ['--max-pods=3000000000'],
      'invalid argument "3000000000" for "--max-pods" flag: strconv.ParseInt: parsing "3000000000": value out of range',
    ],
    [
      ['--fail-swap-on=maybe'],
      'invalid argument "maybe" for "--fail-swap-on" flag: strconv.ParseBool: parsing "maybe": invalid syntax',
    ],
    [['--sync-frequency=5'], 'invalid argument "5" for "--sync-frequency" flag: time: missing unit in duration "5"'],
    [
      ['--kube-reserved=cpu'],
      'invalid argument "cpu" for "--kube-reserved" flag: malformed pair, expect string=string',
    ],
    [
      ['--eviction-hard=memory.available=1'],
      'invalid argument "memory.available=1" for "--eviction-hard" flag: malformed pair, expect string<string',
    ],
    [
      ['--feature-gates=MemoryQoS=maybe'],
      'invalid argument "MemoryQoS=maybe" for "--feature-gates" flag: invalid value of MemoryQoS: maybe, err: strconv.ParseBool: parsing "maybe": invalid syntax',
    ],
    [['--address=here'], 'invalid argument "here" for "--address" flag: failed to parse IP: "here"'],
    [['--register-with-taints=x'], 'invalid argument "x" for "--register-with-taints" flag: invalid taint spec: x'],
  ])('with %j is refused', (args, message) => {
    expect(() => parseCommandLine(args)).toThrow(expect.objectContaining({ message }));
  });

  test('never causes any error but a KubeletConfigError', () => {
    const names = [...Object.keys(configFlags), ...otherFlags.keys()].map((name) => `--${name}`);
    const word = fc.oneof(fc.constantFrom(...names, '-v', '--'), fc.string());
    fc.assert(
      fc.property(fc.array(word, { maxLength: 5 }), fc.string(), (words, value) => {
        try {
          parseCommandLine(words.map((text, at) => (at % 2 === 0 ? `${text}=${value}` : text)));
        } catch (error) {
          expect(error).toMatchObject({ code: 'bad-kubelet-config' });
        }
      }),
    );
  });
});

describe('the flags', () => {
  test('of fields refer to existing fields, each to a different one', () => {
    const paths = Object.values(configFlags);
    expect(paths.filter((path) => !fieldsByPath.has(path))).toEqual([]);
    expect(new Set(paths).size).toBe(paths.length);
    expect(Object.keys(configFlags).filter((name) => otherFlags.has(name))).toEqual([]);
  });

  test('are shown with the given values or their defaults, and without credentials', () => {
    const headers = ['--manifest-url-header=A:secret', '--manifest-url-header=B:secret'];
    const shown = shownFlags(
      parseCommandLine(['--cluster-dns=10.0.0.1', '--cluster-dns=10.0.0.2', '-v=4', ...headers]),
    );
    expect(shown).toMatchObject({ 'cluster-dns': '10.0.0.1,10.0.0.2', v: '4', 'max-pods': '110' });
    expect(shown).toMatchObject({ placement: 'hosted', help: 'false' });
    expect(JSON.stringify(shown)).not.toContain('secret');
    expect(Object.keys(shown)).toHaveLength(Object.keys(configFlags).length + otherFlags.size);
  });

  test('are all listed in the help', () => {
    const help = helpText();
    for (const name of [...Object.keys(configFlags), ...otherFlags.keys()]) expect(help).toContain(`--${name} `);
    expect(help).toMatch(/--max-pods int32 +sets maxPods; default 110\n/);
    expect(help).toMatch(/--cgroups-per-qos +sets cgroupsPerQOS; default true; no effect yet: /);
  });
});
