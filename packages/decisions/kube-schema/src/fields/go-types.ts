/**
 * The Go types of fields that have a name of their own there, as decoding errors show them. Source: the types of k8s.io/api and
 * k8s.io/apimachinery in Kubernetes 1.36. A `[group/version]` precedes its types; a line is a type and its fields, `NAME=GO TYPE`.
 */
export default `
[core/v1]
AppArmorProfile type=v1.AppArmorProfileType
AttachedVolume name=v1.UniqueVolumeName
AzureDiskVolumeSource cachingMode=v1.AzureDataDiskCachingMode kind=v1.AzureDataDiskKind
Capabilities add=[]v1.Capability drop=[]v1.Capability
ConfigMapNodeConfigSource uid=types.UID
Container imagePullPolicy=v1.PullPolicy terminationMessagePolicy=v1.TerminationMessagePolicy restartPolicy=v1.ContainerRestartPolicy
ContainerPort protocol=v1.Protocol
ContainerResizePolicy resourceName=v1.ResourceName restartPolicy=v1.ResourceResizeRestartPolicy
ContainerRestartRule action=v1.ContainerRestartRuleAction
ContainerRestartRuleOnExitCodes operator=v1.ContainerRestartRuleOnExitCodesOperator
ContainerStatus allocatedResources=v1.ResourceList stopSignal=v1.Signal
EmptyDirVolumeSource medium=v1.StorageMedium
EphemeralContainerCommon imagePullPolicy=v1.PullPolicy terminationMessagePolicy=v1.TerminationMessagePolicy restartPolicy=v1.ContainerRestartPolicy
HTTPGetAction scheme=v1.URIScheme
HostPathVolumeSource type=v1.HostPathType
ImageVolumeSource pullPolicy=v1.PullPolicy
Lifecycle stopSignal=v1.Signal
LoadBalancerIngress ipMode=v1.LoadBalancerIPMode
ModifyVolumeStatus status=v1.PersistentVolumeClaimModifyVolumeStatus
NamespaceCondition type=v1.NamespaceConditionType status=v1.ConditionStatus
NamespaceSpec finalizers=[]v1.FinalizerName
NamespaceStatus phase=v1.NamespacePhase
NodeAddress type=v1.NodeAddressType
NodeAllocatableResourceClaimStatus resources=map[v1.ResourceName]resource.Quantity
NodeCondition status=v1.ConditionStatus type=v1.NodeConditionType
NodeSelectorRequirement operator=v1.NodeSelectorOperator
NodeStatus capacity=v1.ResourceList allocatable=v1.ResourceList phase=v1.NodePhase volumesInUse=[]v1.UniqueVolumeName
ObjectReference uid=types.UID
PersistentVolumeClaimCondition status=v1.ConditionStatus type=v1.PersistentVolumeClaimConditionType
PersistentVolumeClaimSpec accessModes=[]v1.PersistentVolumeAccessMode volumeMode=v1.PersistentVolumeMode
PersistentVolumeClaimStatus capacity=v1.ResourceList allocatedResources=v1.ResourceList accessModes=[]v1.PersistentVolumeAccessMode phase=v1.PersistentVolumeClaimPhase allocatedResourceStatuses=map[v1.ResourceName]v1.ClaimResourceStatus
PersistentVolumeSpec capacity=v1.ResourceList accessModes=[]v1.PersistentVolumeAccessMode volumeMode=v1.PersistentVolumeMode persistentVolumeReclaimPolicy=v1.PersistentVolumeReclaimPolicy
PersistentVolumeStatus phase=v1.PersistentVolumePhase
PodCondition status=v1.ConditionStatus type=v1.PodConditionType
PodOS name=v1.OSName
PodReadinessGate conditionType=v1.PodConditionType
PodSecurityContext fsGroupChangePolicy=v1.PodFSGroupChangePolicy supplementalGroupsPolicy=v1.SupplementalGroupsPolicy seLinuxChangePolicy=v1.PodSELinuxChangePolicy
PodSpec overhead=v1.ResourceList restartPolicy=v1.RestartPolicy dnsPolicy=v1.DNSPolicy preemptionPolicy=v1.PreemptionPolicy
PodStatus allocatedResources=v1.ResourceList phase=v1.PodPhase qosClass=v1.PodQOSClass resize=v1.PodResizeStatus
PortStatus protocol=v1.Protocol
ResourceHealth resourceID=v1.ResourceID health=v1.ResourceHealthStatus
ResourceRequirements limits=v1.ResourceList requests=v1.ResourceList
ResourceStatus name=v1.ResourceName
SeccompProfile type=v1.SeccompProfileType
Secret type=v1.SecretType
SecurityContext procMount=v1.ProcMountType
ServicePort protocol=v1.Protocol
ServiceSpec type=v1.ServiceType sessionAffinity=v1.ServiceAffinity externalTrafficPolicy=v1.ServiceExternalTrafficPolicy ipFamilyPolicy=v1.IPFamilyPolicy ipFamilies=[]v1.IPFamily internalTrafficPolicy=v1.ServiceInternalTrafficPolicy
Taint effect=v1.TaintEffect
Toleration effect=v1.TaintEffect operator=v1.TolerationOperator
TopologySpreadConstraint whenUnsatisfiable=v1.UnsatisfiableConstraintAction nodeAffinityPolicy=v1.NodeInclusionPolicy nodeTaintsPolicy=v1.NodeInclusionPolicy
VolumeMount mountPropagation=v1.MountPropagationMode recursiveReadOnly=v1.RecursiveReadOnlyMode
VolumeMountStatus recursiveReadOnly=v1.RecursiveReadOnlyMode
VolumeResourceRequirements limits=v1.ResourceList requests=v1.ResourceList
[scheduling.k8s.io/v1]
PriorityClass preemptionPolicy=v1.PreemptionPolicy
[discovery.k8s.io/v1]
EndpointPort protocol=v1.Protocol
EndpointSlice addressType=v1.AddressType
[coordination.k8s.io/v1]
LeaseSpec strategy=v1.CoordinatedLeaseStrategy
[node.k8s.io/v1]
Overhead podFixed=v1.ResourceList
[certificates.k8s.io/v1]
CertificateSigningRequestCondition status=v1.ConditionStatus type=v1.RequestConditionType
CertificateSigningRequestSpec usages=[]v1.KeyUsage
[authentication.k8s.io/v1]
BoundObjectReference uid=types.UID
[meta/v1]
Condition status=v1.ConditionStatus
DeleteOptions propagationPolicy=v1.DeletionPropagation
FieldSelectorRequirement operator=v1.FieldSelectorOperator
LabelSelectorRequirement operator=v1.LabelSelectorOperator
ManagedFieldsEntry operation=v1.ManagedFieldsOperationType
ObjectMeta uid=types.UID
OwnerReference uid=types.UID
Preconditions uid=types.UID
Status reason=v1.StatusReason
StatusCause reason=v1.CauseType
StatusDetails uid=types.UID
[resource.k8s.io/v1]
CapacityRequirements requests=map[v1.QualifiedName]resource.Quantity
Device attributes=map[v1.QualifiedName]v1.DeviceAttribute capacity=map[v1.QualifiedName]v1.DeviceCapacity nodeAllocatableResourceMappings=map[v1.ResourceName]v1.NodeAllocatableResourceMapping
DeviceAllocationConfiguration source=v1.AllocationConfigSource
DeviceConstraint matchAttribute=v1.FullyQualifiedName distinctAttribute=v1.FullyQualifiedName
DeviceRequestAllocationResult shareID=types.UID consumedCapacity=map[v1.QualifiedName]resource.Quantity
DeviceSubRequest allocationMode=v1.DeviceAllocationMode
DeviceTaint effect=v1.DeviceTaintEffect
DeviceToleration effect=v1.DeviceTaintEffect operator=v1.DeviceTolerationOperator
ExactDeviceRequest allocationMode=v1.DeviceAllocationMode
NodeAllocatableResourceMapping capacityKey=v1.QualifiedName
ResourceClaimConsumerReference uid=types.UID
[storage.k8s.io/v1]
CSIDriverSpec volumeLifecycleModes=[]v1.VolumeLifecycleMode fsGroupPolicy=v1.FSGroupPolicy
StorageClass reclaimPolicy=v1.PersistentVolumeReclaimPolicy volumeBindingMode=v1.VolumeBindingMode
`;
