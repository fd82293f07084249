import { expect, test } from '@jest/globals';
import { type AttachmentRecord, attachmentRecordSchema } from './attachment-record.ts';
import { hostPortInterfaces } from './host-ports.ts';

const interfaces = [{ name: 'kubus0' }, { name: 'veth1', sandbox: '' }, { name: 'eth0', sandbox: '/run/netns/a' }];
const record = (more: Partial<AttachmentRecord>): AttachmentRecord =>
  attachmentRecordSchema.parse({
    ...{ version: 1, state: 'added', containerId: 'c', ifname: 'eth0', netns: '', args: '', completed: 1, askedAt: 0 },
    network: {
      file: 'a',
      name: 'n',
      cniVersion: '1.0.0',
      disableCheck: false,
      disableGC: false,
      plugins: [{ type: 'p' }],
    },
    capabilityArgs: {},
    result: { interfaces, ips: [], routes: [], dns: {} },
    ...more,
  });
const portMappings = [{ hostPort: 80, containerPort: 80, protocol: 'tcp' }];

test.each([
  [{ capabilityArgs: { portMappings } }, ['kubus0', 'veth1']],
  [{ capabilityArgs: { portMappings: [] } }, []],
  [{ capabilityArgs: { portMappings: 'x' } }, []],
  [{}, []],
  [{ capabilityArgs: { portMappings }, result: undefined }, []],
])('%# the host’s interfaces of an attachment with host ports', (more, expected) => {
  expect(hostPortInterfaces(record(more))).toEqual(expected);
});
