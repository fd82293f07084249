import { describe, expect, test } from '@jest/globals';
import { errorsOf } from './errors-of.ts';

const at = 'spec.containers[0].resources';
type Row = readonly [title: string, resources: object, errors: readonly string[]];

describe('validation of a container’s resources', () => {
  test.each<Row>([
    ['sound', { requests: { cpu: 1, memory: '1Gi' }, limits: { memory: 2e9, 'example.com/gpu': 1 } }, []],
    [
      'text that is not a quantity',
      { limits: { cpu: 'much' } },
      ['limits', 'requests'].map(
        (kind) =>
          `${at}.${kind}[cpu]: Invalid value: "much": quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'`,
      ),
    ],
    [
      'negative',
      { requests: { cpu: '-1' } },
      [`${at}.requests[cpu]: Invalid value: "-1": must be greater than or equal to 0`],
    ],
    [
      'a request above the limit',
      { requests: { cpu: 2 }, limits: { cpu: '1900m' } },
      [`${at}.requests: Invalid value: "2": must be less than or equal to cpu limit of 1900m`],
    ],
    [
      'an unknown resource',
      { limits: { gpu: 1 } },
      ['limits', 'requests'].flatMap((kind) => [
        `${at}.${kind}[gpu]: Invalid value: "gpu": must be a standard resource type or fully qualified`,
        `${at}.${kind}[gpu]: Invalid value: "gpu": must be a standard resource for containers`,
      ]),
    ],
    [
      'fractional and overcommitted extended resources',
      { requests: { 'a.io/x': 1 }, limits: { 'a.io/x': '1500m' } },
      [
        `${at}.limits[a.io/x]: Invalid value: "1500m": must be an integer`,
        `${at}.requests: Invalid value: "1": must be equal to a.io/x limit of 1500m`,
      ],
    ],
    [
      'an extended resource without a limit',
      { requests: { 'a.io/x': 1 } },
      [`${at}.limits: Required value: Limit must be set for non overcommitable resources`],
    ],
    [
      'huge pages',
      { limits: { 'hugepages-2Mi': '3Mi' } },
      [
        `${at}.limits[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi`,
        `${at}.requests[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi`,
        `${at}: Forbidden: HugePages require cpu or memory`,
      ],
    ],
    [
      'claims',
      { claims: [{ name: 'a' }, { name: 'b', request: 'r' }, { name: 'b' }, { name: '' }] },
      [
        `${at}.claims[0]: Not found: "a": must be one of the names in pod.spec.resourceClaims which is empty`,
        `${at}.claims[1]: Not found: "b": must be one of the names in pod.spec.resourceClaims which is empty`,
        `${at}.claims[2]: Duplicate value: "b"`,
        `${at}.claims[2]: Not found: "b": must be one of the names in pod.spec.resourceClaims which is empty`,
        `${at}.claims[3]: Required value`,
      ],
    ],
  ])('reports the errors of %s', (_, resources, errors) =>
    expect(errorsOf({ container: { resources } })).toEqual(errors),
  );

  test('reports the errors of resize policies', () => {
    const resizePolicy = [
      { resourceName: 'cpu', restartPolicy: 'RestartContainer' },
      { resourceName: 'cpu', restartPolicy: 'NotRequired' },
      { resourceName: 'disk', restartPolicy: '' },
    ];
    const containers = [{ name: 'c', image: 'i', resizePolicy }];
    const path = 'spec.containers[0].resizePolicy';
    expect(errorsOf({ spec: { restartPolicy: 'Never', containers } })).toEqual([
      `${path}: Invalid value: "RestartContainer": must be 'NotRequired' when \`restartPolicy\` is 'Never'`,
      `${path}[1]: Duplicate value: "cpu"`,
      `${path}: Unsupported value: "disk": supported values: "cpu", "memory"`,
      `${path}: Required value`,
      `${path}: Invalid value: "": must be 'NotRequired' when \`restartPolicy\` is 'Never'`,
    ]);
  });
});

describe('validation of pod-level resources', () => {
  const containers = [{ name: 'c', image: 'i', resources: { requests: { cpu: 2 }, limits: { memory: '2Gi' } } }];
  test.each<Row>([
    ['sound', { requests: { cpu: 3, memory: '3Gi' }, limits: { memory: '3Gi' } }, []],
    [
      'requests below those of the containers',
      { requests: { cpu: 1, memory: '2Gi' }, limits: { memory: '2Gi' } },
      [
        'spec.resources.requests[cpu]: Invalid value: "1": must be greater than or equal to aggregate container requests of 2',
      ],
    ],
    [
      'a limit below that of a container',
      { requests: { cpu: 2 }, limits: { memory: '1Gi' } },
      [
        'spec.resources.requests: Invalid value: "2Gi": must be less than or equal to memory limit of 1Gi',
        'spec.resources.containers[0][memory].limits: Invalid value: "2Gi": must be less than or equal to pod limits of 1Gi',
      ],
    ],
    [
      'claims and other resources',
      { claims: [], requests: { cpu: 2, memory: '2Gi', 'ephemeral-storage': 1 } },
      [
        'spec.resources.claims: Forbidden: claims cannot be set for Resources at pod-level',
        'spec.resources.requests[ephemeral-storage]: Unsupported value: "ephemeral-storage": supported values: "cpu", "hugepages-", "memory"',
      ],
    ],
  ])('reports the errors of %s', (_, resources, errors) =>
    expect(errorsOf({ spec: { containers, resources } })).toEqual(errors),
  );

  test('leaves what a pod has not as a whole to its containers', () => {
    const own = { cpu: 1, memory: '1Gi', 'ephemeral-storage': '1Gi', 'example.com/device': 1 };
    const devices = [{ name: 'c', image: 'i', resources: { requests: own, limits: own } }];
    const resources = { requests: { cpu: 1, memory: '1Gi' }, limits: { cpu: 1, memory: '1Gi' } };
    expect(errorsOf({ spec: { containers: devices, resources } })).toEqual([]);
  });

  test('reports the errors of overhead and claims', () => {
    expect(errorsOf({ spec: { overhead: { cpu: 'x' } } })).toEqual([
      'spec.overhead[cpu]: Invalid value: "x": quantities must match the regular expression \'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$\'',
    ]);
    const resourceClaims = [{ name: 'a' }, { name: 'a', resourceClaimName: 'x', resourceClaimTemplateName: 'y' }];
    expect(errorsOf({ spec: { resourceClaims } }).slice(0, 3)).toEqual([
      'spec.resourceClaims[0]: Invalid value: {"name":"a"}: must specify one of: `resourceClaimName`, `resourceClaimTemplateName`',
      'spec.resourceClaims[1].name: Duplicate value: "a"',
      'spec.resourceClaims[1]: Invalid value: {"name":"a","resourceClaimName":"x","resourceClaimTemplateName":"y"}: at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified',
    ]);
  });
});
