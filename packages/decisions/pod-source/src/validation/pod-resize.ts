import type { Container, Pod, PodSpec } from '@kubus/contracts';
import { isDeepEqual, isMirror, qosClass } from '@kubus/pod';
import { type FieldError, FieldErrors, FieldPath } from './field.ts';
import { checkPod } from './pod.ts';

type Resources = NonNullable<Container['resources']>;
type Amounts = Readonly<Record<string, string>>;

const resized = ['cpu', 'memory'];
const ONLY = 'only cpu and memory resources';

/**
 * Everything for which the API server would refuse a resize of a pod: CPU and memory of its containers and of the pod change,
 * and nothing else. Source: ValidatePodResize of k8s.io/kubernetes/pkg/apis/core/validation, with the gates of 1.36.
 */
export function validatePodResize(next: Pod, previous: Pod): readonly FieldError[] {
  const errors = new FieldErrors();
  const path = FieldPath.root.child('spec');
  if (isMirror(previous)) errors.forbidden(FieldPath.root, 'static pods cannot be resized');
  else if (previous.spec.os?.name === 'windows') errors.forbidden(FieldPath.root, 'windows pods cannot be resized');
  if (errors.list.length > 0) return errors.list;
  checkPod(next, FieldPath.root, errors);
  if (qosClass(previous) !== qosClass(next)) {
    errors.invalid(path, next.status?.qosClass ?? '', 'Pod QOS Class may not change as a result of resizing');
  }
  const running = previous.status?.containerStatuses?.find(({ state }) => state?.running !== undefined);
  if (running !== undefined && running.resources === undefined) {
    errors.forbidden(path, 'Pod running on node without support for resize');
  }
  checkPodLevel(next.spec, previous.spec, path, errors);
  const before = errors.list.length;
  for (const list of ['containers', 'initContainers'] as const) {
    checkOrder(next.spec[list] ?? [], previous.spec[list] ?? [], list, path, errors);
  }
  if (errors.list.length > before) return errors.list;
  for (const [i, container] of (next.spec.initContainers ?? []).entries()) {
    checkInitContainer(container, previous.spec.initContainers?.[i], path.child('initContainers').index(i), errors);
  }
  for (const [i, container] of next.spec.containers.entries()) {
    const old = previous.spec.containers[i];
    checkKept(container.resources, old?.resources, path.child('containers').index(i).child('resources'), errors);
    if (!isDeepEqual(resizedBack(container, old), old)) errors.forbidden(path, `${ONLY} are mutable`);
  }
  if (errors.list.length === 0 && !isDeepEqual(fixedFields(next.spec), fixedFields(previous.spec))) {
    errors.forbidden(path, `${ONLY} are mutable`);
  }
  return errors.list;
}

function checkPodLevel(next: PodSpec, previous: PodSpec, path: FieldPath, errors: FieldErrors): void {
  const at = path.child('resources');
  const { resources: old } = previous;
  if (old !== undefined && next.resources === undefined) {
    errors.forbidden(at, 'pod-level resources cannot be removed');
    return;
  }
  checkKept(next.resources, old, at, errors, 'pod-level ');
  const { requests, limits, claims } = next.resources ?? {};
  const masked = { ...amountsBack({ requests, limits }, old), claims };
  if (!isDeepEqual(set(masked), set(old))) errors.forbidden(path, `${ONLY} are mutable at pod-level`);
}

/** Containers are told apart by their places: none is added, removed, renamed or moved. */
function checkOrder(
  next: readonly Container[],
  previous: readonly Container[],
  list: 'containers' | 'initContainers',
  path: FieldPath,
  errors: FieldErrors,
): void {
  if (next.length !== previous.length) {
    errors.forbidden(path.child(list), `${list} may not be added or removed on resize`);
    return;
  }
  for (const [i, { name }] of previous.entries()) {
    if (next[i]?.name === name) continue;
    errors.forbidden(path.child(list).index(i).child('name'), `${list} may not be renamed or reordered on resize`);
  }
}

function checkInitContainer(
  container: Container,
  old: Container | undefined,
  path: FieldPath,
  errors: FieldErrors,
): void {
  checkKept(container.resources, old?.resources, path.child('resources'), errors);
  if (!isDeepEqual(resizedBack(container, old), old)) {
    errors.forbidden(path, `${ONLY} for init or sidecar containers are mutable`);
  }
  if (container.restartPolicy === 'Always' || isDeepEqual(container, old)) return;
  for (const { restartPolicy } of container.resizePolicy ?? []) {
    if (restartPolicy !== 'RestartContainer') continue;
    const detail = 'non-sidecar init containers with a resize policy of RestartContainer cannot be resized';
    errors.forbidden(path, detail);
  }
}

/** No request and no limit is taken away. */
function checkKept(
  next: Resources | undefined,
  previous: Resources | undefined,
  path: FieldPath,
  errors: FieldErrors,
  whose = '',
): void {
  for (const [field, what] of [
    ['requests', 'resource requests'],
    ['limits', 'resource limits'],
  ] as const) {
    const kept = Object.keys(previous?.[field] ?? {}).every((name) => next?.[field]?.[name] !== undefined);
    if (!kept) errors.forbidden(path.child(field), `${whose}${what} cannot be removed`);
  }
}

/** The container with the CPU and memory that it had. A claim counts as changed, as in the reference: it cannot be resized with one. */
function resizedBack(container: Container, old: Container | undefined): Container {
  const resources = amountsBack(container.resources ?? {}, old?.resources);
  const none = old?.resources === undefined && set(resources) === undefined;
  return { ...container, resources: none ? undefined : resources };
}

function amountsBack(next: Pick<Resources, 'requests' | 'limits'>, old: Resources | undefined): Resources {
  const back = (amounts: Amounts | undefined, before: Amounts | undefined): Amounts | undefined => {
    const others = Object.entries(amounts ?? {}).filter(([name]) => !resized.includes(name));
    const same = Object.entries(before ?? {}).filter(([name]) => resized.includes(name));
    return before === undefined && others.length === 0 ? undefined : Object.fromEntries([...others, ...same]);
  };
  return { requests: back(next.requests, old?.requests), limits: back(next.limits, old?.limits) };
}

/** The resources; undefined if none is set. */
function set(resources: Resources | undefined): Resources | undefined {
  const { requests = {}, limits = {}, claims = [] } = resources ?? {};
  return [requests, limits, claims].some((given) => Object.keys(given).length > 0) ? resources : undefined;
}

/** What has not been compared yet. */
const fixedFields = ({ containers: _, initContainers: __, resources: ___, ...spec }: PodSpec): Partial<PodSpec> => spec;
