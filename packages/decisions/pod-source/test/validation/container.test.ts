import { describe, expect, test } from '@jest/globals';
import { dnsLabelRule, dnsSubdomainRule, errorsOf } from './errors-of.ts';

type Row = readonly [title: string, container: object, errors: readonly string[]];
const at = 'spec.containers[0]';

describe('validation of containers', () => {
  const c = (name: string, more: object = {}) => ({ name, image: 'i', ...more });
  test.each([
    ['no containers', { containers: [] }, ['spec.containers: Required value']],
    ['omitted containers', { containers: undefined }, ['spec.containers: Required value']],
    [
      'two containers of the same name',
      { containers: [c('a'), c('a')] },
      ['spec.containers[1].name: Duplicate value: "a"'],
    ],
    [
      'an init container with the name of a container',
      { initContainers: [c('c')] },
      ['spec.initContainers[0].name: Duplicate value: "c"'],
    ],
    [
      'the same host port in two containers',
      {
        containers: [
          c('a', { ports: [{ containerPort: 1, hostPort: 80 }] }),
          c('b', { ports: [{ containerPort: 2, hostPort: 80 }] }),
        ],
      },
      ['spec.containers[1].ports[0].hostPort: Duplicate value: "TCP//80"'],
    ],
    [
      'the same host port in two init containers',
      {
        initContainers: [
          c('a', { ports: [{ containerPort: 1, hostPort: 80 }] }),
          c('b', { ports: [{ containerPort: 2, hostPort: 80 }] }),
        ],
      },
      [],
    ],
    [
      'a probe on a plain init container',
      { initContainers: [c('a', { startupProbe: { exec: { command: ['x'] } }, lifecycle: {} })] },
      [
        'spec.initContainers[0].lifecycle: Forbidden: may not be set for init containers without restartPolicy=Always',
        'spec.initContainers[0].startupProbe: Forbidden: may not be set for init containers without restartPolicy=Always',
      ],
    ],
    [
      'a probe on a sidecar',
      { initContainers: [c('a', { restartPolicy: 'Always', startupProbe: { exec: { command: ['x'] } } })] },
      [],
    ],
    [
      'ephemeral containers',
      { ephemeralContainers: [c('e')] },
      ['spec.ephemeralContainers: Forbidden: cannot be set on create'],
    ],
  ] as const)('reports the errors of %s', (_, spec, errors) => expect(errorsOf({ spec })).toEqual(errors));
});

describe('validation of a container', () => {
  test.each<Row>([
    ['without a name', { name: undefined }, [`${at}.name: Required value`]],
    ['with an invalid name', { name: 'A_b' }, [`${at}.name: Invalid value: "A_b": ${dnsLabelRule}`]],
    [
      'with a name that is too long',
      { name: 'a'.repeat(64) },
      [`${at}.name: Invalid value: "${'a'.repeat(64)}": must be no more than 63 bytes`],
    ],
    ['without an image', { image: '' }, [`${at}.image: Required value`]],
    [
      'with a padded image',
      { image: ' i' },
      [`${at}.image: Invalid value: " i": must not have leading or trailing whitespace`],
    ],
    [
      'with an invalid pull policy',
      { imagePullPolicy: 'Sometimes' },
      [`${at}.imagePullPolicy: Unsupported value: "Sometimes": supported values: "Always", "IfNotPresent", "Never"`],
    ],
    [
      'with an invalid termination message policy',
      { terminationMessagePolicy: 'Log' },
      [`${at}.terminationMessagePolicy: Unsupported value: "Log": supported values: "FallbackToLogsOnError", "File"`],
    ],
    ['with several errors', { name: '', image: '' }, [`${at}.name: Required value`, `${at}.image: Required value`]],
  ])('reports the errors of one %s', (_, container, errors) => expect(errorsOf({ container })).toEqual(errors));
});

describe('validation of ports', () => {
  const ports = `${at}.ports`;
  test.each<Row>([
    [
      'sound',
      {
        ports: [
          { containerPort: 80, name: 'http' },
          { containerPort: 53, protocol: 'UDP' },
        ],
      },
      [],
    ],
    ['a missing number', { ports: [{}] }, [`${ports}[0].containerPort: Required value`]],
    [
      'numbers out of range',
      { ports: [{ containerPort: 65536, hostPort: -1 }] },
      [
        `${ports}[0].containerPort: Invalid value: 65536: must be between 1 and 65535, inclusive`,
        `${ports}[0].hostPort: Invalid value: -1: must be between 1 and 65535, inclusive`,
      ],
    ],
    [
      'an invalid protocol',
      { ports: [{ containerPort: 1, protocol: 'ICMP' }] },
      [`${ports}[0].protocol: Unsupported value: "ICMP": supported values: "SCTP", "TCP", "UDP"`],
    ],
    [
      'names',
      {
        ports: [
          { containerPort: 1, name: 'a' },
          { containerPort: 2, name: 'a' },
          { containerPort: 3, name: '1--2' },
        ],
      },
      [
        `${ports}[1].name: Duplicate value: "a"`,
        `${ports}[2].name: Invalid value: "1--2": must contain at least one letter (a-z)`,
        `${ports}[2].name: Invalid value: "1--2": must not contain consecutive hyphens`,
      ],
    ],
  ])('reports the errors of %s', (_, container, errors) => expect(errorsOf({ container })).toEqual(errors));

  test('reports different host ports with hostNetwork', () => {
    const containers = [{ name: 'c', image: 'i', ports: [{ containerPort: 80, hostPort: 81 }] }];
    expect(errorsOf({ spec: { hostNetwork: true, containers } })).toEqual([
      `${ports}[0].hostPort: Invalid value: 81: must match \`containerPort\` when \`hostNetwork\` is true`,
    ]);
  });
});

describe('validation of the environment', () => {
  const env = `${at}.env[0]`;
  const from = (valueFrom: object, more: object = {}) => ({ env: [{ name: 'A', valueFrom, ...more }] });
  test.each<Row>([
    ['a missing name', { env: [{ value: 'x' }] }, [`${env}.name: Required value`]],
    [
      'a name with =',
      { env: [{ name: 'a=b' }] },
      [
        `${env}.name: Invalid value: "a=b": a valid environment variable name must consist only of printable ASCII characters other than '='`,
      ],
    ],
    ['a name with dots and spaces', { env: [{ name: 'a.b c', value: '' }] }, []],
    [
      'a missing source',
      from({}),
      [
        `${env}.valueFrom: Invalid value: "": must specify one of: \`fieldRef\`, \`resourceFieldRef\`, \`configMapKeyRef\`, \`secretKeyRef\`, \`fileKeyRef\``,
      ],
    ],
    [
      'two sources',
      from({ fieldRef: { fieldPath: 'metadata.name' }, resourceFieldRef: { resource: 'limits.cpu' } }),
      [`${env}.valueFrom: Invalid value: "": may not have more than one field specified at a time`],
    ],
    [
      'value and source',
      from({ fieldRef: { fieldPath: 'metadata.name' } }, { value: 'x' }),
      [`${env}.valueFrom: Invalid value: "": may not be specified when \`value\` is not empty`],
    ],
    ['a label', from({ fieldRef: { fieldPath: "metadata.labels['app.io/x']" } }), []],
    [
      'all labels',
      from({ fieldRef: { fieldPath: 'metadata.labels' } }),
      [
        `${env}.valueFrom.fieldRef.fieldPath: Unsupported value: "metadata.labels": supported values: "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"`,
      ],
    ],
    [
      'a subscript of a field without subscripts',
      from({ fieldRef: { fieldPath: "spec.nodeName['x']" } }),
      [`${env}.valueFrom.fieldRef: Invalid value: "spec.nodeName": does not support subscript`],
    ],
    ['a divisor', from({ resourceFieldRef: { resource: 'limits.memory', divisor: '1Mi' } }), []],
    [
      'a divisor of cpu in bytes',
      from({ resourceFieldRef: { resource: 'limits.cpu', divisor: '1Mi' } }),
      [
        `${env}.valueFrom.resourceFieldRef.divisor: Invalid value: "1Mi": only divisor's values 1m, 1 are supported with the cpu resource`,
      ],
    ],
    [
      'an unknown resource',
      from({ resourceFieldRef: { resource: 'limits.gpu' } }),
      [
        `${env}.valueFrom.resourceFieldRef.resource: Unsupported value: "limits.gpu": supported values: "limits.cpu", "limits.ephemeral-storage", "limits.memory", "requests.cpu", "requests.ephemeral-storage", "requests.memory"`,
      ],
    ],
    [
      'a file in a missing volume',
      from({ fileKeyRef: { volumeName: 'v', path: '../x', key: 'K' } }),
      [
        `${env}.valueFrom.fileKeyRef.volumeName: Not found: "v"`,
        `${env}.valueFrom.fileKeyRef.path: Invalid value: "../x": must not contain '..'`,
      ],
    ],
    [
      'an empty envFrom source',
      { envFrom: [{ prefix: '=' }] },
      [
        `${at}.envFrom[0].prefix: Invalid value: "=": a valid environment variable name must consist only of printable ASCII characters other than '='`,
        `${at}.envFrom[0]: Invalid value: "": must specify one of: \`configMapRef\` or \`secretRef\``,
      ],
    ],
    [
      'a ConfigMap with an invalid name and key',
      from({ configMapKeyRef: { name: 'A', key: '../k' } }),
      [
        `${env}.valueFrom.configMapKeyRef.name: Invalid value: "A": ${dnsSubdomainRule}`,
        `${env}.valueFrom.configMapKeyRef.key: Invalid value: "../k": a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')`,
        `${env}.valueFrom.configMapKeyRef.key: Invalid value: "../k": must not start with '..'`,
        `${env}.valueFrom.configMapKeyRef: Forbidden: static pods may not reference configmaps`,
      ],
    ],
  ])('reports the errors of %s', (_, container, errors) => expect(errorsOf({ container })).toEqual(errors));
});

describe('validation of probes and hooks', () => {
  const probe = `${at}.livenessProbe`;
  test.each<Row>([
    ['a valid probe', { livenessProbe: { httpGet: { port: 'web' }, periodSeconds: 1 } }, []],
    ['a missing handler', { livenessProbe: {} }, [`${probe}: Required value: must specify a handler type`]],
    [
      'two handlers',
      { livenessProbe: { exec: { command: ['x'] }, tcpSocket: { port: 1 } } },
      [`${probe}.tcpSocket: Forbidden: may not specify more than 1 handler type`],
    ],
    ['a missing command', { livenessProbe: { exec: {} } }, [`${probe}.exec.command: Required value`]],
    [
      'http',
      { livenessProbe: { httpGet: { port: 0, scheme: 'FTP', httpHeaders: [{ name: 'a b', value: '' }] } } },
      [
        `${probe}.httpGet.port: Invalid value: 0: must be between 1 and 65535, inclusive`,
        `${probe}.httpGet.scheme: Unsupported value: "FTP": supported values: "HTTP", "HTTPS"`,
        `${probe}.httpGet.httpHeaders: Invalid value: "a b": a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')`,
      ],
    ],
    [
      'an invalid port name',
      { livenessProbe: { tcpSocket: { port: 'a-port-name-that-is-long' } } },
      [`${probe}.tcpSocket.port: Invalid value: "a-port-name-that-is-long": must be no more than 15 characters`],
    ],
    [
      'grpc',
      { livenessProbe: { grpc: {} } },
      [`${probe}.grpc.port: Invalid value: 0: must be between 1 and 65535, inclusive`],
    ],
    [
      'numbers',
      {
        livenessProbe: {
          exec: { command: ['x'] },
          periodSeconds: -1,
          successThreshold: 2,
          terminationGracePeriodSeconds: 0,
        },
      },
      [
        `${probe}.periodSeconds: Invalid value: -1: must be greater than or equal to 0`,
        `${probe}.terminationGracePeriodSeconds: Invalid value: 0: must be greater than 0`,
        `${probe}.successThreshold: Invalid value: 2: must be 1`,
      ],
    ],
    [
      'a readiness probe may succeed twice but not set a grace period',
      { readinessProbe: { exec: { command: ['x'] }, successThreshold: 2, terminationGracePeriodSeconds: 1 } },
      [`${at}.readinessProbe.terminationGracePeriodSeconds: Invalid value: 1: must not be set for readinessProbes`],
    ],
    [
      'hooks',
      { lifecycle: { postStart: {}, preStop: { sleep: { seconds: 31 } } } },
      [
        `${at}.lifecycle.postStart: Required value: must specify a handler type`,
        `${at}.lifecycle.preStop.sleep: Invalid value: 31: must be non-negative and less than terminationGracePeriodSeconds (30)`,
      ],
    ],
    ['a hook that sleeps for 0 seconds', { lifecycle: { preStop: { sleep: { seconds: 0 } } } }, []],
    [
      'a stop signal without an operating system',
      { lifecycle: { stopSignal: 'SIGUSR1' } },
      [`${at}.lifecycle.stopSignal: Forbidden: may not be set for containers with empty \`spec.os.name\``],
    ],
  ])('reports the errors of %s', (_, container, errors) => expect(errorsOf({ container })).toEqual(errors));

  test.each([
    ['SIGUSR1', []],
    ['SIGRTMIN+15', []],
    ['SIGRTMAX-15', [`${at}.lifecycle.stopSignal: Invalid value: "SIGRTMAX-15": not a Linux signal`]],
    ['USR1', [`${at}.lifecycle.stopSignal: Invalid value: "USR1": not a Linux signal`]],
  ])('reports the errors of the stop signal %s on Linux', (stopSignal, errors) => {
    const containers = [{ name: 'c', image: 'i', lifecycle: { stopSignal } }];
    expect(errorsOf({ spec: { os: { name: 'linux' }, containers } })).toEqual(errors);
  });
});

describe('validation of restart rules', () => {
  const rules = `${at}.restartPolicyRules`;
  const rule = { action: 'Restart', exitCodes: { operator: 'In', values: [1] } };
  test.each<Row>([
    ['sound', { restartPolicy: 'Never', restartPolicyRules: [rule] }, []],
    [
      'rules without a policy',
      { restartPolicyRules: [rule] },
      [`${at}.restartPolicy: Required value: must specify restartPolicy when restart rules are used`],
    ],
    [
      'wrong',
      { restartPolicy: 'Maybe', restartPolicyRules: [{ action: 'Stop' }, { ...rule, exitCodes: { operator: 'Is' } }] },
      [
        `${at}.restartPolicy: Unsupported value: "Maybe": supported values: "Always", "Never", "OnFailure"`,
        `${rules}[0].action: Unsupported value: "Stop": supported values: "Restart", "RestartAllContainers"`,
        `${rules}[0].exitCodes: Required value: must be specified`,
        `${rules}[1].exitCodes.operator: Unsupported value: "Is": supported values: "In", "NotIn"`,
      ],
    ],
    [
      'too many rules',
      { restartPolicy: 'Never', restartPolicyRules: Array.from({ length: 21 }, () => rule) },
      [`${rules}: Too many: 21: must have at most 20 items`],
    ],
  ])('reports the errors of %s', (_, container, errors) => expect(errorsOf({ container })).toEqual(errors));
});
