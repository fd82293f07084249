import type { IntOrString, Lifecycle, LifecycleHandler, PodSpec, Probe } from '@kubus/contracts';
import { type FieldErrors, type FieldPath, NOT_NEGATIVE } from './field.ts';
import { httpHeaderName, portName, portNumber } from './names.ts';

type ProbeKind = 'livenessProbe' | 'readinessProbe' | 'startupProbe';

export function checkProbe(probe: Probe | undefined, kind: ProbeKind, path: FieldPath, errors: FieldErrors): void {
  if (probe === undefined) return;
  checkHandler(probe, ['exec', 'httpGet', 'tcpSocket', 'grpc'], undefined, path, errors);
  for (const field of [
    'initialDelaySeconds',
    'timeoutSeconds',
    'periodSeconds',
    'successThreshold',
    'failureThreshold',
  ] as const) {
    const value = probe[field] ?? 0;
    if (value < 0) errors.invalid(path.child(field), value, NOT_NEGATIVE);
  }
  const grace = probe.terminationGracePeriodSeconds;
  const gracePath = path.child('terminationGracePeriodSeconds');
  if (grace !== undefined && grace <= 0) errors.invalid(gracePath, grace, 'must be greater than 0');
  if (kind === 'readinessProbe') {
    if (grace !== undefined) errors.invalid(gracePath, grace, 'must not be set for readinessProbes');
  } else if (probe.successThreshold !== 1) {
    errors.invalid(path.child('successThreshold'), probe.successThreshold ?? 0, 'must be 1');
  }
}

export function checkLifecycle(
  lifecycle: Lifecycle | undefined,
  spec: PodSpec,
  path: FieldPath,
  errors: FieldErrors,
): void {
  if (lifecycle === undefined) return;
  for (const hook of ['postStart', 'preStop'] as const) {
    const handler = lifecycle[hook];
    if (handler === undefined) continue;
    const kinds = ['exec', 'httpGet', 'tcpSocket', 'sleep'] as const;
    checkHandler(handler, kinds, spec.terminationGracePeriodSeconds, path.child(hook), errors);
  }
  const { stopSignal } = lifecycle;
  if (stopSignal === undefined) return;
  const at = path.child('stopSignal');
  if (spec.os === undefined) errors.forbidden(at, 'may not be set for containers with empty `spec.os.name`');
  else if (spec.os.name === 'linux' && !isLinuxSignal(stopSignal)) errors.invalid(at, stopSignal, 'not a Linux signal');
  else if (spec.os.name === 'windows') errors.oneOf(at, stopSignal, ['SIGKILL', 'SIGTERM']);
}

type Handler = Probe & LifecycleHandler;
type HandlerKind = 'exec' | 'httpGet' | 'tcpSocket' | 'grpc' | 'sleep';

function checkHandler(
  handler: Pick<Handler, HandlerKind>,
  kinds: readonly HandlerKind[],
  gracePeriod: number | undefined,
  path: FieldPath,
  errors: FieldErrors,
): void {
  const [first, ...more] = kinds.filter((kind) => handler[kind] !== undefined);
  for (const kind of more) errors.forbidden(path.child(kind), 'may not specify more than 1 handler type');
  if (first === undefined) {
    errors.required(path, 'must specify a handler type');
    return;
  }
  const at = path.child(first);
  const { exec, httpGet, tcpSocket, grpc, sleep } = handler;
  if (first === 'exec' && (exec?.command ?? []).length === 0) errors.required(at.child('command'));
  if (first === 'httpGet' && httpGet !== undefined) checkHttpGet(httpGet, at, errors);
  if (first === 'tcpSocket' && tcpSocket !== undefined) checkPort(tcpSocket.port, at.child('port'), errors);
  if (first === 'grpc' && grpc !== undefined) checkPort(grpc.port, at.child('port'), errors);
  if (first === 'sleep' && sleep !== undefined && gracePeriod !== undefined) {
    if (sleep.seconds >= 0 && sleep.seconds <= gracePeriod) return;
    const most = `must be non-negative and less than terminationGracePeriodSeconds (${gracePeriod})`;
    errors.invalid(at, sleep.seconds, most);
  }
}

function checkHttpGet(action: NonNullable<Probe['httpGet']>, path: FieldPath, errors: FieldErrors): void {
  if ((action.path ?? '') === '') errors.required(path.child('path'));
  checkPort(action.port, path.child('port'), errors);
  if (action.scheme !== 'HTTP' && action.scheme !== 'HTTPS') {
    errors.unsupported(path.child('scheme'), action.scheme ?? '', ['HTTP', 'HTTPS']);
  }
  for (const { name } of action.httpHeaders ?? []) errors.each(path.child('httpHeaders'), name, httpHeaderName(name));
}

function checkPort(port: IntOrString, path: FieldPath, errors: FieldErrors): void {
  errors.each(path, port, typeof port === 'number' ? portNumber(port) : portName(port));
}

const linuxSignals = new Set(
  `ABRT ALRM BUS CHLD CLD CONT FPE HUP ILL INT IO IOT KILL PIPE POLL PROF PWR QUIT SEGV STKFLT STOP SYS TERM TRAP TSTP
  TTIN TTOU URG USR1 USR2 VTALRM WINCH XCPU XFSZ RTMIN RTMAX`.split(/\s+/),
);

function isLinuxSignal(signal: string): boolean {
  if (!signal.startsWith('SIG')) return false;
  const [, end, distance = ''] = /^RT(MIN\+|MAX-)(\d{1,2})$/.exec(signal.slice(3)) ?? [];
  if (end === undefined) return linuxSignals.has(signal.slice(3));
  return Number(distance) >= 1 && Number(distance) <= (end === 'MIN+' ? 15 : 14);
}
