/**
 * Which static pods have been started and which wait, by full name (`<name>_<namespace>`). A changed manifest gives a
 * static pod a new UID; the new one waits until the old one is over, so that never two of one name run at once
 * (kubelet behaviour 1.3, static start order).
 */
export interface StaticOrder {
  /** Full name to the UID that has been started. */
  readonly started: ReadonlyMap<string, string>;
  /** Full name to the UIDs that want to start, the first one first. */
  readonly waiting: ReadonlyMap<string, readonly string[]>;
}

export const emptyStaticOrder: StaticOrder = { started: new Map(), waiting: new Map() };

/** Asks for the start of a static pod. One that has to wait asks again later and keeps its place until then. */
export function mayStartStatic(
  order: StaticOrder,
  fullName: string,
  uid: string,
): { readonly order: StaticOrder; readonly allowed: boolean } {
  const current = order.started.get(fullName);
  if (current === uid) return { order, allowed: true };
  const queue = order.waiting.get(fullName) ?? [];
  const first = queue[0] ?? uid;
  if (current === undefined && first === uid) {
    const started = new Map(order.started).set(fullName, uid);
    return { order: { started, waiting: withQueue(order.waiting, fullName, queue.slice(1)) }, allowed: true };
  }
  if (queue.includes(uid)) return { order, allowed: false };
  return { order: { ...order, waiting: withQueue(order.waiting, fullName, [...queue, uid]) }, allowed: false };
}

/** The pod is over, or was ended while it waited. */
export function leaveStaticOrder(order: StaticOrder, fullName: string, uid: string): StaticOrder {
  const started = new Map(order.started);
  if (started.get(fullName) === uid) started.delete(fullName);
  const queue = (order.waiting.get(fullName) ?? []).filter((one) => one !== uid);
  return { started, waiting: withQueue(order.waiting, fullName, queue) };
}

function withQueue(
  waiting: StaticOrder['waiting'],
  fullName: string,
  queue: readonly string[],
): StaticOrder['waiting'] {
  const next = new Map(waiting);
  if (queue.length === 0) next.delete(fullName);
  else next.set(fullName, queue);
  return next;
}
