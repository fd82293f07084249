import { describe, expect, test } from '@jest/globals';
import type { Container, HttpGetAction, Pod } from '@kubus/contracts';
import * as fc from 'fast-check';
import { execCommand, httpRequest, probesOf, resolvePort } from '../src/index.ts';

const container = {
  ports: [
    { name: 'web', containerPort: 8080 },
    { name: '9', containerPort: 90 },
  ],
};

function request(action: Partial<HttpGetAction>, ip = '10.0.0.2') {
  return httpRequest({ port: 80, ...action }, container, ip);
}

describe('the port of a probe', () => {
  test.each([
    [80, 80],
    [65535, 65535],
    ['web', 8080],
    ['9', 90],
    ['81', 81],
  ])('%j is resolved', (port, expected) => expect(resolvePort(port, container)).toBe(expected));

  test.each([
    [0, 'invalid port number: 0'],
    [65536, 'invalid port number: 65536'],
    ['-1', 'invalid port number: -1'],
    ['admin', 'strconv.Atoi: parsing "admin": invalid syntax'],
  ])('%j is invalid', (port, message) => {
    expect(() => resolvePort(port, container)).toThrow(expect.objectContaining({ message, state: 'unknown' }));
  });
});

describe('the HTTP request of a probe', () => {
  test.each([
    [{}, 'http://10.0.0.2:80/'],
    [{ path: '/healthz?full=1&x=a b' }, 'http://10.0.0.2:80/healthz?full=1&x=a%20b'],
    [{ path: 'healthz' }, 'http://10.0.0.2:80/healthz'],
    [{ path: '?a' }, 'http://10.0.0.2:80/?a'],
    [{ path: '/a/../b#fragment' }, 'http://10.0.0.2:80/a/../b'],
    [{ path: '/grüße/"x"' }, 'http://10.0.0.2:80/gr%C3%BC%C3%9Fe/%22x%22'],
    [{ path: '/%41%zz?x' }, 'http://10.0.0.2:80/%2541%25zz%3Fx'],
    [{ path: 'http://elsewhere:1/x?y' }, 'http://10.0.0.2:80/x?y'],
    [{ scheme: 'HTTPS', port: 'web' }, 'https://10.0.0.2:8080/'],
    [{ host: 'example.org' }, 'http://example.org:80/'],
  ] as const)('has the URL of %j', (action, url) => expect(request(action).url).toBe(url));

  test('has an IPv6 address in brackets', () => {
    expect(request({}, 'fd00::2')).toMatchObject({ url: 'http://[fd00::2]:80/', host: 'fd00::2' });
  });

  const agent = ['User-Agent', 'kube-probe/1.36'];
  test.each([
    ['no headers of the user', [], [['Host', '10.0.0.2:80'], agent, ['Accept', '*/*']]],
    ['a host', [['host', 'a.example']], [['Host', 'a.example'], agent, ['Accept', '*/*']]],
    [
      'a user agent',
      [['user-agent', 'me']],
      [
        ['Host', '10.0.0.2:80'],
        ['User-Agent', 'me'],
        ['Accept', '*/*'],
      ],
    ],
    [
      'no user agent',
      [['User-Agent', '']],
      [
        ['Host', '10.0.0.2:80'],
        ['Accept', '*/*'],
      ],
    ],
    ['an Accept header', [['ACCEPT', 'text/plain']], [['Host', '10.0.0.2:80'], agent, ['Accept', 'text/plain']]],
    ['an empty Accept header', [['Accept', '']], [['Host', '10.0.0.2:80'], agent]],
    [
      'the same header twice',
      [
        ['x-a', '1'],
        ['X-A', '2'],
      ],
      [['Host', '10.0.0.2:80'], agent, ['X-A', '1'], ['X-A', '2'], ['Accept', '*/*']],
    ],
  ])('has the headers for %s', (_what, given, expected) => {
    const httpHeaders = given.map(([name = '', value = '']) => ({ name, value }));
    expect(request({ httpHeaders }).headers).toEqual(expected);
  });

  test('can be sent and stays on the pod, whatever the path', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (path) => {
        const made = request({ path });
        expect(made.path).toMatch(/^\/[!-~]*$/);
        expect(made.url).toBe(`http://10.0.0.2:80${made.path}`);
      }),
    );
  });
});

describe('the command of a probe', () => {
  test('contains literal values of variables, while others are empty or unchanged', () => {
    const env = [
      { name: 'FILE', value: '/tmp/x' },
      { name: 'TOKEN', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } },
    ];
    const command = ['cat', '$(FILE)', '-$(TOKEN)-', '$(OTHER)', '$$(FILE)'];
    expect(execCommand({ command }, { env })).toEqual(['cat', '/tmp/x', '--', '$(OTHER)', '$(FILE)']);
  });
});

describe('the probes of a pod', () => {
  const probe = { tcpSocket: { port: 1 } };
  const pod = (spec: Pod['spec']): Pick<Pod, 'spec'> => ({ spec });
  const named = (name: string, more: Partial<Container> = {}): Container => ({ name, image: 'i', ...more });

  test('are those of regular containers and sidecars, startup first', () => {
    const found = probesOf(
      pod({
        initContainers: [
          named('setup', { readinessProbe: probe }),
          named('proxy', { restartPolicy: 'Always', readinessProbe: probe, startupProbe: probe }),
        ],
        containers: [named('app', { livenessProbe: probe }), named('plain')],
        ephemeralContainers: [named('look', { livenessProbe: probe })],
      }),
    );
    expect(found.map(({ kind, fieldPath }) => `${kind} ${fieldPath}`)).toEqual([
      'startup spec.initContainers{proxy}',
      'readiness spec.initContainers{proxy}',
      'liveness spec.containers{app}',
    ]);
  });

  test.each([
    [{}, [0, 1000, 10_000, 1, 3]],
    [{ timeoutSeconds: 0, periodSeconds: 0, successThreshold: 0, failureThreshold: 0 }, [0, 1000, 10_000, 1, 3]],
    [
      { initialDelaySeconds: 4, timeoutSeconds: 5, periodSeconds: 6, successThreshold: 7, failureThreshold: 8 },
      [4000, 5000, 6000, 7, 8],
    ],
  ])('have the settings of %j', (times, expected) => {
    const [found] = probesOf(pod({ containers: [named('app', { readinessProbe: { ...probe, ...times } })] }));
    expect(Object.values(found?.settings ?? {})).toEqual(expected);
  });
});
