import type { TestNode, WatchedPod } from '@kubus/harness';
import { type ContainerState, type ContainerStatus, podStatusReportSchema } from '@kubus/contracts';

/** The status of a pod's container. Default: its first one. */
export function containerStatus({ status }: WatchedPod, name?: string): ContainerStatus | undefined {
  const statuses = status?.containerStatuses ?? [];
  return name === undefined ? statuses[0] : statuses.find((one) => one.name === name);
}

/** The reason why the pod's first container waits. */
export function waitingReason(pod: WatchedPod): string | undefined {
  return containerStatus(pod)?.state?.waiting?.reason;
}

/** How the pod's first container ended, in its present or last run. */
export function terminated(pod: WatchedPod): ContainerState['terminated'] {
  const status = containerStatus(pod);
  return status?.state?.terminated ?? status?.lastState?.terminated;
}

/** The reasons why a pod's first container has waited, in the order of its statuses. */
export function waitingReasons(node: TestNode, { ref }: WatchedPod): string[] {
  const reports = node.watch.messages
    .ofType('worker.fact.status')
    .filter(({ envelope, message }) => envelope?.pod === ref.uid && message.data !== '')
    .map(({ message }) => podStatusReportSchema.parse(JSON.parse(message.data)));
  const reasons = reports.flatMap(({ status }) => status.containerStatuses?.[0]?.state?.waiting?.reason ?? []);
  return reasons.filter((reason, index) => reason !== reasons[index - 1]);
}

/** The Kubernetes events about a pod: `<type> <reason>`, each once, in the order of their first occurrence. */
export function eventReasons(node: TestNode, { ref }: WatchedPod): string[] {
  return [...new Set(node.watch.messages.podEvents(ref.uid).map(({ type, reason }) => `${type} ${reason}`))];
}

/** The messages of all Kubernetes events of a reason about a pod. */
export function eventMessages(node: TestNode, { ref }: WatchedPod, reason: string): string[] {
  return node.watch.messages
    .podEvents(ref.uid)
    .filter((event) => event.reason === reason)
    .map(({ message }) => message);
}
