import type { TestNode, WatchedPod } from '@kubus/harness';
import { type ContainerState, type ContainerStatus, podStatusReportSchema } from '@kubus/contracts';

/** The status of a pod's container; its first one when none is named. */
export function containerStatus({ status }: WatchedPod, name?: string): ContainerStatus | undefined {
  const statuses = status?.containerStatuses ?? [];
  return name === undefined ? statuses[0] : statuses.find((one) => one.name === name);
}

/** Why the pod's first container waits. */
export function waitingReason(pod: WatchedPod): string | undefined {
  return containerStatus(pod)?.state?.waiting?.reason;
}

/** How the pod's first container ended, now or before its present run. */
export function terminated(pod: WatchedPod): ContainerState['terminated'] {
  const status = containerStatus(pod);
  return status?.state?.terminated ?? status?.lastState?.terminated;
}

/** Why the first container of a pod has waited, as its status has told, in order. */
export function waitingReasons(node: TestNode, { ref }: WatchedPod): string[] {
  const reports = node.watch.messages
    .ofType('worker.fact.status')
    .filter(({ envelope, message }) => envelope?.pod === ref.uid && message.data !== '')
    .map(({ message }) => podStatusReportSchema.parse(JSON.parse(message.data)));
  const reasons = reports.flatMap(({ status }) => status.containerStatuses?.[0]?.state?.waiting?.reason ?? []);
  return reasons.filter((reason, index) => reason !== reasons[index - 1]);
}

/** What users were told about a pod: `<type> <reason>`, each once, in the order of their first time. */
export function toldReasons(node: TestNode, { ref }: WatchedPod): string[] {
  return [...new Set(node.watch.messages.podEvents(ref.uid).map(({ type, reason }) => `${type} ${reason}`))];
}

/** The messages of all events of a reason about a pod. */
export function toldMessages(node: TestNode, { ref }: WatchedPod, reason: string): string[] {
  return node.watch.messages
    .podEvents(ref.uid)
    .filter((event) => event.reason === reason)
    .map(({ message }) => message);
}
