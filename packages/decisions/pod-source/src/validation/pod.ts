import type { Pod, PodSpec } from '@kubus/contracts';
import { checkContainers } from './container.ts';
import { checkEphemeralContainers } from './ephemeral-container.ts';
import { type FieldError, FieldErrors, FieldPath } from './field.ts';
import { checkPodMeta } from './metadata.ts';
import { dnsLabel, dnsSubdomain, inRange, qualifiedName } from './names.ts';
import { checkNetwork } from './network.ts';
import { checkOverhead, checkPodResources } from './resources.ts';
import { checkScheduling } from './scheduling.ts';
import { checkAppArmorAnnotations, checkPodSecurityContext } from './security.ts';
import { checkVolumes } from './volume.ts';

const MAX_INT32 = 2147483647;

/**
 * Everything for which the API server would refuse a new pod whose defaults are set, for the fields that are used on a Linux
 * node. Fields that are used only on Windows nodes are checked only against the schema.
 * Source: ValidatePodCreate of k8s.io/kubernetes/pkg/apis/core/validation, with the options of the kubelet's file source.
 *
 * @param at the pod's path in its document
 */
export function validatePod(pod: Pod, at: FieldPath = FieldPath.root): readonly FieldError[] {
  const errors = new FieldErrors();
  checkPod(pod, at, errors);
  if ((pod.spec.ephemeralContainers ?? []).length > 0) {
    errors.forbidden(at.child('spec', 'ephemeralContainers'), 'cannot be set on create');
  }
  return errors.list;
}

/** Checks what holds for a pod whenever it is written. */
export function checkPod(pod: Pod, at: FieldPath, errors: FieldErrors): void {
  const path = at.child('spec');
  checkPodMeta(pod.metadata, at.child('metadata'), errors);
  const volumes = checkVolumes(pod, path.child('volumes'), errors);
  checkContainers(pod, volumes, path, errors);
  checkEphemeralContainers(pod, volumes, path.child('ephemeralContainers'), errors);
  checkResourceClaims(pod.spec, path.child('resourceClaims'), errors);
  checkPodResources(pod.spec, path.child('resources'), errors);
  checkOverhead(pod.spec.overhead, path.child('overhead'), errors);
  checkPodSecurityContext(pod.spec, path, errors);
  checkAppArmorAnnotations(pod, at, errors);
  checkNetwork(pod.spec, path, errors);
  checkScheduling(pod.spec, path, errors);
  checkSpecFields(pod.spec, path, errors);
}

function checkSpecFields(spec: PodSpec, path: FieldPath, errors: FieldErrors): void {
  errors.oneOf(path.child('restartPolicy'), spec.restartPolicy, ['Always', 'OnFailure', 'Never']);
  if (spec.terminationGracePeriodSeconds === undefined) errors.required(path.child('terminationGracePeriodSeconds'));
  const deadline = spec.activeDeadlineSeconds;
  if (deadline !== undefined) {
    errors.each(path.child('activeDeadlineSeconds'), deadline, inRange(deadline, 1, MAX_INT32));
  }
  for (const field of ['nodeName', 'serviceAccountName', 'priorityClassName', 'runtimeClassName'] as const) {
    const name = spec[field] ?? '';
    if (name !== '') errors.each(path.child(field), name, dnsSubdomain(name));
  }
  if (spec.preemptionPolicy !== undefined) {
    errors.oneOf(path.child('preemptionPolicy'), spec.preemptionPolicy, ['PreemptLowerPriority', 'Never']);
  }
  for (const [i, { conditionType }] of (spec.readinessGates ?? []).entries()) {
    const at = path.child('readinessGates').index(i).child('conditionType');
    errors.each(at, conditionType, qualifiedName(conditionType));
  }
  if (spec.os !== undefined) errors.oneOf(path.child('os', 'name'), spec.os.name, ['linux', 'windows']);
}

function checkResourceClaims(spec: PodSpec, path: FieldPath, errors: FieldErrors): void {
  const names = new Set<string>();
  for (const [i, claim] of (spec.resourceClaims ?? []).entries()) {
    const at = path.index(i);
    if (claim.name === '') errors.required(at.child('name'));
    else if (names.has(claim.name)) errors.duplicate(at.child('name'), claim.name);
    else errors.each(at.child('name'), claim.name, dnsLabel(claim.name));
    names.add(claim.name);
    const fields = (['resourceClaimName', 'resourceClaimTemplateName'] as const).filter(
      (field) => claim[field] !== undefined,
    );
    const both = '`resourceClaimName` or `resourceClaimTemplateName`';
    if (fields.length > 1) errors.invalid(at, claim, `at most one of ${both} may be specified`);
    if (fields.length === 0) errors.invalid(at, claim, `must specify one of: ${both.replace(' or', ',')}`);
    for (const field of fields) errors.each(at.child(field), claim[field] ?? '', dnsSubdomain(claim[field] ?? ''));
  }
}
