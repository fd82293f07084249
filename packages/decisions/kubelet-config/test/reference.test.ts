import { describe, expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { decode, encode, withDefaults } from '../src/values.ts';

const reference = JSON.parse(readFileSync(new URL('./data/reference-configz.json', import.meta.url), 'utf8')) as Record<
  string,
  unknown
>;

/** The settings of the reference when it served its configuration; everything else in it is a default. */
const set = {
  authentication: { x509: { clientCAFile: '/etc/kubernetes/ca.crt' } },
  clusterDNS: ['10.96.0.10'],
  clusterDomain: 'cluster.local',
  evictionHard: { 'imagefs.available': '1%', 'memory.available': '100Mi', 'nodefs.available': '1%' },
  eventRecordQPS: 0,
  failCgroupV1: false,
  failSwapOn: false,
  logging: { verbosity: 2 },
  maxPods: 250,
  registryPullQPS: 0,
  resolvConf: '',
  serializeImagePulls: false,
  staticPodPath: '/etc/kubernetes/manifests',
  tlsCertFile: '/var/lib/kubelet/pki/kubelet.crt',
  tlsPrivateKeyFile: '/var/lib/kubelet/pki/kubelet.key',
};

describe('the configuration that the reference serves', () => {
  test('has the same fields, values and order', () => {
    const document = encode(withDefaults(decode(set)));
    expect(JSON.stringify(document, undefined, 1)).toBe(JSON.stringify(reference, undefined, 1));
  });

  test('is unchanged after decoding and encoding', () => {
    expect(encode(withDefaults(decode(reference)))).toEqual(reference);
  });
});
