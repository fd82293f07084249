import { describe, expect, test } from '@jest/globals';
import type { JsonObject, KubeObject } from '@kubus/kube-objects';
import fc from 'fast-check';
import { answerTo, isName, zoneOf } from '../src/index.ts';

function object(kind: string, name: string, rest: JsonObject, labels: Record<string, string> = {}): KubeObject {
  const metadata = { name, namespace: 'team', uid: name, resourceVersion: '1', creationTimestamp: '', labels };
  return { apiVersion: 'v1', kind, ...rest, metadata };
}
const READY = [{ type: 'Ready', status: 'True' }];
const app = { app: 'web' };

function pod(name: string, podIP: string, status: JsonObject = {}, spec: JsonObject = {}): KubeObject {
  const containers = [{ name: 'a', ports: [{ name: 'http', containerPort: 8080 }] }];
  return object(
    'Pod',
    name,
    { spec: { containers, ...spec }, status: { phase: 'Running', podIP, conditions: READY, ...status } },
    app,
  );
}
const service = (name: string, spec: JsonObject) => object('Service', name, { spec });

const ports = [
  { name: 'http', port: 80, targetPort: 'http' },
  { name: 'dns', protocol: 'UDP', port: 53, targetPort: 5353 },
  { port: 9, targetPort: 9 },
];
const slice = (name: string, addressType: string, endpoints: JsonObject[]) =>
  object(
    'EndpointSlice',
    name,
    { addressType, endpoints, ports: [{ name: 'sql', protocol: 'TCP', port: 5432 }] },
    { 'kubernetes.io/service-name': 'db' },
  );

const zone = zoneOf('Cluster.Local.', {
  services: [
    service('web', { clusterIP: 'None', clusterIPs: ['None'], selector: app, ports }),
    service('all', { clusterIPs: ['None'], selector: app, publishNotReadyAddresses: true }),
    service('balanced', { clusterIPs: ['10.96.7.7'], selector: app, ports }),
    service('db', { clusterIPs: ['None'] }),
    service('empty', { clusterIPs: ['None'], selector: { app: 'none' } }),
    service('unselective', { clusterIPs: ['None'] }),
    service('out', { type: 'ExternalName', externalName: 'Example.ORG.' }),
    service('near', { type: 'ExternalName', externalName: 'web.team.svc.cluster.local' }),
    service('circle', { type: 'ExternalName', externalName: 'circle.team.svc.cluster.local' }),
    service('wrong', { type: 'ExternalName', externalName: `${'x'.repeat(64)}.org` }),
  ],
  slices: [
    slice('one', 'IPv4', [
      { addresses: ['203.0.113.5'], hostname: 'primary' },
      { addresses: ['203.0.113.6'], conditions: { ready: false } },
      { addresses: ['not an address'] },
    ]),
    slice('two', 'IPv6', [{ addresses: ['2001:db8::5'], conditions: { ready: true } }]),
    slice('three', 'FQDN', [{ addresses: ['example.com'] }]),
  ],
  pods: [
    pod(
      'one',
      '10.88.0.2',
      { podIPs: [{ ip: '10.88.0.2' }, { ip: 'fd00::2' }] },
      { hostname: 'one', subdomain: 'web' },
    ),
    pod('two', '10.88.0.3'),
    pod('starting', '10.88.0.4', { conditions: [] }),
    pod('over', '10.88.0.5', { phase: 'Succeeded' }),
    pod('pending', '', { phase: 'Pending' }),
  ],
});

const ask = (name: string, type = 'A') => {
  const answer = answerTo(zone, { name, type });
  if (answer.kind === 'forward') return 'forward';
  const texts = answer.records.map(({ type: kind, data }) => {
    return kind === 'SRV' ? `${data.port} ${data.target}` : kind === 'CNAME' ? `-> ${data}` : data;
  });
  if (answer.alias !== undefined) return [...texts, 'and on'];
  return answer.missing ? 'NXDOMAIN' : texts;
};

describe('names by the specification', () => {
  test.each([
    // Headless, of the ready pods of its selector.
    ['web.team.svc.cluster.local', 'A', ['10.88.0.2', '10.88.0.3']],
    ['WEB.Team.svc.cluster.LOCAL.', 'A', ['10.88.0.2', '10.88.0.3']],
    ['web.team.svc.cluster.local', 'AAAA', ['fd00::2']],
    ['all.team.svc.cluster.local', 'A', ['10.88.0.2', '10.88.0.3', '10.88.0.4']],
    ['one.web.team.svc.cluster.local', 'A', ['10.88.0.2']],
    ['10-88-0-3.web.team.svc.cluster.local', 'A', ['10.88.0.3']],
    // A host name is one below the pod's own subdomain alone.
    ['one.all.team.svc.cluster.local', 'A', 'NXDOMAIN'],
    [
      '_http._tcp.web.team.svc.cluster.local',
      'SRV',
      ['8080 one.web.team.svc.cluster.local', '8080 10-88-0-3.web.team.svc.cluster.local'],
    ],
    [
      '_dns._udp.web.team.svc.cluster.local',
      'SRV',
      ['5353 one.web.team.svc.cluster.local', '5353 10-88-0-3.web.team.svc.cluster.local'],
    ],
    // With a cluster IP, which leads nowhere: where its rules would lead.
    ['balanced.team.svc.cluster.local', 'A', ['10.88.0.2', '10.88.0.3']],
    ['7.7.96.10.in-addr.arpa', 'PTR', ['balanced.team.svc.cluster.local']],
    // EndpointSlices that a user wrote.
    ['db.team.svc.cluster.local', 'A', ['203.0.113.5']],
    ['db.team.svc.cluster.local', 'AAAA', ['2001:db8::5']],
    ['primary.db.team.svc.cluster.local', 'A', ['203.0.113.5']],
    [
      '_sql._tcp.db.team.svc.cluster.local',
      'SRV',
      ['5432 primary.db.team.svc.cluster.local', '5432 2001-db8--5.db.team.svc.cluster.local'],
    ],
    ['5.113.0.203.in-addr.arpa', 'PTR', ['primary.db.team.svc.cluster.local']],
    [
      '5.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa',
      'PTR',
      ['2001-db8--5.db.team.svc.cluster.local'],
    ],
    // Aliases.
    ['out.team.svc.cluster.local', 'A', ['-> example.org', 'and on']],
    ['out.team.svc.cluster.local', 'CNAME', ['-> example.org']],
    ['near.team.svc.cluster.local', 'A', ['-> web.team.svc.cluster.local', '10.88.0.2', '10.88.0.3']],
    ['circle.team.svc.cluster.local', 'A', Array.from({ length: 8 }, () => '-> circle.team.svc.cluster.local')],
    ['wrong.team.svc.cluster.local', 'A', 'NXDOMAIN'],
    // Pods.
    ['10-88-0-2.team.pod.cluster.local', 'A', ['10.88.0.2']],
    ['fd00--2.team.pod.cluster.local', 'AAAA', ['fd00::2']],
    ['10-88-0-4.team.pod.cluster.local', 'A', ['10.88.0.4']],
    ['10-88-0-5.team.pod.cluster.local', 'A', 'NXDOMAIN'],
    ['10-88-0-2.other.pod.cluster.local', 'A', 'NXDOMAIN'],
    ['dns-version.cluster.local', 'TXT', ['1.1.0']],
    // No such name, and no such record.
    ['empty.team.svc.cluster.local', 'A', 'NXDOMAIN'],
    ['unselective.team.svc.cluster.local', 'A', 'NXDOMAIN'],
    ['nothing.team.svc.cluster.local', 'A', 'NXDOMAIN'],
    ['example.com.team.svc.cluster.local', 'A', 'NXDOMAIN'],
    ['web.team.svc.cluster.local', 'MX', []],
    ['team.svc.cluster.local', 'A', []],
    ['_tcp.web.team.svc.cluster.local', 'A', []],
    ['cluster.local', 'SOA', []],
    // Of others.
    ['example.com', 'A', 'forward'],
    ['notcluster.local', 'A', 'forward'],
    ['1.1.1.1.in-addr.arpa', 'PTR', 'forward'],
  ])('%s %s', (name, type, expected) => {
    expect(ask(name, type)).toEqual(expected);
  });
});

test('an SRV answer brings the addresses of its targets', () => {
  const answer = answerTo(zone, { name: '_sql._tcp.db.team.svc.cluster.local', type: 'SRV' });
  expect(answer).toMatchObject({ additional: [{ data: '203.0.113.5' }, { data: '2001:db8::5' }] });
});

test('a node without a domain forwards every question', () => {
  const none = zoneOf('', { services: [service('web', { clusterIPs: ['10.96.7.7'] })], slices: [], pods: [] });
  expect(answerTo(none, { name: 'web.team.svc.cluster.local', type: 'A' })).toEqual({ kind: 'forward' });
});

test('each turn has the same records, and the first is another one', () => {
  const name = 'all.team.svc.cluster.local';
  const of = (turn: number) => {
    const answer = answerTo(zone, { name, type: 'A' }, turn);
    return answer.kind === 'own' ? answer.records.map(({ data }) => data) : [];
  };
  expect(new Set([0, 1, 2].map((turn) => of(turn)[0])).size).toBe(3);
  fc.assert(fc.property(fc.nat(), (turn) => expect(of(turn).toSorted()).toEqual(of(0).toSorted())));
});

const word = fc.oneof(
  fc.constantFrom('web', 'team', 'svc', 'pod', 'cluster', 'local', '_tcp', 'circle', '', '\u{130}', 'x'.repeat(64)),
  fc.string({ maxLength: 5 }),
);
test('every question has an answer, and only names of the domain and of its addresses are answered', () => {
  const question = fc.record({
    name: fc.array(word, { maxLength: 7 }).map((words) => words.join('.')),
    type: fc.constantFrom('A', 'AAAA', 'SRV', 'ANY', 'CNAME', 'PTR', 'TXT', 'UNKNOWN_65'),
  });
  fc.assert(
    fc.property(question, (asked) => {
      const answer = answerTo(zone, asked);
      const isOfZone = /(^|\.)cluster\.local\.?$/i.test(asked.name);
      expect(answer.kind === 'own').toBe(isOfZone);
    }),
  );
});

test('whatever objects say, a record has names that a message can carry', () => {
  const text = fc.oneof(fc.string(), fc.constantFrom('a', 'x'.repeat(70), 'a..b', 'ä', '10.0.0.1', '::', '1::2'));
  fc.assert(
    fc.property(text, text, text, (name, hostname, address) => {
      const given = service(name, { type: 'ExternalName', externalName: hostname });
      const endpoint = { addresses: [address], hostname };
      const { records } = zoneOf('cluster.local', {
        services: [given, service('db', { clusterIPs: [address] })],
        slices: [slice('one', 'IPv4', [endpoint])],
        pods: [pod('one', address)],
      });
      for (const [owner, list] of records) {
        expect(isName(owner)).toBe(true);
        for (const { type, data } of list) {
          if (type === 'CNAME' || type === 'PTR') expect(isName(data)).toBe(true);
        }
      }
    }),
  );
});
