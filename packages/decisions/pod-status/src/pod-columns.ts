import type { ContainerState, ContainerStatus, Pod, PodStatus } from '@kubus/contracts';

/** What kubectl shows of a pod. */
export interface PodColumns {
  /** How many of its containers are ready; sidecars count, other init containers do not. */
  readonly ready: number;
  readonly total: number;
  /** The phase, or a more specific reason. */
  readonly status: string;
  readonly restarts: number;
  /** When the last of these restarts ended a container (RFC 3339). */
  readonly restartedAt: string | undefined;
}

/** A pod as far as the columns depend on it. */
export interface PrintedPod {
  /** Undefined when it is no longer known. */
  readonly spec: Pod['spec'] | undefined;
  readonly status: PodStatus | undefined;
  /** Whether it is to end. */
  readonly isDeleted: boolean;
}

/** Set by the node lifecycle controller (pkg/util/node/node.go, NodeUnreachablePodReason). */
const UNREACHABLE = 'NodeLost';

/** The columns READY, STATUS and RESTARTS, as the reference prints them (pkg/printers/internalversion/printers.go, printPod). */
export function podColumns({ spec, status = {}, isDeleted }: PrintedPod): PodColumns {
  const { phase = 'Pending', conditions = [], containerStatuses = [] } = status;
  const sidecars = (spec?.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always');
  const init = initColumns(status, spec, new Set(sidecars.map(({ name }) => name)));
  const gated = conditions.some(({ type, reason }) => type === 'PodScheduled' && reason === 'SchedulingGated');
  const general = gated ? 'SchedulingGated' : (given(status.reason) ?? phase);
  const total = (spec?.containers ?? containerStatuses).length + sidecars.length;
  const isInitialized = init.status === undefined || isTrue(status, 'Initialized');
  const counted = isInitialized ? [...init.sidecars, ...containerStatuses] : init.all;
  const own = containerStatuses.filter(({ ready, state }) => ready && isRunning(state));
  return {
    ready: init.ready + (isInitialized ? own.length : 0),
    total,
    status: ended(status, isDeleted) ?? (isInitialized ? mainStatus(status, init.status ?? general) : init.status),
    restarts: counted.reduce((sum, { restartCount }) => sum + restartCount, 0),
    restartedAt: counted
      .map(({ lastState }) => lastState?.terminated?.finishedAt ?? undefined)
      .filter((time) => time !== undefined)
      .sort((a, b) => Date.parse(a) - Date.parse(b))
      .at(-1),
  };
}

interface InitColumns {
  /** Undefined when initialization is over. */
  readonly status: string | undefined;
  /** Ready sidecars. */
  readonly ready: number;
  /** Init containers up to the one that is not over, and the sidecars among them. */
  readonly all: readonly ContainerStatus[];
  readonly sidecars: readonly ContainerStatus[];
}

function initColumns(
  { initContainerStatuses: statuses = [] }: PodStatus,
  spec: Pod['spec'] | undefined,
  sidecarNames: ReadonlySet<string>,
): InitColumns {
  const isSidecar = ({ name }: ContainerStatus) => sidecarNames.has(name);
  const isOver = (one: ContainerStatus) =>
    one.state?.terminated?.exitCode === 0 || (isSidecar(one) && one.started === true);
  const at = statuses.findIndex((one) => !isOver(one));
  const current = statuses[at];
  const before = at < 0 ? statuses : statuses.slice(0, at);
  const all = current === undefined ? before : [...before, current];
  return {
    status: current && `Init:${initReason(current) ?? `${at}/${spec?.initContainers?.length ?? statuses.length}`}`,
    ready: before.filter((one) => isSidecar(one) && one.ready && one.state?.terminated?.exitCode !== 0).length,
    all,
    sidecars: all.filter(isSidecar),
  };
}

/** Why an init container does not go on; undefined while it does. */
function initReason({ state }: ContainerStatus): string | undefined {
  if (state?.terminated !== undefined) return stateReason(state);
  const waiting = given(state?.waiting?.reason);
  return waiting === 'PodInitializing' ? undefined : waiting;
}

/** The reason of the first container that has one, instead of `general`; but a pod of which a container still runs is not Completed. */
function mainStatus(status: PodStatus, general: string): string {
  const { containerStatuses = [] } = status;
  const reasons = containerStatuses.map(({ state }) => stateReason(state)).filter((reason) => reason !== undefined);
  const reason = reasons[0] ?? general;
  if (reason !== 'Completed') return reason;
  const hasRunning = containerStatuses.some(
    ({ ready, state }) => ready && isRunning(state) && stateReason(state) === undefined,
  );
  if (hasRunning && isTrue(status, 'Ready')) return 'Running';
  const failed = containerStatuses.find(({ state }) => (state?.terminated?.exitCode ?? 0) !== 0);
  return stateReason(failed?.state) ?? (hasRunning ? 'NotReady' : reason);
}

/** The reason that is shown for a container that is not running; undefined for one that is. */
function stateReason(state: ContainerState | undefined): string | undefined {
  const { waiting, terminated } = state ?? {};
  const why = given(waiting?.reason);
  if (why !== undefined || terminated === undefined) return why;
  const { reason, signal = 0, exitCode } = terminated;
  return given(reason) ?? (signal === 0 ? `ExitCode:${exitCode}` : `Signal:${signal}`);
}

/** The status of a pod that is to end, unless it has ended. */
function ended({ phase, reason }: PodStatus, isDeleted: boolean): string | undefined {
  if (!isDeleted) return undefined;
  if (reason === UNREACHABLE) return 'Unknown';
  return phase === 'Succeeded' || phase === 'Failed' ? undefined : 'Terminating';
}

function isRunning(state: ContainerState | undefined): boolean {
  return state?.running !== undefined;
}

function isTrue({ conditions = [] }: PodStatus, type: string): boolean {
  return conditions.find((condition) => condition.type === type)?.status === 'True';
}

function given(text: string | undefined): string | undefined {
  return text === '' ? undefined : text;
}
