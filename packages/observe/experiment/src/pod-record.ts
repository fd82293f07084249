import { HEADER } from '@kubus/bus';
import type { RecordedMessage } from '@kubus/causality';
import { type RuntimeContainer, bareType, runtimePod, runtimePodSchema, typeOf } from '@kubus/contracts';

const runtime = bareType(typeOf(runtimePod));

/** Whether a message says that what it is about is gone. */
export function isRemoval({ message }: RecordedMessage): boolean {
  return message.headers[HEADER.removed] !== undefined;
}

/** What the runtime said of a pod. */
export function runtimeMessages(messages: readonly RecordedMessage[]): readonly RecordedMessage[] {
  return messages.filter(({ envelope }) => bareType(envelope.type) === runtime);
}

/** The last state in the record of each container that a pod has had, the first one first. */
export function recordedContainers(messages: readonly RecordedMessage[]): readonly RuntimeContainer[] {
  const containers = new Map<string, RuntimeContainer>();
  for (const { message } of runtimeMessages(messages)) {
    const read = message.data === '' ? undefined : runtimePodSchema.safeParse(JSON.parse(message.data));
    for (const container of read?.data?.containers ?? []) containers.set(container.id, container);
  }
  return [...containers.values()].sort((a, b) => a.attempt - b.attempt);
}
