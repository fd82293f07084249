import { describe, expect, test } from '@jest/globals';
import { formatQuantity } from '@kubus/contracts';
import { type Threshold, type ThresholdSettings, parseThresholds, roomFor, withContainerFs } from '../src/index.ts';
import { amountOf } from '../src/thresholds.ts';

const none: ThresholdSettings = {
  ...{ evictionHard: {}, evictionSoft: {}, evictionSoftGracePeriod: {}, evictionMinimumReclaim: {} },
};
const parse = (settings: Partial<ThresholdSettings>, enforcesPods = false) =>
  parseThresholds({ ...none, ...settings }, { enforcesPods });

/** Like `nodefs.available<512 for 60000, reclaim 51`, for a capacity of 1024. */
function shown({ signal, value, graceMs, minimumReclaim }: Threshold): string {
  const amount = (one: Threshold['value']) => formatQuantity(amountOf(one, { capacity: 1024 }));
  const soft = graceMs === 0 ? '' : ` for ${graceMs}`;
  return `${signal}<${amount(value)}${soft}${minimumReclaim === undefined ? '' : `, reclaim ${amount(minimumReclaim)}`}`;
}

test('hard thresholds come before soft ones, and have the minimum reclaim of their signal', () => {
  const thresholds = parse({
    evictionHard: { 'memory.available': '150Mi', 'nodefs.available': '50%', 'imagefs.available': '0%' },
    evictionSoft: { 'memory.available': '300Mi', 'pid.available': '10', 'nodefs.inodesFree': '100%' },
    evictionSoftGracePeriod: { 'memory.available': '1m30s', 'pid.available': '30s', 'imagefs.available': '1s' },
    evictionMinimumReclaim: { 'nodefs.available': '5%', 'pid.available': '0' },
  });
  expect(thresholds.map(shown)).toEqual([
    'memory.available<150Mi',
    'nodefs.available<512, reclaim 51',
    'memory.available<300Mi for 90000',
    'pid.available<10 for 30000, reclaim 0',
  ]);
});

test('the hard threshold of memory counts within the limit of all pods, too', () => {
  const settings = {
    evictionHard: { 'memory.available': '1Mi' },
    evictionSoft: { 'memory.available': '2Mi' },
    evictionSoftGracePeriod: { 'memory.available': '1s' },
    evictionMinimumReclaim: { 'memory.available': '3Mi' },
  };
  expect(parse(settings, true).map(shown).at(-1)).toBe('allocatableMemory.available<1Mi, reclaim 3Mi');
  expect(parse({ evictionHard: { 'memory.available': '0%' } }, true)).toEqual([]);
});

test.each([
  [500, 200n],
  [300, 0n],
  [299, 199n],
  [99, undefined],
])('with %d bytes left, the first threshold that is not met is %s away', (available, room) => {
  const thresholds = parse({
    evictionHard: { 'memory.available': '10%', 'pid.available': '1' },
    evictionSoft: { 'memory.available': '300' },
    evictionSoftGracePeriod: { 'memory.available': '1m' },
  });
  expect(roomFor('memory.available', thresholds, { available, capacity: 1000, atMs: 0 })).toBe(room);
});

describe('settings that cannot be used are refused with the words of the reference', () => {
  const hard = (signal: string, text: string) => ({ evictionHard: { [signal]: text } });
  const soft = (text: string, period?: string): Partial<ThresholdSettings> => ({
    evictionSoft: { 'memory.available': text },
    evictionSoftGracePeriod: period === undefined ? {} : { 'memory.available': period },
  });
  const reclaim = (signal: string, text: string) => ({ evictionMinimumReclaim: { [signal]: text } });
  test.each<[Partial<ThresholdSettings>, string]>([
    [hard('mem.available', '1Mi'), 'unsupported eviction signal mem.available'],
    [hard('toString', '1Mi'), 'unsupported eviction signal toString'],
    [hard('memory.available', '0'), 'eviction threshold memory.available must be positive: 0'],
    [hard('memory.available', '-150Mi'), 'eviction threshold memory.available must be positive: -150Mi'],
    [hard('memory.available', '-5%'), 'eviction percentage threshold memory.available must be >= 0%: -5%'],
    [hard('memory.available', '101%'), 'eviction percentage threshold memory.available must be <= 100%: 101%'],
    [hard('memory.available', 'ten%'), 'strconv.ParseFloat: parsing "ten": invalid syntax'],
    [hard('memory.available', ''), 'quantities must be non-empty'],
    [
      hard('memory.available', '5 Mi'),
      "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    ],
    [soft('1Mi'), 'grace period must be specified for the soft eviction threshold memory.available'],
    [soft('1Mi', '-30s'), 'invalid eviction grace period specified: -30s, must be a positive value'],
    [soft('1Mi', 'soon'), 'time: invalid duration "soon"'],
    [soft('1Mi', '30'), 'time: missing unit in duration "30"'],
    [soft('1Mi', '1d'), 'time: unknown unit "d" in duration "1d"'],
    [{ evictionSoftGracePeriod: { 'mem.available': '1s' } }, 'unsupported eviction signal mem.available'],
    [reclaim('memory.available', '-300Mi'), 'negative eviction minimum reclaim specified for memory.available'],
    [reclaim('memory.available', '0%'), 'eviction percentage minimum reclaim memory.available must be positive: 0%'],
    [reclaim('mem.available', '1'), 'unsupported eviction signal mem.available'],
  ])('%j', (settings, message) => {
    expect(() => parse(settings)).toThrow(message);
  });
});

describe('the containers’ file system has the thresholds of the one with which it shares the disk', () => {
  const settings = {
    evictionHard: { 'nodefs.available': '10%', 'nodefs.inodesFree': '5%', 'imagefs.available': '15%' },
    evictionSoft: { 'imagefs.inodesFree': '20%' },
    evictionSoftGracePeriod: { 'imagefs.inodesFree': '1m' },
  };
  const added = (thresholds: readonly Threshold[]) => thresholds.map(shown).filter((text) => text.startsWith('cont'));

  test.each([
    ['one', ['containerfs.available<102', 'containerfs.inodesFree<51']],
    ['split', ['containerfs.available<102', 'containerfs.inodesFree<51']],
    ['images', ['containerfs.available<153', 'containerfs.inodesFree<204 for 60000']],
  ] as const)('%s', (disks, expected) => {
    const { thresholds, ignored } = withContainerFs(parse(settings), disks);
    expect(added(thresholds)).toEqual(expected);
    expect(ignored).toEqual([]);
  });

  test('its own are not used', () => {
    const own = { ...settings, evictionHard: { 'containerfs.available': '1Gi', 'nodefs.available': '10%' } };
    const { thresholds, ignored } = withContainerFs(parse(own), 'one');
    expect(added(thresholds)).toEqual(['containerfs.available<102']);
    expect(ignored).toEqual(['found containerfs.available for hard eviction. ignoring']);
  });
});
