import { describe, expect, test } from '@jest/globals';
import { validateEphemeralContainers, validatePodUpdate } from '../../src/index.ts';
import { type Parts, pod, texts } from './manifest-pod.ts';

const forbidden = (...fields: string[]): string =>
  `spec: Forbidden: pod updates may not change fields other than \`spec.containers[*].image\`,\`spec.initContainers[*].image\`,\`spec.activeDeadlineSeconds\`,\`spec.tolerations\` (only additions to existing tolerations),\`spec.terminationGracePeriodSeconds\` (allow it to be set to 1 if it was previously negative)\n${fields.join('\n')}`;

const term = (...keys: string[]) => ({ matchExpressions: keys.map((key) => ({ key, operator: 'Exists' })) });
const requiring = (...terms: object[]) => ({
  affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms } } },
});
const gates = { schedulingGates: [{ name: 'g' }] };

describe('a pod stays as it was made', () => {
  test.each<[string, Parts, Parts, string[]]>([
    ['nothing', {}, {}, []],
    ['an empty list', {}, { spec: { hostAliases: [] } }, []],
    ['the image', {}, { container: { image: 'other' } }, []],
    [
      'no image',
      { container: { imagePullPolicy: 'Always' } },
      { container: { image: '', imagePullPolicy: 'Always' } },
      ['spec.containers[0].image: Required value'],
    ],
    ['the command', {}, { container: { command: ['x'] } }, [forbidden('spec.containers')]],
    [
      'several fields',
      {},
      { spec: { restartPolicy: 'Never', hostNetwork: true } },
      [forbidden('spec.hostNetwork', 'spec.restartPolicy')],
    ],
    [
      'one container more',
      {},
      { spec: { containers: ['c', 'd'].map((name) => ({ name, image: 'i' })) } },
      ['spec.containers: Forbidden: pod updates may not add or remove containers'],
    ],
    [
      'an init container',
      {},
      { spec: { initContainers: [{ name: 'd', image: 'i' }] } },
      ['spec.initContainers: Forbidden: pod updates may not add or remove containers'],
    ],
    ['a deadline', {}, { spec: { activeDeadlineSeconds: 5 } }, []],
    ['an earlier deadline', { spec: { activeDeadlineSeconds: 5 } }, { spec: { activeDeadlineSeconds: 4 } }, []],
    [
      'a later deadline',
      { spec: { activeDeadlineSeconds: 5 } },
      { spec: { activeDeadlineSeconds: 6 } },
      ['spec.activeDeadlineSeconds: Invalid value: 6: must be less than or equal to previous value'],
    ],
    [
      'no deadline any more',
      { spec: { activeDeadlineSeconds: 5 } },
      {},
      ['spec.activeDeadlineSeconds: Invalid value: null: must not update from a positive integer to nil value'],
    ],
    ['a toleration', {}, { spec: { tolerations: [{ key: 'k', operator: 'Exists' }] } }, []],
    [
      'how long it tolerates',
      { spec: { tolerations: [{ key: 'k', operator: 'Exists', effect: 'NoExecute' }] } },
      { spec: { tolerations: [{ key: 'k', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 3 }] } },
      [],
    ],
    [
      'what it tolerates',
      { spec: { tolerations: [{ key: 'k', operator: 'Exists' }] } },
      { spec: { tolerations: [{ key: 'l', operator: 'Exists' }] } },
      ['spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds'],
    ],
    [
      'a negative grace period to 1',
      { spec: { terminationGracePeriodSeconds: -5 } },
      { spec: { terminationGracePeriodSeconds: 1 } },
      [],
    ],
    [
      'the grace period',
      {},
      { spec: { terminationGracePeriodSeconds: 1 } },
      [forbidden('spec.terminationGracePeriodSeconds')],
    ],
    ['one gate less', { spec: gates }, {}, []],
    [
      'one gate more',
      {},
      { spec: gates },
      ["spec.schedulingGates[0].name: Forbidden: only deletion is allowed, but found new scheduling gate 'g'"],
    ],
    [
      'the mirror annotation',
      {},
      { annotations: { 'kubernetes.io/config.mirror': 'x' } },
      ['metadata.annotations[kubernetes.io/config.mirror]: Forbidden: may not add mirror pod annotation'],
    ],
    ['an annotation', { annotations: { a: 'b' } }, { annotations: { a: 'c' } }, []],
  ])('%s', (_, before, after, expected) => {
    expect(texts(validatePodUpdate(pod(after), pod(before)))).toEqual(expected);
  });
});

describe('a pod with gates can be bound to fewer nodes', () => {
  test.each<[string, object, object, string[]]>([
    ['one label more', { nodeSelector: { a: 'b' } }, { nodeSelector: { a: 'b', c: 'd' } }, []],
    [
      'another label',
      { nodeSelector: { a: 'b' } },
      { nodeSelector: { c: 'd' } },
      [
        'spec.nodeSelector: Invalid value: {"c":"d"}: only additions to spec.nodeSelector are allowed (no mutations or deletions)',
      ],
    ],
    ['an affinity', {}, requiring(term('a')), []],
    ['one expression more', requiring(term('a')), requiring(term('a', 'b')), []],
    [
      'one term more',
      requiring(term('a')),
      requiring(term('a'), term('b')),
      [
        `spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: Invalid value: ${JSON.stringify([term('a'), term('b')])}: no additions/deletions to non-empty NodeSelectorTerms list are allowed`,
      ],
    ],
    [
      'another expression',
      requiring(term('a')),
      requiring(term('b')),
      [
        `spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]: Invalid value: ${JSON.stringify(term('b'))}: only additions are allowed (no mutations or deletions)`,
      ],
    ],
    [
      'another pod affinity',
      {},
      { affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 't' }] } } },
      [forbidden('spec.affinity')],
    ],
  ])('%s', (_, before, after, expected) => {
    const [one, other] = [pod({ spec: { ...gates, ...before } }), pod({ spec: { ...gates, ...after } })];
    expect(texts(validatePodUpdate(other, one))).toEqual(expected);
  });

  test('without gates none of it is allowed', () => {
    const next = pod({ spec: { nodeSelector: { a: 'b' } } });
    expect(texts(validatePodUpdate(next, pod()))).toEqual([forbidden('spec.nodeSelector')]);
  });
});

describe('ephemeral containers', () => {
  const debug = (fields: object = {}): Parts => ({
    spec: { ephemeralContainers: [{ name: 'd', image: 'i', ...fields }] },
  });
  const path = 'spec.ephemeralContainers';

  test.each<[string, Parts, Parts, string[]]>([
    ['are added', {}, debug({ targetContainerName: 'c' }), []],
    ['are not removed', debug(), {}, [`${path}: Forbidden: existing ephemeral containers "d" may not be removed\n`]],
    [
      'are not changed',
      debug(),
      debug({ image: 'j' }),
      [`${path}: Forbidden: existing ephemeral containers "d" may not be changed\n`],
    ],
    ['have a name of their own', {}, debug({ name: 'c' }), [`${path}[0].name: Duplicate value: "c"`]],
    [
      'have a container as target',
      {},
      debug({ targetContainerName: 'x' }),
      [`${path}[0].targetContainerName: Not found: "x"`],
    ],
    [
      'have no ports and no probes',
      {},
      debug({ ports: [{ containerPort: 1 }], livenessProbe: { tcpSocket: { port: 1 } }, resources: {} }),
      [
        `${path}[0].ports: Forbidden: cannot be set for an Ephemeral Container`,
        `${path}[0].livenessProbe: Forbidden: cannot be set for an Ephemeral Container`,
      ],
    ],
    [
      'are not in mirror pods',
      { annotations: { 'kubernetes.io/config.mirror': 'x' } },
      debug(),
      [': Forbidden: static pods do not support ephemeral containers'],
    ],
  ])('%s', (_, before, after, expected) => {
    expect(texts(validateEphemeralContainers(pod(after), pod(before)))).toEqual(expected);
  });

  test('stay in an update of the pod', () => {
    expect(texts(validatePodUpdate(pod(debug({ image: 'j' })), pod(debug())))).toEqual([
      forbidden('spec.ephemeralContainers'),
    ]);
  });
});
