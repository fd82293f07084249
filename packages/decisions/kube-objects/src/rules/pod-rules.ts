import type { Pod } from '@kubus/contracts';
import { qosClass } from '@kubus/pod';
import {
  decodePod,
  defaultPod,
  validateEphemeralContainers,
  validatePod,
  validatePodResize,
  validatePodUpdate,
} from '@kubus/pod-source';
import { type Json, type JsonObject, asList, asObject, asText, at, plainJson, sameJson } from '../json.ts';
import type { KubeObject } from '../object.ts';
import { type FieldProblem, badRequest } from '../status.ts';
import { plainRules } from './plain-rules.ts';
import { admittedPod, toleratingPod } from './pod-admission.ts';
import { type Rules, keepStatus, withField } from './rules.ts';

/** The rules for pods. Source: pkg/registry/core/pod. */
export const podRules: Rules = {
  ...plainRules,
  returnsDeleted: true,
  generationOf: ({ spec = {} }) => spec,
  defaults: defaulted,
  create: (pod, context) => {
    const admitted = admittedPod(pod, context);
    return { ...admitted, status: { phase: 'Pending', qosClass: qosClass(asPod(admitted)) } };
  },
  update: (next, previous) => keepStatus(toleratingPod(next), previous),
  subresources: {
    status: (next, previous) => ({
      ...next,
      metadata: withField(next.metadata, 'ownerReferences', previous.metadata['ownerReferences']),
      spec: previous.spec ?? {},
      status: keptStatus(next.status ?? {}, previous.status ?? {}),
    }),
    ephemeralcontainers: (next, previous) =>
      withSpec(previous, { ephemeralContainers: next.spec?.['ephemeralContainers'] }),
    // Other containers than before are left for the validation to refuse.
    resize: (next, previous) =>
      hasContainersOf(next, previous)
        ? withSpec(previous, {
            containers: resizedContainers(next, previous, 'containers'),
            initContainers: resizedContainers(next, previous, 'initContainers'),
            resources: next.spec?.['resources'],
          })
        : keepStatus(next, previous),
  },
  validate: (pod, previous, subresource) =>
    (previous === undefined ? validatePod(asPod(pod)) : checkChange(subresource, asPod(pod), asPod(previous))).map(
      ({ path, message }) => problem(path.toString(), message),
    ),
  grace: ({ spec = {}, status = {} }, asked) => {
    const phase = status['phase'];
    if (asText(spec['nodeName']) === '' || phase === 'Failed' || phase === 'Succeeded') return 0;
    const own = spec['terminationGracePeriodSeconds'];
    const seconds = asked ?? (typeof own === 'number' ? own : 0);
    return seconds < 0 ? 1 : seconds;
  },
};

/** Decoded and with the API's defaults. @throws StatusError 400 for an invalid pod. */
function defaulted(object: KubeObject): KubeObject {
  const { pod: decoded, errors } = decodePod(object);
  if (decoded === undefined) {
    const wrong = errors.map(({ field = '', message }) => `${field}: ${message}`).join('; ');
    throw badRequest(`Pod in version "v1" cannot be handled as a Pod: ${wrong}`);
  }
  const pod = plainJson(defaultPod(decoded) as unknown as KubeObject);
  const lists = ['containers', 'initContainers', 'ephemeralContainers'].flatMap((list) => {
    const containers = pod.spec?.[list];
    return containers === undefined ? [] : [[list, asList(containers).map(withResources)] as const];
  });
  return { ...pod, spec: { ...pod.spec, ...Object.fromEntries(lists) } };
}

/** The API always writes a container's resources. */
const withResources = (container: Json): Json => ({ resources: {}, ...asObject(container) });

/** Only for what has been decoded. */
function asPod(object: KubeObject): Pod {
  return object as unknown as Pod;
}

function withSpec(pod: KubeObject, fields: JsonObject): KubeObject {
  return plainJson({ ...pod, spec: { ...pod.spec, ...fields } });
}

/** The same containers at the same places. */
function hasContainersOf(next: KubeObject, previous: KubeObject): boolean {
  const names = ({ spec = {} }: KubeObject) =>
    ['containers', 'initContainers'].map((list) =>
      asList(spec[list]).map((container) => asText(at(container, 'name'))),
    );
  return sameJson(names(next), names(previous));
}

function resizedContainers(next: KubeObject, previous: KubeObject, list: string): Json | undefined {
  const given = asList(next.spec?.[list]).map(asObject);
  const before = previous.spec?.[list];
  if (before === undefined) return undefined;
  return asList(before).map((container) => {
    const same = given.find(({ name }) => name === at(container, 'name'));
    const { resources, resizePolicy } = same ?? asObject(container);
    return { ...asObject(container), resources, resizePolicy };
  });
}

/** A status update from an older writer: the QoS class and observed generations stay. */
function keptStatus(next: JsonObject, previous: JsonObject): JsonObject {
  const before = asList(previous['conditions']).map(asObject);
  const conditions = asList(next['conditions']).map((condition) => {
    const { type, observedGeneration } = asObject(condition);
    const generation = observedGeneration ?? before.find((one) => one['type'] === type)?.['observedGeneration'];
    return withField(asObject(condition), 'observedGeneration', generation);
  });
  const { qosClass: quality, observedGeneration } = previous;
  return {
    ...(quality !== undefined && { qosClass: quality }),
    ...(observedGeneration !== undefined && { observedGeneration }),
    ...next,
    ...(next['conditions'] !== undefined && { conditions }),
  };
}

function checkChange(subresource: string, pod: Pod, previous: Pod): ReturnType<typeof validatePod> {
  switch (subresource) {
    case '':
      return validatePodUpdate(pod, previous);
    case 'ephemeralcontainers':
      return validateEphemeralContainers(pod, previous);
    case 'resize':
      return validatePodResize(pod, previous);
    default:
      return [];
  }
}

function problem(field: string, message: string): FieldProblem {
  const [kind = ''] =
    /^(Required|Invalid|Duplicate|Unsupported|Forbidden|Not found|Too long|Too many)/.exec(message) ?? [];
  const types: Readonly<Record<string, string>> = {
    Required: 'FieldValueRequired',
    Duplicate: 'FieldValueDuplicate',
    Unsupported: 'FieldValueNotSupported',
    Forbidden: 'FieldValueForbidden',
    'Not found': 'FieldValueNotFound',
    'Too long': 'FieldValueTooLong',
    'Too many': 'FieldValueTooMany',
  };
  return { field, type: types[kind] ?? 'FieldValueInvalid', message };
}
