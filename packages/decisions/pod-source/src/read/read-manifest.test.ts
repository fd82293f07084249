import { describe, expect, test } from '@jest/globals';
import { podSchema } from '@kubus/contracts';
import fc from 'fast-check';
import { decodeManifest, decodePod, readManifest } from './read-manifest.ts';

const origin = {
  path: '/etc/manifests/p.yaml',
  node: 'Node-1',
  source: 'file',
  seenAt: '2026-01-02T03:04:05Z',
} as const;
const read = (text: string, more: Partial<Parameters<typeof readManifest>[0]> = {}) =>
  readManifest({ ...origin, node: 'node-1', ...more, text });
const pod = (name: string, spec = '{containers: [{name: c, image: i}]}') =>
  `apiVersion: v1\nkind: Pod\nmetadata: {name: ${name}}\nspec: ${spec}\n`;
const uidOf = (text: string, more = {}) => read(text, more).pods[0]?.metadata.uid;

describe('a static pod', () => {
  test('is bound to its node', () => {
    const { pods, errors, warnings } = read(pod('web'));
    expect({ errors, warnings }).toEqual({ errors: [], warnings: [] });
    expect(pods).toHaveLength(1);
    const uid = pods[0]?.metadata.uid ?? '';
    expect(uid).toMatch(/^[0-9a-f]{32}$/);
    expect(pods[0]).toMatchObject({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name: 'web-node-1',
        namespace: 'default',
        annotations: {
          'kubernetes.io/config.hash': uid,
          'kubernetes.io/config.source': 'file',
          'kubernetes.io/config.seen': '2026-01-02T03:04:05Z',
        },
      },
      spec: { nodeName: 'node-1', tolerations: [{ operator: 'Exists', effect: 'NoExecute' }] },
      status: { phase: 'Pending' },
    });
    expect(podSchema.parse(pods[0])).toEqual(pods[0]);
  });

  test('has the node’s name in lower case in its name', () => {
    const { pods } = decodeManifest(pod('web'));
    expect(pods[0]?.pod.metadata.name).toBe('web');
    expect(read(pod('web'), { node: 'Node-1' }).errors[0]).toMatchObject({ field: 'spec.nodeName' });
  });

  test('keeps its UID and namespace, and loses the status of an earlier run', () => {
    const text = `${pod('web').replace('{name: web}', '{name: web, namespace: sys, uid: own}')}status: {phase: Failed, reason: x}\n`;
    expect(read(text).pods[0]).toMatchObject({ metadata: { uid: 'own', namespace: 'sys' } });
    expect(read(text).pods[0]?.metadata.annotations).toMatchObject({ 'kubernetes.io/config.hash': 'own' });
    expect(read(text).pods[0]?.status).toEqual({ phase: 'Pending' });
  });

  test.each(['../..', '..', 'a/b', '.hidden', 'a b', 'x'.repeat(129)])('is refused with the UID %j', (uid) => {
    const { pods, errors } = read(pod('web').replace('{name: web}', JSON.stringify({ name: 'web', uid })));
    expect(pods).toEqual([]);
    expect(errors).toMatchObject([{ field: 'metadata.uid' }]);
  });

  test('from a URL does not tolerate all taints', () => {
    const { pods } = read(pod('web'), { source: 'http', path: 'http://x/y' });
    expect(pods[0]?.spec.tolerations).toBeUndefined();
    expect(pods[0]?.metadata.annotations).toMatchObject({ 'kubernetes.io/config.source': 'http' });
  });

  test('tolerates NoExecute taints without a time limit, with only one toleration', () => {
    const tolerations =
      '[{operator: Exists, effect: NoExecute, tolerationSeconds: 5}, {key: a, operator: Exists, effect: NoExecute}]';
    const text = pod('web', `{tolerations: ${tolerations}, containers: [{name: c, image: i}]}`);
    expect(read(text).pods[0]?.spec.tolerations).toEqual([
      { key: 'a', operator: 'Exists', effect: 'NoExecute' },
      { operator: 'Exists', effect: 'NoExecute' },
    ]);
  });
});

describe('the UID of a static pod', () => {
  test('does not depend on the notation of the manifest or the time when it was seen', () => {
    const json = JSON.stringify({
      spec: { containers: [{ image: 'i', name: 'c' }] },
      metadata: { name: 'web' },
      kind: 'Pod',
      apiVersion: 'v1',
    });
    expect(uidOf(json)).toBe(uidOf(pod('web')));
    expect(uidOf(`# comment\n${pod('web')}`, { seenAt: '2027-01-01T00:00:00Z' })).toBe(uidOf(pod('web')));
  });

  test.each([
    ['content', pod('web', '{containers: [{name: c, image: j}]}'), {}],
    ['file', pod('web'), { path: '/etc/manifests/q.yaml' }],
    ['node', pod('web'), { node: 'node-2' }],
    ['source', pod('web'), { source: 'http' }],
  ] as const)('depends on %s', (_, text, more) => {
    expect(uidOf(text, more)).toMatch(/^[0-9a-f]{32}$/);
    expect(uidOf(text, more)).not.toBe(uidOf(pod('web')));
  });

  test('does not depend on unknown fields', () => {
    expect(uidOf(`${pod('web')}extra: 1\n`)).toBe(uidOf(pod('web')));
  });

  test('differs for lists with different elements', () => {
    const args = fc.array(fc.string(), { maxLength: 3 });
    // The reference prints a list without marking where an element ends.
    const words = (list: string[]) => list.join(' ');
    const text = (command: string[]) =>
      pod('web', JSON.stringify({ containers: [{ name: 'c', image: 'i', command }] }));
    fc.assert(
      fc.property(args, args, (a, b) => {
        expect(uidOf(text(a)) === uidOf(text(b))).toBe(words(a) === words(b));
      }),
    );
  });
});

describe('lists and documents', () => {
  const item = (name: string, typed: boolean) =>
    `{${typed ? 'apiVersion: v1, kind: Pod, ' : ''}metadata: {name: ${name}}, spec: {containers: [{name: c, image: i}]}}`;
  const names = (text: string) => read(text).pods.map(({ metadata }) => metadata.name);
  test.each([
    ['PodList', `apiVersion: v1\nkind: PodList\nitems: [${item('a', false)}, ${item('b', true)}]`, ['a', 'b']],
    ['List', `apiVersion: v1\nkind: List\nitems: [${item('a', true)}]`, ['a']],
    ['several documents', `${pod('a')}---\n${pod('b')}---\n`, ['a', 'b']],
    ['an empty list', 'apiVersion: v1\nkind: PodList\nitems: []', []],
    ['a list without items', 'apiVersion: v1\nkind: PodList', []],
  ])('are read from %s', (_, text, expected) => {
    expect(read(text).errors).toEqual([]);
    expect(names(text)).toEqual(expected.map((name) => `${name}-node-1`));
  });

  test('keep the other pods when one has an error', () => {
    const list = `apiVersion: v1\nkind: List\nitems:\n- ${item('a', true)}\n- ${item('B', true)}\n- ${item('c', false)}\n- 5\n`;
    const text = `${pod('x')}---\nkind: Pod\n---\n${pod('w', '{}')}---\na: [\n---\n${list}---\n${pod('z')}`;
    const result = read(text);
    expect(result.pods.map(({ metadata }) => metadata.name)).toEqual(['x-node-1', 'a-node-1', 'z-node-1']);
    expect(result.errors.map(({ document, field, line }) => ({ document, field, line }))).toEqual([
      { document: 1, field: 'apiVersion', line: 6 },
      { document: 2, field: 'spec.containers', line: 11 },
      { document: 3, field: undefined, line: 14 },
      { document: 4, field: 'items[1].metadata.name', line: 19 },
      { document: 4, field: 'items[2].apiVersion', line: 20 },
      { document: 4, field: 'items[2].kind', line: 20 },
      { document: 4, field: 'items[3]', line: 21 },
    ]);
  });
});

describe('a manifest without a pod', () => {
  test.each([
    ['', [{ document: 0, message: 'the file contains no document' }]],
    ['# nothing\n---\n', [{ document: 0, message: 'the file contains no document' }]],
    ['text', [{ document: 0, message: 'Invalid value: expected an object', line: 1 }]],
    ['- 1', [{ document: 0, message: 'Invalid value: expected an object', line: 1 }]],
    [
      'apiVersion: apps/v1\nkind: Deployment',
      [
        { document: 0, field: 'apiVersion', message: 'Unsupported value: "apps/v1": supported values: "v1"', line: 1 },
        {
          document: 0,
          field: 'kind',
          message: 'Unsupported value: "Deployment": supported values: "Pod", "PodList", "List"',
          line: 2,
        },
      ],
    ],
    [
      'apiVersion: 1\nkind: {a: 1}',
      [
        { document: 0, field: 'apiVersion', message: 'Unsupported value: "(bigint)": supported values: "v1"', line: 1 },
        {
          document: 0,
          field: 'kind',
          message: 'Unsupported value: "(object)": supported values: "Pod", "PodList", "List"',
          line: 2,
        },
      ],
    ],
    [
      'apiVersion: v1\nkind: List\nitems: 5',
      [{ document: 0, field: 'items', message: 'Invalid value: expected an array', line: 3 }],
    ],
  ])('is refused: %j', (text, errors) => expect(read(text)).toEqual({ pods: [], errors, warnings: [] }));
});

describe('field types', () => {
  test.each([
    [
      '{containers: [{name: c, image: 1}]}',
      'spec.containers[0].image',
      'Invalid value: expected string, received number',
    ],
    [
      '{containers: [{name: c, image: i, stdin: "yes"}]}',
      'spec.containers[0].stdin',
      'Invalid value: expected boolean, received string',
    ],
    ['{containers: 5}', 'spec.containers', 'Invalid value: expected array, received number'],
    ['{containers: [5]}', 'spec.containers[0]', 'Invalid value: expected object, received number'],
    ['{nodeSelector: {a: 1}}', 'spec.nodeSelector[a]', 'Invalid value: expected string, received number'],
    ['{priority: 1.5}', 'spec.priority', 'Invalid value: expected int, received number'],
    [
      '{containers: [{name: c, livenessProbe: {tcpSocket: {port: [1]}}}]}',
      'spec.containers[0].livenessProbe.tcpSocket.port',
      'Invalid value: expected a number or a string',
    ],
  ])('are checked in %s', (spec, field, message) => {
    expect(read(pod('web', spec)).errors).toEqual([{ document: 0, field, message, line: 4 }]);
  });

  test('treat null as omitted, accept numbers as quantities, and keep all digits of numbers', () => {
    const resources = '{limits: {cpu: 0.5, memory: 1e6, "a.io/x": 9007199254740993}, requests: null}';
    const text = pod(
      'web',
      `{hostname: null, volumes: [], containers: [{name: c, image: i, env: null, resources: ${resources}}]}`,
    );
    const [decoded] = decodeManifest(text).pods;
    expect(decoded?.pod.spec).toEqual({
      volumes: [],
      containers: [
        {
          name: 'c',
          image: 'i',
          resources: { limits: { cpu: '0.5', memory: '1000000', 'a.io/x': '9007199254740993' } },
        },
      ],
    });
  });

  test('keep an unknown field with a warning', () => {
    const { pods, warnings } = read(pod('web', '{future: {a: [1]}, containers: [{name: c, image: i, colour: red}]}'));
    expect(pods[0]?.spec).toMatchObject({ future: { a: [1] }, containers: [{ colour: 'red' }] });
    expect(warnings).toEqual([
      { document: 0, field: 'spec.future', message: 'unknown field', line: 4 },
      { document: 0, field: 'spec.containers[0].colour', message: 'unknown field', line: 4 },
    ]);
  });

  test('ignore a key that would change the prototype of an object', () => {
    const text = `${pod('web')}__proto__: {polluted: true}\nmetadata2: {__proto__: {polluted: true}}\n`;
    const { pods } = read(text);
    expect(pods[0]).not.toHaveProperty('polluted');
    expect(pods[0]).not.toHaveProperty('metadata2.polluted');
    expect({}).not.toHaveProperty('polluted');
  });
});

describe('the notes of a manifest', () => {
  test('are limited to the first ones, the number of the others, and short messages', () => {
    const labels = Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`l${i}`, 'x y']));
    const text = JSON.stringify({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'p', labels },
      spec: { containers: [{ name: 'c', image: 'i' }] },
    });
    const { errors } = read(text);
    expect(errors).toHaveLength(51);
    expect(errors.at(-1)).toEqual({ document: 0, message: 'and 10 more' });
    const long = read(pod('web', `{hostname: ${'a'.repeat(5000)}, containers: [{name: c, image: i}]}`)).errors;
    expect(long.map(({ message }) => message.length)).toEqual([1003]);
  });

  test('exist for any invalid text, without an exception', () => {
    const words = fc.constantFrom(
      'apiVersion: v1',
      'kind: Pod',
      'metadata:',
      '  name: a',
      'spec:',
      '  containers:',
      '  - name: c',
      '    image: i',
      '---',
      '? [',
      '- &a',
      '*a',
      '{',
      '}',
      '"',
      '<<: ',
      '\t',
      'x: !!set {}',
      '%YAML 1.2',
      '...',
      'null',
    );
    const anything = fc.oneof(
      fc.string(),
      fc.array(words, { maxLength: 20 }).map((lines) => lines.join('\n')),
      fc.json(),
    );
    fc.assert(
      fc.property(anything, (text) => {
        const { pods, errors } = read(text);
        for (const one of pods) expect(podSchema.safeParse(one).success).toBe(true);
        expect(pods.length + errors.length).toBeGreaterThan(0);
      }),
      { numRuns: 60 },
    );
  });

  test('exist for any invalid value in any field', () => {
    const { spec, metadata, status } = podSchema.shape;
    const fields = [
      ...Object.keys(metadata.shape).map((name) => ['metadata', name] as const),
      ...Object.keys(spec.shape).map((name) => ['spec', name] as const),
      ...Object.keys(spec.shape.containers.element.shape).map((name) => ['container', name] as const),
      ...Object.keys(status.unwrap().shape).map((name) => ['status', name] as const),
    ];
    const keys = fc.constantFrom('name', 'path', 'items', 'sources', 'port', 'exec', 'limits', 'cpu', 'type', 'values');
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof({ maxDepth: 4 }, fc.jsonValue(), fc.array(tie('value')), fc.dictionary(keys, tie('value'))),
    }));
    fc.assert(
      fc.property(fc.constantFrom(...fields), value, ([part, name], given) => {
        const own = (which: string) => (part === which ? { [name]: given } : {});
        const text = JSON.stringify({
          apiVersion: 'v1',
          kind: 'Pod',
          metadata: { name: 'p', ...own('metadata') },
          spec: { containers: [{ name: 'c', image: 'i', ...own('container') }], ...own('spec') },
          status: own('status'),
        });
        const { pods, errors } = read(text);
        expect(pods.length === 1).toBe(errors.length === 0);
        for (const one of pods) expect(podSchema.safeParse(one).success).toBe(true);
      }),
      { numRuns: 60 },
    );
  });
});

describe('a value of JSON', () => {
  const manifest = (spec: object) => ({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web' }, spec });

  test('is the pod that its text is', () => {
    const value = manifest({
      hostname: null,
      terminationGracePeriodSeconds: 30,
      containers: [{ name: 'c', image: 'i', future: [1], resources: { limits: { cpu: 0.5, memory: '1Gi' } } }],
    });
    const [decoded] = decodeManifest(JSON.stringify(value)).pods;
    expect(decodePod(value)).toEqual({ pod: decoded?.pod, errors: [] });
  });

  test('has no member that is undefined', () => {
    const spec = { containers: [{ name: 'c', image: undefined }], nodeName: undefined, nodeSelector: { a: undefined } };
    expect(decodePod(manifest(spec)).pod?.spec).toEqual({ containers: [{ name: 'c' }], nodeSelector: {} });
  });

  test('is refused with the field that does not conform', () => {
    expect(decodePod(manifest({ containers: [{ name: 1 }] }))).toMatchObject({
      errors: [{ field: 'spec.containers[0].name', message: 'Invalid value: expected string, received number' }],
    });
  });

  test('is refused when it is nested too deep, before its fields are looked at', () => {
    let deep: object = {};
    for (let level = 0; level < 200; level++) deep = { deep };
    expect(decodePod(manifest(deep)).errors).toEqual([
      expect.objectContaining({ message: 'nested more than 100 levels deep' }),
    ]);
  });
});
