/** What types and fields mean, in short. `Type.field` goes before a `field` of any type. */
const TEXTS = `
Pod: Containers that run together on one node, with shared network and volumes.
Node: A machine that runs pods.
Namespace: A scope for the names of objects.
Event: A report of something that happened to an object.
Secret: Confidential data, for volumes and environments of containers.
ConfigMap: Data that is not confidential, for volumes and environments of containers.
Service: A name and an address for a set of pods.
ServiceAccount: An identity for the processes in pods.
PersistentVolumeClaim: A request for storage.
PersistentVolume: A piece of storage, apart from the pods that use it.
CSIDriver: How a storage driver wants to be called.
CSINode: The storage drivers of a node.
VolumeAttachment: The wish to attach a volume to a node, and what came of it.
StorageClass: A kind of storage, and how it is made.
PriorityClass: A name for a priority of pods.
EndpointSlice: Addresses behind a service.
Lease: A right held for a time, such as the heartbeat of a node.
RuntimeClass: A handler of the container runtime.
CertificateSigningRequest: A request for a signed certificate.
Role: What may be done in a namespace.
ClusterRole: What may be done in all namespaces, or in those of a binding.
RoleBinding: Who has a role in a namespace.
ClusterRoleBinding: Who has a role in all namespaces.
ClusterTrustBundle: Certificates of authorities that pods may trust.
ResourceClaim: A request for devices.
ResourceClaimTemplate: A pattern for the resource claims of pods.
ResourceSlice: Devices that a driver offers.
DeviceClass: A kind of devices.
Container: A program that runs in a pod.
EphemeralContainer: A container added to a running pod, such as one for debugging.
PodSpec: What a pod is meant to be.
PodStatus: What a pod is.
NodeSpec: What a node is meant to be.
NodeStatus: What a node is.
ObjectMeta: What all objects have.
ListMeta: What all lists have.
Probe: A check of a container that is made again and again.
Volume: A folder that containers of the pod can mount.
ResourceRequirements: The compute resources of a container.
metadata: Name, labels and other data that every object has.
spec: The desired state.
status: The observed state.
name: The name, unique in its scope.
namespace: The scope of the name.
uid: Identifies the object in time and space; set by the server.
resourceVersion: The version of the object, which only the server sets; compare for equality alone.
generation: Grows with each change of the desired state.
labels: Keys and values by which objects are selected.
annotations: Keys and values that are not for selection.
creationTimestamp: When the object was made; set by the server.
deletionTimestamp: When the object will be gone; set by the server after a request to delete it.
deletionGracePeriodSeconds: Seconds that the object has to end before it is removed.
finalizers: Names that have to be taken away before the object is removed.
ownerReferences: The objects on which this one depends.
managedFields: Which client wrote which fields.
generateName: A prefix to which the server adds a random ending, where no name is given.
selfLink: No longer in use.
continue: A token for the next page of a list.
remainingItemCount: How many objects follow after this page.
containers: The containers of the pod; at least one, and none can be added or removed later.
initContainers: Containers that run in order and end before the others start; with restartPolicy Always, they go on.
ephemeralContainers: Containers added to the running pod by its subresource ephemeralcontainers.
volumes: What the containers of the pod can mount.
image: The name of the container image.
imagePullPolicy: Always, IfNotPresent or Never; Always by default for the tag latest, else IfNotPresent.
imagePullSecrets: Secrets of the namespace with credentials for registries.
command: The program in place of the image's entry point; not run in a shell.
args: The arguments in place of the image's.
workingDir: The folder in which the program starts; by default the image's.
env: Variables of the container's environment.
envFrom: ConfigMaps and Secrets whose keys become variables.
EnvVar.value: The value, in which $(NAME) stands for an earlier variable.
valueFrom: Where the value is read.
ports: The ports that are served.
containerPort: The port in the pod's network, 1 to 65535.
hostPort: The port of the node that leads to it.
hostIP: The address of the node.
protocol: TCP, UDP or SCTP; by default TCP.
resources: The resources that are asked for, and their limits.
limits: The most that may be used.
requests: The least that is kept ready.
claims: Resource claims of the pod that the container uses.
volumeMounts: Where the container sees volumes of the pod.
volumeDevices: Block devices of the container.
mountPath: The path in the container; without a colon.
subPath: A path within the volume to mount in place of its root.
subPathExpr: As subPath, with $(NAME) for variables of the environment.
mountPropagation: None, HostToContainer or Bidirectional.
readOnly: Whether writing is refused.
recursiveReadOnly: Whether mounts below are read-only, too: Disabled, IfPossible or Enabled.
livenessProbe: Restarts the container when it fails.
readinessProbe: Takes the pod out of services while it fails.
startupProbe: The others wait until it succeeds once.
initialDelaySeconds: Seconds after the start before the first check.
timeoutSeconds: Seconds after which a check has failed; by default 1.
periodSeconds: Seconds between checks; by default 10.
successThreshold: Successes in a row after a failure that count as success; by default 1.
failureThreshold: Failures in a row that count as failure; by default 3.
terminationGracePeriodSeconds: Seconds between the request to end and the kill.
exec: A command that is run in the container.
httpGet: An HTTP request.
tcpSocket: A TCP connection.
grpc: A request of the gRPC health protocol.
lifecycle: Actions after the start and before the end.
postStart: Runs right after the container was made.
preStop: Runs before the container is ended.
stopSignal: The signal that asks the container to end.
terminationMessagePath: The file whose content becomes the message of the end; by default /dev/termination-log.
terminationMessagePolicy: File, or FallbackToLogsOnError.
securityContext: Users, groups and privileges.
privileged: Whether the container may do what root of the node may.
runAsUser: The number of the user.
runAsGroup: The number of the group.
runAsNonRoot: Whether the user 0 is refused.
fsGroup: A group of all containers, which owns the volumes that support it.
supplementalGroups: Further groups of the first process.
capabilities: Capabilities to add and to drop.
readOnlyRootFilesystem: Whether the root file system is read-only.
allowPrivilegeEscalation: Whether a process may gain more privileges than its parent.
seccompProfile: The filter of system calls.
appArmorProfile: The AppArmor profile.
seLinuxOptions: The SELinux label.
procMount: How /proc is mounted: Default or Unmasked.
sysctls: Kernel parameters of the pod's namespaces.
stdin: Whether standard input stays open.
stdinOnce: Whether it closes after the first client.
tty: Whether there is a terminal.
restartPolicy: When containers are started again: Always, OnFailure or Never.
restartPolicyRules: Rules by exit code that go before restartPolicy.
activeDeadlineSeconds: Seconds after which the pod is ended as failed.
dnsPolicy: ClusterFirst, ClusterFirstWithHostNet, Default or None.
dnsConfig: Servers, search domains and options of the resolver.
nodeSelector: Labels that the node needs to have.
nodeName: The node of the pod.
serviceAccountName: The service account of the pod.
serviceAccount: An old name of serviceAccountName.
automountServiceAccountToken: Whether a token of the service account is mounted.
hostNetwork: Whether the pod uses the network of the node.
hostPID: Whether the pod uses the processes' namespace of the node.
hostIPC: Whether the pod uses the IPC namespace of the node.
hostUsers: Whether the pod uses the user namespace of the node.
shareProcessNamespace: Whether the containers share one namespace of processes.
hostname: The name of the pod's host.
subdomain: The domain below which the host's name is.
setHostnameAsFQDN: Whether the host's name is the full one.
hostAliases: Lines for /etc/hosts.
affinity: Rules about nodes and other pods for the choice of the node.
tolerations: Taints that the pod bears.
taints: What keeps pods away that do not bear it.
schedulerName: Who chooses the node.
schedulingGates: While there is one, no node is chosen.
priorityClassName: The name of the pod's priority.
priority: The priority as a number.
preemptionPolicy: Never, or PreemptLowerPriority.
readinessGates: Conditions that also count for readiness.
runtimeClassName: The name of the RuntimeClass.
enableServiceLinks: Whether services become variables of the environment.
overhead: What the pod needs besides its containers.
topologySpreadConstraints: How pods are to be spread.
os: The operating system of the pod.
resourceClaims: Devices for the pod.
phase: The stage of life in one word.
conditions: Observed conditions, by type.
message: Details for people.
reason: One word for programs.
podIP: The address of the pod.
podIPs: The addresses of the pod, one of each family.
hostIPs: The addresses of the node.
startTime: When the node took the pod.
containerStatuses: The states of the containers.
initContainerStatuses: The states of the init containers.
ephemeralContainerStatuses: The states of the ephemeral containers.
qosClass: Guaranteed, Burstable or BestEffort.
restartCount: How often the container was started again.
state: Waiting, running or terminated.
lastState: The state before the last restart.
ready: Whether it serves.
started: Whether it has started.
imageID: The image that runs.
containerID: The container in the runtime.
exitCode: The exit code.
signal: The signal that ended it.
startedAt: When it began.
finishedAt: When it ended.
capacity: What there is in total.
allocatable: What pods can have.
addresses: Where it is reached.
nodeInfo: Versions of the node's parts.
images: Images on the node.
unschedulable: Whether new pods are kept away.
podCIDR: The range of the pods' addresses.
podCIDRs: The ranges of the pods' addresses.
providerID: The machine's identity at its provider.
data: Content by key.
binaryData: Content by key, as base64.
stringData: Content by key as text; written, never read.
immutable: Whether the content can no longer change.
type: The type.
selector: Which objects are meant.
clusterIP: The address of the service.
targetPort: The port, or its name, in the pods.
accessModes: ReadWriteOnce, ReadOnlyMany, ReadWriteMany or ReadWriteOncePod.
storageClassName: The name of the StorageClass.
volumeName: The name of the volume.
volumeMode: Filesystem or Block.
provisioner: Who makes the volumes.
reclaimPolicy: What becomes of the volume afterwards.
volumeBindingMode: When a claim gets its volume.
mountOptions: Options of the mount.
configMap: A ConfigMap, as files.
secret: A Secret, as files.
emptyDir: A folder that ends with the pod.
hostPath: A file or folder of the node.
persistentVolumeClaim: The storage of a claim.
projected: Several sources in one folder.
downwardAPI: Data of the pod, as files.
csi: A volume of a storage driver.
ephemeral: A claim that ends with the pod.
nfs: A share of an NFS server.
items: Which keys become which files.
defaultMode: The mode of files; by default 0644.
mode: The mode of this file.
medium: Empty, or Memory.
sizeLimit: The most that it may hold.
optional: Whether it may be missing.
key: The key.
path: The path.
port: The port, or its name.
host: The host; by default the pod.
scheme: HTTP or HTTPS.
httpHeaders: Headers of the request.
lastTransitionTime: When the status last changed.
lastProbeTime: When it was last checked.
observedGeneration: The generation that this is about.
handler: The name of the handler in the runtime.
holderIdentity: Who holds it.
leaseDurationSeconds: Seconds for which it is held.
renewTime: When it was last renewed.
acquireTime: When it was taken.
`;

let texts: ReadonlyMap<string, string> | undefined;

function textOf(key: string): string | undefined {
  texts ??= new Map(
    TEXTS.split('\n').map((line): [string, string] => {
      const colon = line.indexOf(': ');
      return [line.slice(0, colon), line.slice(colon + 2)];
    }),
  );
  return texts.get(key);
}

const shortName = (type: string) => type.slice(type.lastIndexOf('.') + 1);

/** @param type its full name: `core/v1.Pod`. @returns empty: there is none. */
export function typeDescription(type: string): string {
  return textOf(shortName(type)) ?? '';
}

/** @param type the full name of the type with the field. @returns empty: there is none. */
export function fieldDescription(type: string, field: string): string {
  return textOf(`${shortName(type)}.${field}`) ?? textOf(field) ?? '';
}
