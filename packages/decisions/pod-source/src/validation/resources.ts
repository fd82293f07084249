import {
  type PodSpec,
  type Quantity,
  type ResourceList,
  type ResourceRequirements,
  formatQuantity,
  parseQuantity,
} from '@kubus/contracts';
import { aggregateResources, isHugePages, isOvercommitted, isPodLevelResource } from '../pod-resources.ts';
import type { FieldErrors, FieldPath } from './field.ts';
import { dnsLabel, qualifiedName } from './names.ts';

const standardResources = ['cpu', 'memory', 'ephemeral-storage'];

/** Parses a quantity; when the text is not one, reports the error and returns undefined. */
export function checkQuantity(text: string, path: FieldPath, errors: FieldErrors): Quantity | undefined {
  const quantity = parseQuantity(text);
  if (quantity === undefined) {
    const pattern = '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$';
    errors.invalid(path, text, `quantities must match the regular expression '${pattern}'`);
  }
  return quantity;
}

export function checkContainerResources(
  resources: ResourceRequirements | undefined,
  claimNames: ReadonlySet<string>,
  path: FieldPath,
  errors: FieldErrors,
): void {
  if (resources === undefined) return;
  checkRequirements(resources, path, errors, (name, at) => errors.each(at, name, containerResourceName(name)));
  checkClaims(resources.claims ?? [], claimNames, path.child('claims'), errors);
}

export function checkPodResources(spec: PodSpec, path: FieldPath, errors: FieldErrors): void {
  const { resources } = spec;
  if (resources === undefined) return;
  if (resources.claims !== undefined) {
    errors.forbidden(path.child('claims'), 'claims cannot be set for Resources at pod-level');
  }
  checkRequirements(resources, path, errors, (name, at) => {
    if (!isPodLevelResource(name)) errors.unsupported(at, name, ['cpu', 'hugepages-', 'memory']);
  });
  for (const [name, total] of aggregateResources(spec, 'requests')) {
    // What the pod does not request itself, as devices, its containers may.
    const own = parseQuantity(resources.requests?.[name] ?? '');
    if (own === undefined || total.nano <= own.nano) continue;
    const detail = `must be greater than or equal to aggregate container requests of ${formatQuantity(total)}`;
    errors.invalid(path.child('requests').key(name), formatQuantity(own), detail);
  }
  for (const [i, container] of spec.containers.entries()) {
    for (const [name, text] of Object.entries(container.resources?.limits ?? {})) {
      const limit = parseQuantity(text);
      const own = parseQuantity(resources.limits?.[name] ?? '');
      if (limit === undefined || own === undefined || limit.nano <= own.nano) continue;
      const at = path.child('containers').index(i).key(name).child('limits');
      errors.invalid(at, text, `must be less than or equal to pod limits of ${formatQuantity(own)}`);
    }
  }
}

/** Checks the overhead of a pod's sandbox. */
export function checkOverhead(overhead: ResourceList | undefined, path: FieldPath, errors: FieldErrors): void {
  for (const [name, text] of Object.entries(overhead ?? {})) {
    errors.each(path.key(name), name, containerResourceName(name));
    checkAmount(name, text, path.key(name), errors);
  }
}

function checkRequirements(
  { limits = {}, requests = {} }: ResourceRequirements,
  path: FieldPath,
  errors: FieldErrors,
  checkName: (name: string, path: FieldPath) => void,
): void {
  for (const [name, text] of Object.entries(limits)) {
    checkName(name, path.child('limits').key(name));
    checkAmount(name, text, path.child('limits').key(name), errors);
  }
  for (const [name, text] of Object.entries(requests)) {
    const at = path.child('requests');
    checkName(name, at.key(name));
    const request = checkAmount(name, text, at.key(name), errors);
    const limitText = limits[name];
    if (limitText === undefined) {
      if (!isOvercommitted(name)) {
        errors.required(path.child('limits'), 'Limit must be set for non overcommitable resources');
      }
      continue;
    }
    const limit = parseQuantity(limitText);
    if (request === undefined || limit === undefined) continue;
    if (request.nano !== limit.nano && !isOvercommitted(name)) {
      errors.invalid(at, text, `must be equal to ${name} limit of ${limitText}`);
    } else if (request.nano > limit.nano) {
      errors.invalid(at, text, `must be less than or equal to ${name} limit of ${limitText}`);
    }
  }
  const names = [...Object.keys(limits), ...Object.keys(requests)];
  if (names.some(isHugePages) && !names.includes('cpu') && !names.includes('memory')) {
    errors.forbidden(path, 'HugePages require cpu or memory');
  }
}

function checkAmount(name: string, text: string, path: FieldPath, errors: FieldErrors): Quantity | undefined {
  const quantity = checkQuantity(text, path, errors);
  if (quantity === undefined) return undefined;
  if (quantity.nano < 0n) errors.invalid(path, text, 'must be greater than or equal to 0');
  const divisible = standardResources.includes(name) || isHugePages(name) || isOvercommitted(name);
  if (!divisible && quantity.nano % 1_000_000_000n !== 0n) errors.invalid(path, text, 'must be an integer');
  if (isHugePages(name)) {
    const size = parseQuantity(name.slice('hugepages-'.length));
    if (size === undefined || size.nano <= 0n || quantity.nano % size.nano !== 0n) {
      errors.invalid(path, text, `${text} is not positive integer multiple of ${name}`);
    }
  }
  return quantity;
}

function containerResourceName(name: string): string[] {
  const wrong = qualifiedName(name);
  if (wrong.length > 0) return wrong;
  if (!name.includes('/')) {
    if (standardResources.includes(name) || isHugePages(name)) return [];
    return ['must be a standard resource type or fully qualified', 'must be a standard resource for containers'];
  }
  const extended = !name.includes('kubernetes.io/') && !name.startsWith('requests.');
  const quotaName = qualifiedName(`requests.${name}`);
  if (name.includes('kubernetes.io/')) return [];
  return extended && quotaName.length === 0 ? [] : ["doesn't follow extended resource name standard"];
}

function checkClaims(
  claims: NonNullable<ResourceRequirements['claims']>,
  claimNames: ReadonlySet<string>,
  path: FieldPath,
  errors: FieldErrors,
): void {
  const used = new Set<string>();
  for (const [i, { name, request = '' }] of claims.entries()) {
    const at = path.index(i);
    if (name === '') {
      errors.required(at);
      continue;
    }
    const key = request === '' ? name : `${name}/${request}`;
    if (request !== '') errors.each(at.child('request'), request, dnsLabel(request));
    const overlaps = request === '' && [...used].some((other) => other.startsWith(`${name}/`));
    if (used.has(name) || used.has(key) || overlaps) errors.duplicate(at, key);
    used.add(key);
    if (claimNames.has(name)) continue;
    const known = claimNames.size === 0 ? ' which is empty' : `: ${[...claimNames].sort().join(', ')}`;
    errors.notFound(at, name, `must be one of the names in pod.spec.resourceClaims${known}`);
  }
}
