import { pod } from '@kubus/pod-lifecycle/testing';
import { describe, expect, test } from '@jest/globals';
import type { Container, Pod } from '@kubus/contracts';
import {
  ContainerConfigError,
  type EnvironmentSettings,
  type ObjectLookup,
  completeContainer,
  completeEnvironment,
  containerTemplate,
  environmentFiles,
  environmentObjects,
  environmentPlan,
  referencedObjects,
} from '../src/index.ts';
import { thrown } from './thrown.ts';

const data: Readonly<Record<string, Record<string, string>>> = {
  'ConfigMap/cm': { k: 'v', 'odd.name': 'x' },
  'Secret/sec': { k: 's3cret', p: 'a=b' },
};
const objects: ObjectLookup = ({ kind, name }) => data[`${kind}/${name}`];

function environment(
  container: Partial<Container>,
  settings: EnvironmentSettings = {},
  { lookup = objects, of = pod() }: { lookup?: ObjectLookup | undefined; of?: Pod } = {},
) {
  return completeEnvironment(environmentPlan(of, { name: 'c', ...container }, settings), lookup);
}

const variables = (...args: Parameters<typeof environment>) => Object.fromEntries(environment(...args));

describe('the order of variables', () => {
  test('lets env override envFrom, and later variables earlier ones', () => {
    const envFrom = [
      { configMapRef: { name: 'cm' } },
      { secretRef: { name: 'sec' } },
      { prefix: 'P_', configMapRef: { name: 'cm' } },
    ];
    expect(variables({ envFrom, env: [{ name: 'p', value: '$(k)!' }] })).toEqual({
      k: 's3cret',
      'odd.name': 'x',
      p: 's3cret!',
      P_k: 'v',
      'P_odd.name': 'x',
    });
  });

  test('lets a variable refer to its own earlier value', () => {
    const env = [
      { name: 'A', value: '1' },
      { name: 'A', value: '$(A)2' },
    ];
    expect(variables({ env })).toEqual({ A: '12' });
  });

  test('does not expand values of objects', () => {
    const lookup: ObjectLookup = () => ({ k: '$(A)' });
    const env = [
      { name: 'A', value: '1' },
      { name: 'B', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } },
    ];
    expect(variables({ env }, {}, { lookup })).toEqual({ A: '1', B: '$(A)' });
  });

  test('puts variables of device plugins first, where others may override them', () => {
    const deviceVariables = [
      { name: 'GPU', value: '0' },
      { name: 'A', value: 'device' },
    ];
    const made = environment({ env: [{ name: 'A', value: 'own' }] }, { deviceVariables });
    expect([...made]).toEqual([
      ['GPU', '0'],
      ['A', 'own'],
    ]);
  });
});

describe('variables of services', () => {
  const ports = [
    { name: 'http', port: 80, protocol: 'TCP' },
    { name: 'dns-udp', port: 53, protocol: 'UDP' },
  ];
  const services = [
    { name: 'my-web', namespace: 'default', clusterIP: '10.0.0.1', ports },
    { name: 'headless', namespace: 'default', clusterIP: 'None', ports },
    { name: 'elsewhere', namespace: 'other', clusterIP: '10.0.0.2', ports },
  ];
  const master = { name: 'kubernetes', namespace: 'default', clusterIP: 'fd00::1', ports: [{ port: 443 }] };

  test('contain every port under its names', () => {
    expect(variables({}, { services })).toEqual({
      MY_WEB_SERVICE_HOST: '10.0.0.1',
      MY_WEB_SERVICE_PORT: '80',
      MY_WEB_SERVICE_PORT_HTTP: '80',
      MY_WEB_SERVICE_PORT_DNS_UDP: '53',
      MY_WEB_PORT: 'tcp://10.0.0.1:80',
      MY_WEB_PORT_80_TCP: 'tcp://10.0.0.1:80',
      MY_WEB_PORT_80_TCP_PROTO: 'tcp',
      MY_WEB_PORT_80_TCP_PORT: '80',
      MY_WEB_PORT_80_TCP_ADDR: '10.0.0.1',
      MY_WEB_PORT_53_UDP: 'udp://10.0.0.1:53',
      MY_WEB_PORT_53_UDP_PROTO: 'udp',
      MY_WEB_PORT_53_UDP_PORT: '53',
      MY_WEB_PORT_53_UDP_ADDR: '10.0.0.1',
    });
  });

  test('contain the API server’s service without service links and in every namespace', () => {
    const of = pod({ enableServiceLinks: false }, { namespace: 'other' });
    const made = variables({}, { services: [...services, master] }, { of });
    expect(made).toMatchObject({ KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_PORT: 'tcp://[fd00::1]:443' });
    expect(Object.keys(made).every((name) => name.startsWith('KUBERNETES_'))).toBe(true);
  });

  test('prefer a service of the pod’s namespace with the API server’s name', () => {
    const own = { ...master, namespace: 'other', clusterIP: '10.0.0.9' };
    const of = pod({}, { namespace: 'other' });
    for (const all of [
      [own, master],
      [master, own],
    ]) {
      expect(variables({}, { services: all }, { of })).toMatchObject({ KUBERNETES_SERVICE_HOST: '10.0.0.9' });
    }
  });

  test('can be referred to, and are overridden by the container’s own', () => {
    const env = [
      { name: 'URL', value: 'http://$(MY_WEB_SERVICE_HOST)' },
      { name: 'MY_WEB_SERVICE_HOST', value: 'own' },
    ];
    const made = variables({ env }, { services });
    expect(made).toMatchObject({ URL: 'http://10.0.0.1', MY_WEB_SERVICE_HOST: 'own' });
  });
});

describe('a missing object or key', () => {
  const key = (kind: 'configMapKeyRef' | 'secretKeyRef', name: string, optional?: boolean): Partial<Container> => ({
    env: [{ name: 'X', valueFrom: { [kind]: { name, key: 'absent', optional } } }],
  });

  test.each<[string, Partial<Container>]>([
    ['configmap "no" not found', key('configMapKeyRef', 'no')],
    ['secret "no" not found', key('secretKeyRef', 'no')],
    ["couldn't find key absent in ConfigMap default/cm", key('configMapKeyRef', 'cm')],
    ["couldn't find key absent in Secret default/sec", key('secretKeyRef', 'sec')],
    ['configmap "no" not found', { envFrom: [{ configMapRef: { name: 'no' } }] }],
    ['secret "no" not found', { envFrom: [{ secretRef: { name: 'no' } }] }],
  ])('fails with: %s', (message, container) => {
    const error = thrown(() => environment(container));
    expect(error).toBeInstanceOf(ContainerConfigError);
    expect(error).toMatchObject({ message, code: 'CreateContainerConfigError', missing: { namespace: 'default' } });
  });

  test.each<[Partial<Container>]>([
    [key('configMapKeyRef', 'no', true)],
    [key('secretKeyRef', 'sec', true)],
    [{ envFrom: [{ secretRef: { name: 'no', optional: true } }] }],
  ])('is omitted if it is optional: %j', (container) => expect(variables(container)).toEqual({}));

  test('does not change an earlier value if it is optional', () => {
    const env = [{ name: 'k', valueFrom: { secretKeyRef: { name: 'sec', key: 'absent', optional: true } } }];
    expect(variables({ envFrom: [{ configMapRef: { name: 'cm' } }], env })).toMatchObject({ k: 'v' });
  });

  test('is also missing if it has the name of a property of every JavaScript object', () => {
    const env = [{ name: 'X', valueFrom: { secretKeyRef: { name: 'sec', key: 'toString' } } }];
    expect(thrown(() => environment({ env }))).toMatchObject({
      message: "couldn't find key toString in Secret default/sec",
    });
  });

  test('fails on a node without an API server', () => {
    const plan = environmentPlan(pod(), { name: 'c', ...key('secretKeyRef', 'sec') }, {});
    const message = "couldn't get secret default/sec, no kubeClient defined";
    expect(thrown(() => completeEnvironment(plan))).toMatchObject({ message });
  });
});

describe('env files', () => {
  const env = (optional?: boolean) => [
    { name: 'X', valueFrom: { fileKeyRef: { volumeName: 'v', path: 'a.env', key: 'K', optional } } },
  ];

  const plan = (optional?: boolean) =>
    environmentPlan(pod(), { name: 'c', env: env(optional) }, { volumeFolder: (name) => `/volumes/${name}` });
  const complete = (text: string, optional?: boolean) => [
    ...completeEnvironment(plan(optional), undefined, new Map([['/volumes/v/a.env', text]])),
  ];

  test('are listed in the plan, and provide a value where they are read', () => {
    expect(environmentFiles(plan())).toMatchObject([{ volume: '/volumes/v', path: 'a.env' }]);
    expect(complete("K='/volumes/v'")).toEqual([['X', '/volumes/v']]);
    expect([...completeEnvironment(plan())]).toEqual([['X', '']]);
  });

  test('without the key are refused, unless the key is optional', () => {
    const message = 'environment variable key "K" not found in file "/volumes/v/a.env"';
    expect(thrown(() => complete("OTHER='x'"))).toMatchObject({ message, code: 'CreateContainerConfigError' });
    expect(complete("OTHER='x'", true)).toEqual([]);
  });

  test('that are invalid are refused, whether the key is optional or not', () => {
    expect(thrown(() => complete('K', true))).toMatchObject({ message: "couldn't parse env file" });
  });

  test('of a missing volume are refused', () => {
    const message = 'cannot find the volume "v" referenced by FileKeyRef';
    expect(thrown(() => environment({ env: env() }))).toMatchObject({ message });
  });
});

describe('a template', () => {
  const container: Container = {
    name: 'c',
    env: [
      { name: 'TOKEN', valueFrom: { secretKeyRef: { name: 'sec', key: 'k' } } },
      { name: 'URL', value: 'https://$(TOKEN)@host' },
    ],
    envFrom: [{ configMapRef: { name: 'cm', optional: true } }, { secretRef: { name: 'sec', optional: true } }],
    command: ['run', '$(URL)'],
    args: ['--token=$(TOKEN)'],
  };
  const template = containerTemplate(pod(), container, { attempt: 0, imageId: 'i', memoryCapacity: 1n });

  test('lists each object from which it reads values once', () => {
    expect(environmentObjects(template.process.environment)).toEqual([
      { kind: 'ConfigMap', namespace: 'default', name: 'cm' },
      { kind: 'Secret', namespace: 'default', name: 'sec' },
    ]);
  });

  test('can be completed after serialization', () => {
    const arrived = JSON.parse(JSON.stringify(template)) as typeof template;
    const config = completeContainer(arrived, objects);
    expect(config).toEqual(completeContainer(template, objects));
    expect(config).toMatchObject({ command: ['run', 'https://s3cret@host'], args: ['--token=s3cret'] });
    expect(config.envs?.map(({ key, value = '' }) => `${key}=${atob(value)}`)).toContain('URL=https://s3cret@host');
  });
});

describe('the objects of a pod', () => {
  test('come from the environments of all containers and from its pull Secrets', () => {
    const made = pod({
      imagePullSecrets: [{ name: 'registry' }, {}, { name: 'sec' }],
      initContainers: [{ name: 'i', envFrom: [{ configMapRef: { name: 'cm' } }, { secretRef: { name: 'sec' } }] }],
      containers: [
        { name: 'c', env: [{ name: 'X', valueFrom: { configMapKeyRef: { name: 'cm', key: 'k' } } }] },
        { name: 'd', env: [{ name: 'X', value: 'x', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }] },
      ],
      ephemeralContainers: [
        { name: 'e', env: [{ name: 'X', valueFrom: { secretKeyRef: { name: 'own', key: 'k' } } }] },
      ],
    });
    expect(referencedObjects(made).map(({ kind, namespace, name }) => `${kind} ${namespace}/${name}`)).toEqual([
      'ConfigMap default/cm',
      'Secret default/sec',
      'Secret default/own',
      'Secret default/registry',
    ]);
  });
});
