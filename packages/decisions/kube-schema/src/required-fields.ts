import type { Field } from './types.ts';

/**
 * Where the published API differs from what its encoding says: a field that is always written need not be given, or one of a type with
 * fields has to be. Clients refuse a manifest without a required field. Source: kubernetes api/openapi-spec/swagger.json, 1.36.
 */
const OPTIONAL = fieldsOf(`
core/v1.ContainerImage names
core/v1.Event reportingComponent reportingInstance
core/v1.NodeRuntimeHandler name
rbac.authorization.k8s.io/v1.RoleRef apiGroup
scheduling.k8s.io/v1.PriorityClass value
storage.k8s.io/v1.CSINodeDriver topologyKeys
`);
const REQUIRED = fieldsOf(`
authentication.k8s.io/v1.TokenReview spec
authentication.k8s.io/v1.TokenReviewSpec token
authorization.k8s.io/v1.LocalSubjectAccessReview spec
authorization.k8s.io/v1.SelfSubjectAccessReview spec
authorization.k8s.io/v1.SelfSubjectRulesReview spec
authorization.k8s.io/v1.SubjectAccessReview spec
authorization.k8s.io/v1.SubjectRulesReviewStatus resourceRules nonResourceRules
certificates.k8s.io/v1.CertificateSigningRequest spec
certificates.k8s.io/v1beta1.ClusterTrustBundle spec
core/v1.ContainerRestartRule action
core/v1.ContainerRestartRuleOnExitCodes operator
core/v1.Event metadata involvedObject
core/v1.ImageVolumeStatus imageRef
core/v1.NodeSelector nodeSelectorTerms
core/v1.PersistentVolumeClaimTemplate spec
core/v1.PodCertificateProjection signerName keyType
core/v1.PodExtendedResourceClaimStatus requestMappings
core/v1.PodSpec containers
core/v1.PreferredSchedulingTerm preference
core/v1.ScaleIOPersistentVolumeSource secretRef
core/v1.ScaleIOVolumeSource secretRef
core/v1.WeightedPodAffinityTerm podAffinityTerm
rbac.authorization.k8s.io/v1.ClusterRoleBinding roleRef
rbac.authorization.k8s.io/v1.RoleBinding roleRef
resource.k8s.io/v1.CapacityRequestPolicyRange min
resource.k8s.io/v1.CounterSet counters
resource.k8s.io/v1.DeviceClass spec
resource.k8s.io/v1.DeviceCounterConsumption counters
resource.k8s.io/v1.ResourceClaim spec
resource.k8s.io/v1.ResourceClaimTemplate spec
resource.k8s.io/v1.ResourceClaimTemplateSpec spec
resource.k8s.io/v1.ResourceSlice spec
resource.k8s.io/v1.ResourceSliceSpec pool
storage.k8s.io/v1.CSIDriver spec
storage.k8s.io/v1.CSINode spec
storage.k8s.io/v1.CSINodeSpec drivers
storage.k8s.io/v1.VolumeAttachment spec
storage.k8s.io/v1.VolumeAttachmentSpec source
`);

/** Whether a field of a type has to be given. @param isPlain the field has no fields of its own */
export function isRequired(type: string, { name, written }: Field, isPlain: boolean): boolean {
  const field = `${type} ${name}`;
  return !OPTIONAL.has(field) && (REQUIRED.has(field) || (written === 'always' && isPlain));
}

/** `TYPE FIELD`, of lines with a type and its fields. */
function fieldsOf(lines: string): ReadonlySet<string> {
  return new Set(
    lines
      .trim()
      .split('\n')
      .flatMap((line) => {
        const [type = '', ...fields] = line.split(' ');
        return fields.map((field) => `${type} ${field}`);
      }),
  );
}
