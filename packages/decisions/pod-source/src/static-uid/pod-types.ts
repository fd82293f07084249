/**
 * The reference kubelet's in-memory pod: every struct with its fields, in their order. A field is written as its Go name, its name
 * in JSON if that is not the same with a lower-case first letter, and its type; `!` marks an embedded struct, whose fields
 * are in the JSON of the enclosing struct.
 * Types that are not listed are named string, number and boolean types.
 * Source: k8s.io/kubernetes/pkg/apis/core v1.36, as listed by Go's reflection.
 */
export const podTypes = `
core.AWSElasticBlockStoreVolumeSource: VolumeID string, FSType=fsType string, Partition int32, ReadOnly bool
core.Affinity: NodeAffinity *core.NodeAffinity, PodAffinity *core.PodAffinity, PodAntiAffinity *core.PodAntiAffinity
core.AppArmorProfile: Type core.AppArmorProfileType, LocalhostProfile *string
core.AzureDiskVolumeSource: DiskName string, DataDiskURI=diskURI string, CachingMode *core.AzureDataDiskCachingMode, FSType=fsType *string,
  ReadOnly *bool, Kind *core.AzureDataDiskKind
core.AzureFileVolumeSource: SecretName string, ShareName string, ReadOnly bool
core.CSIVolumeSource: Driver string, ReadOnly *bool, FSType=fsType *string, VolumeAttributes map[string]string,
  NodePublishSecretRef *core.LocalObjectReference
core.Capabilities: Add []core.Capability, Drop []core.Capability
core.CephFSVolumeSource: Monitors []string, Path string, User string, SecretFile string, SecretRef *core.LocalObjectReference, ReadOnly bool
core.CinderVolumeSource: VolumeID string, FSType=fsType string, ReadOnly bool, SecretRef *core.LocalObjectReference
core.ClusterTrustBundleProjection: Name *string, SignerName *string, LabelSelector *v1.LabelSelector, Optional *bool, Path string
core.ConfigMapEnvSource: LocalObjectReference! core.LocalObjectReference, Optional *bool
core.ConfigMapKeySelector: LocalObjectReference! core.LocalObjectReference, Key string, Optional *bool
core.ConfigMapProjection: LocalObjectReference! core.LocalObjectReference, Items []core.KeyToPath, Optional *bool
core.ConfigMapVolumeSource: LocalObjectReference! core.LocalObjectReference, Items []core.KeyToPath, DefaultMode *int32, Optional *bool
core.Container: Name string, Image string, Command []string, Args []string, WorkingDir string, Ports []core.ContainerPort,
  EnvFrom []core.EnvFromSource, Env []core.EnvVar, Resources core.ResourceRequirements, ResizePolicy []core.ContainerResizePolicy,
  RestartPolicy *core.ContainerRestartPolicy, RestartPolicyRules []core.ContainerRestartRule, VolumeMounts []core.VolumeMount,
  VolumeDevices []core.VolumeDevice, LivenessProbe *core.Probe, ReadinessProbe *core.Probe, StartupProbe *core.Probe, Lifecycle *core.Lifecycle,
  TerminationMessagePath string, TerminationMessagePolicy core.TerminationMessagePolicy, ImagePullPolicy core.PullPolicy,
  SecurityContext *core.SecurityContext, Stdin bool, StdinOnce bool, TTY=tty bool
core.ContainerExtendedResourceRequest: ContainerName string, ResourceName string, RequestName string
core.ContainerPort: Name string, HostPort int32, ContainerPort int32, Protocol core.Protocol, HostIP string
core.ContainerResizePolicy: ResourceName core.ResourceName, RestartPolicy core.ResourceResizeRestartPolicy
core.ContainerRestartRule: Action core.ContainerRestartRuleAction, ExitCodes *core.ContainerRestartRuleOnExitCodes
core.ContainerRestartRuleOnExitCodes: Operator core.ContainerRestartRuleOnExitCodesOperator, Values []int32
core.ContainerState: Waiting *core.ContainerStateWaiting, Running *core.ContainerStateRunning, Terminated *core.ContainerStateTerminated
core.ContainerStateRunning: StartedAt v1.Time
core.ContainerStateTerminated: ExitCode int32, Signal int32, Reason string, Message string, StartedAt v1.Time, FinishedAt v1.Time, ContainerID string
core.ContainerStateWaiting: Reason string, Message string
core.ContainerStatus: Name string, State core.ContainerState, LastTerminationState=lastState core.ContainerState, Ready bool, RestartCount int32,
  Image string, ImageID string, ContainerID string, Started *bool, AllocatedResources core.ResourceList, Resources *core.ResourceRequirements,
  VolumeMounts []core.VolumeMountStatus, User *core.ContainerUser, AllocatedResourcesStatus []core.ResourceStatus, StopSignal *core.Signal
core.ContainerUser: Linux *core.LinuxContainerUser
core.DownwardAPIProjection: Items []core.DownwardAPIVolumeFile
core.DownwardAPIVolumeFile: Path string, FieldRef *core.ObjectFieldSelector, ResourceFieldRef *core.ResourceFieldSelector, Mode *int32
core.DownwardAPIVolumeSource: Items []core.DownwardAPIVolumeFile, DefaultMode *int32
core.EmptyDirVolumeSource: Medium core.StorageMedium, SizeLimit *resource.Quantity
core.EnvFromSource: Prefix string, ConfigMapRef *core.ConfigMapEnvSource, SecretRef *core.SecretEnvSource
core.EnvVar: Name string, Value string, ValueFrom *core.EnvVarSource
core.EnvVarSource: FieldRef *core.ObjectFieldSelector, ResourceFieldRef *core.ResourceFieldSelector, ConfigMapKeyRef *core.ConfigMapKeySelector,
  SecretKeyRef *core.SecretKeySelector, FileKeyRef *core.FileKeySelector
core.EphemeralContainer: EphemeralContainerCommon! core.EphemeralContainerCommon, TargetContainerName string
core.EphemeralContainerCommon: Name string, Image string, Command []string, Args []string, WorkingDir string, Ports []core.ContainerPort,
  EnvFrom []core.EnvFromSource, Env []core.EnvVar, Resources core.ResourceRequirements, ResizePolicy []core.ContainerResizePolicy,
  RestartPolicy *core.ContainerRestartPolicy, RestartPolicyRules []core.ContainerRestartRule, VolumeMounts []core.VolumeMount,
  VolumeDevices []core.VolumeDevice, LivenessProbe *core.Probe, ReadinessProbe *core.Probe, StartupProbe *core.Probe, Lifecycle *core.Lifecycle,
  TerminationMessagePath string, TerminationMessagePolicy core.TerminationMessagePolicy, ImagePullPolicy core.PullPolicy,
  SecurityContext *core.SecurityContext, Stdin bool, StdinOnce bool, TTY=tty bool
core.EphemeralVolumeSource: VolumeClaimTemplate *core.PersistentVolumeClaimTemplate
core.ExecAction: Command []string
core.FCVolumeSource: TargetWWNs []string, Lun *int32, FSType=fsType string, ReadOnly bool, WWIDs=wwids []string
core.FileKeySelector: VolumeName string, Path string, Key string, Optional *bool
core.FlexVolumeSource: Driver string, FSType=fsType string, SecretRef *core.LocalObjectReference, ReadOnly bool, Options map[string]string
core.FlockerVolumeSource: DatasetName string, DatasetUUID string
core.GCEPersistentDiskVolumeSource: PDName=pdName string, FSType=fsType string, Partition int32, ReadOnly bool
core.GRPCAction: Port int32, Service *string
core.GitRepoVolumeSource: Repository string, Revision string, Directory string
core.GlusterfsVolumeSource: EndpointsName=endpoints string, Path string, ReadOnly bool
core.HTTPGetAction: Path string, Port intstr.IntOrString, Host string, Scheme core.URIScheme, HTTPHeaders=httpHeaders []core.HTTPHeader
core.HTTPHeader: Name string, Value string
core.HostAlias: IP=ip string, Hostnames []string
core.HostIP: IP=ip string
core.HostPathVolumeSource: Path string, Type *core.HostPathType
core.ISCSIVolumeSource: TargetPortal string, IQN=iqn string, Lun int32, ISCSIInterface=iscsiInterface string, FSType=fsType string, ReadOnly bool,
  Portals []string, DiscoveryCHAPAuth=chapAuthDiscovery bool, SessionCHAPAuth=chapAuthSession bool, SecretRef *core.LocalObjectReference,
  InitiatorName *string
core.ImageVolumeSource: Reference string, PullPolicy core.PullPolicy
core.ImageVolumeStatus: ImageRef string
core.KeyToPath: Key string, Path string, Mode *int32
core.Lifecycle: PostStart *core.LifecycleHandler, PreStop *core.LifecycleHandler, StopSignal *core.Signal
core.LifecycleHandler: Exec *core.ExecAction, HTTPGet=httpGet *core.HTTPGetAction, TCPSocket=tcpSocket *core.TCPSocketAction, Sleep *core.SleepAction
core.LinuxContainerUser: UID=uid int64, GID=gid int64, SupplementalGroups []int64
core.LocalObjectReference: Name string
core.NFSVolumeSource: Server string, Path string, ReadOnly bool
core.NodeAffinity: RequiredDuringSchedulingIgnoredDuringExecution *core.NodeSelector,
  PreferredDuringSchedulingIgnoredDuringExecution []core.PreferredSchedulingTerm
core.NodeAllocatableResourceClaimStatus: ResourceClaimName string, Containers []string, Resources map[core.ResourceName]resource.Quantity
core.NodeSelector: NodeSelectorTerms []core.NodeSelectorTerm
core.NodeSelectorRequirement: Key string, Operator core.NodeSelectorOperator, Values []string
core.NodeSelectorTerm: MatchExpressions []core.NodeSelectorRequirement, MatchFields []core.NodeSelectorRequirement
core.ObjectFieldSelector: APIVersion=apiVersion string, FieldPath string
core.PersistentVolumeClaimSpec: AccessModes []core.PersistentVolumeAccessMode, Selector *v1.LabelSelector, Resources core.VolumeResourceRequirements,
  VolumeName string, StorageClassName *string, VolumeMode *core.PersistentVolumeMode, DataSource *core.TypedLocalObjectReference,
  DataSourceRef *core.TypedObjectReference, VolumeAttributesClassName *string
core.PersistentVolumeClaimTemplate: ObjectMeta=metadata v1.ObjectMeta, Spec core.PersistentVolumeClaimSpec
core.PersistentVolumeClaimVolumeSource: ClaimName string, ReadOnly bool
core.PhotonPersistentDiskVolumeSource: PdID string, FSType=fsType string
core.Pod: TypeMeta! v1.TypeMeta, ObjectMeta=metadata v1.ObjectMeta, Spec core.PodSpec, Status core.PodStatus
core.PodAffinity: RequiredDuringSchedulingIgnoredDuringExecution []core.PodAffinityTerm,
  PreferredDuringSchedulingIgnoredDuringExecution []core.WeightedPodAffinityTerm
core.PodAffinityTerm: LabelSelector *v1.LabelSelector, Namespaces []string, TopologyKey string, NamespaceSelector *v1.LabelSelector,
  MatchLabelKeys []string, MismatchLabelKeys []string
core.PodAntiAffinity: RequiredDuringSchedulingIgnoredDuringExecution []core.PodAffinityTerm,
  PreferredDuringSchedulingIgnoredDuringExecution []core.WeightedPodAffinityTerm
core.PodCertificateProjection: SignerName string, KeyType string, MaxExpirationSeconds *int32, CredentialBundlePath string, KeyPath string,
  CertificateChainPath string, UserAnnotations map[string]string
core.PodCondition: Type core.PodConditionType, ObservedGeneration int64, Status core.ConditionStatus, LastProbeTime v1.Time,
  LastTransitionTime v1.Time, Reason string, Message string
core.PodDNSConfig: Nameservers []string, Searches []string, Options []core.PodDNSConfigOption
core.PodDNSConfigOption: Name string, Value *string
core.PodExtendedResourceClaimStatus: RequestMappings []core.ContainerExtendedResourceRequest, ResourceClaimName string
core.PodIP: IP=ip string
core.PodOS: Name core.OSName
core.PodReadinessGate: ConditionType core.PodConditionType
core.PodResourceClaim: Name string, ResourceClaimName *string, ResourceClaimTemplateName *string
core.PodResourceClaimStatus: Name string, ResourceClaimName *string
core.PodSchedulingGate: Name string
core.PodSchedulingGroup: PodGroupName *string
core.PodSecurityContext: HostNetwork bool, HostPID bool, HostIPC bool, ShareProcessNamespace *bool, HostUsers *bool,
  SELinuxOptions=seLinuxOptions *core.SELinuxOptions, WindowsOptions *core.WindowsSecurityContextOptions, RunAsUser *int64, RunAsGroup *int64,
  RunAsNonRoot *bool, SupplementalGroups []int64, SupplementalGroupsPolicy *core.SupplementalGroupsPolicy, FSGroup=fsGroup *int64,
  FSGroupChangePolicy=fsGroupChangePolicy *core.PodFSGroupChangePolicy, Sysctls []core.Sysctl, SeccompProfile *core.SeccompProfile,
  AppArmorProfile *core.AppArmorProfile, SELinuxChangePolicy=seLinuxChangePolicy *core.PodSELinuxChangePolicy
core.PodSpec: Volumes []core.Volume, InitContainers []core.Container, Containers []core.Container, EphemeralContainers []core.EphemeralContainer,
  RestartPolicy core.RestartPolicy, TerminationGracePeriodSeconds *int64, ActiveDeadlineSeconds *int64, DNSPolicy=dnsPolicy core.DNSPolicy,
  NodeSelector map[string]string, ServiceAccountName string, AutomountServiceAccountToken *bool, NodeName string,
  SecurityContext *core.PodSecurityContext, ImagePullSecrets []core.LocalObjectReference, Hostname string, Subdomain string, SetHostnameAsFQDN *bool,
  Affinity *core.Affinity, SchedulerName string, Tolerations []core.Toleration, HostAliases []core.HostAlias, PriorityClassName string,
  Priority *int32, PreemptionPolicy *core.PreemptionPolicy, DNSConfig=dnsConfig *core.PodDNSConfig, ReadinessGates []core.PodReadinessGate,
  RuntimeClassName *string, Overhead core.ResourceList, EnableServiceLinks *bool, TopologySpreadConstraints []core.TopologySpreadConstraint,
  OS=os *core.PodOS, SchedulingGates []core.PodSchedulingGate, ResourceClaims []core.PodResourceClaim, Resources *core.ResourceRequirements,
  HostnameOverride *string, SchedulingGroup *core.PodSchedulingGroup
core.PodStatus: ObservedGeneration int64, Phase core.PodPhase, Conditions []core.PodCondition, Message string, Reason string,
  NominatedNodeName string, HostIP string, HostIPs []core.HostIP, PodIPs []core.PodIP, StartTime *v1.Time, QOSClass=qosClass core.PodQOSClass,
  InitContainerStatuses []core.ContainerStatus, ContainerStatuses []core.ContainerStatus, EphemeralContainerStatuses []core.ContainerStatus,
  Resize core.PodResizeStatus, ResourceClaimStatuses []core.PodResourceClaimStatus, ExtendedResourceClaimStatus *core.PodExtendedResourceClaimStatus,
  AllocatedResources core.ResourceList, Resources *core.ResourceRequirements,
  NodeAllocatableResourceClaimStatuses []core.NodeAllocatableResourceClaimStatus
core.PortworxVolumeSource: VolumeID string, FSType=fsType string, ReadOnly bool
core.PreferredSchedulingTerm: Weight int32, Preference core.NodeSelectorTerm
core.Probe: ProbeHandler! core.ProbeHandler, InitialDelaySeconds int32, TimeoutSeconds int32, PeriodSeconds int32, SuccessThreshold int32,
  FailureThreshold int32, TerminationGracePeriodSeconds *int64
core.ProbeHandler: Exec *core.ExecAction, HTTPGet=httpGet *core.HTTPGetAction, TCPSocket=tcpSocket *core.TCPSocketAction, GRPC=grpc *core.GRPCAction
core.ProjectedVolumeSource: Sources []core.VolumeProjection, DefaultMode *int32
core.QuobyteVolumeSource: Registry string, Volume string, ReadOnly bool, User string, Group string, Tenant string
core.RBDVolumeSource: CephMonitors=monitors []string, RBDImage=image string, FSType=fsType string, RBDPool=pool string, RadosUser=user string,
  Keyring string, SecretRef *core.LocalObjectReference, ReadOnly bool
core.ResourceClaim: Name string, Request string
core.ResourceFieldSelector: ContainerName string, Resource string, Divisor resource.Quantity
core.ResourceHealth: ResourceID core.ResourceID, Health core.ResourceHealthStatus, Message *string
core.ResourceRequirements: Limits core.ResourceList, Requests core.ResourceList, Claims []core.ResourceClaim
core.ResourceStatus: Name core.ResourceName, Resources []core.ResourceHealth
core.SELinuxOptions: User string, Role string, Type string, Level string
core.ScaleIOVolumeSource: Gateway string, System string, SecretRef *core.LocalObjectReference, SSLEnabled=sslEnabled bool, ProtectionDomain string,
  StoragePool string, StorageMode string, VolumeName string, FSType=fsType string, ReadOnly bool
core.SeccompProfile: Type core.SeccompProfileType, LocalhostProfile *string
core.SecretEnvSource: LocalObjectReference! core.LocalObjectReference, Optional *bool
core.SecretKeySelector: LocalObjectReference! core.LocalObjectReference, Key string, Optional *bool
core.SecretProjection: LocalObjectReference! core.LocalObjectReference, Items []core.KeyToPath, Optional *bool
core.SecretVolumeSource: SecretName string, Items []core.KeyToPath, DefaultMode *int32, Optional *bool
core.SecurityContext: Capabilities *core.Capabilities, Privileged *bool, SELinuxOptions=seLinuxOptions *core.SELinuxOptions,
  WindowsOptions *core.WindowsSecurityContextOptions, RunAsUser *int64, RunAsGroup *int64, RunAsNonRoot *bool, ReadOnlyRootFilesystem *bool,
  AllowPrivilegeEscalation *bool, ProcMount *core.ProcMountType, SeccompProfile *core.SeccompProfile, AppArmorProfile *core.AppArmorProfile
core.ServiceAccountTokenProjection: Audience string, ExpirationSeconds int64, Path string
core.SleepAction: Seconds int64
core.StorageOSVolumeSource: VolumeName string, VolumeNamespace string, FSType=fsType string, ReadOnly bool, SecretRef *core.LocalObjectReference
core.Sysctl: Name string, Value string
core.TCPSocketAction: Port intstr.IntOrString, Host string
core.Toleration: Key string, Operator core.TolerationOperator, Value string, Effect core.TaintEffect, TolerationSeconds *int64
core.TopologySpreadConstraint: MaxSkew int32, TopologyKey string, WhenUnsatisfiable core.UnsatisfiableConstraintAction,
  LabelSelector *v1.LabelSelector, MinDomains *int32, NodeAffinityPolicy *core.NodeInclusionPolicy, NodeTaintsPolicy *core.NodeInclusionPolicy,
  MatchLabelKeys []string
core.TypedLocalObjectReference: APIGroup=apiGroup *string, Kind string, Name string
core.TypedObjectReference: APIGroup=apiGroup *string, Kind string, Name string, Namespace *string
core.Volume: Name string, VolumeSource! core.VolumeSource
core.VolumeDevice: Name string, DevicePath string
core.VolumeMount: Name string, ReadOnly bool, RecursiveReadOnly *core.RecursiveReadOnlyMode, MountPath string, SubPath string,
  MountPropagation *core.MountPropagationMode, SubPathExpr string
core.VolumeMountStatus: Name string, MountPath string, ReadOnly bool, RecursiveReadOnly *core.RecursiveReadOnlyMode, VolumeStatus *core.VolumeStatus
core.VolumeProjection: Secret *core.SecretProjection, DownwardAPI *core.DownwardAPIProjection, ConfigMap *core.ConfigMapProjection,
  ServiceAccountToken *core.ServiceAccountTokenProjection, ClusterTrustBundle *core.ClusterTrustBundleProjection,
  PodCertificate *core.PodCertificateProjection
core.VolumeResourceRequirements: Limits core.ResourceList, Requests core.ResourceList
core.VolumeSource: HostPath *core.HostPathVolumeSource, EmptyDir *core.EmptyDirVolumeSource,
  GCEPersistentDisk=gcePersistentDisk *core.GCEPersistentDiskVolumeSource,
  AWSElasticBlockStore=awsElasticBlockStore *core.AWSElasticBlockStoreVolumeSource, GitRepo *core.GitRepoVolumeSource,
  Secret *core.SecretVolumeSource, NFS=nfs *core.NFSVolumeSource, ISCSI=iscsi *core.ISCSIVolumeSource, Glusterfs *core.GlusterfsVolumeSource,
  PersistentVolumeClaim *core.PersistentVolumeClaimVolumeSource, RBD=rbd *core.RBDVolumeSource, Quobyte *core.QuobyteVolumeSource,
  FlexVolume *core.FlexVolumeSource, Cinder *core.CinderVolumeSource, CephFS=cephfs *core.CephFSVolumeSource, Flocker *core.FlockerVolumeSource,
  DownwardAPI *core.DownwardAPIVolumeSource, FC=fc *core.FCVolumeSource, AzureFile *core.AzureFileVolumeSource, ConfigMap *core.ConfigMapVolumeSource,
  VsphereVolume *core.VsphereVirtualDiskVolumeSource, AzureDisk *core.AzureDiskVolumeSource,
  PhotonPersistentDisk *core.PhotonPersistentDiskVolumeSource, Projected *core.ProjectedVolumeSource, PortworxVolume *core.PortworxVolumeSource,
  ScaleIO *core.ScaleIOVolumeSource, StorageOS=storageos *core.StorageOSVolumeSource, CSI=csi *core.CSIVolumeSource,
  Ephemeral *core.EphemeralVolumeSource, Image *core.ImageVolumeSource
core.VolumeStatus: Image *core.ImageVolumeStatus
core.VsphereVirtualDiskVolumeSource: VolumePath string, FSType=fsType string, StoragePolicyName string, StoragePolicyID string
core.WeightedPodAffinityTerm: Weight int32, PodAffinityTerm core.PodAffinityTerm
core.WindowsSecurityContextOptions: GMSACredentialSpecName=gmsaCredentialSpecName *string, GMSACredentialSpec=gmsaCredentialSpec *string,
  RunAsUserName *string, HostProcess *bool
v1.LabelSelector: MatchLabels map[string]string, MatchExpressions []v1.LabelSelectorRequirement
v1.LabelSelectorRequirement: Key string, Operator v1.LabelSelectorOperator, Values []string
v1.ManagedFieldsEntry: Manager string, Operation v1.ManagedFieldsOperationType, APIVersion=apiVersion string, Time *v1.Time, FieldsType string,
  FieldsV1 *v1.FieldsV1, Subresource string
v1.ObjectMeta: Name string, GenerateName string, Namespace string, SelfLink string, UID=uid types.UID, ResourceVersion string, Generation int64,
  CreationTimestamp v1.Time, DeletionTimestamp *v1.Time, DeletionGracePeriodSeconds *int64, Labels map[string]string, Annotations map[string]string,
  OwnerReferences []v1.OwnerReference, Finalizers []string, ManagedFields []v1.ManagedFieldsEntry
v1.OwnerReference: APIVersion=apiVersion string, Kind string, Name string, UID=uid types.UID, Controller *bool, BlockOwnerDeletion *bool
v1.TypeMeta: Kind string, APIVersion=apiVersion string
`;
