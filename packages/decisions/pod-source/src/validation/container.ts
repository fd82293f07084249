import type { Container, ContainerPort, Pod } from '@kubus/contracts';
import { checkEnv, checkEnvFrom } from './environment.ts';
import type { FieldErrors, FieldPath } from './field.ts';
import { checkMounts } from './mounts.ts';
import { dnsLabel, portName, portNumber } from './names.ts';
import { checkLifecycle, checkProbe } from './probe.ts';
import { checkContainerResources } from './resources.ts';
import { checkSecurityContext } from './security.ts';
import type { KnownVolumes } from './volume.ts';

const probeKinds = ['livenessProbe', 'readinessProbe', 'startupProbe'] as const;
const MAX_RESTART_RULES = 20;
const MAX_EXIT_CODES = 255;

/** Checks init containers and regular containers. Names are unique across both. */
export function checkContainers(pod: Pod, volumes: KnownVolumes, path: FieldPath, errors: FieldErrors): void {
  const { containers, initContainers = [] } = pod.spec;
  const claims = new Set((pod.spec.resourceClaims ?? []).map((claim) => claim.name).filter((name) => name !== ''));
  const names = new Set<string>();
  const hostPorts = new Set<string>();
  if (containers.length === 0) errors.required(path.child('containers'));
  for (const [i, container] of containers.entries()) {
    const at = path.child('containers').index(i);
    checkContainer(container, pod, volumes, claims, at, errors);
    checkUnique(container.name, names, at.child('name'), errors);
    checkHostPorts(container.ports ?? [], hostPorts, at.child('ports'), errors);
    checkHooksAndProbes(container, pod, at, errors);
  }
  for (const [i, container] of initContainers.entries()) {
    const at = path.child('initContainers').index(i);
    checkContainer(container, pod, volumes, claims, at, errors);
    checkUnique(container.name, names, at.child('name'), errors);
    // Init containers run one after the other, so ports conflict only within a single one.
    checkHostPorts(container.ports ?? [], new Set(), at.child('ports'), errors);
    if (container.restartPolicy === 'Always') checkHooksAndProbes(container, pod, at, errors);
    else checkPlainInitContainer(container, at, errors);
  }
}

/** Checks what holds for a container of each kind; names across containers are not among it. */
export function checkContainer(
  container: Container,
  pod: Pod,
  volumes: KnownVolumes,
  claims: ReadonlySet<string>,
  path: FieldPath,
  errors: FieldErrors,
): void {
  if (container.name === '') errors.required(path.child('name'));
  else errors.each(path.child('name'), container.name, dnsLabel(container.name));
  const image = container.image ?? '';
  if (image === '') errors.required(path.child('image'));
  else if (image.trim() !== image) {
    errors.invalid(path.child('image'), image, 'must not have leading or trailing whitespace');
  }
  const messagePolicy = container.terminationMessagePolicy;
  errors.oneOf(path.child('terminationMessagePolicy'), messagePolicy, ['FallbackToLogsOnError', 'File']);
  errors.oneOf(path.child('imagePullPolicy'), container.imagePullPolicy, ['Always', 'IfNotPresent', 'Never']);
  checkPorts(container.ports ?? [], pod.spec.hostNetwork === true, path.child('ports'), errors);
  checkEnv(container.env ?? [], volumes, path.child('env'), errors);
  checkEnvFrom(container.envFrom ?? [], path.child('envFrom'), errors);
  checkMounts(container, volumes, path, errors);
  checkContainerResources(container.resources, claims, path.child('resources'), errors);
  checkResizePolicy(container, pod.spec.restartPolicy, path.child('resizePolicy'), errors);
  checkRestartPolicy(container, path, errors);
  checkSecurityContext(container.securityContext, pod.spec.hostUsers !== false, path.child('securityContext'), errors);
}

function checkUnique(name: string, names: Set<string>, path: FieldPath, errors: FieldErrors): void {
  if (name === '') return;
  if (names.has(name)) errors.duplicate(path, name);
  names.add(name);
}

function checkHooksAndProbes(container: Container, pod: Pod, path: FieldPath, errors: FieldErrors): void {
  checkLifecycle(container.lifecycle, pod.spec, path.child('lifecycle'), errors);
  for (const kind of probeKinds) checkProbe(container[kind], kind, path.child(kind), errors);
}

function checkPlainInitContainer(container: Container, path: FieldPath, errors: FieldErrors): void {
  for (const field of ['lifecycle', ...probeKinds] as const) {
    if (container[field] === undefined) continue;
    errors.forbidden(path.child(field), 'may not be set for init containers without restartPolicy=Always');
  }
}

function checkPorts(ports: readonly ContainerPort[], hostNetwork: boolean, path: FieldPath, errors: FieldErrors): void {
  const names = new Set<string>();
  for (const [i, { name = '', containerPort, hostPort = 0, protocol }] of ports.entries()) {
    const at = path.index(i);
    if (name !== '') {
      const wrong = portName(name);
      errors.each(at.child('name'), name, wrong);
      if (wrong.length === 0) checkUnique(name, names, at.child('name'), errors);
    }
    if (containerPort === 0) errors.required(at.child('containerPort'));
    else errors.each(at.child('containerPort'), containerPort, portNumber(containerPort));
    if (hostPort !== 0) errors.each(at.child('hostPort'), hostPort, portNumber(hostPort));
    if (hostNetwork && hostPort !== containerPort) {
      errors.invalid(at.child('hostPort'), hostPort, 'must match `containerPort` when `hostNetwork` is true');
    }
    errors.oneOf(at.child('protocol'), protocol, ['SCTP', 'TCP', 'UDP']);
  }
}

function checkHostPorts(
  ports: readonly ContainerPort[],
  taken: Set<string>,
  path: FieldPath,
  errors: FieldErrors,
): void {
  for (const [i, { hostPort = 0, hostIP = '', protocol = 'TCP' }] of ports.entries()) {
    if (hostPort !== 0)
      checkUnique(`${protocol}/${hostIP}/${hostPort}`, taken, path.index(i).child('hostPort'), errors);
  }
}

function checkResizePolicy(
  container: Container,
  restartPolicy: string | undefined,
  path: FieldPath,
  errors: FieldErrors,
): void {
  const names = new Set<string>();
  for (const [i, policy] of (container.resizePolicy ?? []).entries()) {
    checkUnique(policy.resourceName, names, path.index(i), errors);
    errors.oneOf(path, policy.resourceName, ['cpu', 'memory']);
    errors.oneOf(path, policy.restartPolicy, ['NotRequired', 'RestartContainer']);
    if (restartPolicy === 'Never' && policy.restartPolicy !== 'NotRequired') {
      errors.invalid(path, policy.restartPolicy, "must be 'NotRequired' when `restartPolicy` is 'Never'");
    }
  }
}

function checkRestartPolicy(container: Container, path: FieldPath, errors: FieldErrors): void {
  const { restartPolicy, restartPolicyRules: rules = [] } = container;
  const rulesPath = path.child('restartPolicyRules');
  if (restartPolicy !== undefined) {
    errors.oneOf(path.child('restartPolicy'), restartPolicy, ['Always', 'Never', 'OnFailure']);
  } else if (rules.length > 0) {
    errors.required(path.child('restartPolicy'), 'must specify restartPolicy when restart rules are used');
  }
  if (rules.length > MAX_RESTART_RULES) errors.tooMany(rulesPath, rules.length, MAX_RESTART_RULES);
  for (const [i, { action, exitCodes }] of rules.entries()) {
    const at = rulesPath.index(i);
    errors.oneOf(at.child('action'), action, ['Restart', 'RestartAllContainers']);
    if (exitCodes === undefined) {
      errors.required(at.child('exitCodes'), 'must be specified');
      continue;
    }
    errors.oneOf(at.child('exitCodes', 'operator'), exitCodes.operator, ['In', 'NotIn']);
    const count = exitCodes.values?.length ?? 0;
    if (count > MAX_EXIT_CODES) errors.tooMany(at.child('exitCodes', 'values'), count, MAX_EXIT_CODES);
  }
}
