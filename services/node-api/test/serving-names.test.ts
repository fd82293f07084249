import { expect, test } from '@jest/globals';
import { servingNames } from '../src/tls/serving-names.ts';

test.each([
  [[], undefined],
  [[{ type: 'InternalIP', address: '' }], undefined],
  [[{ type: 'Other', address: 'x' }], undefined],
  [
    [
      { type: 'InternalIP', address: 'fd00::1' },
      { type: 'ExternalIP', address: '192.0.2.1' },
      { type: 'InternalIP', address: '192.0.2.1' },
      { type: 'InternalIP', address: 'no-address' },
      { type: 'Hostname', address: 'b' },
      { type: 'InternalDNS', address: 'a' },
      { type: 'ExternalDNS', address: 'b' },
    ],
    { dnsNames: ['a', 'b'], addresses: ['192.0.2.1', 'fd00::1'] },
  ],
  [[{ type: 'Hostname', address: '192.0.2.9' }], { dnsNames: [], addresses: ['192.0.2.9'] }],
])('%j is reached by %j', (addresses, names) => {
  expect(servingNames(addresses)).toEqual(names);
});
