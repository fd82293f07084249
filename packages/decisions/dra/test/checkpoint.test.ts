import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { readFileSync } from 'node:fs';
import { type ClaimLedger, type KnownClaim, claimCheckpoint, claimKey, parseClaimCheckpoint } from '../src/index.ts';

/** CRC-32 as its definition says: bit by bit over the text's bytes. */
function crc32(text: string): number {
  let crc = -1;
  for (const char of encodeURIComponent(text).match(/%..|./g) ?? []) {
    crc ^= char.length === 1 ? char.charCodeAt(0) : Number.parseInt(char.slice(1), 16);
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (0xedb88320 & -(crc & 1));
  }
  return ~crc >>> 0;
}

const ledgerOf = (...claims: KnownClaim[]): ClaimLedger => new Map(claims.map((one) => [claimKey(one), one]));
const device = {
  pool: 'worker-1',
  device: 'dev-1',
  requests: ['test request'],
  cdiDevices: ['example.com/example=cdi-example'],
};
const example: KnownClaim = {
  uid: '067798be-454e-4be4-9047-1aa06aea63f7',
  name: 'example',
  namespace: 'default',
  pods: ['139cdb46-f989-4f17-9561-ca10cfb509a6'],
  drivers: { 'test-driver.cdi.k8s.io': [device] },
};
const second: KnownClaim = {
  ...example,
  uid: '4cf8db2d-06c0-7d70-1a51-e59b25b2c16c',
  name: 'example-2',
  drivers: { 'test-driver.cdi.k8s.io': [{ ...device, device: 'dev-2', requests: [], cdiDevices: [] }] },
};
const shared = { ...device, shareId: 'aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa' };

describe('the reference kubelet’s file', () => {
  // Checksums that its own build gives these contents (pkg/kubelet/cm/dra/state of 1.36).
  test.each([
    ['one claim', ledgerOf(example), 2570581864],
    ['a share', ledgerOf({ ...example, drivers: { 'test-driver.cdi.k8s.io': [shared] } }), 736302156],
    [
      'two devices',
      ledgerOf({ ...example, drivers: { 'test-driver.cdi.k8s.io': [device, { ...device, device: 'dev-2' }] } }),
      1223221469,
    ],
    ['two claims', ledgerOf({ ...example, name: 'example-1' }, second), 2820117767],
  ])('of %s has its checksum, and is read again', (_, ledger, checksum) => {
    const text = claimCheckpoint(ledger, crc32);
    expect((JSON.parse(text) as { Checksum: number }).Checksum).toBe(checksum);
    expect(parseClaimCheckpoint(text, crc32)).toEqual(ledger);
  });

  test('of a pod with a claim, as 1.36 has left it, is read, and written with the same bytes', () => {
    const text = readFileSync(new URL('data/dra_manager_state', import.meta.url), 'utf8');
    const ledger = parseClaimCheckpoint(text, crc32);
    if ('problem' in ledger) throw new Error(ledger.problem);
    expect([...ledger.keys()]).toEqual(['default/one-device']);
    expect(claimCheckpoint(ledger, crc32)).toBe(text);
  });

  test('of an older kubelet is read, without what it does not have', () => {
    const list =
      '[{\\"ClaimUID\\":\\"067798be-454e-4be4-9047-1aa06aea63f7\\",\\"ClaimName\\":\\"example\\",\\"Namespace\\":\\"default\\",' +
      '\\"PodUIDs\\":{\\"139cdb46-f989-4f17-9561-ca10cfb509a6\\":{}},\\"DriverState\\":{\\"test-driver.cdi.k8s.io\\":{\\"Devices\\":' +
      '[{\\"PoolName\\":\\"worker-1\\",\\"DeviceName\\":\\"dev-1\\",\\"CDIDeviceIDs\\":[\\"example.com/example=cdi-example\\"]}]}}}]';
    const data = `{\\"kind\\":\\"DRACheckpoint\\",\\"apiVersion\\":\\"checkpoint.dra.kubelet.k8s.io/v0\\",\\"ClaimInfoStateList\\":${list}}`;
    const text = `{"Data":"${data}","Checksum":1284376732}`;
    const drivers = { 'test-driver.cdi.k8s.io': [{ ...device, requests: [] }] };
    expect(parseClaimCheckpoint(text, crc32)).toEqual(ledgerOf({ ...example, drivers }));
  });

  test('without claims is read as such', () => {
    const data = '{"kind":"DRACheckpoint","apiVersion":"checkpoint.dra.kubelet.k8s.io/v1","ClaimInfoStateList":null}';
    const text = JSON.stringify({ Data: data, Checksum: crc32(data) });
    expect(parseClaimCheckpoint(text, crc32)).toEqual(new Map());
  });
});

test.each([
  ['{', 'it is not a checkpoint'],
  ['{"Data":"{}","Checksum":1}', 'checkpoint is corrupted'],
  [JSON.stringify({ Data: '[]', Checksum: crc32('[]') }), 'its content is not a list of claims'],
])('a damaged file is refused: %s', (text, problem) => {
  expect(parseClaimCheckpoint(text, crc32)).toEqual({ problem: expect.stringContaining(problem) as unknown });
});

test('every ledger is read as it was written: a driver that has not answered is not one without devices', () => {
  const text = fc.string({ unit: 'grapheme', maxLength: 8 });
  const name = fc.stringMatching(/^[a-z]{1,6}$/);
  const devices = fc.array(
    fc.record(
      { pool: text, device: text, shareId: text, requests: fc.array(text), cdiDevices: fc.array(text) },
      { requiredKeys: ['pool', 'device', 'requests', 'cdiDevices'] },
    ),
    { maxLength: 3 },
  );
  const claim = fc.record({
    ...{ uid: name, name, namespace: name },
    pods: fc.uniqueArray(name, { maxLength: 3 }).map((pods) => pods.toSorted()),
    drivers: fc.dictionary(name, fc.option(devices, { nil: undefined }), { maxKeys: 3, noNullPrototype: true }),
  });
  fc.assert(
    fc.property(fc.array(claim, { maxLength: 4 }), (claims) => {
      const ledger = ledgerOf(...claims);
      expect(parseClaimCheckpoint(claimCheckpoint(ledger, crc32), crc32)).toEqual(ledger);
    }),
  );
});
